"""What `cuda.jit` is given that is no function: refused with what to write instead."""

import functools

import pytest

import smmux
from smmux import cuda


def function(a):
    a[0] = 1


class Class:
    def method(self, a):
        a[0] = 1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (print, "a function written in Python, not 'print'"),
        (Class, "not the class 'Class'"),
        (Class().method, "not a method"),
        (staticmethod(function), "write @staticmethod above @cuda.jit"),
        (functools.partial(function, 1), "functools.partial"),
        (cuda.jit(function), "'function' is a kernel already; leave out one of the two jit"),
        (cuda.jit(function, device=True), "'function' is a device function already"),
        (3, "needs a function, not 3"),
        (max, "'max'"),
    ],
)
def test_it_is_refused(given, message):
    for declare in (cuda.jit, cuda.jit(fastmath=True), cuda.jit(device=True)):
        with pytest.raises(smmux.CompileError) as refusal:
            declare(given)
        assert message in str(refusal.value)


def test_a_static_method_may_be_a_kernel():
    class Group:
        @staticmethod
        @cuda.jit
        def kernel(a):
            a[0] = 1

    assert Group.kernel.source.startswith("@staticmethod")
