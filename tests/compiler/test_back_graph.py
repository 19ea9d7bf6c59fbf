"""Dominators, loops and points of reconvergence against brute force over paths."""

from __future__ import annotations

from random import Random

from hypothesis import given, strategies as st

from smmux.compiler.analysis.graph import Graph, exits_only, reconvergence
from smmux.compiler.ir import Block, Function, Instr
from tests.compiler.back import PRED, Builder, compiled, imm, ops


def random_function(seed: int, size: int) -> Function:
    """Blocks with random jumps; at least the last exits."""
    random = Random(seed)
    f = Function("f", "f.py")
    f.blocks = [f.block() for _ in range(size)]
    for i, block in enumerate(f.blocks):
        if random.randrange(3):
            block.instrs.append(Instr("nop"))
        kind = random.randrange(8)
        targets = [f.blocks[min(size - 1, max(1, i + random.randrange(-2, 5)))] for _ in range(2)]
        if i == size - 1 or kind == 0:
            block.instrs.append(Instr("exit"))
        elif kind < 4 or targets[0] is targets[1]:
            block.instrs.append(Instr("bra", target=targets[0]))
        else:
            block.instrs.append(Instr("cbr", (), (f.reg(PRED),), target=targets[0], other=targets[1]))
    return f


def reaches(start: Block, goals: set[Block], without: Block | None, arms: dict[Block, list[Block]]) -> bool:
    """Whether a path leads from `start` to a goal that does not pass `without`."""
    seen, work = set(), [start]
    while work:
        block = work.pop()
        if block is without or block in seen:
            continue
        if block in goals:
            return True
        seen.add(block)
        work.extend(arms[block])
    return False


@given(st.integers(0, 1 << 30), st.integers(2, 12))
def test_dominators(seed: int, size: int) -> None:
    graph = Graph(random_function(seed, size))
    arms = {block: list(block.successors) for block in graph.order}
    for below in graph.order:
        for above in graph.order:
            dominates = above is below or not reaches(graph.entry, {below}, above, arms)
            assert graph.dominates(above, below) == dominates


def meeting_point(block: Block, goals: set[Block], arms: dict[Block, list[Block]]) -> Block | None:
    """The first block that every path from `block` to a goal passes."""
    common = [
        other
        for other in arms
        if other is not block and all(not reaches(arm, goals, other, arms) for arm in arms[block])
    ]
    common = [c for c in common if reaches(block, {c}, None, arms)]
    for candidate in common:  # the first: from it all others are met later
        if all(other is candidate or not reaches(block, {other}, candidate, arms) for other in common):
            return candidate
    return None


@given(st.integers(0, 1 << 30), st.integers(2, 12))
def test_lanes_meet_at_the_immediate_post_dominator(seed: int, size: int) -> None:
    f = random_function(seed, size)
    order = Graph(f).order
    arms = {block: [s for s in block.successors if not exits_only(s)] for block in order}
    exits = [block for block in f.blocks if block in arms and not arms[block] and not exits_only(block)]
    leaving = {block for block in order if len(arms[block]) < len(block.successors) or not block.successors}
    groups = [set(exits[-1:]), set(exits), leaving]
    for block, meet in reconvergence(f).items():
        group = next((g for g in groups if reaches(block, g, None, arms)), None)
        if group is None or block in group:  # lanes leave for good right here, or go round for ever
            assert meet is None
        else:
            assert meet is meeting_point(block, group, arms)


def test_loops_nest() -> None:
    b = Builder()
    n = b.scalar()
    x = b.array("x")
    b.loop(imm(0), n, 1, lambda i: b.loop(imm(0), n, 1, lambda j: b.store(x, j, i)))
    graph = Graph(b.exit())
    inner, outer = graph.loops
    assert inner.parent is outer
    assert (inner.depth, outer.depth) == (2, 1)
    assert inner.blocks < outer.blocks


def test_early_return_is_a_guarded_exit() -> None:
    b = Builder()
    n, x = b.scalar(), b.array("x")
    b.return_if(b.emit("setp.ge.s32", imm(3), n))
    b.store(x, imm(0), n)
    b.barrier()
    b.store(x, imm(1), n)
    program = compiled(b.exit())
    assert "bra" not in program.ops
    assert [op for op, insn in zip(program.ops, program.code, strict=True) if insn["guard"]] == ["exit"]


def test_arm_that_returns_goes_first() -> None:
    """The others wait where they are, so that a barrier behind the branch sees no divergent mask."""
    b = Builder()
    n, x = b.scalar(), b.array("x")
    leave, rest = b.f.block(), b.f.block()
    b.branch(b.emit("setp.ge.s32", imm(3), n), leave, rest)
    b.start(leave)
    for k in range(8):
        b.store(x, imm(2 * k), n)
    b.exit()
    b.start(rest)
    b.barrier()
    b.store(x, imm(1), n)
    program = compiled(b.exit())
    (branch,) = [pc for pc, op in enumerate(program.ops) if op == "bra"]
    assert program.ops[int(program.code["aux"][branch])] == "bar.sync"


def test_loop_has_one_branch() -> None:
    b = Builder()
    n, x = b.scalar(), b.array("x")
    b.loop(imm(0), n, 1, lambda i: b.store(x, i, i))
    program = compiled(b.exit())
    assert ops(program).count("bra") == 1
    assert program.ops[-2:] == ("bra", "exit")
