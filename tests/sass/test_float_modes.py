"""Roundings and forms that no vector of a card has, against exact fractions."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.reference.ptx_floats import FORMATS, compare, flushed, fused, narrowed
from tests.sass.single import instruction, run_lanes

MODES = ("", ".RM", ".RP", ".RZ")
LANES = 512


def rounded(exact: Fraction, mode: str, digits: int, least: int, most: int) -> float:
    """A number other than 0 in a format of so many digits, whose exponents go from least to most."""
    size = abs(exact)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= size < Fraction(2) ** exponent
    unit = Fraction(2) ** (max(exponent, least) - digits + 1)
    steps = size / unit
    outwards = mode == (".RM" if exact < 0 else ".RP")
    whole = round(steps) if not mode else math.ceil(steps) if outwards else math.floor(steps)
    largest = (2 - Fraction(2) ** (1 - digits)) * Fraction(2) ** most
    value = whole * unit
    infinite = value > largest and (not mode or outwards)
    result = math.inf if infinite else float(min(value, largest))
    return -result if exact < 0 else result


def doubles(rng: np.random.Generator) -> NDArray[np.float64]:
    """Numbers of which some are near each other, some near the ends of the range."""
    exponents = rng.choice([0, 1, -1, 30, -540, 511, -1000, 1000, -1074], LANES)
    return np.asarray(np.ldexp(rng.choice([1.0, 1.5, rng.uniform(1, 2), -rng.uniform(1, 2)], LANES), exponents))


def words(values: NDArray[np.float64]) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    bits = values.view(np.uint64)
    return (bits & np.uint64(0xFFFFFFFF)).astype(np.uint32), (bits >> np.uint64(32)).astype(np.uint32)


@pytest.mark.parametrize(("opcode", "mode"), list(itertools.product(("DADD", "DMUL", "DFMA"), MODES)))
def test_doubles_round_in_all_directions(opcode: str, mode: str) -> None:
    rng = np.random.default_rng(5)
    values = [doubles(rng) for _ in range(3)]
    values[1][:64] = -values[0][:64]
    registers = {8 + 2 * i + j: part for i, v in enumerate(values) for j, part in enumerate(words(v))}
    operands = {"DADD": "R8, R10", "DMUL": "R8, R10", "DFMA": "R8, R10, R12"}[opcode]
    (low, high), _ = run_lanes([f"{opcode}{mode} R24, {operands}"], registers, [24, 25])
    found = (low.astype(np.uint64) | high.astype(np.uint64) << np.uint64(32)).view(np.float64)
    for result, *numbers in zip(found.tolist(), *(v.tolist() for v in values), strict=True):
        a, b, c = map(Fraction, numbers)
        exact = {"DADD": a + b, "DMUL": a * b, "DFMA": a * b + c}[opcode]
        if exact:
            assert result == rounded(exact, mode, 53, -1022, 1023), numbers
        else:
            assert (result, math.copysign(1, result)) == (0, -1 if mode == ".RM" else 1), numbers


@pytest.mark.parametrize(("opcode", "mode"), list(itertools.product(("FADD", "FMUL", "FFMA"), MODES)))
def test_floats_round_in_all_directions(opcode: str, mode: str) -> None:
    rng = np.random.default_rng(6)
    exponents = [rng.choice([0, 1, -24, 30, -70, 63, -140, 127, -149], LANES) for _ in range(3)]
    values = [np.ldexp(rng.uniform(-2, 2, LANES), e).astype(np.float32) for e in exponents]
    values = [np.where(np.isfinite(v) & (v != 0), v, np.float32(1.5)) for v in values]
    registers = {8 + i: v.view(np.uint32) for i, v in enumerate(values)}
    operands = "R8, R9, R10" if opcode == "FFMA" else "R8, R9"
    found, _ = run_lanes([f"{opcode}{mode} R24, {operands}"], registers, [24])
    for result, *numbers in zip(found[0].view(np.float32).tolist(), *(v.tolist() for v in values), strict=True):
        a, b, c = map(Fraction, numbers)
        exact = {"FADD": a + b, "FMUL": a * b, "FFMA": a * b + c}[opcode]
        if exact:
            assert result == rounded(exact, mode, 24, -126, 127), numbers


@pytest.mark.parametrize(("kind", "mode"), list(itertools.product(("S64", "U64"), MODES)))
def test_integers_of_64_bits_become_floats_in_all_directions(kind: str, mode: str) -> None:
    rng = np.random.default_rng(7)
    bits = rng.integers(0, 2**64, LANES, np.uint64) >> rng.integers(0, 64, LANES).astype(np.uint64)
    bits[:4] = 2**64 - 1, 2**63, 2**53 + 1, 2**24 + 1
    registers = {8: (bits & np.uint64(0xFFFFFFFF)).astype(np.uint32), 9: (bits >> np.uint64(32)).astype(np.uint32)}
    code = [f"I2F.{kind}{mode} R24, R8", f"I2F.F64.{kind}{mode} R26, R8"]
    (single, low, high), _ = run_lanes(code, registers, [24, 26, 27])
    pairs = (low.astype(np.uint64) | high.astype(np.uint64) << np.uint64(32)).view(np.float64)
    integers = bits.view(np.int64) if kind == "S64" else bits
    for value, short, long in zip(integers.tolist(), single.view(np.float32).tolist(), pairs.tolist(), strict=True):
        if value:
            assert short == rounded(Fraction(value), mode, 24, -126, 127)
            assert long == rounded(Fraction(value), mode, 53, -1022, 1023)


@pytest.mark.parametrize(("number", "wanted"), [("0x100", 2.0**40), ("-0x80000000", -(2.0**63)), ("0x0", 0.0)])
def test_an_immediate_of_64_bits_is_their_high_half(number: str, wanted: float) -> None:
    """ptxas makes `I2F.S64 R0, 0x100` of 1 << 40, and takes a constant where low bits are set."""
    code = [f"I2F.S64 R24, {number}", f"I2F.F64.S64 R26, {number}", f"I2F.F16.S64 R25, {number}"]
    (single, low, high, half), _ = run_lanes(code, {8: np.zeros(LANES, np.uint32)}, [24, 26, 27, 25])
    pairs = (low.astype(np.uint64) | high.astype(np.uint64) << np.uint64(32)).view(np.float64)
    assert (single.view(np.float32)[0], pairs[0]) == (wanted, wanted)
    with np.errstate(over="ignore"):
        assert half.astype(np.uint16).view(np.float16)[0] == np.float16(wanted)


@pytest.mark.parametrize("source", ["F32", "F64"])
@pytest.mark.parametrize("mode", MODES)
def test_halves_are_rounded_once(source: str, mode: str) -> None:
    rng = np.random.default_rng(8)
    exponents = rng.integers(-27, 18, LANES)
    values = np.ldexp(rng.uniform(-2, 2, LANES), exponents)
    values[:3] = 1 + 2.0**-11, 65520, 65519.5
    values[3] = 1 + 2.0**-11 + (2.0**-50 if source == "F64" else 2.0**-20)
    single = values.astype(np.float32)
    low, high = words(values)
    registers = {8: low, 9: high} if source == "F64" else {8: single.view(np.uint32)}
    found, _ = run_lanes([f"F2F.F16.{source}{mode} R24, R8"], registers, [24])
    results = found[0].astype(np.uint16).view(np.float16)
    for value, result in zip((values if source == "F64" else single).tolist(), results.tolist(), strict=True):
        assert result == rounded(Fraction(value), mode, 11, -14, 15), value


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [("S32", -(2**31), 2**31 - 1), ("U32", 0, 2**32 - 1), ("S16", -(2**15), 2**15 - 1), ("U8", 0, 255)],
)
@pytest.mark.parametrize("mode", ["", ".FLOOR", ".CEIL", ".TRUNC"])
def test_floats_become_integers_that_stay_in_range(name: str, least: int, most: int, mode: str) -> None:
    rng = np.random.default_rng(9)
    values = np.ldexp(rng.uniform(-2, 2, LANES), rng.integers(-3, 36, LANES)).astype(np.float32)
    values[:4] = 0.5, 1.5, -0.5, np.inf
    found, _ = run_lanes([f"F2I.{name}{mode}.NTZ R24, R8"], {8: values.view(np.uint32)}, [24])
    function = {"": round, ".FLOOR": math.floor, ".CEIL": math.ceil, ".TRUNC": math.trunc}[mode]
    for value, result in zip(values.tolist(), found[0].tolist(), strict=True):
        expected = most if value == math.inf else min(max(function(value), least), most)
        assert result == expected & 0xFFFFFFFF, value


@pytest.mark.parametrize("opcode", ["MIN", "MAX"])
def test_a_minimum_of_doubles_is_chosen_as_compilers_expect(opcode: str) -> None:
    special = np.array([0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 5e-324])
    a, b = (np.ascontiguousarray(v).repeat(1) for v in (np.repeat(special, 8), np.tile(special, 8)))
    (low_a, high_a), (low_b, high_b) = words(a), words(b)
    registers = {8: low_a, 9: high_a, 10: low_b, 11: high_b}
    _, bits = run_lanes([f"DSETP.{opcode}.AND P0, P1, R8, R10, PT"], registers, [])
    for x, y, found in zip(a.tolist(), b.tolist(), bits.tolist(), strict=True):
        chosen, other = (x, y) if found & 1 else (y, x)
        assert bool(found & 2) == (math.isnan(x) and math.isnan(y))
        if not math.isnan(chosen):
            key = (chosen, math.copysign(1, chosen)), (other, math.copysign(1, other))
            assert math.isnan(other) or (key[0] <= key[1] if opcode == "MIN" else key[0] >= key[1])
        else:
            assert math.isnan(other)


@pytest.mark.parametrize("format_", ["", ".BF16_V2"])
def test_constants_that_are_moved_keep_their_bits(format_: str) -> None:
    """-0 times 0 plus two halves, subnormals, zeros of both signs and infinities among them."""
    infinity = 0x7F80 if format_ else 0x7C00
    halves = [0, 0x8000, 1, 0x8001, 0x03FF, 0x0400, 0x007F, 0x0080, 0x3C00, infinity, 0x8000 | infinity, infinity - 1]
    pairs = [high << 16 | low for high, low in zip(halves, halves[::-1], strict=True)]
    code = [
        instruction(f"HFMA2.MMA{format_} R{24 + i}, -RZ, RZ, 1, 1", bits << 32 | 1 << 100)
        for i, bits in enumerate(pairs)
    ]
    found, _ = run_lanes(code, {8: np.zeros(32, np.uint32)}, [24 + i for i in range(len(pairs))])
    assert np.array_equal(found, np.repeat(np.array(pairs, np.uint32)[:, None], 32, axis=1))


def test_a_float_becomes_two_halves() -> None:
    """As code for the oldest architecture converts it towards zero, and only so: in other roundings by F2F."""
    rng = np.random.default_rng(10)
    values = np.ldexp(rng.uniform(-2, 2, LANES), rng.integers(-27, 18, LANES)).astype(np.float32)
    found, _ = run_lanes(["HADD2 R24, -R8.F32, -RZ.H0_H0"], {8: values.view(np.uint32)}, [24])
    bits = (-values).view(np.uint32)
    expected = np.array([narrowed(FORMATS["f32"], FORMATS["f16"], int(b), "z") for b in bits], np.uint32)
    assert np.array_equal(found[0], expected * np.uint32(0x10001))


@pytest.mark.parametrize("ftz", ["", ".FTZ"])
def test_a_float_is_compared_as_the_half_that_it_becomes(ftz: str) -> None:
    """sm_75 narrows towards zero within comparisons too."""
    rng = np.random.default_rng(15)
    values = np.ldexp(rng.uniform(-2, 2, LANES), rng.integers(-27, 18, LANES)).astype(np.float32)
    form = FORMATS["f16"]
    cut = [narrowed(FORMATS["f32"], form, int(b), "z") for b in values.view(np.uint32)]
    halves = np.array([h + step & 0xFFFF for h, step in zip(cut, rng.integers(-1, 2, LANES), strict=True)], np.uint32)
    registers = {8: values.view(np.uint32), 9: halves}
    code = [f"HSETP2.GT{ftz}.AND P0, PT, R8.F32, R9.H0_H0, PT", f"HSETP2.GT{ftz}.AND P1, PT, R9.H0_H0, R8.F32, PT"]
    found, flags = run_lanes([*code, f"HSET2.BF.GE{ftz}.AND R24, R8.F32, R9.H0_H0, PT"], registers, [24])
    for lane, pair in enumerate(zip(cut, map(int, halves), strict=True)):
        x, y = (flushed(form, h) for h in pair) if ftz else pair
        right = compare(form, "gt", x, y), compare(form, "gt", y, x), compare(form, "ge", x, y)
        assert (flags[lane] & 1, flags[lane] >> 1 & 1, found[0][lane] & 0xFFFF) == (*right[:2], right[2] * form.one)


def test_each_operand_may_be_one_half_twice() -> None:
    rng = np.random.default_rng(11)
    a, b, c = rng.integers(0x3000, 0x4400, (3, LANES, 2), dtype=np.uint16)
    registers = {8 + 4 * n: part.copy().view(np.uint32)[:, 0] for n, part in enumerate((a, b, c))}
    found, _ = run_lanes(["HFMA2 R24, R8.H1_H1, R12.H0_H0, R16.H1_H1"], registers, [24])
    form = FORMATS["f16"]
    sums = [fused(form, *map(int, each), "n") for each in zip(a[:, 1], b[:, 0], c[:, 1], strict=True)]
    assert np.array_equal(found[0], np.array(sums, np.uint32) * np.uint32(0x10001))


def test_an_operand_may_be_a_complex_number_times_i() -> None:
    """What __hcmadd becomes, of (re, im) in the (low, high) half."""
    a, b, c = np.random.default_rng(12).integers(0x3000, 0x4400, (3, LANES, 2), dtype=np.uint16)
    registers = {8 + 4 * n: part.copy().view(np.uint32)[:, 0] for n, part in enumerate((a, b, c))}
    found, _ = run_lanes(["HFMA2 R24, R8.H1_H1, R12.H0_NH1, R16"], registers, [24])
    form = FORMATS["f16"]
    low = [fused(form, *map(int, each), "n") for each in zip(a[:, 1], b[:, 1] ^ 0x8000, c[:, 0], strict=True)]
    high = [fused(form, *map(int, each), "n") for each in zip(a[:, 1], b[:, 0], c[:, 1], strict=True)]
    assert found[0].tolist() == [x | y << 16 for x, y in zip(low, high, strict=True)]


def test_floats_become_those_of_ten_bits() -> None:
    """By the definition in PTX's table of tf32, of all that is no NaN."""
    bits = np.random.default_rng(13).integers(0, 1 << 32, LANES, dtype=np.uint32)
    bits[:6] = 0x3F801000, 0x3F803000, 0x3F800FFF, 0x7F7FFFFF, 0xFF800000, 0x80000001
    bits = np.where(bits & 0x7FFFFFFF > 0x7F800000, bits & 0x807FFFFF, bits)
    code = ["F2FP.TF32.F32.PACK_B R24, R8", "F2FP.RELU.TF32.F32.PACK_B.RZ R25, R8"]
    found, _ = run_lanes(code, {8: bits}, [24, 25])
    for lane, x in enumerate(bits.tolist()):
        down = x & ~0x1FFF
        up = x - down > 0x1000 or (x - down == 0x1000 and down & 0x2000)
        assert found[0][lane] == down + (0x2000 if up else 0)
        assert found[1][lane] == (0 if x >> 31 else down)


@pytest.mark.parametrize(
    ("word", "factor"), [("D2", 0.5), ("D4", 0.25), ("D8", 0.125), ("M2", 2), ("M4", 4), ("M8", 8)]
)
def test_a_product_may_be_scaled(word: str, factor: float) -> None:
    a, b = np.random.default_rng(14).standard_normal((2, LANES)).astype(np.float32)
    found, _ = run_lanes([f"FMUL.FTZ.{word} R24, R8, R12"], {8: a.view(np.uint32), 12: b.view(np.uint32)}, [24])
    assert np.array_equal(found[0].view(np.float32), (a.astype(np.float64) * b * factor).astype(np.float32))
