"""Runs one file of Numba's tests and prints the outcomes as JSON: `python -m tests.numba.own.file PATH SECONDS`."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import os
import signal
import sys
import unittest
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.numba.own.replaced import Absent, replace

OK = "ok"


class Outcomes(unittest.TestResult):
    """What became of each test, by its name: "ok", or why it failed."""

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[str, str] = {}

    def note(self, test: unittest.TestCase, error: Any) -> None:
        """Note an error of a test."""
        kind, value = error[0], error[1]
        self.found[test.id()] = f"{kind.__name__}: {str(value)[-600:]}"

    addError = addFailure = note  # type: ignore[assignment]

    def addSuccess(self, test: unittest.TestCase) -> None:
        self.found.setdefault(test.id(), OK)

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        self.found[test.id()] = f"skipped: {reason}"

    def addExpectedFailure(self, test: unittest.TestCase, error: Any) -> None:
        self.addSkip(test, "Numba fails, too")

    def addUnexpectedSuccess(self, test: unittest.TestCase) -> None:
        self.addSkip(test, "Numba fails")

    def addSubTest(self, test: unittest.TestCase, subtest: unittest.TestCase, error: Any) -> None:
        if error is not None:
            self.note(test, error)


def outcomes(path: Path, seconds: int) -> dict[str, str]:
    """Import a file of tests and run them, each for some seconds at most."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    module.__package__ = f"numba.cuda.tests.{path.parent.name}"
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    Absent.importing = False
    result = Outcomes()
    for test in _each(unittest.defaultTestLoader.loadTestsFromModule(module)):
        signal.alarm(seconds)
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                test.run(result)
        except BaseException as error:
            result.found[test.id()] = f"{type(error).__name__}: {error}"
        signal.alarm(0)
    return result.found


def _each(suite: Any) -> Iterator[unittest.TestCase]:
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from _each(test)
        else:
            yield test


def _late(number: int, frame: Any) -> None:
    raise TimeoutError("too slow")


def main() -> None:
    """Print the outcomes of a file; an empty name stands for the file itself, where it cannot be imported."""
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, _late)
    replace()
    here = Path(__file__).parent
    os.environ["PYTHONPATH"] = os.pathsep.join(map(str, (here / "site", here.parents[2])))  # of processes of the tests
    try:
        found = outcomes(Path(sys.argv[1]), int(sys.argv[2]))
    except BaseException as error:
        found = {"": f"{type(error).__name__}: {error}"}
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
