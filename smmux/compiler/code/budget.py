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


class _Lowered:
    """A function behind the passes up to scheduling: its code by the most values that may be live."""

    def __init__(self, finish: Finish, most: int) -> None:
        self.finish, self.most = finish, most
        self._codes: dict[int, Allocated] = {}  # without those that did not fit
        self._needs: dict[int, Assignment] = {}

    def needs(self, live: int) -> Assignment:
        """The registers of the code."""
        if live not in self._needs:
            self._needs[live] = self.code(live).assignment
        return self._needs[live]

    def fits(self, live: int, limit: int) -> bool:
        """Whether the code has no more than so many registers."""
        needs = self.needs(live)
        fits = needs.nregs <= limit and needs.npreds <= MAX_PREDS
        if not fits:
            self._codes.pop(live, None)
        return fits

    def code(self, live: int) -> Allocated:
        """The code, which is not to be changed."""
        if live not in self._codes:
            self._codes[live] = _allocated(self.finish(live))
        return self._codes[live]


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
        self._known: dict[int, _Lowered] = {}

    def run(self) -> Allocated:
        """The code that is kept. Raises CompileError where none fits."""
        first = self._lowered(UNLIMITED)
        needed = first.needs(UNLIMITED).nregs
        limits = self.thrift.limits(needed, self.limit) if self.thrift else (self.limit,)
        for self.limit in limits:
            if first.fits(UNLIMITED, self.limit):
                return first.code(UNLIMITED)
            fitting = first if self._fits(first) else self._bisect(first.most)
            if fitting:
                return fitting.code(self._loosest(fitting))
        return self._spill(first.most)

    def _lowered(self, held: int) -> _Lowered:
        if held not in self._known:
            function = self.prepared.copy()
            most = self.lower(function, held)
            self._known[held] = _Lowered(self.finish(function), most)
        return self._known[held]

    def _fits(self, lowered: _Lowered) -> bool:
        """Whether code of the scheduler fits, program order as the last resort."""
        return (self.free and lowered.fits(self.limit, self.limit)) or lowered.fits(0, self.limit)

    def _loosest(self, lowered: _Lowered) -> int:
        """The loosest limit of the scheduler under which code fits, of a function of which there is such code."""
        if self.free and lowered.fits(self.limit, self.limit):
            return self.limit
        fitting, failing = 0, self.limit if self.free else 1
        while failing - fitting > 1:  # copies and holes in live ranges take registers beyond those that it counts
            live = (fitting + failing) // 2
            fitting, failing = (live, failing) if lowered.fits(live, self.limit) else (fitting, live)
        return fitting

    def _bisect(self, most: int) -> _Lowered | None:
        """The function with the most values in loops of which code fits, or None. A larger budget takes the same steps,
        or steps to more."""
        fitting, failing = -1, most
        best = None
        while failing - fitting > 1:
            held = (fitting + failing) // 2 if best else 0
            lowered = self._lowered(held)
            if self._fits(lowered):
                fitting, best = held, lowered
            elif held:
                failing = held
            else:
                return None
        return best

    def _spill(self, most: int) -> Allocated:
        """The cheapest code with values in local memory, of several that keep more or fewer invariants in registers."""
        candidates: list[Allocated] = []
        failure: CompileError | None = None
        for held in sorted({min(held, most) for held in (most, self.limit, self.limit - RESERVE[1], 0)}):
            finish = self._lowered(held).finish
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
