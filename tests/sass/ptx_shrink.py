"""A random PTX program that differs, made as small as it still differs.

python -m tests.sass.ptx_shrink SEED ARCH [-O0]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace

from smmux.modules.module import load
from tests.reference.ptx_lanes import If, Loop, Op, Statement, Switch
from tests.sass.ptx_text import Program, module_text
from tests.sass.random_ptx import defined, differences, given, program

Statements = tuple[Statement, ...]
MOST = 40
"""Programs that are assembled together."""


def smaller(statements: Statements) -> Iterator[Statements]:
    """The same with something left out, large parts first."""
    size = len(statements)
    while size:
        for first in range(0, len(statements), size):
            yield statements[:first] + statements[first + size :]
        size //= 2
    for at, one in enumerate(statements):
        before, after = statements[:at], statements[at + 1 :]
        for body in bodies(one):
            yield before + body + after
        for other in inside(one):
            yield (*before, other, *after)


def bodies(one: Statement) -> Iterator[Statements]:
    match one:
        case If():
            yield one.then
            yield one.other
        case Switch():
            yield from one.cases


def inside(one: Statement) -> Iterator[Statement]:
    match one:
        case If():
            yield from (replace(one, then=body) for body in smaller(one.then))
            yield from (replace(one, other=body) for body in smaller(one.other))
        case Loop():
            yield from (replace(one, body=body) for body in smaller(one.body))
        case Switch():
            for at, case in enumerate(one.cases):
                for body in smaller(case):
                    yield replace(one, cases=(*one.cases[:at], body, *one.cases[at + 1 :]))
        case Op() if one.guard:
            yield replace(one, guard=None)


def wrong_of(one: Program, tries: Sequence[Statements], option: str) -> list[list[str]]:
    """What differs in each of some programs."""
    programs = [replace(one, name=f"try{n}", statements=body) for n, body in enumerate(tries)]
    start = given(one)
    module = load(module_text(programs), f"sm_{one.arch}", [option], language="ptx")
    found = []
    for candidate in programs:
        try:
            found.append(differences(candidate, module, start, defined(candidate, start)))
        except Exception as error:
            found.append([f"{type(error).__name__}: {error}"])
    return found


def shrunk(one: Program, option: str) -> tuple[Program, list[str]]:
    """The smallest program found, and what differs in it."""
    told = wrong_of(one, [one.statements], option)[0]
    going = bool(told)
    while going:
        going = False
        tries = list(smaller(one.statements))
        for first in range(0, len(tries), MOST):
            results = wrong_of(one, tries[first : first + MOST], option)
            at = next((n for n, wrong in enumerate(results) if wrong and wrong[0][:5] == told[0][:5]), None)
            if at is not None:
                one, told, going = replace(one, statements=tries[first + at]), results[at], True
                break
    return one, told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seed", type=int)
    parser.add_argument("arch", type=int)
    parser.add_argument("--option", default="-O3")
    args = parser.parse_args()
    one, told = shrunk(program(args.seed, args.arch), args.option)
    sys.stdout.write("\n".join([*map(str, one.statements), *told]) + "\n")
    for line in told[:2]:
        name, _, rest = line.partition(" of lane ")
        if name.startswith("%"):
            lane = int(rest.partition(":")[0])
            values = {key: hex(value[lane]) for key, value in given(one).items()}
            sys.stdout.write(f"lane {lane} begins with {values}\n")


if __name__ == "__main__":
    main()
