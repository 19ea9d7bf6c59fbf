"""From IR to Program: the order of the passes, and nothing else."""

from __future__ import annotations

from smmux.compiler.backend.addresses import lower_addresses
from smmux.compiler.backend.coalesce import coalesce
from smmux.compiler.backend.encode import encode, layout
from smmux.compiler.backend.graph import Graph
from smmux.compiler.backend.legalize import legalize, normalize
from smmux.compiler.backend.live import LiveRanges
from smmux.compiler.backend.registers import allocate
from smmux.compiler.ir import Function
from smmux.compiler.options import Options
from smmux.compiler.program import ParamWord, Program

__all__ = ["compile_function"]


def compile_function(function: Function, options: Options | None = None) -> Program:
    """Compile a function, which is consumed.

    Raises CompileError where the kernel does not fit the machine.
    """
    options = options or Options()
    normalize(function)
    lower_addresses(function)
    legalize(function)
    order = layout(function)
    assignment = allocate(coalesce(function, LiveRanges(function, Graph(function), order)))
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


def _params(function: Function) -> tuple[ParamWord, ...]:
    """What each parameter word holds: pointers where arrays say so."""
    pointers = {array.param: position for position, array in enumerate(function.arrays) if array.param >= 0}
    return tuple(
        ParamWord(p.name, "ptr" if p.word in pointers else p.type.value, pointers.get(p.word, -1)) for p in function.params
    )
