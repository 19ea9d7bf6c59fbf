"""From IR to Program: the order of the passes, and nothing else."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps

from smmux.base import interrupt
from smmux.compiler.analysis.verify import Stage, verify
from smmux.compiler.code.budget import Allocated, Finish, Search
from smmux.compiler.code.encode import encode
from smmux.compiler.code.wide import words_held
from smmux.compiler.ir import Function, Space
from smmux.compiler.options import Options
from smmux.compiler.passes.addresses import lower_addresses
from smmux.compiler.passes.branches import simplify_branches
from smmux.compiler.passes.contract import contract
from smmux.compiler.passes.dead import remove_dead
from smmux.compiler.passes.ifconvert import convert_ifs
from smmux.compiler.passes.induction import reduce_strength
from smmux.compiler.passes.invariant import hoist_invariants, insert_preheaders
from smmux.compiler.passes.join import join_accesses
from smmux.compiler.passes.legalize import legalize, normalize
from smmux.compiler.passes.multiply import expand_products
from smmux.compiler.passes.safe_indices import resolve_indices
from smmux.compiler.passes.schedule import Schedules
from smmux.compiler.passes.short_circuits import shorten_circuits
from smmux.compiler.passes.ssa import construct, destruct
from smmux.compiler.passes.value_numbering import number_values
from smmux.compiler.program import ParamWord, Program

__all__ = ["compile_function", "compile_prepared", "prepare"]

Pass = Callable[[Function, Options], None]


def _plain(function: Callable[[Function], None]) -> Pass:
    """A pass that no option concerns."""

    @wraps(function)
    def run(ir: Function, options: Options) -> None:
        function(ir)

    return run


def _join(function: Function, options: Options) -> None:
    if options.join:
        join_accesses(function)


def _expand(function: Function, options: Options) -> None:
    if not options.fused_mad:  # CC 2.x and later multiply 32 bits in one instruction
        expand_products(function)


def _contract(function: Function, options: Options) -> None:
    contract(function, options.fused_mad)


def _reduce(function: Function, options: Options) -> None:
    reduce_strength(function, chained=options.thrift is not None and options.schedule == "list")


CONSTRUCT, LOWER_ADDRESSES = _plain(construct), _plain(lower_addresses)

PREPARE: tuple[Pass, ...] = (
    _plain(normalize),
    CONSTRUCT,
    resolve_indices,
    _plain(simplify_branches),
    _plain(number_values),
    _plain(remove_dead),
    _plain(simplify_branches),
    _plain(convert_ifs),
    _plain(shorten_circuits),
    _plain(simplify_branches),
    _plain(number_values),
    _plain(remove_dead),
    _join,
    _plain(insert_preheaders),
)
"""Passes that no register budget concerns. After "construct" each register has one definition."""

LOWER: tuple[Pass, ...] = (
    _reduce,
    LOWER_ADDRESSES,
    _plain(number_values),
    _plain(remove_dead),
    _expand,
    _contract,
    _plain(simplify_branches),
    _plain(insert_preheaders),
    _plain(legalize),
)
"""Passes between the two motions of invariants: of what the kernel computes, and of its addresses."""


LEADS_TO = {CONSTRUCT: Stage.SSA, LOWER_ADDRESSES: Stage.LOWERED}
"""The passes that lead to another stage."""


def _after(function: Function, run: Pass, stage: Stage) -> Stage:
    """The stage behind a pass; under SMMUX_CHECK the function's form is verified there."""
    stage = max(stage, LEADS_TO.get(run, stage))
    if os.environ.get("SMMUX_CHECK"):
        verify(function, stage, getattr(run, "__name__", "a pass"))
    return stage


def prepare(function: Function, options: Options) -> Function:
    """Run the passes that depend on the option `join` alone on a function, which is changed and returned."""
    stage = Stage.FRONT
    for run in PREPARE:
        interrupt.poll()
        run(function, options)
        stage = _after(function, run, stage)
    return function


def compile_function(function: Function, options: Options | None = None) -> Program:
    """Compile a function, which is consumed.

    Raises CompileError where the kernel does not fit the machine.
    """
    options = options or Options()
    return compile_prepared(prepare(function, options), options)


def compile_prepared(prepared: Function, options: Options) -> Program:
    """Compile a function that `prepare` returned; it stays as it is, for other budgets and schedules."""

    def lower(function: Function, live: int) -> int:
        most, stage = hoist_invariants(function, live), Stage.SSA
        for run in LOWER:
            interrupt.poll()
            run(function, options)
            stage = _after(function, run, stage)
        return max(most, hoist_invariants(function, live))

    def finish(lowered: Function) -> Finish:
        listed = options.schedule == "list"
        schedules = Schedules(lowered, dict(options.latencies), options.issue_interval) if listed else None

        def finished(live: int) -> Function:
            interrupt.poll()
            function = lowered.copy()
            if schedules:
                schedules.reorder(function, live)
            destruct(function)
            legalize(function)
            if os.environ.get("SMMUX_CHECK"):
                verify(function, Stage.MACHINE, "legalize")
            return function

        return finished

    best = Search(prepared, lower, finish, options).run()
    function, assignment = best.function, best.assignment
    code, uniforms, joined = encode(function, best.order, assignment)
    return Program(
        function.name,
        function.filename,
        code,
        uniforms,
        _registers(best, options),
        assignment.npreds,
        function.shared_bytes,
        function.dynamic_bytes,
        -(-function.local_bytes // 4) * 4,  # of whole words
        bytes(function.const),
        _params(function),
        tuple(function.arrays),
        function.line,
        joined,
        tuple(function.traps),
        tuple(function.texts),
        facts=options.facts if function.indexed else None,
        guarded=bool(function.guarded),
        outside=tuple(place for place, always in function.axes.items() if always),
        schedule=options.schedule,
    )


def _registers(code: Allocated, options: Options) -> int:
    """The registers of a thread."""
    needed = code.assignment.nregs
    if options.thrift and options.schedule == "list":
        needed = options.thrift.counted(needed, words_held(code, options.thrift.words), options.max_registers)
    return max(needed, 1)


def _params(function: Function) -> tuple[ParamWord, ...]:
    """The type of each parameter word: a pointer or a texture where an array begins there, else a scalar."""
    places = {
        array.param: (array.space, position) for position, array in enumerate(function.arrays) if array.param >= 0
    }
    kinds = {Space.GLOBAL: "ptr", Space.TEXTURE: "tex"}
    words = []
    for p in function.params:
        space, position = places.get(p.word, (None, -1))
        words.append(ParamWord(p.name, kinds.get(space, p.type.value) if space else p.wide or p.type.value, position))
    return tuple(words)
