"""Atomic operations of compiled code against their definition, each in every space that has it."""

from __future__ import annotations

import numpy as np
import pytest

from smmux import _core
from smmux.compiler.sass.lowering import atomics
from smmux.compiler.sass.lowering.rows import Layout, Refused, Rows
from tests.reference.alu import atomic, wide_atomic
from tests.sass.single import THREADS, Words, instruction, run_lanes

EVERYWHERE = ("ATOMG", "ATOM", "ATOMS", "RED", "REDG")
GLOBAL = ("ATOMG", "ATOM", "RED", "REDG")
RETURNING = ("ATOMG", "ATOM", "ATOMS")
LANES = 2 * THREADS
FORMS = {
    **{f"{name}": (name, EVERYWHERE) for name in ("ADD", "INC", "DEC", "AND", "OR", "XOR")},
    **{f"{name}.64": (f"{name}64", EVERYWHERE) for name in ("ADD", "INC", "DEC", "AND", "OR", "XOR")},
    **{f"{name}{kind}": (f"{name}_{wide}", EVERYWHERE) for name in ("MIN", "MAX") for kind, wide in (
        ("", "U32"), (".S32", "S32"), (".U64", "U64"), (".64", "U64"), (".S64", "S64"))},
    "EXCH": ("EXCH", RETURNING),
    "EXCH.64": ("EXCH64", RETURNING),
    "CAS": ("CAS", RETURNING),
    "CAS.64": ("CAS64", RETURNING),
    "CAST.SPIN": ("CAST", ("ATOMS",)),
    "CAST.SPIN.64": ("CAST64", ("ATOMS",)),
    "POPC.INC.32": ("ADD", ("ATOMS",)),
    "ADD.F32.RN": ("ADD_F32", GLOBAL),
    "ADD.F32.FTZ.RN": ("ADD_FTZ_F32", GLOBAL),
    "ADD.F64.RN": ("ADD_F64", GLOBAL),
    "ADD.F16x2.RN": ("ADD_F16X2", GLOBAL),
    "ADD.BF16x2.RN": ("ADD_BF16X2", GLOBAL),
    "ADD.F32x2.FTZ.RN": ("ADD_F32X2", GLOBAL),
    "ADD.F32x4.FTZ.RN": ("ADD_F32X4", GLOBAL),
    **{f"ADD.{kind}x{count}.RN": (f"ADD_{kind}X{count}", GLOBAL) for kind in ("F16", "BF16") for count in (4, 8)},
    "EXCH.128": ("EXCH128", RETURNING),
    "CAS.128": ("CAS128", RETURNING),
}  # fmt: skip
"""By the operation as the disassembler writes it: its name in the reference, and the opcodes that have it."""
CASES = [
    pytest.param(form, opcode, id=f"{opcode}.{form}") for form, (_, opcodes) in FORMS.items() for opcode in opcodes
]
PIECES = {"F32": np.float32, "F64": np.float64, "F16": np.float16}
"""The types of floats that NumPy has; a name ends with how many of them there are."""


def piece_of(name: str) -> str:
    """The type of the floats that an operation adds; empty if it is of integers."""
    return name.rpartition("_")[2].partition("X")[0] if "_" in name and "F" in name else ""


def words_in(name: str) -> int:
    """The words of an operand."""
    if "X" in name.partition("_")[2]:
        return int(name[-1]) * (4 if piece_of(name) == "F32" else 2) // 4
    return 4 if "128" in name else 2 if "64" in name else 1


def values(rng: np.random.Generator, name: str) -> list[int]:
    """Operands: any, small ones, edges; as many floats of every kind as numbers."""
    if words_in(name) == 4:
        low, high = half_values(rng, name), half_values(rng, name)
        return [x | y << 64 for x, y in zip(low, high, strict=True)]
    return half_values(rng, name)


def half_values(rng: np.random.Generator, name: str) -> list[int]:
    """The same of 64 bits."""
    kind = piece_of(name)
    wide = rng.integers(0, 1 << 64, LANES, np.uint64)
    small = rng.integers(0, 4, LANES, np.uint64) | rng.integers(0, 4, LANES, np.uint64) << np.uint64(32)
    edges = rng.choice(np.array([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF], np.uint64), (2, LANES))
    drawn = [wide, small, edges[0] | edges[1] << np.uint64(32)]
    if kind in PIECES:
        piece = np.dtype(PIECES[kind])
        numbers = (rng.standard_normal(8 * LANES // piece.itemsize) * 8).astype(piece)
        tiny = (numbers.astype(np.float64) * float(np.finfo(piece).smallest_normal)).astype(piece)
        drawn += [numbers.view(np.uint64), tiny.view(np.uint64)]
    if kind == "BF16":
        numbers = (rng.standard_normal((2, LANES)) * 8).astype(np.float32).view(np.uint32)
        drawn += [(numbers[0] >> 16 | numbers[1] & 0xFFFF0000).astype(np.uint64)] * 2
    return [int(v) for v in np.choose(rng.integers(0, len(drawn), LANES), drawn)]


def expected_of(name: str, old: int, a: int, b: int) -> int:
    """The bits that the reference leaves in memory."""
    if "X" in name.partition("_")[2]:
        word = "ADD_FTZ_F32" if piece_of(name) == "F32" else f"ADD_{piece_of(name)}X2"
        parts = [atomic(word, old >> s & 0xFFFFFFFF, a >> s & 0xFFFFFFFF, 0) << s for s in (0, 32, 64, 96)]
        return sum(parts[: words_in(name)])
    if name == "CAS128":
        return b if old == a else old
    if name == "EXCH128":
        return a
    return wide_atomic(name, old, a, b) if "64" in name else atomic(name, old, a, b)


def words_of(numbers: list[int], words: int) -> Words:
    """Their words (lanes, 1 to 4)."""
    return np.array([[number >> 32 * n & 0xFFFFFFFF for n in range(words)] for number in numbers], np.uint32)


def not_a_number(name: str, words: Words) -> Words:
    """The pieces of a result (lanes, words) that are a NaN, as bits of those pieces."""
    kind = piece_of(name)
    if kind == "BF16":
        return np.where((words.view(np.uint16) & 0x7FFF) > 0x7F80, 0xFFFF, 0).astype(np.uint16).view(np.uint32)
    if kind not in PIECES:
        return np.zeros_like(words)
    piece = np.dtype(PIECES[kind])
    ones = np.isnan(words.view(piece))
    return np.where(ones, -1, 0).astype(f"i{piece.itemsize}").view(np.uint32).reshape(words.shape)


def run(
    form: str, opcode: str, memory: Words, a: Words, b: Words, place: str, result: str = "R24"
) -> tuple[Words, Words]:
    """Do it once a lane: what each got back, (lanes, words), and what is in memory then. place: the number of a lane's
    element, a register. result: where the old value goes."""
    count = a.shape[1]
    cas, size = "CAS" in form, 4 * count
    near = opcode == "ATOMS"
    text = f"{opcode}{'' if near else '.E'}.{form}{'' if near else '.STRONG.GPU'} "
    text += {"ATOMS": "R24, [R30]", "RED": "[R28.64]", "REDG": "[R28.64]"}.get(opcode, f"PT, {result}, [R28.64]")
    text += "" if "POPC" in form else ", R12, R16" if cas else ", R12"
    code = [f"IMAD.WIDE.U32 R28, {place}, {size:#x}, R214", f"IMAD R30, R217, {size:#x}, RZ"]
    wide = {1: "", 2: ".64", 4: ".128"}[count]
    if near:
        code += [f"LDG.E{wide} R20, [R28.64]", f"STS{wide} [R30], R20", text]
        code += [f"LDS{wide} R20, [R30]", f"STG.E{wide} [R28.64], R20"]
    else:
        code += [text]
    registers = {base + word: part[:, word] for base, part in ((12, a), (16, b)) for word in range(count)}
    registers |= {24 + word: np.zeros(len(a), np.uint32) for word in range(count)}
    got, _ = run_lanes(code, registers, [24 + word for word in range(count)], None, memory, size * THREADS)
    return got.T, memory


@pytest.mark.parametrize(("form", "opcode"), CASES)
def test_memory_and_result_are_those_of_the_definition(form: str, opcode: str) -> None:
    rng = np.random.default_rng(sum(map(ord, form)))
    name = FORMS[form][0]
    words = words_in(name)
    old, a, b = values(rng, name), values(rng, name), values(rng, name)
    old = [x if rng.random() < 0.7 else y for x, y in zip(old, a, strict=True)]  # for compare and swap
    cut = (1 << 32 * words) - 1
    old, a, b = ([x & cut for x in part] for part in (old, a, b))
    if "POPC" in form:
        a = [1] * LANES
    memory = words_of(old, words)
    got, after = run(form, opcode, memory, words_of(a, words), words_of(b, words), "R216")
    expected = words_of([expected_of(name, *case) for case in zip(old, a, b, strict=True)], words)
    nan = not_a_number(name, expected)
    np.testing.assert_array_equal(after & ~nan, expected & ~nan)
    assert not (nan & ~not_a_number(name, after)).any()
    returned = words_of(old, words)
    if "CAST" in form:
        returned = words_of([int(x == y) for x, y in zip(old, a, strict=True)], words)
    if opcode in RETURNING:
        np.testing.assert_array_equal(got, returned)


@pytest.mark.parametrize("form", ["ADD", "INC", "DEC", "XOR", "MAX.S32", "EXCH", "CAS", "ADD.64", "EXCH.64", "CAS.64",
                                  "EXCH.128", "CAS.128"])  # fmt: skip
def test_lanes_of_one_address_follow_one_another(form: str) -> None:
    """Each lane gets what another one left: some order explains all of it, here that of the lanes."""
    rng = np.random.default_rng(5)
    name = FORMS[form][0]
    words = words_in(name)
    a, b = ([int(v) for v in rng.integers(0, 4, 32)] for _ in range(2))
    memory = words_of([2], words)
    got, after = run(form, "ATOMG", memory, words_of(a, words), words_of(b, words), "RZ")
    value, seen = 2, []
    for x, y in zip(a, b, strict=True):
        seen.append(value)
        value = expected_of(name, value, x, y)
    np.testing.assert_array_equal(got, words_of(seen, words))
    np.testing.assert_array_equal(after, words_of([value], words))


@pytest.mark.parametrize("form", ["ADD", "ADD.64", "EXCH.128", "ADD.F32.FTZ.RN", "MAX.S32", "CAS.64"])
def test_a_result_that_is_dropped_goes_nowhere(form: str) -> None:
    rng = np.random.default_rng(8)
    words = words_in(FORMS[form][0])
    old, a, b = (rng.integers(0, 1 << 30, (LANES, words), np.uint32) for _ in range(3))
    kept, dropped = ((old.copy(), result) for result in ("R24", "RZ"))
    run(form, "ATOMG", kept[0], a, b, "R216", kept[1])
    got, _ = run(form, "ATOMG", dropped[0], a, b, "R216", dropped[1])
    np.testing.assert_array_equal(dropped[0], kept[0])
    assert not got.any()


def test_a_wide_swap_that_returns_nothing_is_refused() -> None:
    rows = Rows(Layout(64, 63, {}))
    with pytest.raises(Refused, match="old value"):
        atomics.lower_atomic(rows, instruction("ATOMG.E.CAS.128.STRONG.GPU PT, RZ, [R2], R8, R12"))
    with pytest.raises(Refused, match="old value"):
        atomics.lower_atomic(rows, instruction("REDG.E.CAS.128.STRONG.GPU [R2], R8, R12"))
    with pytest.raises(Refused, match="MIN"):
        atomics.lower_atomic(rows, instruction("ATOMG.E.MIN.F16x4.RN.STRONG.GPU PT, R4, [R2.64], R8"))


def test_all_operations_that_compiled_code_can_name_are_here() -> None:
    named = {"EXCH128", "CAS128"} | {
        f"{name}{wide}" for name in atomics.OPERATIONS - {"MIN", "MAX"} for wide in ("", "64")
    }
    named |= {name for name in _core.ATOMS if name.startswith(("MIN_", "MAX_")) and name[4] in "SU"}
    named |= set(atomics.FLOATS.values())
    assert {name for name, _ in FORMS.values()} == named
