"""From IR to Program: the order of the passes, and nothing else."""

from __future__ import annotations

from collections.abc import Callable

from smmux.compiler.backend.addresses import lower_addresses
from smmux.compiler.backend.branches import simplify_branches
from smmux.compiler.backend.coalesce import Classes, coalesce
from smmux.compiler.backend.contract import contract
from smmux.compiler.backend.dead import remove_dead
from smmux.compiler.backend.encode import encode, layout
from smmux.compiler.backend.graph import Graph
from smmux.compiler.backend.ifconvert import convert_ifs
from smmux.compiler.backend.induction import reduce_strength
from smmux.compiler.backend.invariant import hoist_invariants, insert_preheaders
from smmux.compiler.backend.join import join_accesses
from smmux.compiler.backend.legalize import legalize, normalize
from smmux.compiler.backend.live import LiveRanges
from smmux.compiler.backend.multiply import expand_products
from smmux.compiler.backend.registers import Assignment, allocate
from smmux.compiler.backend.schedule import schedule_blocks
from smmux.compiler.backend.spill import Spiller
from smmux.compiler.backend.ssa import construct, destruct
from smmux.compiler.backend.values import number_values
from smmux.compiler.ir import Block, Function, Space
from smmux.compiler.options import Options
from smmux.compiler.program import MAX_PREDS, ParamWord, Program
from smmux.errors import CompileError

__all__ = ["PASSES", "compile_function"]

Pass = Callable[[Function, Options], None]


def _plain(function: Callable[[Function], None]) -> Pass:
    """A pass that no option concerns."""
    return lambda ir, options: function(ir)


def _join(function: Function, options: Options) -> None:
    if options.join:
        join_accesses(function)


def _hoist(function: Function, options: Options) -> None:
    hoist_invariants(function, options.max_registers)


def _expand(function: Function, options: Options) -> None:
    if not options.fused_mad:  # CC 2.x and later multiply 32 bits in one instruction
        expand_products(function)


def _contract(function: Function, options: Options) -> None:
    contract(function, options.fused_mad)


def _schedule(function: Function, options: Options) -> None:
    if options.schedule == "list":
        schedule_blocks(function, dict(options.latencies), options.max_registers)


PASSES: tuple[tuple[str, Pass], ...] = (
    ("normalize", _plain(normalize)),
    ("construct", _plain(construct)),
    ("branches", _plain(simplify_branches)),
    ("values", _plain(number_values)),
    ("dead", _plain(remove_dead)),
    ("branches", _plain(simplify_branches)),
    ("ifs", _plain(convert_ifs)),
    ("branches", _plain(simplify_branches)),
    ("values", _plain(number_values)),
    ("dead", _plain(remove_dead)),
    ("join", _join),
    ("preheaders", _plain(insert_preheaders)),
    ("invariant", _hoist),
    ("strength", _plain(reduce_strength)),
    ("addresses", _plain(lower_addresses)),
    ("values", _plain(number_values)),
    ("dead", _plain(remove_dead)),
    ("multiply", _expand),
    ("contract", _contract),
    ("branches", _plain(simplify_branches)),
    ("preheaders", _plain(insert_preheaders)),
    ("legalize", _plain(legalize)),
    ("invariant", _hoist),
    ("schedule", _schedule),
    ("destruct", _plain(destruct)),
    ("legalize", _plain(legalize)),
)
"""Every pass in order; between "construct" and "destruct" each register has one definition."""

MAX_ROUNDS = 8
"""Rounds of spilling; each leaves fewer long live ranges."""


def compile_function(function: Function, options: Options | None = None) -> Program:
    """Compile a function, which is consumed.

    Raises CompileError where the kernel does not fit the machine.
    """
    options = options or Options()
    for _, run in PASSES:
        run(function, options)
    order = layout(function)
    assignment = _registers(function, order, options.max_registers)
    code, uniforms = encode(function, order, assignment)
    return Program(
        function.name,
        function.filename,
        code,
        uniforms,
        max(assignment.nregs, 1),
        assignment.npreds,
        function.shared_bytes,
        function.dynamic_bytes,
        function.local_bytes,
        bytes(function.const),
        _params(function),
        tuple(function.arrays),
    )


def _registers(function: Function, order: list[Block], limit: int) -> Assignment:
    """Assign registers, spilling until they are within the limit."""
    spiller = Spiller(function)
    budget, needed = limit, 0
    for _ in range(MAX_ROUNDS):
        graph = Graph(function)
        classes = coalesce(function, LiveRanges(function, graph, order))
        assignment = allocate(classes)
        needed = needed or assignment.nregs
        if assignment.npreds > MAX_PREDS:
            raise CompileError(
                f"kernel {function.name!r} needs {assignment.npreds} predicates at one time, {MAX_PREDS} is the most",
                function.filename,
            )
        if assignment.nregs <= limit:
            return assignment
        chosen = _victims(spiller, classes, graph, budget)
        if not chosen:
            break
        spiller.rewrite(classes, chosen)
        budget = max(budget - 1, 4)
    raise CompileError(
        f"kernel {function.name!r} needs {needed} registers per thread, {limit} are allowed, "
        "and local memory cannot make up for it",
        function.filename,
    )


def _victims(spiller: Spiller, classes: Classes, graph: Graph, budget: int) -> set[int]:
    """Classes to spill; a tighter budget where holes in live ranges made the allocation need more than is live."""
    for tighter in range(budget, 3, -1):
        if chosen := spiller.choose(classes, graph, tighter):
            return chosen
    return set()


def _params(function: Function) -> tuple[ParamWord, ...]:
    """What each parameter word holds: pointers and textures where arrays say so."""
    places = {
        array.param: (array.space, position) for position, array in enumerate(function.arrays) if array.param >= 0
    }
    kinds = {Space.GLOBAL: "ptr", Space.TEXTURE: "tex"}
    words = []
    for p in function.params:
        space, position = places.get(p.word, (None, -1))
        words.append(ParamWord(p.name, kinds.get(space, p.type.value) if space else p.type.value, position))
    return tuple(words)
