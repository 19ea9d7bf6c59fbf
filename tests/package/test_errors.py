"""Exceptions: one tree, caught by the builtin one expects, with the place in the source."""

import pickle
import re
import traceback

import pytest

import smmux
from smmux import errors


def test_everything_is_an_smmux_error():
    classes = [getattr(errors, name) for name in errors.__all__ if name.endswith("Error")]
    assert all(issubclass(cls, smmux.Error) for cls in classes)
    assert all(getattr(smmux, cls.__name__) is cls for cls in classes)
    assert all(cls.__doc__ for cls in classes)


@pytest.mark.parametrize(
    ("cls", "builtin"),
    [
        (smmux.CompileError, SyntaxError),
        (smmux.ConfigError, ValueError),
        (smmux.OutOfBoundsError, IndexError),
        (smmux.KernelZeroDivisionError, ZeroDivisionError),
        (smmux.KernelUnboundLocalError, UnboundLocalError),
        (smmux.KernelAssertionError, AssertionError),
    ],
)
def test_builtin_handlers_catch_what_they_expect(cls, builtin):
    assert issubclass(cls, builtin)


@pytest.fixture
def compile_error():
    return smmux.CompileError("'yield' is not supported in a kernel", "kernels.py", 12, 9, "    x = yield a\n")


def test_compile_error_points_at_the_column(compile_error):
    assert str(compile_error).split("\n") == [
        "kernels.py:12:9: 'yield' is not supported in a kernel",
        "    x = yield a",
        "        ^",
    ]
    assert (compile_error.filename, compile_error.lineno, compile_error.col) == ("kernels.py", 12, 9)


def test_compile_error_is_printed_like_a_syntax_error(compile_error):
    printed = "".join(traceback.format_exception_only(compile_error))
    assert re.sub(r"\^+", "^", printed).split("\n") == [  # from Python 3.13 on the whole word is marked
        '  File "kernels.py", line 12',
        "    x = yield a",
        "        ^",
        "smmux.errors.CompileError: 'yield' is not supported in a kernel",
        "",
    ]


def test_compile_error_without_place_or_text_is_its_message():
    assert str(smmux.CompileError("no source")) == "no source"
    assert str(smmux.CompileError("odd", "k.py", 3)) == "k.py:3: odd"


@pytest.mark.parametrize("col", [0, 1, 200])
def test_a_column_outside_the_text_does_no_harm(col):
    assert str(smmux.CompileError("odd", "k.py", 3, col, "    x\n")).startswith(f"k.py:3:{col}: odd\n    x")


def test_errors_survive_pickling(compile_error):
    assert str(pickle.loads(pickle.dumps(compile_error))) == str(compile_error)
    fault = errors.from_fault("GLOBAL_BOUNDS", {"line": 7, "block": (1, 0, 0), "thread": (5, 0, 0), "cycle": 99})
    fault.filename = "k.py"
    assert str(pickle.loads(pickle.dumps(fault))) == str(fault)


def test_a_fault_without_a_line_names_no_thread():
    fault = errors.from_fault("CYCLE_LIMIT", {"line": 0, "block": (0, 0, 0), "thread": (0, 0, 0), "cycle": 0})
    assert str(fault) == "cycle limit reached"
    assert fault.block is None


def test_an_unknown_code_is_still_an_error():
    assert isinstance(errors.from_fault("NOVEL", {}), smmux.LaunchError)
