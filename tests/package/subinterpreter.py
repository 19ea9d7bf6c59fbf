"""A launch in an interpreter beside the main one: `python -m tests.package.subinterpreter FILE` runs a script there."""

import importlib
import sys
from pathlib import Path

from smmux import _core
from smmux.machines.management import Management, SharedMemory


def interpreters():
    """The module that Python has for them: its name changed with 3.13."""
    name = "_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters"
    return importlib.import_module(name)


def current():
    """What tells the interpreter that runs this from others."""
    return str(interpreters().get_current())


class Watched(Management):
    """Looks in which interpreter it is called."""

    made_in = current()

    def place(self, request, free):
        assert current() == self.made_in
        return super().place(request, free)


def run(arguments, memories):
    """The counters of a launch in this interpreter, with a manager for each memory."""
    assert str(interpreters().get_main()) != current()
    managers = [Watched(SharedMemory(*memory)) for memory in memories]
    return str(sorted(_core.launch(**arguments, managers=managers)["counters"].items()))


if __name__ == "__main__":
    inside = interpreters().create()
    try:
        failure = interpreters().run_string(inside, Path(sys.argv[1]).read_text())
    finally:
        interpreters().destroy(inside)
    sys.exit(str(failure) if failure else 0)
