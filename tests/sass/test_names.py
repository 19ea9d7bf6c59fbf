"""Kernels by the names that C++ has for them: templates, namespaces, overloads."""

from __future__ import annotations

import numpy as np
import pytest

import smmux
from tests.sass.conftest import names_known, needed

NAMES = """
template <class T, int N, bool B> __global__ void scaled(T *a) { a[0] = N + B; }
namespace outer { namespace inner {
template <class T, int N, bool B> __global__ void scaled(T *a) { a[0] = N + B; }
template __global__ void scaled<unsigned char, 3, true>(unsigned char *);
} }
template __global__ void scaled<float, 3, true>(float *);
template __global__ void scaled<float, -3, false>(float *);
template <bool B, class T> struct only_if { typedef T type; };
template <class T> __global__ typename only_if<(sizeof(T) > 2), void>::type limited(T *a) { a[0] = 1; }
template __global__ void limited<int>(int *);
namespace { __global__ void hidden(int *a) { a[0] = 1; } }
__global__ void hidden(int *a, float) { a[0] = 1; }
__global__ void hidden(float *a) { a[0] = 1; }
__global__ void inside(int *a) { a[0] = 1; }
namespace outer { __global__ void inside(int *a) { a[0] = 1; } }
namespace outer { namespace {
template <class T> __global__ void unseen(T *a) { a[0] = 1; }
template __global__ void unseen<int>(int *);
} }
"""


@pytest.mark.parametrize(
    "name, mangled",
    [
        ("scaled<float,3,true>", "_Z6scaledIfLi3ELb1EEvPT_"),
        ("scaled<float, -3, false>(float *)", "_Z6scaledIfLin3ELb0EEvPT_"),
        ("inner::scaled<unsigned char, 3, true>", "_ZN5outer5inner6scaledIhLi3ELb1EEEvPT_"),
        ("limited<int>", "_Z7limitedIiEN7only_ifIXgtstT_Li2EEvE4typeEPS1_"),
        ("hidden(int *, float)", "_Z6hiddenPif"),
        ("inside(int*)", "_Z6insidePi"),
        ("outer::inside", "_ZN5outer6insideEPi"),
        ("outer::inner::scaled", "_ZN5outer5inner6scaledIhLi3ELb1EEEvPT_"),
    ],
)
def test_names_have_spaces_results_and_namespaces_as_one_likes(name: str, mangled: str) -> None:
    needed("nvcc")
    names_known()
    assert smmux.load(NAMES)[name].mangled == mangled


def test_a_namespace_without_a_name_may_be_left_out() -> None:
    needed("nvcc")
    names_known()
    module = smmux.load(NAMES)
    whole = module["outer::(anonymous namespace)::unseen<int>"]
    assert module["outer::unseen<int>"] is module["outer::unseen"] is module["unseen"] is whole


@pytest.mark.parametrize(
    "name, message",
    [
        ("hidden", r"has 3 kernels 'hidden': .*hidden\(int\*, float\)"),
        ("inside", "has 2 kernels 'inside'.*outer::inside"),
        ("scaled<double, 3, true>", r"no kernel .*; it has .*scaled<float, 3, true>.*; did you mean"),
    ],
)
def test_kernels_of_one_name_are_told_apart(name: str, message: str) -> None:
    needed("nvcc")
    names_known()
    with pytest.raises(smmux.ConfigError, match=message):
        smmux.load(NAMES)[name]


VARIABLES = """
namespace ours { __constant__ int table[2]; static __device__ int calls; __device__ int both; }
namespace theirs { __device__ int both; }
template <int N> __device__ int made = N;
extern "C" __global__ void k(int *out) {
    out[0] = ours::table[1] + made<7>;
    ours::calls++;
    ours::both = theirs::both + 1;
}
"""


def test_variables_have_the_names_of_the_source() -> None:
    needed("nvcc", "nvdisasm")
    kernel, table = smmux.load(VARIABLES)["k"], np.array([1, 2], np.int32)
    out, calls = np.zeros(1, np.int32), np.zeros(1, np.int32)
    kernel.simulate(1, 1, [out], variables={"table": table, "calls": calls, "made": np.array([40], np.int32)})
    assert (out[0], calls[0]) == (42, 1)
    with pytest.raises(smmux.LaunchError, match="the module has 2 variables 'both'"):
        kernel.simulate(1, 1, [out], variables={"both": calls})
    with pytest.raises(smmux.LaunchError, match="'tables' is no variable of the module; it has .*did you mean 'table'"):
        kernel.simulate(1, 1, [out], variables={"tables": table})


def test_variables_have_the_names_of_their_namespaces() -> None:
    needed("nvcc", "nvdisasm")
    names_known()
    kernel, table = smmux.load(VARIABLES)["k"], np.array([1, 2], np.int32)
    out, calls, both = (np.zeros(1, np.int32) for _ in range(3))
    kernel.simulate(1, 1, [out], variables={"ours::table": table, "ours::calls": calls, "ours::both": both})
    assert (out[0], calls[0], both[0]) == (9, 1, 1)
