"""The front end: a kernel's syntax tree and the types of its arguments become IR.

It is a partial evaluator. Expressions are lowered by the rules of `expression_rules` and `choices`, statements by those
of `statement_rules` and `loops`; what is known at compile time is computed there and then, so that constant loops
unroll, constant conditions vanish and per-thread arrays become registers without passes of their own.
"""

from __future__ import annotations

from smmux.base.deep import deep
from smmux.compiler import ir
from smmux.compiler.options import Options
from smmux.compiler.python import (
    array_declarations,
    array_functions,
    builtin,
    calls,
    choices,
    complex_functions,
    cooperation,
    device_functions,
    environment,
    expression_rules,
    intrinsics,
    iteration,
    loops,
    mathematics,
    numpy_functions,
    operators,
    printing,
    raw_operations,
    statement_rules,
)
from smmux.compiler.python.array_choices import Choices, Restart
from smmux.compiler.python.call_graph import check_calls
from smmux.compiler.python.cleanup import clean
from smmux.compiler.python.context import Context, Frame, Note, Widened
from smmux.compiler.python.infer import infer
from smmux.compiler.python.parameters import parameters
from smmux.compiler.python.promotion import Typing
from smmux.compiler.python.rules import execute
from smmux.compiler.python.versions import Mixed
from smmux.compiler.signature import Signature
from smmux.source.function_source import FunctionSource, from_function, from_text

__all__ = ["FunctionSource", "Note", "from_function", "from_text", "lower", "portability"]

_RULES = (
    array_functions,
    builtin,
    calls,
    choices,
    complex_functions,
    cooperation,
    device_functions,
    expression_rules,
    intrinsics,
    iteration,
    loops,
    mathematics,
    numpy_functions,
    operators,
    printing,
    raw_operations,
    statement_rules,
)  # importing them registers the rules
MAX_ATTEMPTS = 40
"""Times that a kernel is lowered, each with more local arrays in memory instead of registers, more variables whose
assignment is checked, and more that stand for several arrays [EST].

An attempt finds all arrays that need memory as the kernel then is, so that the second one is the last unless memory
makes an index of another array unknown. One ends where paths with different arrays come together, and the next ones
find which arrays these are. With fewer than a kernel needs, compiling ends in an AssertionError."""


def lower(source: FunctionSource, signature: Signature, options: Options) -> ir.Function:
    """The kernel as IR, specialised to its arguments' types and shapes."""
    return _lower(source, signature, options).function


@deep
def portability(source: FunctionSource, signature: Signature, options: Options) -> list[Note]:
    """The places where compiled Numba, which computes in int64 and float64, can get another value."""
    notes = _lower(source, signature, options).notes.values()
    return sorted(notes, key=lambda n: (n.loc.filename, n.loc.line, n.loc.col, n.message))


def _lower(source: FunctionSource, signature: Signature, options: Options) -> Context:
    check_calls(source)
    in_memory: frozenset[object] = frozenset()
    checked: frozenset[str] = frozenset()
    chosen = Choices()
    wide = signature.wide
    for _ in range(MAX_ATTEMPTS):
        ctx = Context(source, options, in_memory, checked, chosen)
        ctx.dynshared = signature.dynshared
        ctx.typing = Typing.NUMBA if options.typing == "numba" else Typing.WIDE if wide else Typing.NARROW
        try:
            _lower_once(ctx, signature)
        except Restart as restart:
            chosen = chosen.next(restart.variables)
            continue
        except Mixed as mixed:
            assert source.remade is not None
            source = source.remade(mixed.names)
            continue
        except Widened:
            wide = True
            chosen = chosen.next()
            continue
        if not ctx.demoted and ctx.unsure <= checked and chosen.settled:
            clean(ctx.function)
            return ctx
        in_memory |= ctx.demoted
        checked |= ctx.unsure
        chosen = chosen.next()
    raise AssertionError("local arrays keep moving to memory")


def _lower_once(ctx: Context, signature: Signature) -> None:
    f = Frame(ctx, ctx.source)
    bound = parameters(f, signature)
    inference = infer(f, bound)
    f.adopt(inference)
    ctx.env = {f.key(name): value for name, value in bound.items()}
    for name, value in bound.items():
        f.at(ctx.source.node)
        environment.write(f, ctx.source.node, name, value)
    execute(f, f.source.node.body)
    if f.b.block is not None:
        f.b.exit()
    if ctx.dynshared:
        array_declarations.launch_offset(f)
    if ctx.nothing_to_allocate and not ctx.function.dynamic_bytes:
        raise ctx.nothing_to_allocate
    for instr in ctx.function.instrs():
        if instr.attrs.get("bytes") == intrinsics.ALL_DYNAMIC:
            instr.attrs["bytes"] = ctx.function.dynamic_bytes
