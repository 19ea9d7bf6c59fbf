"""Signatures are honoured: numbers become what they declare, other arrays are refused."""

import numpy as np
import pytest

from smmux import CompileError, ConfigError, boolean, cuda, float32, int8, int32, multiplex, types, uint8, void
from smmux.kernel import from_source
from smmux.language.conversions import _conversions as conversions
from smmux.language.signatures import signatures_of
from smmux.types import FunctionType


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("void(int32[:], int64)", "void(int32[:], int64)"),
        ("void(f4[:,::1], i4, u1, b1, f8)", "void(float32[:, ::1], int32, uint8, bool, float64)"),
        ("(float32[::1, :], )", "(float32[::1, :])"),
        ("float32(float32, float32)", "float32(float32, float32)"),
        ("void(UniTuple(u1, 2), Tuple((f4, i4)), none)", "void(Tuple((uint8, uint8)), Tuple((float32, int32)), void)"),
        ("void(Array(float32, 2, 'C'))", "void(float32[:, ::1])"),
        ("none()", "void()"),
        ("void( types.int32 )", "void(int32)"),
        ((int32[:], float32), "(int32[:], float32)"),
        (void(int32[::1], boolean), "void(int32[::1], bool)"),
        (float32(float32, float32), "float32(float32, float32)"),
    ],
)  # fmt: skip
def test_spellings(given, text):
    [signature] = signatures_of(given)
    assert repr(signature) == text


def test_lists():
    assert len(signatures_of(["void(int32[:])", (float32[:],)])) == 2


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("void(int33[:])", "has 'int33', which is no type; did you mean 'int32'"),
        ("void(int32[:)", "is not written like"),
        ("int32", "is no signature"),
        ("void(int32[1:])", "an array type is written"),
        ("void(int32[::1, ::1])", "::1 says that neighbours lie side by side"),
        ("__import__('os').system('true')", "has '__import__'|which is no type"),
        ("void(lambda: 1)", "has 'lambda: 1', which is no type"),
        ("void(int32 + 1)", "which is no type"),
        ((int,), "<class 'int'> in a signature is no type of smmux.types; write int32"),
        ((np.float32,), "is no type of smmux.types; write float32"),
    ],
)
def test_refusals(given, message):
    with pytest.raises(ConfigError, match=message):
        signatures_of(given)


def test_casts_and_types_look_the_same():
    assert float32(1) == np.float32(1)
    assert isinstance(float32(float32), FunctionType)
    assert types.f4 is float32
    assert types.i4 is int32


def typed(signature, text="out[0] = x"):
    kernel = from_source(f"def kernel(out, x):\n    {text}\n", {"cuda": cuda})
    return cuda.jit(signature)(_function(text)) if signature else kernel


def _function(text):
    names = {"float32": float32}
    exec(f"def kernel(out, x):\n    {text}\n", names)
    return names["kernel"]


def test_numbers_are_converted():
    out = np.zeros(1, np.float32)
    typed("void(float32[:], float32)", "out[0] = x / 2")[1, 1](out, 3)
    assert out[0] == 1.5
    out = np.zeros(1, np.int32)
    typed("void(int32[:], uint32)", "out[0] = x > 5")[1, 1](out, 2**32 - 1)
    assert out[0] == 1
    typed("void(int32[:], int8)")[1, 1](out, True)
    assert out[0] == 1
    typed((int32[:], boolean), "out[0] = 7 if x else 8")[1, 1](out, 0)
    assert out[0] == 8


@pytest.mark.parametrize(
    ("declared", "value", "message"),
    [
        (int8, 128, "argument 'x' = 128 does not fit int8, as which it is declared"),
        (uint8, -1, "argument 'x' = -1 does not fit uint8"),
        (int32, 2.0, r"'x' is declared as int32, but is the float 2.0; write int\(x\)"),
        (int32, np.zeros(1, np.int32), "'x' is declared as int32, but is an array of int32 with 1 axis"),
        (float32, 1j, "'x' is declared as float32, but is the complex 1j"),
        (float32[:], 1.0, r"'x' is declared as float32\[:\], but is the float 1.0"),
        (float32[:], np.zeros(1, np.int32), r"is an array of int32 with 1 axis; use .astype\(np.float32\)"),
        (float32[:, :], np.zeros(1, np.float32), r"declared as float32\[:, :\], but is an array of float32"),
        (float32[:, ::1], np.zeros((2, 3), np.float32).T, "rows do not lie so; use np.ascontiguousarray"),
        (types.UniTuple(int32, 2), (1, 2, 3), "declared as Tuple"),
        (types.none, 1, "declared as None"),
    ],
)  # fmt: skip
def test_arguments_that_are_not_as_declared(declared, value, message):
    with pytest.raises(CompileError, match=message):
        typed((int32[:], declared), "pass")[1, 1](np.zeros(1, np.int32), value)


def test_one_of_several_signatures():
    kernel = typed(["void(int32[:], int32)", "void(float32[:], float32)"], "out[0] = x / 2")
    out = np.zeros(1, np.float32)
    kernel[1, 1](out, np.float32(3))
    assert out[0] == 1.5
    kernel[1, 1](out, 3)
    assert out[0] == 1.5
    with pytest.raises(CompileError, match="none of the signatures"):
        kernel[1, 1](np.zeros(1, np.uint8), 1)


def test_the_best_of_several_signatures():
    kernel = typed(["void(f8[:], f4)", "void(f8[:], f8)"], "out[0] = x + float32(1)")
    out = np.zeros(1)
    for value, expected in ((np.float32(2**-25), 1.0), (2**-25, 1 + 2**-25), (1, 2.0)):
        kernel[1, 1](out, value)
        assert out[0] == expected
    kernel = typed(["void(f8[:], u4)", "void(f8[:], u8)", "void(f8[:], i4)"])
    kernel[1, 1](out, 2**40)
    assert out[0] == 2**40
    ambiguous = typed(["void(f8[:], i4)", "void(f8[:], u4)"])
    with pytest.raises(CompileError, match="int32. and .*uint32. fit these arguments equally"):
        ambiguous[1, 1](out, 1)


def test_conversions_are_ordered_as_in_numba():
    rules = pytest.importorskip("numba.core.typeconv.rules")
    numba_types = pytest.importorskip("numba.core.types")
    names = {name for pair in conversions() for name in pair}
    for a in names:
        for b in names - {a}:
            pair = (getattr(numba_types, name.replace("bool", "boolean")) for name in (a, b))
            kind = rules.default_type_manager.check_compatible(*pair)
            assert conversions()[a, b] == kind.value - 1 if kind is not None else (a, b) not in conversions()


def test_device_functions_take_the_signature_that_fits_best():
    @cuda.jit(["(int64, int64)", "(float64, float64)"], device=True)
    def added(x, y):
        return x + y

    @cuda.jit
    def kernel(out, x, y):
        out[0] = added(x, y)

    for dtype, x, y, total in (
        (np.int64, 1, 2, 3),
        (np.float64, 1.5, 2.5, 4),
        (np.float64, np.int32(1), 2.5, 3.5),
        (np.float64, np.float32(1.5), np.int64(2), 3.5),
    ):
        out = np.zeros(1, dtype)
        kernel[1, 1](out, x, y)
        assert out[0] == total


def test_types_of_a_signature_are_those_of_the_program():
    kernel = typed("void(int32[:], uint32)")
    assert "uint32" in repr(kernel.signature((np.zeros(1, np.int32), 5)))


def test_device_functions_convert():
    @cuda.jit("int32(float32, int32)", device=True)
    def added(x, y):
        return x + y

    @cuda.jit
    def kernel(out, x):
        out[0] = added(x, 2.75) * 2

    out = np.zeros(1, np.float32)
    kernel[1, 1](out, 3)
    assert out[0] == 10.0

    @cuda.jit
    def wrong(out):
        out[0] = added(out, 1)

    with pytest.raises(CompileError, match="argument 'x' is a 1-d array of float32, but float32 in the signature"):
        wrong[1, 1](out)


def test_numbers_of_parameters():
    with pytest.raises(CompileError, match="has 2 parameters, its signature void.int32. has 1"):
        typed("void(int32)")
    with pytest.raises(CompileError, match="a kernel returns nothing"):
        typed("int32(int32[:], int32)")


def test_options():
    cuda.jit(inline="always", debug=True, opt=False, lineinfo=True, cache=True, link=[])(_function("pass"))
    for options, message in (
        ({"fastmaths": True}, "did you mean 'fastmath'"),
        ({"link": ["a.cu"]}, "nothing to link"),
        ({"argtypes": (int32,)}, "write the types first"),
    ):
        with pytest.raises(ConfigError, match=message):
            cuda.jit(**options)


def test_registers_as_the_author_asks():
    @cuda.jit(max_registers=8)
    def small(out):
        total = float32(0)
        for k in range(16):
            total = total * out[k] + out[15 - k]
        for k in range(16):
            out[k] += total * out[k]

    a = np.ones(16, np.float32)
    assert small.compile((a,)).nregs <= 8
    assert small.compile((a,), max_registers=40).nregs > 8


def test_64_bits():
    out = np.zeros(1, np.int64)
    typed("void(int64[:], int64)", "out[0] = x * 3")[1, 1](out, 2**40)
    assert out[0] == 3 * 2**40
    out = np.zeros(1)
    typed("void(f8[:], f8)", "out[0] = x / 3")[1, 1](out, 2)
    assert out[0] == 2 / 3


def test_complex_numbers():
    @cuda.jit(["float64(float64, float64)", "complex64(complex64, float32)"], device=True)
    def product(x, y):
        return x * y

    @cuda.jit("void(c16[:], c16)")
    def kernel(out, x):
        out[0] = x
        out[1] = product(x, 3)

    out = np.zeros(2, complex)
    kernel[1, 1](out, 1 / 3)
    assert out.tolist() == [1 / 3, np.complex64(1 / 3) * np.float32(3)]
    kernel[1, 1](out, 1j)
    assert out.tolist() == [1j, 3j]
    with pytest.raises(CompileError, match="declared as complex128, but is an array"):
        kernel[1, 1](out, out)


def test_large_numbers_are_known_to_be_so():
    out = np.zeros(1, np.int32)
    typed("void(int32[:], int32)", "for k in range(x - 2, x):\n        out[0] += 1")[1, 1](out, 2**31 - 1)
    assert out[0] == 2


def test_passes_that_write_functions_out_refuse_conversions():
    """A function that is written out at its call would lose them."""

    @cuda.jit("int32(float32[:], int32, int32)", device=True)
    def put(tile, i, value):
        tile[i] = value
        cuda.syncthreads()
        return tile[63 - i] / 2

    @cuda.jit
    def kernel(a):
        tile = cuda.shared.array(64, float32)
        a[cuda.grid(1)] = put(tile, cuda.threadIdx.x, a[cuda.grid(1)])

    with pytest.raises(multiplex.MultiplexError, match="'put' .* and a signature, which converts its arguments"):
        multiplex.vtb(kernel)
