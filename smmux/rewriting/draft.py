"""A kernel's tree while passes change it, with the names that they add and what analyses have found out about it."""

from __future__ import annotations

import ast
import itertools
from collections import ChainMap
from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import Any, TypeVar

from smmux.base.parsing import statement
from smmux.base.trees import copied
from smmux.compiler.python.call_graph import check_calls
from smmux.kernels.kernel import Kernel
from smmux.rewriting.build import at, has_docstring, lists, names_in
from smmux.rewriting.refusals import refuse
from smmux.source.function_source import MISSING, FunctionSource, is_overlap

Answer = TypeVar("Answer")


class Names:
    """Names of a kernel: those taken, and those that stand for modules of smmux."""

    def __init__(self, source: FunctionSource, tree: ast.FunctionDef) -> None:
        self.source = source
        self.taken = names_in(tree) | {a.arg for a in tree.args.args}
        self.added: dict[str, Any] = {}

    def new(self, *wishes: str) -> str:
        """The first of the wishes that is free, or the last with a number."""
        numbered = (f"{wishes[-1]}_{i}" for i in itertools.count(2))
        wanted = itertools.chain(wishes, numbered)
        name = next(n for n in wanted if n not in self.taken and self.source.lookup(n) is MISSING)
        self.taken.add(name)
        return name

    def module(self, name: str, module: Any) -> str:
        """How the kernel calls a module of smmux; it becomes known to it if it was not."""
        for candidate in (name, *sorted(n for n in self.taken if self.source.lookup(n) is module)):
            if self.source.lookup(candidate) is module and candidate not in self.source.locals:
                return candidate
        own = next((n for n, m in self.added.items() if m is module), "") or self.new(name, f"{name}_module")
        self.added[own] = module
        return own


class Draft:
    """A copy of a kernel that passes change.

    source: the kernel as it was, but for the names added since. tree: the kernel as it is now. overlapping: statements
    of the tree that stood under `with smmux.overlap():`.
    """

    def __init__(self, kernel: FunctionSource) -> None:
        check_calls(kernel)
        self.tree = copied(kernel.node)
        self.overlapping = without_annotations(kernel, self.tree.body)
        self.names = Names(kernel, self.tree)
        self.source = replace(kernel, captured=ChainMap(self.names.added, kernel.captured))  # type: ignore[arg-type]
        self._known: dict[Hashable, Any] = {}

    def ask(self, question: Callable[..., Answer], *more: Hashable) -> Answer:
        """question(draft, *more), worked out once as long as the tree stays as it is."""
        key = (question, *more)
        if key not in self._known:
            self._known[key] = question(self, *more)
        answer: Answer = self._known[key]
        return answer

    def changed(self) -> None:
        """Say that the tree is another one now."""
        self._known.clear()

    def rename(self, suffix: str, text: str) -> None:
        """Give the kernel its new name and docstring, in place of the one it has."""
        self.tree.name += suffix
        self.tree.body[: int(has_docstring(self.tree))] = [at(statement(repr(text)), self.tree.body[0])]
        self.changed()

    def finished(self) -> FunctionSource:
        """The function that the tree is now."""
        return replace(self.source, node=ast.fix_missing_locations(self.tree), transformed=True)

    def kernel(self) -> Kernel:
        """The kernel that the tree is now."""
        return Kernel(self.finished())


def without_annotations(source: FunctionSource, body: list[ast.stmt]) -> set[ast.stmt]:
    """Put what stands under `with smmux.overlap():` in its place, in place. Returns the statements that stood there."""
    annotated: set[ast.stmt] = set()
    made: list[ast.stmt] = []
    for node in body:
        for inner in lists(node):
            annotated |= without_annotations(source, inner)
        if not isinstance(node, ast.With):
            made.append(node)
        elif is_overlap(source, node):
            annotated |= set(node.body)
            made += node.body
        else:
            raise refuse(source, node, "with is not supported, but for `with smmux.overlap():`")
    body[:] = made
    return annotated
