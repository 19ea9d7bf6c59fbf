"""Kernels in all forms that `multiplex.FORMS` lists: outputs are those of NumPy, or the form is refused.

By hand: `python -m tests.multiplex.every_form [NAME...] [--random 200] [--seed 7]` tries the textbook kernels, or those
named, and random ones, and prints why forms were refused.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import numpy as np

from smmux import multiplex
from smmux.errors import Error
from smmux.kernel import Kernel
from smmux.multiplex.analysis.uniformity import analysed
from smmux.multiplex.regions.outline import outline
from tests.multiplex import divided_kernels, random_regions
from tests.multiplex.textbook import TEXTBOOK
from tests.multiplex.written_kernels import Written
from tests.numba import sources

Form = Callable[[Kernel], Kernel]


def forms(kernel: Kernel) -> Iterator[tuple[str, Form]]:
    """Every form of a kernel, each of its arrays divided at two places."""
    for form in multiplex.FORMS.values():
        if form.declaration:
            for array, private in divisions(kernel):
                yield f"{form.name}({array}, {private})", lambda k, f=form, a=array, p=private: f.function(k, a, p)
        elif "n" in form.options:
            for n in (2, 3):
                yield f"{form.name}({n})", lambda k, f=form, n=n: f.function(k, n)
        else:
            yield form.name, form.function


def divisions(kernel: Kernel) -> Iterator[tuple[str, int]]:
    """The shared arrays of a kernel with several rows, each with two numbers of private ones."""
    try:
        analysis = analysed(outline(kernel))
    except multiplex.MultiplexError:
        return
    for array in analysis.shared:
        shape = analysis.fact(array.node.args[0])  # type: ignore[attr-defined]
        rows = shape.items[0].const if shape.items else shape.const
        yield from ((array.name, private) for private in sorted({1, rows // 2, rows - 1}) if 0 < private < rows)


def outcome(kernel: Kernel, make: Form, grid: Any, block: Any, arguments: list[Any], **options: Any) -> str:
    """Empty if a form has run, else why it was refused, or how it failed; outputs are in the arguments."""
    try:
        made = make(kernel)
        if isinstance(made, multiplex.VirtualKernel):
            made = made.fitted(grid, block)
            grid, block = made.geometry(grid, block)
    except multiplex.MultiplexError as reason:
        return f"refused: {reason.msg}"
    except Error as reason:
        return f"fails: {type(reason).__name__}: {reason}"
    try:
        made.simulate(grid, block, arguments, max_cycles=10**8, **options)
    except Error as reason:
        return f"fails: {type(reason).__name__}: {reason}\n{made.source}"
    return ""


def textbook(case: Written, form: str, make: Form) -> str:
    """What becomes of a textbook kernel in a form."""
    arguments = list(case.arguments())
    gpu = "K20c" if "shuffles" in case.kernel.__name__ else "GTX480-48K"
    told = outcome(case.kernel, make, case.grid, case.block, arguments, gpu=gpu, **managed(form))
    if told:
        return told
    found = [a for a in arguments if isinstance(a, np.ndarray)][-1]
    return "" if np.allclose(found, case.expected, case.tolerance, case.tolerance) else "differs"


def random(seed: int) -> Iterator[tuple[str, str]]:
    """What becomes of a random kernel in every form."""
    maker: Any = (random_regions, divided_kernels)[seed % 2]
    case = maker.generate(Random(seed))
    kernel = sources.load(case.text, f"<random kernel {seed}>", "smmux").kernel
    expected = case.arguments()
    kernel.simulate(case.grid, case.block, expected, gpu="GTX480-16K", max_cycles=10**8)
    for form, make in forms(kernel):
        found = case.arguments()
        told = outcome(kernel, make, case.grid, case.block, found, gpu="GTX480-16K", **managed(form))
        yield form, told or ("" if np.array_equal(found[1], expected[1]) else f"differs\n{case.text}")


def managed(form: str) -> dict[str, Any]:
    """Options of the launch that a form needs."""
    return {"management": "dynamic", "extra_blocks": 2} if multiplex.FORMS[form.split("(")[0]].hardware else {}


def cases(options: argparse.Namespace) -> Iterator[tuple[str, str, str]]:
    """All kernels and forms, and what becomes of them."""
    for case in TEXTBOOK:
        if not options.names or case.kernel.__name__ in options.names:
            for form, make in forms(case.kernel):
                yield case.kernel.__name__, form, textbook(case, form, make)
    for seed in range(options.seed, options.seed + options.random):
        for form, told in random(seed):
            yield f"random {seed}", form, told


def main(argv: list[str] | None = None) -> int:
    """Try kernels in every form; print what differs or fails, and why forms were refused."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--random", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--refused", action="store_true", help="print each refusal")
    options = parser.parse_args(argv)
    found: Counter[str] = Counter()
    for name, form, told in cases(options):
        found[told.splitlines()[0][:150] if told else "equal"] += 1
        if told and (options.refused or not told.startswith("refused")):
            sys.stdout.write(f"{name}, {form}: {told}\n")
            sys.stdout.flush()
    for told, count in found.most_common():
        sys.stdout.write(f"{count:6} {told}\n")
    return 1 if any(not told.startswith(("equal", "refused")) for told in found) else 0


if __name__ == "__main__":
    sys.exit(main())
