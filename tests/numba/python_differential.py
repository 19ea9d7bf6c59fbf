"""Random kernels here and as plain Python over NumPy scalars: the same bits, or the same kind of error.

    python -m tests.numba.python_differential --count 50000 --seed 0 --jobs 16

prints each kernel that differs, made small. `python_kernels` says what kernels contain, `python_oracle` how Python runs
them.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import os
import re
import signal
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

import numpy as np

import smmux
from tests.numba import python_oracle, sources
from tests.numba.python_kernels import Case, Features, parameters
from tests.numba.python_numbers import Number
from tests.numba.python_shrink import smaller
from tests.numba.python_statements import generate

CHUNK = 25  # kernels that a process is given at a time
SHRUNK = 1  # of each kind of difference in a chunk: the others are counted
SHOWN = 5  # of each kind of difference
FILES = 8  # names of kernel files, used again and again: what is loaded stays in memory
POISONS = (1, 87)  # values of what raises, where it does not
RUNS: tuple[dict[str, Any], ...] = (
    {"gpu": "GTX285-1100"},
    {"gpu": "GTX480-48K", "schedule": "list"},
    {"gpu": "K20c", "unroll_limit": 8},
    {"gpu": "GTX285", "schedule": "list", "max_registers": 24},
)
"""What kernels are compiled for and run on, in turn. Nothing is fused: NumPy rounds products and sums."""

OURS = {
    smmux.OutOfBoundsError: "IndexError",
    smmux.KernelZeroDivisionError: "ZeroDivisionError",
    smmux.KernelUnboundLocalError: "UnboundLocalError",
}
ALLOWED = ("integer division by zero", "outside a", "outside 'l")
"""Refusals of what would raise if it were executed: of constants, and so perhaps never."""

_numbers = itertools.count()


def outcome(case: Case, options: dict[str, Any]) -> tuple[str, str]:
    """How the two sides differ, as a kind and in words; both empty if they do not.

    Where Python finds an index outside its axis that the machine may find inside its memory, the machine has to find it
    with `check="bounds"`.
    """
    expected = case.arguments()
    raised = _in_python(case, expected)
    if "OutsideAxis" in raised:
        raised, options = raised - {"OutsideAxis"} | {"IndexError"}, {**options, "check": "bounds"}
    found = case.arguments(wide="narrow" in options)
    filename = f"random_kernel_{next(_numbers) % FILES}.py"
    try:
        kernel = sources.load(case.text, filename, "smmux").kernel
        with warnings.catch_warnings(action="ignore"):
            kernel.simulate(case.grid, case.block, found, fused_mad=False, max_cycles=10**6, **options)
    except smmux.CompileError as refusal:
        allowed = raised or any(text in str(refusal.msg) for text in ALLOWED)
        return ("", "") if allowed else (f"refused: {re.sub(r'[0-9]+', '#', str(refusal.msg))[:70]}", str(refusal))
    except smmux.Error as error:
        name = next((name for kind, name in OURS.items() if isinstance(error, kind)), type(error).__name__)
        if name in raised or (raised and _comes_later(case, name, getattr(error, "line", None))):
            return "", ""
        if raised and options.get("schedule") == "list":  # which moves what fails past what fails: program order tells
            return outcome(case, {**options, "schedule": "source"})
        return name, f"{error}, where Python raises {sorted(raised) or 'nothing'}"
    if raised and not _unused(case, found):
        return "silent", f"nothing raised, where Python raises {sorted(raised)}"
    return ("", "") if raised else _unlike(case, found, expected)


def _in_python(case: Case, arguments: list[Any]) -> set[str]:
    """Run the case in Python. Returns the names of what was raised."""
    return python_oracle.run(python_oracle.compiled(case.text), case.grid, case.block, arguments)


def _going_on(case: Case, poison: int) -> tuple[set[str], list[Any], set[tuple[str, int]]]:
    """As `_in_python`, but what raises is a number instead; also what was not raised for that, and in which lines."""
    expected = case.arguments()
    Number.poison = poison
    Number.passed.clear()
    try:
        return _in_python(case, expected), expected, set(Number.passed)
    finally:
        Number.poison = None


def _unused(case: Case, found: Sequence[Any]) -> bool:
    """True if what raises in Python is a value that nobody uses: the compiler drops what is not used."""
    for poison in POISONS:
        raised, expected, _ = _going_on(case, poison)
        if raised or _unlike(case, found, expected)[0]:
            return False
    return True


def _comes_later(case: Case, name: str, line: int | None) -> bool:
    """True if Python would raise this too, in this line, whatever the value that raised before: of two operations that
    do not need each other, a schedule may have the second one first."""
    return all((name, line) in _going_on(case, poison)[2] for poison in POISONS)


def _unlike(case: Case, found: Sequence[Any], expected: Sequence[Any]) -> tuple[str, str]:
    names = parameters(case.kinds).split(", ")
    before = case.arguments(wide=True)
    for name, a, b, start in zip(names, found, expected, before, strict=True):
        if not isinstance(a, np.ndarray):
            continue
        if a.dtype != b.dtype:  # it was passed with fewer bits: what nobody stored to has kept all of them
            kept = (a == b.astype(a.dtype)) | (a == start) | (a != a)
            if not kept.all():
                place = np.argwhere(~kept)[0].tolist()
                return f"digits of {name}", f"{name}{place} is {a[tuple(place)]!r}"
            a = a.astype(b.dtype)
        same = (_bits(a) == _bits(b)) | ((a != a) & (b != b))
        if not same.all():
            place = np.argwhere(~same)[0].tolist()
            return f"values of {name}", f"{name}{place} is {a[tuple(place)]!r}, not {b[tuple(place)]!r}"
    return "", ""


def _bits(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return array.view(f"u{array.itemsize}") if array.dtype.kind == "f" else array


def verdict(case: Case, options: dict[str, Any]) -> tuple[str, str]:
    """As `outcome`, but anything else that goes wrong is a difference too."""
    try:
        return outcome(case, options)
    except smmux.Error as error:
        return type(error).__name__, str(error)
    except Exception as error:
        return f"{type(error).__name__} of Python", f"{type(error).__name__}: {str(error)[:300]}"


def report(
    seeds: Sequence[int], features: Features, mixed: bool, keep: bool, narrow: bool = False
) -> tuple[list[str], Counter[str]]:
    """Kernels that differ, made small unless they are to be kept, and how often each kind of difference was seen.

    mixed: every third kernel has 64-bit data. narrow: kernels have arguments of 64 bits that are passed with 32.
    """
    found, kinds = [], Counter[str]()
    for seed in seeds:
        chosen = replace(features, wide=seed % 3 == 0) if mixed else features
        case, options = generate(Random(seed), chosen), RUNS[seed % len(RUNS)] | ({"narrow": True} if narrow else {})
        kind, words = verdict(case, options)
        if not kind:
            continue
        kinds[kind] += 1
        if not keep and kinds[kind] <= SHRUNK:
            case = smaller(case, lambda c, k=kind, o=options: verdict(c, o)[0] == k)  # type: ignore[misc]
            words = verdict(case, options)[1]
        if kinds[kind] > SHRUNK:
            continue
        text = case.text[case.text.index("@cuda.jit") :]
        found.append(f"---- seed {seed}, {case.grid} x {case.block}, {options}: {kind}: {words}\n{text}")
    return found, kinds


def _kind_of(text: str) -> str:
    return text.split("}: ", 1)[1].split(": ", 1)[0]


def chunks(first: int, count: int) -> Iterator[range]:
    """Seeds, a few at a time."""
    for start in range(first, first + count, CHUNK):
        yield range(start, min(start + CHUNK, first + count))


def main(argv: list[str] | None = None) -> int:
    """Compare many kernels; print those that differ, made small."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", action="store_true", help="print failing kernels as generated")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    parser.add_argument("--wide", action=argparse.BooleanOptionalAction, help="64-bit data in all kernels or in none")
    parser.add_argument("--narrow", action="store_true", help="arguments of 64 bits, passed with 32")
    parser.add_argument("--hostile", type=int, default=15, help="of a hundred kernels, those that may raise")
    given = parser.parse_args(argv)
    features = Features(wide=bool(given.wide), hostile=given.hostile)
    one = partial(
        report, features=features, mixed=given.wide is None and not given.narrow, keep=given.keep, narrow=given.narrow
    )
    kinds: Counter[str] = Counter()
    done = 0
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a limit of time: say what was found
    pool = ProcessPoolExecutor(given.jobs, initializer=_deaf)
    try:
        for found, some in pool.map(one, chunks(given.seed, given.count)):
            shown = [text for text in found if kinds[_kind_of(text)] < SHOWN]
            kinds += some
            done = min(done + CHUNK, given.count)
            sys.stdout.writelines(text + "\n" for text in shown)
            sys.stdout.flush()
            _progress(f"{done} kernels, {kinds.total()} differ ")
        _progress("\n")
    except KeyboardInterrupt:
        _deaf()
        sys.stdout.write(f"interrupted before seed {given.seed + done}\n")
    finally:  # also if a process died
        for kind, times in kinds.most_common():
            sys.stdout.write(f"{times} times: {kind}\n")
        sys.stdout.write(f"{done} kernels, {kinds.total()} differ\n")
        sys.stdout.flush()
        if done < given.count:
            for process in multiprocessing.active_children():
                process.kill()
        pool.shutdown(cancel_futures=True)
    return 1 if kinds else 0


def _deaf() -> None:
    """Hear of no interruption: of the first only the process that prints the summary, which then ends the others."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        sys.stderr.write("\r" + text)
        sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
