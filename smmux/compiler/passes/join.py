"""Joining: adjacent 32-bit accesses of one array become 64- and 128-bit ones, adjacent 64-bit accesses 128-bit ones.

Within a basic block, accesses whose addresses differ by constants are collected until something intervenes: a fence,
for loads a store that may alias, for stores any access that may alias, in any thread of a warp. Aligned runs of 16 and
8 bytes are joined; loads take the place of the first, stores that of the last.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace

from smmux.compiler.analysis.affine import MASK, AddressAnalysis, Affine, Atom, base_alignment, signed
from smmux.compiler.analysis.lanes import WarpOrder, may_share, varies
from smmux.compiler.analysis.ops import FENCES, is_load, is_memory, is_store
from smmux.compiler.ir import Function, Instr, Reg, Space, Storage

__all__ = ["join_accesses"]

WORD = 4
ELEMENTS = (4, 8)
"""Bytes of the accesses that are joined."""

VECTORS = (16, 8)
"""Bytes of the joined accesses: the widest that a lane can make, and half of it [PG55 5.3.2]."""

OPEN_GROUPS = 64
"""Groups that may grow at one time, and stores that a group remembers; older groups are closed [EST].

It keeps the pass linear in the length of a block. With fewer, neighbours that stand far apart in an unrolled loop are
not joined: with 32 one form of HG changes; without a limit no shipped kernel does."""

JOINED_SPACES = (Space.GLOBAL, Space.SHARED)
"""Local memory is interleaved by words, constant memory is read by the word."""


@dataclass(slots=True, eq=False)
class _Group:
    """Accesses of one kind and width that differ by constants, by byte offset; alignment holds for offset 0.

    passed: stores since the first member, which a load that joins the group would move across.
    """

    load: bool
    array: Storage
    terms: tuple[tuple[Atom, int], ...]
    width: int
    alignment: int
    members: dict[int, Instr] = field(default_factory=dict)
    passed: list[Instr] = field(default_factory=list)


def join_accesses(function: Function) -> None:
    """Join accesses that are neighbours and provably aligned."""
    defs: dict[Reg, Instr] = {dst: instr for instr in function.instrs() for dst in instr.dsts}
    warp = WarpOrder(AddressAnalysis(defs))
    for block in function.blocks:
        if sum(1 for instr in block.instrs if instr.mem is not None) < 2:
            continue
        replaced: dict[Instr, Instr | None] = {}
        for group in _groups(block.instrs, warp):
            members = list(group.members.values())  # in program order
            position = {instr: i for i, instr in enumerate(members)}
            for run in _runs(group):
                if group.load or not _passes(run, members, position, warp):
                    _replace(run, group.load, position, replaced)
        if replaced:
            block.instrs = [new for old in block.instrs if (new := replaced.get(old, old)) is not None]


def _groups(instrs: list[Instr], warp: WarpOrder) -> list[_Group]:
    """All groups of a block, closed where something intervenes."""
    closed: list[_Group] = []
    groups: dict[Hashable, _Group] = {}
    for instr in instrs:
        if instr.op in FENCES:
            closed.extend(groups.values())
            groups.clear()
            continue
        if not is_memory(instr):
            continue
        mem = instr.mem
        assert mem is not None
        form = warp.offset(instr)
        key: Hashable = None
        if mem.width == mem.array.element in ELEMENTS and mem.array.space in JOINED_SPACES and not mem.atom:
            key = (instr.op, mem.array, form.terms, instr.guard, instr.guard_not)
        for other in [k for k, group in groups.items() if k != key and _conflicts(instr, group, warp)]:
            closed.append(groups.pop(other))
        if key is None:
            continue
        offset = signed(form.constant)
        if key in groups and not _accepts(groups[key], instr, offset, warp):
            closed.append(groups.pop(key))
        if key not in groups:
            if len(groups) >= OPEN_GROUPS:
                closed.append(groups.pop(next(iter(groups))))
            groups[key] = _Group(
                is_load(instr), mem.array, form.terms, mem.width, _alignment(instr, form, warp.analysis)
            )
        groups[key].members[offset] = instr
    return [*closed, *groups.values()]


def _conflicts(instr: Instr, group: _Group, warp: WarpOrder) -> bool:
    """Whether members of the group may not move past `instr`, or too much has been passed."""
    if group.load:
        if not is_store(instr):
            return False
        group.passed.append(instr)
    if len(group.passed) > OPEN_GROUPS:
        return True
    assert instr.mem is not None
    return may_share(instr.mem.array, group.array) and _touches(instr, group, warp)


def _touches(instr: Instr, group: _Group, warp: WarpOrder) -> bool:
    """Whether an access may touch what a member of a group touches, in any two threads of a warp.

    Where all threads have one address, and it differs from those of the members by constants, these are looked up.
    """
    mem, form = instr.mem, warp.offset(instr)
    assert mem is not None
    same = mem.array.space is not Space.GLOBAL or mem.array.index == group.array.index
    if same and form.terms == group.terms and not any(varies(atom) for atom, _ in form.terms):
        near = range(form.constant - group.width + 1, form.constant + mem.width)
        return any(signed(place & MASK) in group.members for place in near)
    return any(warp.matters(instr, member) for member in group.members.values())


def _accepts(group: _Group, instr: Instr, offset: int, warp: WarpOrder) -> bool:
    """Whether the access may become a member: its place is free, and a load may move up to the first."""
    return offset not in group.members and not any(warp.matters(instr, store) for store in group.passed)


def _passes(run: list[Instr], members: list[Instr], position: dict[Instr, int], warp: WarpOrder) -> bool:
    """Whether stores of a run would move down past other members of their group that they must not pass."""
    last = max(position[store] for store in run)
    return any(
        warp.matters(store, other) for store in run for other in members[position[store] + 1 : last] if other not in run
    )


def _alignment(instr: Instr, form: Affine, analysis: AddressAnalysis) -> int:
    """The bytes, up to the widest vector, to which the address without its constant is aligned."""
    mem = instr.mem
    assert mem is not None
    base = base_alignment(mem.array) if mem.array.space is Space.GLOBAL else max(VECTORS)
    return min(base, 1 << analysis.zeros(Affine(0, form.terms)), max(VECTORS))


def _runs(group: _Group) -> list[list[Instr]]:
    """Members to join, each run in order of address."""
    left = dict(sorted(group.members.items()))
    runs: list[list[Instr]] = []
    for width in VECTORS:
        if group.alignment < width or group.width == width:
            continue
        for offset in list(left):
            wanted = range(offset, offset + width, group.width)
            if offset % width == 0 and all(place in left for place in wanted):
                runs.append([left.pop(place) for place in wanted])
    return runs


def _replace(run: list[Instr], load: bool, position: dict[Instr, int], replaced: dict[Instr, Instr | None]) -> None:
    """Put one access in the place of a run's first load or last store."""
    at = (min if load else max)(run, key=position.__getitem__)
    mem = at.mem
    assert mem is not None
    lines = tuple(member.loc.line if member.loc else 0 for member in run for _ in range(mem.width // WORD))
    first = replace(mem, width=mem.width * len(run), offset=mem.offset - run.index(at), lines=lines)
    joined = Instr(at.op, guard=at.guard, guard_not=at.guard_not, loc=at.loc, mem=first)
    if load:
        joined.dsts, joined.srcs = tuple(dst for member in run for dst in member.dsts), at.srcs
    else:
        joined.srcs = (at.srcs[0], *(word for member in run for word in member.srcs[1:]))
    for member in run:
        replaced[member] = None
    replaced[at] = joined
