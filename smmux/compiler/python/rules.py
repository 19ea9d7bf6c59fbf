"""The tables that say how each node of a syntax tree, and each known function, is lowered."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, TypeVar

from smmux.base import interrupt
from smmux.compiler.python import unsupported
from smmux.compiler.python.context import Frame
from smmux.compiler.python.typed_values import Anything, Tuple

Expression = Callable[[Frame, Any], Anything]
Statement = Callable[[Frame, Any], None]
CallRule = TypeVar("CallRule", bound=Callable[..., Anything])
Call = Callable[..., Anything]  # (frame, node, *arguments, **keywords) -> value

POLL = 64
"""Statements between two looks at Ctrl-C [EST]: lowering them takes milliseconds, and unrolled kernels have ten
thousands. Code does not depend on it."""

EXPRESSIONS: dict[type[ast.AST], Expression] = {}
STATEMENTS: dict[type[ast.AST], Statement] = {}
INFERENCES: dict[type[ast.AST], Statement] = {}  # of compound statements, whose parts are visited one by one
CALLS: dict[int, tuple[Any, Call]] = {}  # by id of the Python function, which the entry keeps alive


def expression(*nodes: type[ast.AST]) -> Callable[[Expression], Expression]:
    """Register the rule for expressions of these classes."""

    def register(rule: Expression) -> Expression:
        EXPRESSIONS.update(dict.fromkeys(nodes, rule))
        return rule

    return register


def statement(*nodes: type[ast.AST]) -> Callable[[Statement], Statement]:
    """Register the rule for statements of these classes."""

    def register(rule: Statement) -> Statement:
        STATEMENTS.update(dict.fromkeys(nodes, rule))
        return rule

    return register


def inference(*nodes: type[ast.AST]) -> Callable[[Statement], Statement]:
    """Register the rule that visits statements of these classes for their types only."""

    def register(rule: Statement) -> Statement:
        INFERENCES.update(dict.fromkeys(nodes, rule))
        return rule

    return register


def call(*functions: Any) -> Callable[[CallRule], CallRule]:
    """Register the rule for calls of these Python functions."""

    def register(rule: CallRule) -> CallRule:
        CALLS.update({id(function): (function, rule) for function in functions})
        return rule

    return register


def evaluate(f: Frame, node: ast.expr) -> Anything:
    """Lower an expression."""
    rule = EXPRESSIONS.get(type(node))
    if rule is None:
        raise f.error(node, unsupported.of_syntax(node))
    return rule(f, node)


def evaluate_all(f: Frame, nodes: list[ast.expr]) -> list[Anything]:
    """Lower the expressions of an argument list or tuple, * expanded."""
    values: list[Anything] = []
    for node in nodes:
        if isinstance(node, ast.Starred):
            items = evaluate(f, node.value)
            if not isinstance(items, Tuple):
                raise f.error(node, "* needs a tuple")
            values.extend(items.items)
        else:
            values.append(evaluate(f, node))
    return values


def execute(f: Frame, body: list[ast.stmt]) -> None:
    """Lower statements, up to where execution cannot get any further."""
    for node in body:
        if f.b.block is None:
            return
        f.at(node)
        f.b.work += 1
        if f.b.work % POLL == 0:
            interrupt.poll()
        rule = STATEMENTS.get(type(node))
        if rule is None:
            raise f.error(node, unsupported.of_syntax(node))
        rule(f, node)
