"""Making a failing kernel small: statements and parts of expressions go as long as it fails in the same way."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import replace

from tests.numba.python_kernels import Case

ATTEMPTS = 1500  # kernels tried


def smaller(case: Case, fails: Callable[[Case], bool]) -> Case:
    """The case with as much removed as possible while it still fails."""
    attempts, progress = 0, True
    while progress:
        progress = False
        position = 0
        while attempts < ATTEMPTS:
            text = _without(case.text, position)
            if text is None:
                break
            attempts += 1
            candidate = replace(case, text=text)
            if text != case.text and fails(candidate):
                case, progress = candidate, True
            else:
                position += 1
    return case


def _without(text: str, position: int) -> str | None:
    """The text with one part removed or made simpler: the one of that number."""
    tree = ast.parse(text)
    for number, change in enumerate(_changes(tree)):
        if number == position:
            change()
            return ast.unparse(ast.fix_missing_locations(tree)) + "\n"
    return None


def _changes(tree: ast.Module) -> Iterator[Callable[[], object]]:
    """What could be removed, the large parts first."""
    yield from ((lambda i=i: tree.body.pop(i)) for i in range(1, len(tree.body) - 1))
    for node in ast.walk(tree):
        for name in ("body", "orelse"):
            body = getattr(node, name, None)
            if isinstance(body, list) and node is not tree:
                yield from _of_body(node, name, body)
    for node in ast.walk(tree):
        yield from _of_expression(node)


def _of_body(node: ast.AST, name: str, body: list[ast.stmt]) -> Iterator[Callable[[], object]]:
    def put(i: int, new: list[ast.stmt]) -> None:
        rest = [*body[:i], *new, *body[i + 1 :]]
        setattr(node, name, rest or ([ast.Pass()] if name == "body" else []))

    for i in reversed(range(len(body))):
        statement = body[i]
        if not isinstance(statement, ast.Pass):
            yield lambda i=i: put(i, [])
        inner = getattr(statement, "body", None)
        if isinstance(inner, list) and not isinstance(statement, ast.FunctionDef):
            yield lambda i=i, inner=inner: put(i, copy.deepcopy(inner))


def _of_expression(node: ast.AST) -> Iterator[Callable[[], object]]:
    """Replace an expression by one of its parts."""
    for name, value in ast.iter_fields(node):
        values = value if isinstance(value, list) else [value]
        for i, child in enumerate(values):
            if not isinstance(child, ast.expr) or isinstance(node, ast.FunctionDef | ast.Attribute):
                continue
            for part in _parts(child):
                yield (
                    lambda name=name, value=value, i=i, part=part: (
                        value.__setitem__(i, part) if isinstance(value, list) else setattr(node, name, part)
                    )
                )


def _parts(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    if isinstance(node, ast.BoolOp):
        return [*node.values, ast.Constant(True)]
    if isinstance(node, ast.Compare):
        shorter = [ast.Compare(node.left, node.ops[:1], node.comparators[:1])] if len(node.ops) > 1 else []
        return [*shorter, ast.Constant(True), ast.Constant(False)]
    if isinstance(node, ast.UnaryOp | ast.NamedExpr):
        return [node.operand if isinstance(node, ast.UnaryOp) else node.value]
    if isinstance(node, ast.Call) and node.args and isinstance(node.func, ast.Name):
        return [arg for arg in node.args if not isinstance(arg, ast.Starred)]
    return []
