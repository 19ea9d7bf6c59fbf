"""Addresses, joining of accesses, and what may pass what."""

from __future__ import annotations

import pytest

from smmux.compiler.analysis.affine import AddressAnalysis, Affine
from smmux.compiler.ir import Instr, Operand, Reg, Space, Storage
from smmux.compiler.program import Program
from tests.compiler.back import F32, S32, TID, Builder, compiled, imm, ops


def accesses(program: Program) -> list[str]:
    return [op for op in ops(program) if op.startswith(("ld.", "st."))]


def loads_of(
    offsets: list[int], scale: int = 4, align: int = 256, shared_offset: int | None = None
) -> tuple[Builder, list[Reg]]:
    """x[scale * tid + offset] for each offset."""
    b = Builder()
    x = b.array("x", align=align) if shared_offset is None else b.shared("s", 4096, offset=shared_offset)
    index = b.emit("mul.lo.s32", TID, imm(scale))
    return b, [b.load(x, index, k) for k in offsets]


def finish(b: Builder, values: list[Reg]) -> list[str]:
    """Store the sum, so that all loads are needed; the accesses of the program without that store."""
    out = b.array("out")
    total: Operand = values[0]
    for value in values[1:]:
        total = b.emit("add.f32", total, value, type=F32)
    b.store(out, TID, total)
    return accesses(compiled(b.exit()))[:-1]


@pytest.mark.parametrize(
    ("offsets", "scale", "align", "expected"),
    [
        ([0, 1, 2, 3], 4, 256, ["ld.global.v4"]),
        ([3, 1, 0, 2], 4, 256, ["ld.global.v4"]),
        ([0, 1], 2, 256, ["ld.global.v2"]),
        ([0, 1], 2, 4, ["ld.global"] * 2),  # a view with an odd start
        ([0, 1, 2, 3], 4, 8, ["ld.global.v2"] * 2),
        ([0, 1, 2, 3], 2, 256, ["ld.global.v2"] * 2),
        ([0, 1], 1, 256, ["ld.global"] * 2),  # odd threads are not aligned
        ([1, 2], 4, 256, ["ld.global"] * 2),  # adjacent, but across a boundary
        ([0, 1, 2], 4, 256, ["ld.global.v2", "ld.global"]),
        ([0, 1, 2, 3, 4, 5, 6, 7], 8, 256, ["ld.global.v4"] * 2),
        ([0, 2], 4, 256, ["ld.global"] * 2),
        ([-4, -3, -2, -1], 4, 256, ["ld.global.v4"]),
    ],
)
def test_loads_are_joined_where_aligned(offsets: list[int], scale: int, align: int, expected: list[str]) -> None:
    assert finish(*loads_of(offsets, scale, align)) == expected


@pytest.mark.parametrize(
    ("offset", "expected"),
    [
        (0, ["ld.shared.v4"]),
        (16, ["ld.shared.v4"]),
        (8, ["ld.shared.v2", "ld.shared.v2"]),
        (4, ["ld.shared", "ld.shared.v2", "ld.shared"]),
    ],
)
def test_the_place_of_a_shared_array_decides(offset: int, expected: list[str]) -> None:
    assert finish(*loads_of([0, 1, 2, 3], 4, shared_offset=offset)) == expected


def test_joining_is_an_option() -> None:
    b, values = loads_of([0, 1, 2, 3])
    b.store(b.array("out"), TID, values[0])
    for value in values[1:]:
        b.store(b.array("out"), TID, value)
    assert ops(compiled(b.exit(), join=False)).count("ld.global") == 4


def test_alignment_is_found_in_masks_shifts_and_counters() -> None:
    b = Builder()
    n, x, y = b.scalar(), b.array("x"), b.array("y")
    masked = b.emit("and.b32", TID, imm(-4))
    shifted = b.emit("shl.b32", b.emit("shr.u32", TID, imm(3)), imm(2))

    def body(i: Reg) -> None:
        for index in (masked, shifted, i):
            parts = [b.load(x, index, k) for k in range(4)]
            for k, part in enumerate(parts):
                b.store(y, index, part, k)

    b.loop(imm(0), n, 8, body)
    assert accesses(compiled(b.exit())) == ["ld.global.v4", "st.global.v4"] * 3


@pytest.mark.parametrize(
    "between",
    ["nothing", "same array", "other array", "elsewhere", "a neighbour's", "shared", "barrier", "fence"],
)
def test_loads_pass_only_what_cannot_alias(between: str) -> None:
    b = Builder()
    x, y, s = b.array("x"), b.array("y"), b.shared("s", 64)
    index = b.emit("mul.lo.s32", TID, imm(2))
    first = b.load(x, index)
    if between == "same array":
        b.store(x, TID, first)
    elif between == "other array":
        b.store(y, TID, first)
    elif between == "elsewhere":  # of the same array, but provably not there in any thread
        b.store(x, index, first, 4096)
    elif between == "a neighbour's":
        b.store(x, index, first, 5)
    elif between == "shared":
        b.store(s, TID, first)
    elif between == "barrier":
        b.barrier()
    elif between == "fence":
        b.effect("membar")
    got = finish(b, [first, b.load(x, index, 1)])
    joined = between in ("nothing", "elsewhere", "shared")
    assert [op for op in got if op.startswith("ld")] == (["ld.global.v2"] if joined else ["ld.global"] * 2)


@pytest.mark.parametrize("between", ["nothing", "load", "load elsewhere", "store", "other load", "barrier"])
def test_stores_pass_only_what_cannot_alias(between: str) -> None:
    b = Builder()
    x, y = b.array("x"), b.array("y")
    index = b.emit("mul.lo.s32", TID, imm(2))
    b.store(x, index, imm(1))
    read: Operand = imm(7)
    if between == "load":
        read = b.load(x, TID, type=S32)
    elif between == "load elsewhere":
        read = b.load(x, index, 9, S32)
    elif between == "store":
        b.store(y, TID, imm(2))
    elif between == "other load":
        read = b.load(y, TID, type=S32)
    elif between == "barrier":
        b.barrier()
    b.store(x, index, imm(3), 1)
    b.store(b.array("out"), TID, read)
    stores = [op for op in accesses(compiled(b.exit())) if op.startswith("st")]
    joined = between in ("nothing", "load elsewhere")
    assert ("st.global.v2" in stores) == joined


def test_load_moved_up_does_not_pass_its_own_store() -> None:
    """The second load reads what the store between left, though the first does not alias it."""
    b = Builder()
    x, y = b.array("x"), b.array("y")
    index = b.emit("mul.lo.s32", TID, imm(2))
    first = b.load(x, index)
    b.store(x, index, first, 1)
    second = b.load(x, index, 1)
    b.store(y, index, first)
    b.store(y, index, second, 1)
    assert accesses(compiled(b.exit()))[:3] == ["ld.global", "st.global", "ld.global"]


def test_equal_loads_are_one_until_a_store() -> None:
    b = Builder()
    x, y, s = b.array("x"), b.array("y"), b.shared("s", 64)
    first, second = b.load(x, TID), b.load(x, TID)
    b.store(s, TID, first)
    third = b.load(x, TID)
    b.store(y, TID, second)
    b.store(y, TID, b.load(x, TID), 1)
    b.store(y, TID, third, 2)
    assert accesses(compiled(b.exit())).count("ld.global") == 2


def test_distinct_shared_arrays_do_not_alias_but_views_do() -> None:
    b = Builder()
    s, t = b.shared("s", 64), b.shared("t", 64)
    view = b.shared("v", 256, element=1, offset=0)
    analysis = AddressAnalysis({})

    def access(array: Storage) -> Instr:
        b.load(array, b.emit("mov.b32", TID))
        return b.block.instrs[-1]

    assert not analysis.may_alias(access(s), access(t))
    assert analysis.may_alias(access(s), access(view))
    assert not analysis.may_alias(access(t), access(view))


def test_ranges_separate_accesses() -> None:
    """x[tid] and x[tid + 1024] of one thread, and x[tid & 15] from x[16 + (y & 15)]."""
    b = Builder()
    x = b.array("x")
    n = b.scalar()
    low, high = b.emit("and.b32", TID, imm(15)), b.emit("and.b32", n, imm(15))
    b.load(x, low)
    first = b.block.instrs[-1]
    b.load(x, high, 16)
    second = b.block.instrs[-1]
    b.load(x, high, 15)
    third = b.block.instrs[-1]
    analysis = AddressAnalysis({dst: i for i in b.block.instrs for dst in i.dsts})
    assert not analysis.may_alias(first, second)
    assert analysis.may_alias(first, third)


def test_affine_forms() -> None:
    """4 (8 tid + n) + n - 3."""
    b = Builder()
    n = b.scalar()
    i = b.emit("mad.lo.s32", TID, imm(8), n)
    j = b.emit("sub.s32", b.emit("shl.b32", i, imm(2)), b.emit("neg.s32", n))
    k = b.emit("add.s32", j, imm(-3))
    analysis = AddressAnalysis({dst: instr for instr in b.block.instrs for dst in instr.dsts})
    form = analysis.affine(k)
    parameter, tid = analysis.affine(n).terms[0][0], analysis.affine(TID).terms[0][0]
    assert form.constant == 0xFFFFFFFD
    assert dict(form.terms) == {tid: 32, parameter: 5}
    assert analysis.zeros(Affine(4, ((tid, 32),))) == 2


def test_constant_distances_share_an_address() -> None:
    """(tid + 1) * n + 3 and tid * n + n + 5 lie apart by 2, whatever n is: a constant n here."""
    b = Builder()
    x, y = b.array("x"), b.array("y")
    ahead = b.emit("mul.lo.s32", b.emit("add.s32", TID, imm(1)), imm(100))
    here = b.emit("mul.lo.s32", TID, imm(100))
    total = b.emit("add.f32", b.load(x, ahead, 3), b.load(x, here, 7), type=F32)
    b.store(y, here, total)
    program = compiled(b.exit())
    loads = [insn for op, insn in zip(program.ops, program.code, strict=True) if op == "ld.global"]
    assert loads[0]["a"] == loads[1]["a"]
    assert [int(insn["imm"]) for insn in loads] == [412, 28]
    assert program.ops.count("mul.lo.s32") == 1


def test_no_multiplication_in_a_loop() -> None:
    """x[i * n + tid]: the address is advanced by an addition, like the counter."""
    b = Builder()
    n, x, y = b.scalar(), b.array("x"), b.array("y")
    total = b.var(imm(0))

    def body(i: Reg) -> None:
        index = b.emit("add.s32", b.emit("mul.lo.s32", i, n), TID)
        b.set(total, b.emit("add.s32", total, b.load(x, index, type=S32)))

    b.loop(imm(0), n, 1, body)
    b.store(y, TID, total)
    program = compiled(b.exit())
    (end,) = [pc for pc, op in enumerate(program.ops) if op == "bra" and program.code["imm"][pc] < pc]
    loop = program.ops[int(program.code["imm"][end]) : end + 1]
    assert sorted(loop) == sorted(["ld.global", "add.s32", "add.s32", "add.s32", "setp.lt.s32", "bra"])


def test_dynamic_shared_memory_is_marked() -> None:
    b = Builder()
    own = Storage(Space.SHARED, 0, "d", 4, 64, 128, dynamic=True)
    b.f.dynamic_bytes = 512
    b.effect("bar.sync", sub=1, bytes=512)
    b.store(own, TID, imm(1))
    b.effect("bar.sync", sub=2)
    text = compiled(b.exit()).listing()
    assert "bar.sync.alloc 512" in text
    assert "st.shared.b32 [smm:%r0+128]" in text
    assert "bar.sync.release" in text
