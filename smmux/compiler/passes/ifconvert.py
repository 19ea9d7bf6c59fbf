"""If-conversion: arms of a few cheap operations are executed by all lanes, and their results selected.

An arm holds at most `ARM_LIMIT` operations, of which `MEMORY_LIMIT` loads or stores, which get the condition as their
guard. What will leave the loop around an arm is not counted. Division, barriers, atomics and cross-lane operations stay
in branches.
"""

from __future__ import annotations

from smmux.compiler.analysis.graph import Graph, exits_only
from smmux.compiler.analysis.ops import is_load, is_pure, may_fault
from smmux.compiler.analysis.phi import Phi, phis
from smmux.compiler.ir import Block, Function, Imm, Instr, Operand, Reg, Type
from smmux.compiler.passes.branches import drop_source
from smmux.compiler.passes.invariant import invariants

__all__ = ["convert_ifs"]

ARM_LIMIT = 5
"""Operations of an arm that is executed by all lanes.

nvcc predicates up to 7 instructions where it expects many warps to diverge, and else up to 4 [PG55 5.4.2]; how it
expects that is not told, so one number between the two stands for both [EST]. With 4 the index tests in the CO-VTB
forms of MC and HG stay branches, where warps diverge; with 7 the code of no shipped kernel and of none of its VTB and
CO-VTB forms differs from that with 5. A larger number spends issue slots on lanes that would have skipped the arm."""

MEMORY_LIMIT = 2
"""Loads and stores in an arm [EST]: as many as `counters[i] += 1` has. With 1, branches stay in HG, MM, RD and SP; with
4, one goes in HG. In a longer arm, lanes that skip it wait for accesses that they do not make."""

SELECT_LIMIT = 4
"""Variables that the arms leave different, a selection each [EST]: as many as the lower number of [PG55 5.4.2]. No
shipped kernel comes near it (2 and 8 give the same code); a larger one adds selections to the path of every lane."""


def convert_ifs(function: Function) -> None:
    """Turn short triangles and diamonds into straight code, inner ones first."""
    graph = Graph(function)
    leaving = invariants(graph)
    gone: set[Block] = set()
    for block in reversed(graph.order):
        while _convert(function, block, graph.preds, gone, leaving):
            pass
    function.blocks = [block for block in function.blocks if block not in gone]


def _convert(
    function: Function, block: Block, preds: dict[Block, list[Block]], gone: set[Block], leaving: set[Instr]
) -> bool:
    last = block.instrs[-1]
    if block in gone or last.op != "cbr" or not isinstance(last.srcs[0], Reg):
        return False
    assert last.target is not None
    assert last.other is not None
    yes, no = last.target, last.other
    arms = [(arm, negate) for arm, negate in ((yes, False), (no, True)) if _is_arm(arm, preds)]
    join: Block | None = None
    if len(arms) == 2 and yes.instrs[-1].target is no.instrs[-1].target:
        join = yes.instrs[-1].target
    elif arms:
        arms = [(arm, negate) for arm, negate in arms if arm.instrs[-1].target is (no if not negate else yes)][:1]
        join = arms[0][0].instrs[-1].target if arms else None
    if join is None or join is block or exits_only(join) or not all(_cheap(arm, leaving) for arm, _ in arms):
        return False
    merged = phis(join)
    if len(merged) > SELECT_LIMIT or not all(_selectable(phi, block, arms) for phi in merged):
        return False
    _flatten(function, block, arms, join, merged)
    preds[join] = [p for p in preds[join] if all(p is not arm for arm, _ in arms)]
    if block not in preds[join]:
        preds[join].append(block)
    for arm, _ in arms:
        preds[arm] = []
        gone.add(arm)
    if preds[join] == [block] and not phis(join) and join is not function.blocks[0]:
        _absorb(block, join, preds)
        gone.add(join)
    return True


def _absorb(block: Block, join: Block, preds: dict[Block, list[Block]]) -> None:
    """Append the join to the block, its only predecessor, which may then end in a convertible branch itself."""
    block.instrs[-1:] = join.instrs
    for after in dict.fromkeys(join.successors):
        preds[after] = [block if p is join else p for p in preds[after]]
        for phi in phis(after):
            phi.preds = tuple(block if p is join else p for p in phi.preds)


def _is_arm(block: Block, preds: dict[Block, list[Block]]) -> bool:
    return len(preds[block]) == 1 and block.instrs[-1].op == "bra" and not phis(block)


def _cheap(arm: Block, leaving: set[Instr]) -> bool:
    if sum(instr not in leaving for instr in arm.instrs) - 1 > ARM_LIMIT:
        return False
    memory = 0
    for instr in arm.instrs[:-1]:
        if instr.guard is not None or may_fault(instr):
            return False
        if is_load(instr) or instr.op.startswith("st."):
            memory += 1
        elif not is_pure(instr.op) or instr.op.startswith(("div.", "sqrt.rn")):
            return False
    return memory <= MEMORY_LIMIT


def _sources(phi: Phi, block: Block, arms: list[tuple[Block, bool]]) -> tuple[Operand, Operand]:
    """The sources of a phi if the condition holds, and if it does not."""
    values = {negate: phi.source(arm) for arm, negate in arms}
    return (
        values[False] if False in values else phi.source(block),
        values[True] if True in values else phi.source(block),
    )


def _selectable(phi: Phi, block: Block, arms: list[tuple[Block, bool]]) -> bool:
    if phi.dsts[0].type is not Type.PRED:
        return True
    yes, no = _sources(phi, block, arms)
    return isinstance(yes, Imm) or isinstance(no, Imm)


def _flatten(function: Function, block: Block, arms: list[tuple[Block, bool]], join: Block, merged: list[Phi]) -> None:
    last = block.instrs.pop()
    condition = last.srcs[0]
    assert isinstance(condition, Reg)
    for arm, negate in arms:
        for instr in arm.instrs[:-1]:
            if instr.mem is not None:
                instr.guard, instr.guard_not = condition, negate
            block.instrs.append(instr)
    for phi in merged:
        yes, no = _sources(phi, block, arms)
        value = _select(function, phi.dsts[0], condition, yes, no, block.instrs, last)
        for pred in (block, *(arm for arm, _ in arms)):
            drop_source(phi, pred)
        phi.srcs, phi.preds = (*phi.srcs, value), (*phi.preds, block)
    for phi in [phi for phi in merged if len(phi.preds) == 1]:
        join.instrs.remove(phi)
        name = "mov.pred" if phi.dsts[0].type is Type.PRED else "mov.b32"
        block.instrs.append(Instr(name, phi.dsts, phi.srcs, last.loc))
    block.instrs.append(Instr("bra", loc=last.loc, target=join))


def _select(function: Function, dst: Reg, q: Reg, yes: Operand, no: Operand, out: list[Instr], like: Instr) -> Operand:
    """A register with `yes` where q holds and `no` elsewhere."""
    if yes == no:
        return yes
    result = function.reg(dst.type, dst.name)
    if dst.type is not Type.PRED:
        out.append(Instr("selp.b32", (result,), (yes, no, q), like.loc))
        return result
    if isinstance(yes, Imm) and isinstance(no, Imm):
        out.append(Instr("mov.pred" if yes.bits else "not.pred", (result,), (q,), like.loc))
    elif isinstance(no, Imm):  # q and yes, or not q or yes
        out.append(
            _logic("or.pred", result, yes, q, like) if no.bits else Instr("and.pred", (result,), (yes, q), like.loc)
        )
    else:  # q or no, or not q and no
        assert isinstance(yes, Imm)
        out.append(
            Instr("or.pred", (result,), (no, q), like.loc) if yes.bits else _logic("and.pred", result, no, q, like)
        )
    return result


def _logic(op: str, dst: Reg, a: Operand, b: Reg, like: Instr) -> Instr:
    """The instruction a op not b."""
    return Instr(op, (dst,), (a, b), like.loc, attrs={"negate_qb": 1})
