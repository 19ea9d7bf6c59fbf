"""Lockstep: what a warp's text means when each operation is performed for all its threads before the next one.

`perform` executes a kernel's text with a vector of values per name, threads that a branch leaves out being masked. Of
Python it reads what the kernels of the tests are written in, and refuses the rest.
`random_kernel` writes kernels whose threads read what others of the warp have stored.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[Any]

SIZE = 256
"""Elements of the arrays of a random kernel."""

BINARY: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
COMPARE: dict[type, Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


class _Warp:
    """The names of a warp of `threads` threads."""

    def __init__(self, names: dict[str, Any], threads: int) -> None:
        self.names, self.threads = names, threads

    def value(self, node: ast.expr, mask: Vector) -> Any:
        match node:
            case ast.Constant():
                return node.value
            case ast.Name():
                return self.names[node.id]
            case ast.BinOp():
                left, right = self.value(node.left, mask), self.value(node.right, mask)
                return BINARY[type(node.op)](left, right)
            case ast.UnaryOp(ast.USub()):
                return -self.value(node.operand, mask)
            case ast.Compare(ops=[_]):
                left, right = self.value(node.left, mask), self.value(node.comparators[0], mask)
                return COMPARE[type(node.ops[0])](left, right)
            case ast.Subscript():
                array, index = self.place(node, mask)
                return array[index] if array.itemsize >= 4 else array[index].astype(np.int32)
            case ast.Call():  # a cast, min or max
                arguments = [self.value(argument, mask) for argument in node.args]
                two = {"min": np.minimum, "max": np.maximum}
                name = ast.unparse(node.func)
                return two[name](*arguments) if name in two else self.names[name](*arguments)
        raise AssertionError(f"the oracle does not read the expression {ast.unparse(node)}")

    def where(self, test: ast.expr, mask: Vector) -> Vector:
        """The threads of a mask for which a condition holds."""
        return mask & np.broadcast_to(np.asarray(self.value(test, mask), bool), self.threads)

    def place(self, node: ast.Subscript, mask: Vector) -> tuple[Vector, Any]:
        """An array and the element of each thread; of threads left out any."""
        array = self.value(node.value, mask)
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        indices = [np.broadcast_to(self.value(part, mask), self.threads) for part in parts]
        return array, tuple(np.where(mask, index, 0) for index in indices)

    def store(self, target: ast.expr, value: Any, mask: Vector) -> None:
        value = np.broadcast_to(value, self.threads)
        if isinstance(target, ast.Subscript):
            array, index = self.place(target, mask)
            array[tuple(part[mask] for part in index)] = value[mask]  # the last of several threads wins
            return
        assert isinstance(target, ast.Name)
        old = np.broadcast_to(self.names.get(target.id, value), self.threads)
        self.names[target.id] = np.where(mask, value, old)

    def run(self, body: list[ast.stmt], mask: Vector) -> None:
        for statement in body:
            self.statement(statement, mask)

    def statement(self, node: ast.stmt, mask: Vector) -> None:
        match node:
            case ast.Assign([ast.Tuple(targets)], ast.Tuple(parts)):
                values = [self.value(part, mask) for part in parts]
                for target, value in zip(targets, values, strict=True):
                    self.store(target, value, mask)
            case ast.Assign([target]):
                self.store(target, self.value(node.value, mask), mask)
            case ast.AugAssign():
                assert isinstance(node.target, ast.Name | ast.Subscript)
                load = ast.parse(ast.unparse(node.target), mode="eval").body
                self.store(node.target, self.value(ast.BinOp(load, node.op, node.value), mask), mask)
            case ast.If():
                chosen = self.where(node.test, mask)
                self.run(node.body, chosen)
                self.run(node.orelse, mask & ~chosen)
            case ast.While(orelse=[]):
                while (mask := self.where(node.test, mask)).any():
                    self.run(node.body, mask)
            case ast.For(iter=ast.Call(ast.Name("range"), bounds), orelse=[]):
                for i in range(*(int(np.max(self.value(bound, mask))) for bound in bounds)):
                    self.store(node.target, np.int32(i), mask)
                    self.run(node.body, mask)
            case ast.Pass():
                pass
            case _:
                raise AssertionError(f"the oracle does not read the statement {ast.unparse(node)}")


def perform(text: str, names: dict[str, Any], threads: int) -> None:
    """Execute statements for one warp; names: arrays, which are written, and scalars or vectors of them."""
    _Warp(names, threads).run(ast.parse(text).body, np.ones(threads, bool))


def _index(rng: Random) -> str:
    """An element below `SIZE`, in most forms different for each thread."""
    near, few = rng.choice((1, 1, 2, 4, 8, 16, 31)), rng.randrange(4)
    form = rng.choice(
        ("t", "t", "t", "t + K", "t + K", "t ^ 5", "31 - t", "2 * t", "2 * t + 1", "4 * t + J", "t // 2 + K", "K",
         "t * 3 + J", "x & 63", "t % 8 + 8 * J", "t + i", "2 * t + i", "t + 32 * i", "32 * (t >> 3) + (t & 7) + 8 * J",
         "t - n * (n >> 4) + K", "n * J + t", "t + 8 * n + K", "n * (n >> 4) * 7 + t + K")
    )  # fmt: skip
    return form.replace("K", str(near)).replace("J", str(few))


def _value(rng: Random) -> str:
    return rng.choice(
        (
            *("x", "y", "t", f"{rng.randrange(100)}"),
            *(f"s[{_index(rng)}]", f"s[{_index(rng)}] + x", f"g[{_index(rng)}] + y"),
        )
    )


def _statement(rng: Random, depth: int) -> list[str]:
    array = rng.choice("sssg")
    kind = rng.randrange(12 if depth < 2 else 9)
    if kind < 3:
        return [f"{array}[{_index(rng)}] = {_value(rng)}"]
    if kind < 5:
        return [f"{array}[{_index(rng)}] += {_value(rng)}"]
    if kind < 8:
        return [f"{rng.choice('xy')} = {_value(rng)}"]
    if kind == 8:  # neighbours, as joined accesses are made of
        k = rng.choice((2, 4))
        j = rng.randrange(4)
        return [f"{array}[{k} * t + {k * j + m}] = {_value(rng)}" for m in range(k)]
    few = rng.randint(1, 4)
    body = [line for _ in range(rng.randint(1, 3)) for line in _statement(rng, depth + 1)]
    head = rng.choice(
        (f"if t < {rng.choice((1, 4, 8, 16, 31))}:", "if x & 1:", "for i in range(n):", f"for i in range({few}):")
    )
    return [head, *("    " + line for line in body)]


def random_kernel(rng: Random) -> str:
    """Statements of thread `t` of a warp about `s` in shared and `g` in global memory, of `SIZE` elements each."""
    lines = [line for _ in range(rng.randint(3, 9)) for line in _statement(rng, 0)]
    return "\n".join(["i = 0", *lines])
