"""Syntax trees as text, as their author wrote them: unchanged statements keep their spelling and their comments."""

from __future__ import annotations

import ast
import copy
import textwrap
from collections.abc import Iterator

from smmux.compiler.frontend.source import FunctionSource
from smmux.multiplex.syntax.build import expression

INDENT = "    "
WIDTH = 120


class Printer:
    """Prints statements of one file."""

    def __init__(self, source: FunctionSource) -> None:
        self.source = source
        self.printed: set[int] = set()  # lines of the file whose comments are out

    def function(self, tree: ast.FunctionDef) -> str:
        """A function, without its decorators."""
        head = copy.copy(tree)
        head.body, head.decorator_list = [ast.Pass()], []
        lines = ast.unparse(head).splitlines()[:-1]
        return "\n".join([*lines, *self.block(tree.body, 1)]) + "\n"

    def block(self, body: list[ast.stmt], depth: int) -> list[str]:
        """A statement list."""
        lines: list[str] = []
        for i, node in enumerate(body):
            if i:
                lines += self.before(node, depth)
            lines += self.statement(node, depth)
        return lines

    def statement(self, node: ast.stmt, depth: int) -> list[str]:
        """A statement and what is in it."""
        indent = INDENT * depth
        if isinstance(node, ast.For):
            head = f"for {self.text(node.target)} in {self.text(node.iter)}"
        elif isinstance(node, ast.If | ast.While):
            head = f"{'if' if isinstance(node, ast.If) else 'while'} {self.text(node.test)}"
        else:
            return [indent + line if line else "" for line in self.simple(node, WIDTH - len(indent)).splitlines()]
        lines = [f"{indent}{head}:", *self.block(node.body, depth + 1)]
        if isinstance(node, ast.If) and len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If):
            rest = self.statement(node.orelse[0], depth)
            return [*lines, f"{indent}el{rest[0].lstrip()}", *rest[1:]]
        return [*lines, f"{indent}else:", *self.block(node.orelse, depth + 1)] if node.orelse else lines

    def simple(self, node: ast.stmt, width: int) -> str:
        """A statement without others in it."""
        if (text := self.original(node)) is not None:
            return text
        if isinstance(node, ast.Assign):
            targets = "".join(f"{self.text(t)} = " for t in node.targets)
            if isinstance(node.value, ast.Tuple) and len(node.value.elts) > 1:
                return targets.replace("(", "").replace(")", "") + ", ".join(self.text(v) for v in node.value.elts)
            return targets + self.text(node.value)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            return '"""' + "\n".join(textwrap.wrap(node.value.value, width - 6)) + '"""'
        return ast.unparse(node)

    def text(self, node: ast.expr) -> str:
        """An expression."""
        return self.original(node) or ast.unparse(node)

    def original(self, node: ast.stmt | ast.expr) -> str | None:
        """How the user's file spells a node, if the node is still what stands there."""
        start, last = getattr(node, "lineno", 0), getattr(node, "end_lineno", None) or 0
        if not 0 < start <= last or node.end_col_offset is None:
            return None
        lines = [self.source.line(n).rstrip("\n").encode() for n in range(start, last + 1)]
        lines[-1] = lines[-1][: node.end_col_offset]
        lines[0] = lines[0][node.col_offset :]
        text = b"\n".join(lines).decode(errors="replace")
        try:
            parsed = ast.parse(text).body if isinstance(node, ast.stmt) else [expression(f"({text})")]
        except (SyntaxError, ValueError):
            return None
        if [_plain(part) for part in parsed] != [_plain(node)]:
            return None
        first, *rest = text.splitlines()
        return "\n".join([first, *(line[min(node.col_offset, len(line) - len(line.lstrip())) :] for line in rest)])

    def before(self, node: ast.stmt, depth: int) -> Iterator[str]:
        """Blank line and comments that stand in front of a statement in the user's file, the first time."""
        number = getattr(node, "lineno", 0) - 1
        comments: list[str] = []
        while number > 0 and self.source.line(number).strip().startswith("#"):
            comments.insert(0, INDENT * depth + self.source.line(number).strip())
            number -= 1
        if number + 1 in self.printed or number <= self.source.node.lineno:
            return
        if comments or not self.source.line(number).strip():
            self.printed.add(number + 1)
            if self.source.line(number) and not self.source.line(number).strip():
                yield ""
            yield from comments


def _plain(node: ast.AST) -> str:
    """A tree as text, without places, and with all names and elements as if they were loaded."""
    return ast.dump(node).replace("ctx=Store()", "ctx=Load()")
