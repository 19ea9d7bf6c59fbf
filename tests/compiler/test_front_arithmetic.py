"""Operators: types, rounding, wrapping, signs; against Python's exact integers and NumPy's float32."""

import math
import operator

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from smmux import CompileError, cuda, float32, int32, uint8, uint32
from smmux.kernel import from_source
from tests.compiler.front import outputs, run

INTS = np.array([0, 1, -1, 2, -2, 7, -7, 100, -100, 2**31 - 1, -(2**31), 12345], np.int32)
OTHERS = np.array([3, -3, 5, 7, -7, 2, -2, 9, -9, 2**31 - 1, -(2**31), 4], np.int32)
FLOATS = np.array([0.0, 1.0, -1.5, 2.25, -7.75, 1e10, -3e-5, 0.1, 100.0, -0.3], np.float32)

OPERATORS = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "%": operator.mod,
    "&": operator.and_, "|": operator.or_, "^": operator.xor,
}  # fmt: skip
COMPARISONS = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


def expression(text, parameters="a, b"):
    """A kernel out[i] = text, with the parameters' i-th elements under their names."""
    names = [p.strip() for p in parameters.split(",")]
    loads = "".join(f"    {n} = {n}_[i]\n" for n in names)
    source = (
        f"def kernel(out, {', '.join(n + '_' for n in names)}):\n    i = cuda.threadIdx.x\n{loads}    out[i] = {text}\n"
    )
    captured = {"cuda": cuda, "math": math, "float32": float32, "int32": int32, "uint32": uint32, "uint8": uint8}
    return from_source(source, captured)


def wrapped(values, dtype):
    return np.array([v & 0xFFFFFFFF for v in values], np.uint32).view(dtype)


@pytest.mark.parametrize("symbol", OPERATORS)
@pytest.mark.parametrize("dtype", [np.int32, np.uint32])
def test_integers(symbol, dtype):
    a, b = INTS.view(dtype), OTHERS.view(dtype)
    expected = wrapped([OPERATORS[symbol](int(x), int(y)) for x, y in zip(a, b, strict=True)], dtype)
    np.testing.assert_array_equal(outputs(expression(f"a {symbol} b"), a, b), expected)


@pytest.mark.parametrize("symbol", [s for s in OPERATORS if s not in ("//", "%")])
def test_mixed_signs_give_uint32_bits(symbol):
    a, b = INTS, OTHERS.view(np.uint32)
    expected = wrapped([OPERATORS[symbol](int(x), int(y)) for x, y in zip(a, b, strict=True)], np.uint32)
    np.testing.assert_array_equal(outputs(expression(f"a {symbol} b"), a, b, dtype=np.uint32), expected)


@pytest.mark.parametrize("symbol", ["//", "%"])
def test_mixed_signs_divide_exactly(symbol):
    grid = [(int(x), int(y)) for x in INTS for y in OTHERS.view(np.uint32)]
    a, b = np.array([x for x, _ in grid], np.int32), np.array([y for _, y in grid], np.uint32)
    for left, right, text in ((a, b, f"a {symbol} b"), (b[:], a, f"a {symbol} b")):
        right = np.where(right == 0, right.dtype.type(6), right)
        expected = wrapped([OPERATORS[symbol](int(x), int(y)) for x, y in zip(left, right, strict=True)], np.int32)
        np.testing.assert_array_equal(outputs(expression(text), left, right, dtype=np.int32), expected)


@pytest.mark.parametrize("symbol", COMPARISONS)
@pytest.mark.parametrize(
    "kinds", [(np.int32, np.int32), (np.int32, np.uint32), (np.uint32, np.int32), (np.uint32, np.uint32)]
)
def test_comparisons_are_exact(symbol, kinds):
    pairs = [(x, y) for x in INTS for y in INTS]
    a, b = (np.array([p[i] for p in pairs], np.int32).view(kinds[i]) for i in range(2))
    expected = [COMPARISONS[symbol](int(x), int(y)) for x, y in zip(a, b, strict=True)]
    np.testing.assert_array_equal(outputs(expression(f"1 if a {symbol} b else 0"), a, b, dtype=np.int32), expected)


@pytest.mark.parametrize("divisor", [1, 2, 3, 7, 8, 64, -1, -2, -5, -8])
def test_division_by_constants(divisor):
    quotients = outputs(expression(f"a // {divisor}", "a"), INTS)
    rests = outputs(expression(f"a % {divisor}", "a"), INTS)
    np.testing.assert_array_equal(quotients, wrapped([int(x) // divisor for x in INTS], np.int32))
    np.testing.assert_array_equal(rests, [int(x) % divisor for x in INTS])


@pytest.mark.parametrize("count", [0, 1, 5, 31, 32, 40])
def test_shifts(count):
    np.testing.assert_array_equal(outputs(expression(f"a >> {count}", "a"), INTS), [int(x) >> count for x in INTS])
    np.testing.assert_array_equal(
        outputs(expression(f"a << {count}", "a"), INTS), wrapped([int(x) << count for x in INTS], np.int32)
    )
    unsigned = INTS.view(np.uint32)
    np.testing.assert_array_equal(
        outputs(expression(f"a >> {count}", "a"), unsigned), [int(x) >> count for x in unsigned]
    )
    counts = np.full(len(INTS), count, np.int32)
    np.testing.assert_array_equal(outputs(expression("a >> b"), INTS, counts), [int(x) >> count for x in INTS])


@pytest.mark.parametrize("symbol", ["+", "-", "*", "/"])
def test_floats_round_once(symbol):
    a, b = FLOATS, np.roll(FLOATS, 3) + np.float32(0.7)
    function = operator.truediv if symbol == "/" else OPERATORS[symbol]
    np.testing.assert_array_equal(outputs(expression(f"a {symbol} b"), a, b), function(a, b))


def test_float_floor_division_and_remainder():
    a = np.array([7.5, -7.5, 7.5, -7.5, 1e10, 0.3, -0.0, 5.0], np.float32)
    b = np.array([2.0, 2.0, -2.0, -2.0, 3.0, 0.1, 3.0, -5.0], np.float32)
    np.testing.assert_array_equal(outputs(expression("a // b"), a, b), np.floor_divide(a, b))
    np.testing.assert_array_equal(outputs(expression("a % b"), a, b), np.mod(a, b))
    np.testing.assert_array_equal(outputs(expression("math.fmod(a, b)"), a, b), np.fmod(a, b))


def test_int_and_float_meet_in_float32():
    a, b = np.array([1, 2, 16777217], np.int32), np.array([0.5, 0.25, 1.0], np.float32)
    np.testing.assert_array_equal(outputs(expression("a * b"), a, b, dtype=np.float32), a.astype(np.float32) * b)
    np.testing.assert_array_equal(
        outputs(expression("a / 3", "a"), a, dtype=np.float32), a.astype(np.float32) / np.float32(3)
    )
    np.testing.assert_array_equal(
        outputs(expression("a * 0.1", "a"), a, dtype=np.float32), a.astype(np.float32) * np.float32(0.1)
    )


def test_literals_fold_in_double_precision_and_round_once():
    a = np.ones(1, np.float32)
    assert outputs(expression("a * (1.0 / 3 + 1e-9)", "a"), a)[0] == np.float32(1.0 / 3 + 1e-9)
    assert outputs(expression("a * math.sqrt(2.0) ** 3", "a"), a)[0] == np.float32(math.sqrt(2.0) ** 3)


def test_powers():
    np.testing.assert_array_equal(
        outputs(expression("a ** 3", "a"), INTS), wrapped([int(x) ** 3 for x in INTS], np.int32)
    )
    np.testing.assert_array_equal(outputs(expression("a ** 2", "a"), FLOATS), FLOATS * FLOATS)
    exponents = np.arange(len(INTS), dtype=np.int32)
    np.testing.assert_array_equal(
        outputs(expression("a ** b"), INTS, exponents),
        wrapped([int(x) ** int(y) for x, y in zip(INTS, exponents, strict=True)], np.int32),
    )


def test_unary_operators():
    np.testing.assert_array_equal(outputs(expression("-a", "a"), INTS), wrapped([-int(x) for x in INTS], np.int32))
    np.testing.assert_array_equal(outputs(expression("~a", "a"), INTS), ~INTS)
    np.testing.assert_array_equal(outputs(expression("+a", "a"), FLOATS), FLOATS)
    np.testing.assert_array_equal(outputs(expression("-a", "a"), FLOATS), -FLOATS)
    np.testing.assert_array_equal(outputs(expression("abs(a)", "a"), INTS), np.abs(INTS))
    np.testing.assert_array_equal(outputs(expression("1 if not a else 0", "a"), INTS), INTS == 0)


def test_casts():
    values = np.array([0.0, 1.9, -1.9, 255.5, 300.0, -3.5], np.float32)
    np.testing.assert_array_equal(outputs(expression("int32(a)", "a"), values, dtype=np.int32), values.astype(np.int32))
    np.testing.assert_array_equal(outputs(expression("int(a)", "a"), values, dtype=np.int32), values.astype(np.int32))
    np.testing.assert_array_equal(outputs(expression("uint8(a)", "a"), INTS, dtype=np.int32), INTS & 255)
    np.testing.assert_array_equal(
        outputs(expression("float32(a)", "a"), INTS, dtype=np.float32), INTS.astype(np.float32)
    )
    unsigned = INTS.view(np.uint32)
    np.testing.assert_array_equal(
        outputs(expression("float(a)", "a"), unsigned, dtype=np.float32), unsigned.astype(np.float32)
    )
    np.testing.assert_array_equal(outputs(expression("int32(a)", "a"), unsigned, dtype=np.int32), INTS)
    np.testing.assert_array_equal(outputs(expression("round(a)", "a"), values, dtype=np.int32), np.rint(values))
    np.testing.assert_array_equal(outputs(expression("bool(a)", "a"), values, dtype=np.bool_), values != 0)
    assert outputs(expression("uint32(-1) + a", "a"), np.zeros(1, np.uint32))[0] == 2**32 - 1


def test_extremes():
    a, b = INTS, OTHERS
    np.testing.assert_array_equal(outputs(expression("min(a, b, 3)"), a, b), np.minimum(np.minimum(a, b), 3))
    np.testing.assert_array_equal(
        outputs(expression("max((a, b))"), a.view(np.uint32), b.view(np.uint32)),
        np.maximum(a.view(np.uint32), b.view(np.uint32)),
    )
    np.testing.assert_array_equal(outputs(expression("max(a, 0.5)", "a"), FLOATS), np.maximum(FLOATS, np.float32(0.5)))
    mixed = outputs(expression("max(a, b)"), a, b.view(np.uint32), dtype=np.uint32)
    np.testing.assert_array_equal(mixed, [max(int(x), int(y)) for x, y in zip(a, b.view(np.uint32), strict=True)])


def test_bool_operators():
    a, b = INTS, OTHERS
    for text, function in (
        ("(a > 0) & (b > 0)", lambda x, y: x > 0 and y > 0),
        ("(a > 0) ^ (b > 0)", lambda x, y: (x > 0) != (y > 0)),
        ("a > 0 or b > 0", lambda x, y: x > 0 or y > 0),
        ("0 < a < b", lambda x, y: 0 < x < y),
        ("not (a > 0 and b > 0)", lambda x, y: not (x > 0 and y > 0)),
        ("a in (1, 2, b)", lambda x, y: x in (1, 2, y)),
        ("(a > 0) == (b > 0)", lambda x, y: (x > 0) == (y > 0)),
    ):
        expected = [function(int(x), int(y)) for x, y in zip(a, b, strict=True)]
        np.testing.assert_array_equal(outputs(expression(text), a, b, dtype=np.bool_), expected, text)
    np.testing.assert_array_equal(outputs(expression("(a > 0) + (b > 0)"), a, b), (a > 0).astype(int) + (b > 0))
    np.testing.assert_array_equal(outputs(expression("a and b"), a, b), np.where(a != 0, b, a))
    np.testing.assert_array_equal(outputs(expression("a or b"), a, b), np.where(a != 0, a, b))


def test_multiply_add_is_contracted_in_one_expression_only():
    a, b = FLOATS, np.roll(FLOATS, 1)
    kernel = expression("a * b + a")
    assert "mad.f32" in kernel.ir(np.zeros(10, np.float32), a, b, gpu="GTX285")
    assert "fma.rn.f32" in kernel.ir(np.zeros(10, np.float32), a, b, gpu="GTX480-48K")
    np.testing.assert_array_equal(outputs(kernel, a, b), a * b + a)
    assert "mad.lo.s32" in expression("a * b + 1").ir(np.zeros(4, np.int32), INTS, OTHERS)
    assert "mul.lo" not in expression("a * 8 + b").ir(np.zeros(4, np.int32), INTS, OTHERS)


def test_fastmath_uses_approximations():
    source = "def kernel(out, a):\n    i = cuda.threadIdx.x\n    out[i] = math.sqrt(a[i]) / a[i]\n"
    arrays = np.zeros(4, np.float32), np.ones(4, np.float32)
    exact = from_source(source, {"cuda": cuda, "math": math}).ir(*arrays)
    fast = from_source(source, {"cuda": cuda, "math": math}, fastmath=True).ir(*arrays)
    assert "div.rn.f32" in exact
    assert "sqrt.rn.f32" in exact
    assert "rcp.approx.f32" in fast
    assert "sqrt.approx.f32" in fast
    assert "div.rn" not in fast


LEAVES = st.sampled_from(["a", "b", "c", "3", "-5", "12345", "uint32(7)"])
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "&", "|", "^"]), inner).map(
            lambda t: f"({t[0]} {t[1]} {t[2]})"
        ),
        st.tuples(inner, st.sampled_from(["<<", ">>"]), st.integers(0, 12)).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        st.tuples(inner, st.sampled_from(["//", "%"]), st.sampled_from([2, 3, 16])).map(
            lambda t: f"(int32({t[0]}) {t[1]} {t[2]})"
        ),
        inner.map(lambda t: f"(-{t})"),
    ),
    max_leaves=8,
)


class Python32:
    """The rules on one number: a type (None for a literal) and an exact value."""

    def __init__(self, value, kind=None):
        self.kind = kind
        self.value = (
            value if kind is None else (value & 0xFFFFFFFF) - (2**32 if kind == "i" and value & 0x80000000 else 0)
        )

    def meet(self, other, function, kind=None):
        other = other if isinstance(other, Python32) else Python32(other)
        if kind is None:
            kinds = {self.kind, other.kind} - {None}
            kind = None if not kinds else "u" if "u" in kinds else "i"
        return Python32(function(self.value, other.value), kind)

    def __add__(self, o):
        return self.meet(o, operator.add)

    def __sub__(self, o):
        return self.meet(o, operator.sub)

    def __mul__(self, o):
        return self.meet(o, operator.mul)

    def __and__(self, o):
        return self.meet(o, operator.and_)

    def __or__(self, o):
        return self.meet(o, operator.or_)

    def __xor__(self, o):
        return self.meet(o, operator.xor)

    def __floordiv__(self, o):
        return self.meet(o, operator.floordiv)

    def __mod__(self, o):
        return self.meet(o, operator.mod)

    def __lshift__(self, o):
        return self.meet(o, operator.lshift)

    def __rshift__(self, o):
        return self.meet(o, operator.rshift, self.kind)

    def __neg__(self):
        return Python32(-self.value, self.kind)


for _name in ("add", "sub", "mul", "and", "or", "xor"):
    setattr(Python32, f"__r{_name}__", lambda self, o, n=_name: getattr(Python32(o), f"__{n}__")(self))


@settings(max_examples=60)
@given(TREES, st.integers(-(2**31), 2**31 - 1), st.integers(0, 2**32 - 1), st.integers(-100, 100))
def test_random_expressions(text, a, b, c):
    names = {"a": Python32(a, "i"), "b": Python32(b, "u"), "c": Python32(c, "i")}
    casts = {k: lambda v, k=k: Python32(v.value if isinstance(v, Python32) else v, k[0]) for k in ("int32", "uint32")}
    expected = eval(text, {**names, **casts})
    expected = expected.value if isinstance(expected, Python32) else expected
    kernel = expression(text, "a, b, c")
    arrays = np.array([a], np.int32), np.array([b], np.uint32), np.array([c], np.int32)
    out = np.zeros(1, np.int32)
    try:
        run(kernel, 1, 1, out, *arrays)
    except CompileError as error:
        if "does not fit" not in str(error):  # a negative literal meets uint32
            raise
        return
    assert int(out[0]) & 0xFFFFFFFF == expected & 0xFFFFFFFF, text
