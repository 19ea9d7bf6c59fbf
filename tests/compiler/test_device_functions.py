"""`cuda.libdevice` and `cuda.fp16`: every function against Python, NumPy or a few lines of whole numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from smmux import cuda
from smmux.errors import CompileError
from smmux.kernel import from_source
from smmux.language.kernel_only import KernelOnlyError

THREADS = 16
BELOW = 0.49999999999999994  # to which 0.5 must not be added
DTYPES = {
    "f": np.float32,
    "d": np.float64,
    "i": np.int32,
    "u": np.uint32,
    "q": np.int64,
    "w": np.uint64,
    "h": np.float16,
}
BITS = {"i": 32, "u": 32, "q": 64, "w": 64}


def call(module: str, name: str, results: str, arguments: list[np.ndarray], **options: Any) -> list[np.ndarray]:
    """Call a function in a thread for each number."""
    threads = len(arguments[0])
    outs = [np.zeros(threads, DTYPES[letter]) for letter in results]
    taken, given = ([f"{letter}{i}" for i in range(n)] for letter, n in (("a", len(arguments)), ("o", len(outs))))
    targets = ", ".join(f"{out}[i]" for out in given)
    called = f"{targets} = cuda.{module}.{name}({', '.join(f'{a}[i]' for a in taken)})"
    text = f"def kernel({', '.join([*given, *taken])}):\n    i = cuda.threadIdx.x\n    {called}\n"
    from_source(text, {"cuda": cuda}).simulate(1, threads, (*outs, *arguments), **{"gpu": "K20c", **options})
    return outs


def inputs(parameters: str, low: float = 0.02, high: float = 0.98) -> list[np.ndarray]:
    """Numbers of the types of these letters; floats between limits, and whole numbers of all sizes."""
    rng = np.random.default_rng(1)
    made = []
    for letter in parameters:
        if letter in "fdh":
            made.append(rng.uniform(low, high, THREADS).astype(DTYPES[letter]))
        else:
            words = rng.integers(0, 1 << 63, THREADS, dtype=np.uint64) << np.uint64(1) | np.uint64(1)
            whole = (words >> rng.integers(0, 60, THREADS, dtype=np.uint64)).astype(DTYPES[letter])
            made.append(whole)
    return made


def _round(x: float) -> float:
    return math.copysign(math.floor(abs(x) + 0.5), x)


MATH = "acos asin asinh atan atan2 atanh cbrt copysign cos cosh erf erfc exp exp2 expm1 fabs fmod hypot lgamma"
MATH += " log log10 log1p log2 nextafter pow remainder sin sinh sqrt tan tanh modf frexp"
FLOATS: dict[str, Callable[..., Any]] = {name: getattr(math, name) for name in MATH.split()} | {
    "acosh": lambda x: math.acosh(x) if x >= 1 else math.nan,
    "ceil": math.ceil,
    "cospi": lambda x: math.cos(math.pi * x),
    "exp10": lambda x: 10.0**x,
    "fdim": lambda x, y: max(x - y, 0),
    "floor": math.floor,
    "fma": lambda x, y, z: x * y + z,
    "fmax": max,
    "fmin": min,
    "nearbyint": round,
    "normcdf": lambda x: 0.5 * math.erfc(-x / math.sqrt(2)),
    "rcbrt": lambda x: 1 / math.cbrt(x),
    "rint": round,
    "round": _round,
    "rsqrt": lambda x: 1 / math.sqrt(x),
    "sincos": lambda x: (math.sin(x), math.cos(x)),
    "sincospi": lambda x: (math.sin(math.pi * x), math.cos(math.pi * x)),
    "sinpi": lambda x: math.sin(math.pi * x),
    "tgamma": math.gamma,
    "trunc": math.trunc,
}
FLOATS |= {
    f"fast_{name}": FLOATS[name]
    for name in ("cos", "exp", "exp10", "log", "log10", "log2", "pow", "sin", "sincos", "tan")
}
FLOATS |= {
    **{f"{p}add_rn": lambda x, y: x + y for p in "df"},
    **{f"{p}mul_rn": lambda x, y: x * y for p in "df"},
    **{f"{p}div_rn": lambda x, y: x / y for p in "df"},
    **{f"{p}rcp_rn": lambda x: 1 / x for p in "df"},
    **{f"{p}sqrt_rn": math.sqrt for p in "df"},
    "fsub_rn": lambda x, y: x - y,
    "fast_fdivide": lambda x, y: x / y,
    "fma_rn": lambda x, y, z: x * y + z,
    "fmaf_rn": lambda x, y, z: x * y + z,
    "frsqrt_rn": lambda x: 1 / math.sqrt(x),
    "saturate": lambda x: min(max(x, 0), 1),
}
TOLERANCE = {"f": 2e-6, "d": 1e-14}
OF_FLOATS = [
    n for n, (r, p) in cuda.libdevice.SIGNATURES.items() if set(p) <= set("fd") and r[0] in "fd" and "2" not in n
]
OF_FLOATS += ["atan2", "atan2f", "exp2", "exp2f", "log2", "log2f"]


def reference(name: str) -> Callable[..., Any]:
    """What a function of floats computes."""
    return FLOATS.get(name) or FLOATS[name.removesuffix("f")]


@pytest.mark.parametrize("name", OF_FLOATS)
def test_floats(name: str) -> None:
    """Of numbers below one and, if there are results, of some beyond."""
    results, parameters = cuda.libdevice.SIGNATURES[name]
    arguments = inputs(parameters)
    if not name.startswith(("acos", "asin", "atanh")):
        arguments = [np.concatenate(pair) for pair in zip(arguments, inputs(parameters, 0.5, 6.5), strict=True)]
    rows = [reference(name)(*(float(v) for v in row)) for row in zip(*arguments, strict=True)]
    columns = list(zip(*rows, strict=True)) if len(results) > 1 else [rows]
    if name.startswith("nextafter"):
        columns = [np.nextafter(*arguments)]
    rtol = 1e-4 if "fast" in name else TOLERANCE[results[0]]
    for got, want in zip(call("libdevice", name, results, arguments), columns, strict=True):
        np.testing.assert_allclose(got, np.asarray(want, got.dtype), rtol=rtol, atol=rtol)


def test_halves_are_rounded_away_from_zero() -> None:
    x = np.array([0.5, -0.5, 1.5, 2.5, -2.5, BELOW, 1e300, -0.0] * 2)
    np.testing.assert_array_equal(call("libdevice", "round", "d", [x])[0], [_round(v) if v != BELOW else 0 for v in x])
    assert call("libdevice", "llround", "q", [x.clip(-9, 9)])[0][:5].tolist() == [1, -1, 2, 3, -3]


def test_turns() -> None:
    x = np.array([0, 0.5, 1, 1.5, 2, -0.5, 1e6 + 0.5, 2.25] * 2)
    sine, cosine = call("libdevice", "sincospi", "dd", [x])
    np.testing.assert_allclose(sine, [0, 1, 0, -1, 0, -1, 1, math.sqrt(0.5)] * 2, atol=1e-15)
    np.testing.assert_allclose(cosine, [1, 0, -1, 0, 1, 0, 0, math.sqrt(0.5)] * 2, atol=1e-15)


def test_nothing_is_fused_with_a_rounded_product() -> None:
    a, b, c = (np.full(THREADS, x, np.float32) for x in (1 + 2**-12, 1 + 2**-12, -1))
    out = np.zeros(THREADS, np.float32)
    text = "def k(o, a, b, c):\n    i = cuda.threadIdx.x\n    o[i] = cuda.libdevice.fmul_rn(a[i], b[i]) + c[i]\n"
    from_source(text, {"cuda": cuda}).simulate(1, THREADS, (out, a, b, c), gpu="K20c")
    np.testing.assert_array_equal(out, a * b + c)


def _signed(x: int, bits: int) -> int:
    return (x + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))


def _low24(x: int) -> int:
    return _signed(x << 8, 32) >> 8


WHOLE: dict[str, Callable[..., int]] = {
    "abs": abs,
    "llabs": abs,
    "popc": lambda x: (x % 2**32).bit_count(),
    "popcll": lambda x: (x % 2**64).bit_count(),
    "clz": lambda x: 32 - (x % 2**32).bit_length(),
    "clzll": lambda x: 64 - (x % 2**64).bit_length(),
    "ffs": lambda x: (x & -x).bit_length(),
    "ffsll": lambda x: (x & -x).bit_length(),
    "brev": lambda x: int(f"{x:032b}"[::-1], 2),
    "brevll": lambda x: int(f"{x:064b}"[::-1], 2),
    "hadd": lambda x, y: (x + y) >> 1,
    "uhadd": lambda x, y: (x + y) >> 1,
    "rhadd": lambda x, y: (x + y + 1) >> 1,
    "urhadd": lambda x, y: (x + y + 1) >> 1,
    "mul24": lambda x, y: _low24(x) * _low24(y),
    "umul24": lambda x, y: (x % 2**24) * (y % 2**24),
    "mulhi": lambda x, y: x * y >> 32,
    "umulhi": lambda x, y: x * y >> 32,
    "sad": lambda x, y, z: abs(x - y) + z,
    "usad": lambda x, y, z: abs(x - y) + z,
    **dict.fromkeys(("max", "umax", "llmax", "ullmax"), max),
    **dict.fromkeys(("min", "umin", "llmin", "ullmin"), min),
}


@pytest.mark.parametrize("name", WHOLE)
def test_whole_numbers(name: str) -> None:
    results, parameters = cuda.libdevice.SIGNATURES[name]
    arguments = inputs(parameters)
    wanted = [WHOLE[name](*map(int, row)) % (1 << BITS[results]) for row in zip(*arguments, strict=True)]
    found = call("libdevice", name, results, arguments)[0]
    assert [int(v) % (1 << BITS[results]) for v in found] == wanted


ROUND = {"rn": np.rint, "rz": np.trunc, "rd": np.floor, "ru": np.ceil}
INTEGERS = {"int": "i", "uint": "u", "ll": "q", "ull": "w"}


@pytest.mark.parametrize("source", ["float", "double"])
@pytest.mark.parametrize("target", INTEGERS)
@pytest.mark.parametrize("mode", ROUND)
def test_floats_to_whole_numbers(source: str, target: str, mode: str) -> None:
    x = np.array([0.5, 1.5, 2.5, 2.75, 99.25, 0, 7, 1e6 + 0.5] * 2, DTYPES[source[0]])
    if not target.startswith("u"):
        x *= np.array([1, -1] * 8, x.dtype)
    found = call("libdevice", f"{source}2{target}_{mode}", INTEGERS[target], [x])[0]
    np.testing.assert_array_equal(found, ROUND[mode](x))


@pytest.mark.parametrize("name", ["int2double_rn", "uint2double_rn", "ll2double_rn", "ull2double_rn", "int2float_rn"])
def test_whole_numbers_to_floats(name: str) -> None:
    results, parameters = cuda.libdevice.SIGNATURES[name]
    x = inputs(parameters)
    np.testing.assert_array_equal(call("libdevice", name, results, x)[0], x[0].astype(DTYPES[results]))


@pytest.mark.parametrize("name", ["uint2float_rn", "ll2float_rn", "ull2float_rn", "double2float_rn"])
def test_numbers_to_float32(name: str) -> None:
    x = inputs(cuda.libdevice.SIGNATURES[name][1])
    np.testing.assert_array_equal(call("libdevice", name, "f", x)[0], x[0].astype(np.float32))


def test_the_same_bits_as_another_type() -> None:
    x, y = np.linspace(-3, 3, THREADS), np.linspace(-3, 3, THREADS, dtype=np.float32)
    bits = x.view(np.int64)
    np.testing.assert_array_equal(call("libdevice", "double_as_longlong", "q", [x])[0], bits)
    np.testing.assert_array_equal(call("libdevice", "longlong_as_double", "d", [bits])[0], x)
    np.testing.assert_array_equal(call("libdevice", "float_as_int", "i", [y])[0], y.view(np.int32))
    np.testing.assert_array_equal(call("libdevice", "int_as_float", "f", [y.view(np.int32)])[0], y)
    high, low = call("libdevice", "double2hiint", "i", [x])[0], call("libdevice", "double2loint", "i", [x])[0]
    np.testing.assert_array_equal(high, bits >> 32)
    np.testing.assert_array_equal(call("libdevice", "hiloint2double", "d", [high, low])[0], x)


@pytest.mark.parametrize("letter", ["f", "d"])
def test_properties_of_floats(letter: str) -> None:
    x = np.array([1, -1, 0, -0.0, np.inf, -np.inf, np.nan, 1e30] * 2, DTYPES[letter])
    names = {"d": ("isnand", "isinfd", "isfinited", "signbitd"), "f": ("isnanf", "isinff", "finitef", "signbitf")}[
        letter
    ]
    for name, function in zip(names, (np.isnan, np.isinf, np.isfinite, np.signbit), strict=True):
        np.testing.assert_array_equal(call("libdevice", name, "i", [x])[0], function(x))
    powers = call("libdevice", "scalbn" + "f" * (letter == "f"), letter, [x, np.full(THREADS, 3, np.int32)])[0]
    np.testing.assert_array_equal(powers, x * 8)


def test_every_function_is_tested() -> None:
    named = set(OF_FLOATS) | set(WHOLE)
    rest = set(cuda.libdevice.SIGNATURES) - named
    assert {name for name in rest if not any(word in name for word in ("2", "_as_", "is", "bit", "finite"))} <= {
        *("powi", "powif", "ldexp", "ldexpf", "scalbn", "scalbnf", "frexp", "frexpf", "llrint", "llround"),
        *("llrintf", "llroundf"),
    }


def test_arguments_are_converted() -> None:
    x = np.arange(THREADS, dtype=np.int64)
    np.testing.assert_allclose(call("libdevice", "sqrtf", "f", [x])[0], np.sqrt(x.astype(np.float32)), rtol=1e-7)
    np.testing.assert_array_equal(call("libdevice", "powi", "d", [x, x % 3])[0], x.astype(float) ** (x % 3))


# -- 16 bits

HALVES: dict[str, Callable[..., Any]] = {
    "hadd": np.add,
    "hsub": np.subtract,
    "hmul": np.multiply,
    "hdiv": np.divide,
    "hmax": np.maximum,
    "hmin": np.minimum,
    "hneg": np.negative,
    "habs": np.abs,
    "hceil": np.ceil,
    "hfloor": np.floor,
    "hrint": np.rint,
    "htrunc": np.trunc,
    "hsqrt": np.sqrt,
    "hrcp": lambda x: np.float16(1) / x,
    "heq": np.equal,
    "hne": np.not_equal,
    "hlt": np.less,
    "hle": np.less_equal,
    "hgt": np.greater,
    "hge": np.greater_equal,
}
ROUNDED: dict[str, Callable[..., Any]] = {
    **{f"h{name}": getattr(np, name) for name in ("cos", "exp", "exp2", "log", "log10", "log2", "sin")},
    "hexp10": lambda x: 10.0**x,
    "hrsqrt": lambda x: 1 / np.sqrt(x),
}


@pytest.mark.parametrize("name", cuda.fp16.ARGUMENTS)
def test_numbers_of_16_bits(name: str) -> None:
    arguments = inputs("h" * cuda.fp16.ARGUMENTS[name], 0.25, 3.9)
    result = "i" if name in ("heq", "hne", "hlt", "hle", "hgt", "hge") else "h"
    found = call("fp16", name, result, arguments)[0]
    if name in HALVES:
        np.testing.assert_array_equal(found, HALVES[name](*arguments))
    elif name == "hfma":
        a, b, c = (v.astype(np.float64) for v in arguments)
        np.testing.assert_array_equal(found, (a * b + c).astype(np.float16))
    else:
        np.testing.assert_allclose(found, ROUNDED[name](arguments[0].astype(np.float64)), rtol=1e-3)


def test_what_there_is_not() -> None:
    with pytest.raises(KernelOnlyError, match="cuda.libdevice.sinf exists only inside a kernel"):
        cuda.libdevice.sinf(1.0)
    with pytest.raises(KernelOnlyError, match="cuda.fp16.hadd exists only"):
        cuda.fp16.hadd(1.0, 2.0)
    with pytest.raises(AttributeError, match="has no attribute 'sqrtff'; did you mean 'sqrtf'"):
        _ = cuda.libdevice.sqrtff
    for call_, message in (("libdevice.sinf(1, 2)", "takes 1 argument"), ("fp16.had(1)", "did you mean 'hadd'")):
        with pytest.raises(CompileError, match=message):
            from_source(f"def k(a):\n    a[0] = cuda.{call_}\n", {"cuda": cuda}).ir(np.zeros(1))
