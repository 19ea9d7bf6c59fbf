"""How advice is asked for: its options, and the command; kernels that it stores."""

from __future__ import annotations

import json
import pickle
import re
from pathlib import Path

import numpy as np
import pytest

import smmux
from smmux import cuda, float32, multiplex
from smmux.__main__ import main
from smmux.cuda import threadIdx

THREADS = 64

KERNELS = '''
from smmux import cuda, float32


@cuda.jit
def rotate(a, b, rounds):
    """Each thread reads what its neighbours wrote."""
    words = cuda.shared.array(1536, float32)
    t = cuda.threadIdx.x
    value = a[cuda.grid(1)]
    for i in range(rounds):
        value = value * float32(0.5) + float32(i)
    words[t] = value
    cuda.syncthreads()
    b[cuda.grid(1)] = words[(t + 1) % 64]
'''


@cuda.jit
def scale(a):
    i = cuda.grid(1)
    a[i] = 2 * a[i]


def test_jobs_are_at_least_one() -> None:
    for jobs in (0, -1):
        with pytest.raises(smmux.ConfigError, match=f"jobs must be at least 1, not {jobs}"):
            smmux.advise(scale, 2, THREADS, (np.zeros(128, np.float32),), "GTX285", jobs=jobs)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"jobs": "x"}, "jobs must be an integer, not 'x'"),
        ({"jobs": 1.5}, "jobs must be an integer, not 1.5"),
        ({"divided": 5}, "divided must map arguments of multiplex.co_hw to values, not be 5"),
        ({"divided": {"bogus": 1}}, "divided has no 'bogus'; it has array, private, shape, interleaved, threads"),
        ({"divided": {"array": "s", "privat": 1}}, "divided has no 'privat'; did you mean 'private'?; it has array"),
        ({"divided": {"array": "s"}}, "divided['private'] must be an integer, and is not given"),
        ({"divided": {"array": 1, "private": 1}}, "divided['array'] must be the name of a shared array, not 1"),
        ({"divided": {"array": "s", "private": "x"}}, "divided['private'] must be an integer, not 'x'"),
        ({"divided": {"array": "s", "private": 1, "shape": "x"}}, "divided['shape'] must be an integer or a tuple"),
        ({"divided": {"array": "s", "private": 1, "interleaved": (1,)}}, "divided['interleaved'] must be two integers"),
    ],
)
def test_options_without_meaning_are_refused_by_name(options, message) -> None:
    with pytest.raises(smmux.ConfigError, match=re.escape(message)):
        smmux.advise(scale, 2, THREADS, (np.zeros(128, np.float32),), "GTX285", **options)


@pytest.mark.long
def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, best = tmp_path / "kernels.py", tmp_path / "best.py"
    file.write_text(KERNELS)
    words = ["--grid", "240", "--block", "64", "--gpu", "GTX480-16K", "float32[15360]=random", "float32[15360]", "300"]
    assert main(["advise", f"{file}:rotate", "--source", str(best), *words]) == 0
    out = capsys.readouterr().out
    assert "rotate on GTX480-16K" in out
    assert "best: " in out
    text = best.read_text()
    assert text.startswith("# Advice rotate on GTX480-16K: VTB")
    assert "launch rotate_vtb" in text
    assert "instead of rotate[(240, 1, 1), (64, 1, 1)]" in text
    compile(text, str(best), "exec")
    assert main(["advise", f"{file}:rotate", "--json", *words]) == 0
    assert json.loads(capsys.readouterr().out)["kernel"] == "rotate"
    assert main(["advise", f"{file}:rotate", "--private", "words=12", *words]) == 0
    assert "CO-VTB" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["advise", f"{file}:rotate", "--private", "words", *words])
    assert "'words' is not ARRAY=N" in capsys.readouterr().err


def test_source_that_is_not_to_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A kernel that nothing makes faster is no file of its own; a place that cannot be written is told first."""
    file, best = tmp_path / "kernels.py", tmp_path / "best.py"
    file.write_text(f"{KERNELS}\n\n@cuda.jit\ndef scale(a):\n    a[cuda.grid(1)] *= 2\n")
    words = ["advise", f"{file}:scale", "--grid", "2", "--block", "64", "--json", "float32[128]"]
    assert main([*words, "--source", str(best)]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["best"] is None
    assert captured.err.endswith(f"{best} is not written: no scheme gains 2 %\n")
    assert not best.exists()
    none = tmp_path / "none"
    for place, reason in ((none / "best.py", f"there is no folder {none}"), (tmp_path, "it is a folder")):
        assert main([*words, "no argument", "--source", str(place)]) == 1
        assert capsys.readouterr().err == f"error: {place} cannot be written: {reason}\n"


def made_here(factor: int) -> smmux.kernel.Kernel:
    @cuda.jit(device=True)
    def times(x):
        return x * factor

    @cuda.jit
    def turned(a):
        words = cuda.shared.array(THREADS, float32)
        words[threadIdx.x] = times(a[cuda.grid(1)])
        cuda.syncthreads()
        a[cuda.grid(1)] = words[THREADS - 1 - threadIdx.x]

    return turned


def test_kernels_can_be_stored_that_no_module_has() -> None:
    own = made_here(5)
    assert pickle.loads(pickle.dumps(scale)) is scale
    for kernel in (own, multiplex.hw(own)):
        values = [np.arange(2 * THREADS, dtype=np.float32) for _ in range(2)]
        again = pickle.loads(pickle.dumps(kernel))
        runs = [k.simulate(2, THREADS, (a,)) for k, a in zip((kernel, again), values, strict=True)]
        assert (values[0] == values[1]).all()
        assert values[0][0] == 5 * (THREADS - 1)
        assert runs[0].counters == runs[1].counters
