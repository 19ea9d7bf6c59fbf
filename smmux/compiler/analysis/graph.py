"""The control-flow graph of a function: orders, dominators, loops, points of reconvergence."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from smmux.compiler.ir import Block, Function

__all__ = ["Graph", "NaturalLoop", "dominators", "exits_only", "reconvergence", "reverse_postorder"]


def reverse_postorder(entry: Block, successors: Callable[[Block], Sequence[Block]]) -> list[Block]:
    """Blocks reachable from `entry`, each before its successors except along back edges."""
    seen, order = {entry}, []
    stack = [(entry, iter(successors(entry)))]
    while stack:
        block, rest = stack[-1]
        for following in rest:
            if following not in seen:
                seen.add(following)
                stack.append((following, iter(successors(following))))
                break
        else:
            order.append(block)
            stack.pop()
    order.reverse()
    return order


def dominators(order: Sequence[Block], preds: Callable[[Block], Iterable[Block]]) -> dict[Block, Block]:
    """Immediate dominator of every block of `order` (reverse postorder); the entry's is itself.

    The iteration of Cooper, Harvey and Kennedy, "A simple, fast dominance algorithm".
    """
    index = {block: i for i, block in enumerate(order)}
    idom = {order[0]: order[0]}
    changed = True
    while changed:
        changed = False
        for block in order[1:]:
            new: Block | None = None
            for pred in preds(block):
                if pred not in idom:
                    continue
                if new is None:
                    new = pred
                    continue
                other = pred
                while new is not other:
                    while index[new] > index[other]:
                        new = idom[new]
                    while index[other] > index[new]:
                        other = idom[other]
            if new is not None and idom.get(block) is not new:
                idom[block] = new
                changed = True
    return idom


@dataclass(slots=True, eq=False)
class NaturalLoop:
    """A natural loop: blocks that reach a back edge to `header` without leaving through it."""

    header: Block
    blocks: set[Block]
    latches: list[Block] = field(default_factory=list)
    parent: NaturalLoop | None = None
    depth: int = 1

    @property
    def line(self) -> int:
        """The source line of the loop's statement; 0 if there is none."""
        loc = self.latches[0].instrs[-1].loc
        return loc.line if loc else 0


class Graph:
    """Orders, predecessors, dominators and loops of a function as it is now.

    Passes that change control flow build a new one. `order` is reverse postorder over the reachable blocks.
    """

    __slots__ = ("_depth", "_loops", "children", "entry", "idom", "index", "order", "preds")

    def __init__(self, function: Function) -> None:
        self.entry = function.blocks[0]
        self.order = reverse_postorder(self.entry, lambda block: block.successors)
        self.index = {block: i for i, block in enumerate(self.order)}
        self.preds: dict[Block, list[Block]] = {block: [] for block in self.order}
        for block in self.order:
            for following in dict.fromkeys(block.successors):
                self.preds[following].append(block)
        self.idom = dominators(self.order, self.preds.__getitem__)
        self.children: dict[Block, list[Block]] = {block: [] for block in self.order}
        for block in self.order[1:]:
            self.children[self.idom[block]].append(block)
        self._loops: list[NaturalLoop] | None = None
        self._depth: dict[Block, int] | None = None

    def scopes(self, table: dict[Hashable, Any]) -> Iterator[Block]:
        """The dominator tree in preorder; keys that are added to the table at a block go when its subtree is left."""
        stack: list[tuple[Block, int | None]] = [(self.entry, None)]
        while stack:
            block, outer = stack.pop()
            if outer is None:
                stack.append((block, len(table)))
                stack.extend((child, None) for child in reversed(self.children[block]))
                yield block
            else:
                while len(table) > outer:
                    table.popitem()

    def dominates(self, above: Block, below: Block) -> bool:
        """Whether every path from the entry to `below` passes `above`."""
        limit = self.index[above]
        while self.index[below] > limit:
            below = self.idom[below]
        return below is above

    @property
    def loops(self) -> list[NaturalLoop]:
        """Natural loops, inner ones first."""
        if self._loops is None:
            self._loops = self._find_loops()
        return self._loops

    @property
    def depth(self) -> dict[Block, int]:
        """Number of loops around each block."""
        if self._depth is None:
            self._depth = dict.fromkeys(self.order, 0)
            for loop in self.loops:
                for block in loop.blocks:
                    self._depth[block] += 1
        return self._depth

    def _find_loops(self) -> list[NaturalLoop]:
        by_header: dict[Block, NaturalLoop] = {}
        for block in self.order:
            for header in dict.fromkeys(block.successors):
                if self.index[header] <= self.index[block] and self.dominates(header, block):
                    loop = by_header.setdefault(header, NaturalLoop(header, {header}))
                    loop.latches.append(block)
                    work = [block]
                    while work:
                        member = work.pop()
                        if member not in loop.blocks:
                            loop.blocks.add(member)
                            work.extend(self.preds[member])
        loops = sorted(by_header.values(), key=lambda loop: (len(loop.blocks), self.index[loop.header]))
        for i, loop in enumerate(loops):
            loop.parent = next((outer for outer in loops[i + 1 :] if loop.header in outer.blocks), None)
        for loop in reversed(loops):
            loop.depth = loop.parent.depth + 1 if loop.parent else 1
        return loops


def exits_only(block: Block) -> bool:
    """Whether the block does nothing but end the thread."""
    return len(block.instrs) == 1 and block.instrs[0].op == "exit"


def reconvergence(function: Function) -> dict[Block, Block | None]:
    """For each block that ends in a conditional branch, where its lanes meet again: the immediate post-dominator.

    Only paths that reach the function's last exit count, for lanes that exit elsewhere never come back: after
    `if i >= n: return` the others go on at once, and a barrier behind it sees no divergent mask. A branch to a block
    that only exits is a guarded `exit` and diverges not at all. None: the lanes do not meet before they exit.
    """
    order = reverse_postorder(function.blocks[0], lambda block: block.successors)
    arms = {block: [s for s in dict.fromkeys(block.successors) if not exits_only(s)] for block in order}
    place = {block: i for i, block in enumerate(function.blocks)}
    exits = [block for block in order if not arms[block] and not exits_only(block)]
    leaving = [block for block in order if len(arms[block]) < len(set(block.successors)) or not block.successors]
    result: dict[Block, Block | None] = {}
    # The last exit decides first; then branches that cannot reach it (arms that return, endless loops) see all exits.
    for roots in ([max(exits, key=place.__getitem__)] if exits else [], exits, leaving):
        for block, meet in _postdominators(order, arms, roots).items():
            if block.instrs[-1].op == "cbr":
                result.setdefault(block, meet)
    return {block: result.get(block) for block in order if block.instrs[-1].op == "cbr"}


def _postdominators(
    order: Sequence[Block], arms: dict[Block, list[Block]], roots: list[Block]
) -> dict[Block, Block | None]:
    """Immediate post-dominators of the blocks that reach one of `roots`, on paths to these alone."""
    root = Block(-1)
    before: dict[Block, list[Block]] = {block: [] for block in order}
    after = {block: list(following) for block, following in arms.items()}
    for block in order:
        for following in arms[block]:
            before[following].append(block)
    before[root] = roots
    for block in roots:
        after[block].append(root)
    ipdom = dominators(reverse_postorder(root, before.__getitem__), after.__getitem__)
    return {block: None if meet is root else meet for block, meet in ipdom.items() if block is not root}
