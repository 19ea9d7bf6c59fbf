"""Kernels that no file holds: typed at the prompt, in `exec`, in `python -c`, read from standard input."""

import code as interactive
import collections
import dataclasses
import os
import pty
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

import smmux
from smmux import cuda
from smmux.base.texts import _same

ROOT = Path(smmux.__file__).parents[1]

KERNEL = """
@cuda.jit
def double(a):
    i = cuda.grid(1)
    a[i] = a[i] * FACTOR
"""

PROGRAM = f"""
import numpy as np
from smmux import cuda
FACTOR = 2
{KERNEL}
a = np.arange(32, dtype=np.int32)
double[1, 32](a)
print(a[31])
"""


def doubled(kernel):
    a = np.arange(32, dtype=np.int32)
    kernel[1, 32](a)
    return int(a[31])


def names(**others):
    return {"cuda": cuda, "FACTOR": 2, **others}


def test_exec_of_a_variable():
    found = names()
    exec(KERNEL, found)
    assert doubled(found["double"]) == 62


def test_exec_of_a_text_that_nobody_keeps():
    found = names()
    exec(textwrap.dedent(KERNEL).replace("FACTOR", str(1 + 2)), found)
    assert doubled(found["double"]) == 93


def test_two_texts_with_kernels_of_one_name():
    kernels = []
    for factor in range(3):
        found = names()
        exec(KERNEL.replace("FACTOR", str(factor)), found)
        kernels.append(found["double"])
    assert [doubled(kernel) for kernel in kernels] == [0, 31, 62]


def test_constants_that_only_look_equal():
    first, second = (compile(f"def f(): return {text}", "f", "exec").co_consts[0] for text in ("0.0", "-0.0"))
    assert not _same(first, second)
    assert _same(first, first)


def test_cells_that_a_magic_times():
    """IPython builds a function around the cell, as a tree that has no text."""
    shell = pytest.importorskip("IPython.core.interactiveshell").InteractiveShell()
    shell.user_ns.update(names(a=np.arange(32, dtype=np.int32)))
    shell.run_cell("%%timeit -n1 -r1\n" + KERNEL.strip() + "\ndouble[1, 32](a)\n")
    assert shell.user_ns["a"][31] == 62


def test_a_function_decorated_later():
    found = names()
    exec(compile(KERNEL.replace("@cuda.jit", ""), "no such file.py", "exec"), found)
    assert doubled(cuda.jit(found["double"])) == 62


def test_classes_that_python_writes_do_not_crowd_out_a_text():
    found = names()
    exec(textwrap.dedent(KERNEL).replace("@cuda.jit", "").replace("FACTOR", str(2 + 3)), found)
    for i in range(70):
        dataclasses.make_dataclass(f"D{i}", ["a", "b"], frozen=True)
        collections.namedtuple(f"N{i}", "a b")
    assert doubled(cuda.jit(found["double"])) == 155


def test_text_under_the_name_of_a_file_that_has_another(tmp_path):
    file, text = tmp_path / "file.py", KERNEL  # where it is looked for: in functions that may have called exec
    for content in ("", "x = 1\n" * 9, text.replace("i", "j"), "def other():\n    pass\n" * 9):
        file.write_text(content)
        found = names()
        exec(compile(text, str(file), "exec"), found)
        assert doubled(found["double"]) == 62


def test_messages_and_counters_show_the_line():
    found = names()
    exec(KERNEL, found)
    result = found["double"].simulate(1, 32, (np.arange(32, dtype=np.int32),), profile=True)
    assert result.source(max(result.lines())).strip() == "a[i] = a[i] * FACTOR"
    del found["FACTOR"]
    with pytest.raises(smmux.CompileError) as caught:
        doubled(found["double"])
    assert caught.value.text == "    a[i] = a[i] * FACTOR"


def test_consoles_written_in_python():
    console = interactive.InteractiveConsole(names(doubled=doubled))
    for line in [*KERNEL.splitlines(), "", "x = doubled(double)"]:
        console.push(line)
    assert console.locals["x"] == 62


def test_lambdas():
    found = names()
    exec("first, second = cuda.jit(device=True)(lambda x: x + 1), cuda.jit(device=True)(lambda x: x * 3)", found)
    exec(KERNEL.replace("* FACTOR", "+ second(first(i))"), found)
    assert doubled(found["double"]) == 31 + 96
    three = cuda.jit(device=True)(lambda x: (lambda y: y)(x) if x is None else x + 3)
    found = names(three=three)
    exec(KERNEL.replace("a[i] * FACTOR", "three(i)"), found)
    assert doubled(found["double"]) == 34


def python(*words, **options):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    run = subprocess.run(
        [sys.executable, *words], env=environment, capture_output=True, text=True, timeout=100, check=False, **options
    )
    return run.stdout + run.stderr


def test_program_on_the_command_line():
    assert python("-c", PROGRAM) == "62\n"


def test_program_from_a_file_as_standard_input(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    with open(tmp_path / "program.py") as file:
        assert python("-", stdin=file) == "62\n"


def test_program_from_a_pipe_is_refused_with_the_cure():
    message = python("-", input=PROGRAM)
    assert "put the kernel in a file or a notebook cell, or build it with smmux.kernel.from_source" in message


@pytest.mark.parametrize("twice", [False, True], ids=["", "two equal lines"])
def test_kernels_typed_at_the_prompt(twice):
    """The lines go through a terminal, as a user's do."""
    pytest.importorskip("readline")
    program = PROGRAM
    if twice:
        program = program.replace("* FACTOR\n", "* FACTOR\n    cuda.syncthreads()\n    cuda.syncthreads()\n")
    assert "62" in typed(program).splitlines()


def typed(program):
    """What the prompt prints after a program has been typed."""
    master, slave = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "dumb", "HOME": "/nonexistent"}
    child = subprocess.Popen(
        [sys.executable, "-q", "-i"], stdin=slave, stdout=slave, stderr=slave, env=environment, close_fds=True
    )
    os.close(slave)
    os.write(master, (program + "\nexit()\n").encode())
    output = b""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            part = os.read(master, 4096)
        except OSError:
            break
        if not part:
            break
        output += part
    child.wait(timeout=60)
    os.close(master)
    return output.decode().replace("\r", "")
