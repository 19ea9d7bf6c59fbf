"""Random kernels made smaller: what a failure does not need is removed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tests.numba.random_kernels import BARRIER, Block, Case, Statement, render


def smaller(case: Case, fails: Callable[[Case], bool]) -> Case:
    """The case with as many statements removed as possible while it still fails; barriers stay."""
    progress = True
    while progress:
        progress = False
        for body in _reductions(case.body):
            candidate = replace(case, body=body)
            if fails(candidate):
                case, progress = candidate, True
                break
    return case


def _reductions(body: list[Statement]) -> list[list[Statement]]:
    """Every body with one statement removed, or one block replaced by what is in it."""
    found = []
    for i in reversed(range(len(body))):
        before, statement, after = body[:i], body[i], body[i + 1 :]
        if statement == BARRIER:
            continue
        text = render([statement], 0)
        if BARRIER not in text:
            found.append(before + after)
        if isinstance(statement, Block):
            if statement.header == "if True:" or (statement.header.startswith("if ") and "break" not in text):
                if not any(isinstance(s, Block) and s.header[:2] == "el" for s in statement.body):
                    found.append(before + statement.body + after)
            found += [
                [*before, Block(statement.header, inner), *after] for inner in _reductions(statement.body) if inner
            ]
    return found
