"""Kernels by the names that C++ has for them: templates, namespaces, overloads."""

from __future__ import annotations

import shutil

import pytest

import smmux
from tests.sass.conftest import needed

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
    ],
)
def test_names_have_spaces_results_and_namespaces_as_one_likes(name: str, mangled: str) -> None:
    needed("nvcc")
    if not shutil.which("c++filt"):
        pytest.skip("no c++filt")
    assert smmux.load(NAMES)[name].mangled == mangled


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
    if not shutil.which("c++filt"):
        pytest.skip("no c++filt")
    with pytest.raises(smmux.ConfigError, match=message):
        smmux.load(NAMES)[name]
