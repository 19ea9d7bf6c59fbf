"""The register budget: a search for the most ambitious code that fits it.

Invariants in registers save instructions, and a free hand for the scheduler hides latency. Both cost registers, and
only allocation tells how many. So the first code has no limit on either and is final if it fits: a budget that is no
constraint changes nothing. Else the scheduler is limited, then the motion of invariants, neither by more than needed.
Values that find no register even then go to local memory. A machine whose compiler is thrifty has smaller limits before
that of the budget, of which none sends a value there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from smmux.compiler.analysis.graph import Graph
from smmux.compiler.analysis.live_ranges import LiveRanges
from smmux.compiler.code.coalesce import Classes, coalesce
from smmux.compiler.code.encode import layout
from smmux.compiler.code.registers import Assignment, allocate
from smmux.compiler.code.spill import LOOP_WEIGHT, Spiller
from smmux.compiler.ir import Block, Function
from smmux.compiler.options import Options
from smmux.compiler.program import MAX_PREDS
from smmux.errors import CompileError

__all__ = ["Allocated", "Finish", "Search"]

Finish = Callable[[int], Function]
"""What makes the final form of a function, given the most values that may be live."""

UNLIMITED = 1 << 30
"""A limit of registers that no function reaches."""

RESERVE = 4, 8
"""Registers that the scheduler, and motion of invariants, leave alone where values go to local memory anyway [EST]: for
addresses and reloaded values. Both are tried beside no reserve, and the cheapest code is kept, so that other numbers
can change kernels that spill, and no others."""

MAX_ROUNDS = 8
"""Rounds of spilling after which a budget counts as impossible [EST]; each leaves fewer long live ranges. A larger
number could only let a kernel compile that is refused with this one."""


@dataclass(slots=True)
class Allocated:
    """A function in its final form, the order of its blocks, and its registers."""

    function: Function
    order: list[Block]
    graph: Graph
    classes: Classes
    assignment: Assignment


def _allocated(function: Function) -> Allocated:
    order, graph = layout(function), Graph(function)
    classes = coalesce(LiveRanges(graph, order))
    return Allocated(function, order, graph, classes, allocate(classes))


class Search:
    """Makes code from one prepared function until it fits.

    lower: the passes up to scheduling, which change a function; it takes the most values that loops may hold, and
    returns how many they would hold without that limit. finish: the passes from scheduling on, of a function that stays
    as it is.
    """

    def __init__(
        self,
        prepared: Function,
        lower: Callable[[Function, int], int],
        finish: Callable[[Function], Finish],
        options: Options,
    ) -> None:
        self.prepared, self.lower, self.finish = prepared, lower, finish
        self.limit = options.max_registers
        self.free = options.schedule == "list"  # whether a limit of `finish` makes a difference
        self.thrift = options.thrift if self.free else None

    def run(self) -> Allocated:
        """The code that is kept. Raises CompileError where none fits."""
        finish, most = self._lowered(UNLIMITED)
        best = _allocated(finish(UNLIMITED))
        limits = self.thrift.limits(best.assignment.nregs, self.limit) if self.thrift else (self.limit,)
        for self.limit in limits:
            if self._fits(best):
                return best
            if fitting := self._first_fit(finish) or self._bisect(most):
                return fitting
        return self._spill(most)

    def _lowered(self, held: int) -> tuple[Finish, int]:
        function = self.prepared.copy()
        most = self.lower(function, held)
        return self.finish(function), most

    def _fits(self, code: Allocated) -> bool:
        return code.assignment.nregs <= self.limit and code.assignment.npreds <= MAX_PREDS

    def _first_fit(self, finish: Finish) -> Allocated | None:
        """The code of the scheduler under the loosest limit that fits, program order as the last resort; None if none
        fits."""
        if self.free and self._fits(code := _allocated(finish(self.limit))):
            return code
        best = _allocated(finish(0))
        if not self._fits(best):
            return None
        fitting, failing = 0, self.limit if self.free else 1
        while failing - fitting > 1:  # copies and holes in live ranges take registers beyond those that it counts
            live = (fitting + failing) // 2
            code = _allocated(finish(live))
            fitting, failing, best = (live, failing, code) if self._fits(code) else (fitting, live, best)
        return best

    def _bisect(self, most: int) -> Allocated | None:
        """The code with the most values in loops that fits, or None. A larger budget takes the same steps, or steps to
        more."""
        fitting, failing = -1, most
        best = None
        while failing - fitting > 1:
            held = (fitting + failing) // 2 if best else 0
            code = self._first_fit(self._lowered(held)[0])
            if code is None and not held:
                return None
            fitting, failing, best = (held, failing, code) if code else (fitting, held, best)
        return best

    def _spill(self, most: int) -> Allocated:
        """The cheapest code with values in local memory, of several that keep more or fewer invariants in registers."""
        candidates: list[Allocated] = []
        failure: CompileError | None = None
        for held in sorted({min(held, most) for held in (most, self.limit, self.limit - RESERVE[1], 0)}):
            finish, _ = self._lowered(held)
            for live in (self.limit - RESERVE[0], 0) if self.free else (0,):
                try:
                    candidates.append(spilled(_allocated(finish(live)), self.limit))
                except CompileError as error:
                    failure = failure or error
        if failure and not candidates:
            raise failure
        return min(candidates, key=_cost)


def spilled(code: Allocated, limit: int) -> Allocated:
    """The code with as many values in local memory as it takes to fit. Raises CompileError where that does not help."""
    function, needed = code.function, code.assignment.nregs
    spiller, budget = Spiller(function), limit
    for _ in range(MAX_ROUNDS):
        if code.assignment.npreds > MAX_PREDS:
            raise CompileError(
                f"kernel {function.name!r} needs {code.assignment.npreds} predicates at one time, "
                f"{MAX_PREDS} is the most",
                function.filename,
            )
        if code.assignment.nregs <= limit:
            return code
        chosen = _victims(spiller, code, budget)
        if not chosen:
            break
        spiller.rewrite(code.classes, chosen)
        budget = max(budget - 1, 4)
        code = _allocated(function)
    raise CompileError(
        f"kernel {function.name!r} needs {needed} registers per thread, {limit} are allowed, "
        "and local memory cannot make up for it",
        function.filename,
    )


def _victims(spiller: Spiller, code: Allocated, budget: int) -> set[int]:
    """The classes to spill; a tighter budget is tried where allocation needed more registers than values are live."""
    for tighter in range(budget, 3, -1):
        if chosen := spiller.choose(code.classes, code.graph, tighter):
            return chosen
    return set()


def _cost(code: Allocated) -> tuple[int, int]:
    """Accesses to local memory, then instructions, both weighted by the loops around them."""
    local = instructions = 0
    for block in code.order:
        weight = LOOP_WEIGHT ** code.graph.depth[block]
        instructions += weight * len(block.instrs)
        local += weight * sum(instr.op in ("ld.local", "st.local") for instr in block.instrs)
    return local, instructions
