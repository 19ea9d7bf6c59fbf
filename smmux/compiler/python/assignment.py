"""Whether variables are assigned on every path: where that is not sure, the kernel checks it while it runs.

Beside a variable that some path has not assigned stands a flag in the environment. Kernels seldom read such a variable,
so that the flags hold nothing at first; if one is needed, the kernel is lowered again with registers for the flags of
the variables of that name.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from smmux.base.trees import walk
from smmux.compiler import ir
from smmux.compiler.build.numbers import Kind, Value, constant, weak
from smmux.compiler.python.context import Env, Frame, Key
from smmux.compiler.python.convert import operand
from smmux.compiler.python.identity import same
from smmux.compiler.python.versions import written
from smmux.errors import CompileError

MAYBE = Value(Kind.BOOL)
"""The flag of a variable whose flag has no register yet."""


def flag(key: Key) -> Key:
    """The key of a variable's flag."""
    return (*key, "assigned")


def is_flag(key: Key) -> bool:
    """True for the key of a flag."""
    return len(key) == 3


def is_variable(key: Key) -> bool:
    """True for a variable of the user's, rather than an element of a local array or a value that waits."""
    return isinstance(key[0], int) and not key[1].startswith(".")


def state(env: Env, key: Key) -> Value:
    """The flag of a variable: a constant where it is known."""
    if key not in env:
        return weak(False)
    value = env.get(flag(key), SURE)
    assert isinstance(value, Value)
    return value


SURE = weak(True)


def joined(f: Frame, variables: Iterable[Key], envs: list[Env]) -> Env:
    """Flags of variables where paths come together."""
    flags: Env = {}
    for key in variables:
        states = [state(env, key) for env in envs]
        alike = all(same(states[0], other) for other in states[1:])
        flags[flag(key)] = states[0] if alike else new_flag(f, key)
    return flags


def new_flag(f: Frame, key: Key) -> Value:
    """A flag that differs between paths."""
    if key[1] not in f.ctx.checked:
        return MAYBE
    return Value(Kind.BOOL, f.b.reg(ir.Type.PRED, f"{key[1]}.assigned", variable=True), None, 0, 1)


def moves(f: Frame, flags: Env, env: Env) -> list[tuple[ir.Reg, ir.Operand]]:
    """The moves that write the flags that a path has."""
    found = []
    for key, to in flags.items():
        if is_flag(key) and isinstance(to, Value) and isinstance(to.operand, ir.Reg):
            found.append((to.operand, operand(f, state(env, key[:2]))))
    return found


def at_header(f: Frame, env: Env, names: Iterable[str], header: Env) -> Env:
    """Flags of the variables that a loop assigns, if they may not be assigned before it."""
    flags: Env = {}
    for name in names:
        key = f.key(name)
        if (key in header or key in env) and not state(env, key).const:
            flags[flag(key)] = new_flag(f, key)
    return flags


def settled(env: Env, paths: list[Env]) -> Env:
    """An environment without the flags of variables that all paths to it have assigned."""
    return {
        key: value
        for key, value in env.items()
        if not is_flag(key) or not all(state(path, key[:2]).const for path in paths)
    }


def assign(f: Frame, name: str) -> None:
    """Take note that a variable is assigned from here on."""
    f.ctx.env.pop(flag(f.key(name)), None)


def copy(f: Frame, target: str, source: str) -> None:
    """Let a variable be assigned where another one is."""
    state = f.ctx.env.get(flag(f.key(source)))
    if state is not None:
        f.ctx.env[flag(f.key(target))] = state


def forget(f: Frame, name: str) -> None:
    """Let a variable be one that is not assigned."""
    f.ctx.env.pop(f.key(name), None)
    f.ctx.env.pop(flag(f.key(name)), None)


def check(f: Frame, node: ast.AST, name: str) -> None:
    """Let the kernel end with an error here in threads that have not assigned a variable."""
    told = f.ctx.env.pop(flag(f.key(name)), None)
    if told is None or f.source.transformed:
        return
    f.ctx.unsure.add(name)
    assert isinstance(told, Value)
    if told.operand is not None:
        _trap(f, node, name, f.b.op("not.pred", ir.Type.PRED, told.operand))


def missing(f: Frame, node: ast.AST, name: str) -> Value:
    """Stand for a variable that no path to this place assigns; in a loop, the place may be reached later only."""
    declared = f.types.get(name)
    if not f.loops or not isinstance(declared, Value):
        raise unassigned(f, node, name)
    _trap(f, node, name, operand(f, weak(True)))
    value = constant(declared.kind, 0)
    f.ctx.env[f.key(name)] = value
    return value


def unassigned(f: Frame, node: ast.AST, name: str) -> CompileError:
    """The refusal of a variable that is read before all its definitions."""
    return f.error(node, f"variable {written(name)!r} is used before it is assigned")


def _trap(f: Frame, node: ast.AST, name: str, condition: ir.Operand) -> None:
    f.at(node)
    f.b.trap(condition, ir.Trap("variable", written(name)))


def sure(f: Frame, node: ast.expr) -> bool:
    """True if all variables in an expression are assigned, so that computing it cannot fail where it is not wanted."""
    if f.ctx.dry or f.source.transformed:
        return True
    for inner in walk(node):
        if isinstance(inner, ast.Name) and inner.id in f.source.locals and not state(f.ctx.env, f.key(inner.id)).const:
            return False
    return True
