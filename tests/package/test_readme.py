"""The README's examples run and print what it says."""

import contextlib
import io
import linecache
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from smmux.__main__ import main

README = (Path(__file__).parents[2] / "README.md").read_text()


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.S | re.M)


@pytest.fixture(scope="module")
def examples():
    """Names that the examples define, and what they print."""
    printed = io.StringIO()
    names = {}
    for number, code in enumerate(blocks("python")):
        filename = f"<README example {number}>"
        linecache.cache[filename] = (len(code), None, code.splitlines(keepends=True), filename)
        with contextlib.redirect_stdout(printed):
            exec(compile(code, filename, "exec"), names)
    return names, printed.getvalue()


def test_examples_print_what_they_say(examples):
    assert examples[1] == "".join(blocks("text"))


def test_dynamic_example_computes_the_same(examples):
    outputs = []
    for kernel, options in (("reverse", {}), ("reverse_dynamic", {"management": "dynamic", "extra_blocks": 2})):
        a = np.arange(1024, dtype=np.float32)
        examples[0][kernel].simulate(8, 128, (a,), gpu="GTX285", **options)
        outputs.append(a)
    assert (outputs[0] == outputs[1]).all()


def test_commands_make_their_own_environment():
    commands = "".join(blocks("sh")).splitlines()
    assert len(commands) == 2
    assert all(command.startswith("python3 -m venv .venv && .venv/bin/pip install -e ") for command in commands)


KERNELS = """
from smmux import cuda, float32


@cuda.jit
def saxpy(a, x, y):
    i = cuda.grid(1)
    y[i] = a * x[i] + y[i]


@cuda.jit
def blur(x, y):
    tile = cuda.shared.array((80, 32), float32)  # of which an SM has room for one
    i, j = cuda.threadIdx.y, cuda.threadIdx.x
    row, column = cuda.blockIdx.y * 8 + i, cuda.blockIdx.x * 32 + j
    value = x[row, column]
    for _ in range(200):
        value = value * float32(0.5) + float32(1)
    tile[i, j] = value
    cuda.syncthreads()
    y[row, column] = tile[i, j] + tile[i, (j + 1) % 32]
"""


def test_shell_commands_work(tmp_path, monkeypatch, capsys):
    (tmp_path / "kernels.py").write_text(KERNELS)
    monkeypatch.chdir(tmp_path)
    for command in "".join(blocks("bash")).splitlines():
        words = shlex.split(command, comments=True)
        assert words[:3] == ["python", "-m", "smmux"]
        assert main(words[3:]) == 0, command
    assert "def blur" in (tmp_path / "faster.py").read_text()
    assert "faster.py" not in capsys.readouterr().err
