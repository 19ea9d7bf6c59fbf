"""Programs on disk: the same as compiled, under a key that whatever they depend on changes, and never in the way."""

from __future__ import annotations

import linecache
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import smmux
from smmux import benchmarks, cuda
from smmux.compiler.driver import kept
from smmux.compiler.driver.compiling import clear_cache
from smmux.compiler.program import Program
from smmux.source.lasting import lasting

ROOT = Path(__file__).parents[2]
KERNEL = """
from math import floor
import numpy as np
from smmux import cuda, float32

STEP = 3
TABLE = np.arange(8, dtype=np.float32)


@cuda.jit(device=True)
def raised(x, by=1.5):
    return floor(x) * by


@cuda.jit
def kernel(a):
    table = cuda.const.array_like(TABLE)
    tile = cuda.shared.array(64, float32)
    i = cuda.grid(1)
    tile[cuda.threadIdx.x] = a[i] + table[i % 8]
    cuda.syncthreads()
    a[i] = raised(tile[63 - cuda.threadIdx.x]) * STEP
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache of the test's own, and no programs in memory."""
    monkeypatch.setenv("SMMUX_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("SMMUX_CHECK", raising=False)
    monkeypatch.setattr(kept, "BEGUN", 1 << 62)
    kept._compiler.cache_clear()
    clear_cache()
    yield tmp_path / "cache" / "programs"
    kept._compiler.cache_clear()
    clear_cache()


def defined(text: str = KERNEL) -> Any:
    """The kernel that a file of this text defines."""
    linecache.cache["kernel.py"] = (len(text), None, text.splitlines(keepends=True), "kernel.py")
    names: dict[str, Any] = {"__name__": "kernels"}
    exec(compile(text, "kernel.py", "exec"), names)
    return names["kernel"]


def program(kernel: Any, dtype: Any = np.float32, **options: Any) -> Program:
    compiled: Program = kernel.compile((np.zeros(256, dtype),), gpu="GTX285", **options)
    return compiled


def same(one: Program, other: Program) -> bool:
    pairs = [(getattr(one, each.name), getattr(other, each.name)) for each in fields(Program)]
    return all(np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b for a, b in pairs)


def files(cache: Path) -> list[Path]:
    return sorted(cache.glob("*")) if cache.exists() else []


@pytest.mark.quick(4)
@pytest.mark.parametrize("name", benchmarks.names())
def test_a_program_from_disk_is_the_one_that_was_compiled(name: str, cache: Path) -> None:
    benchmark = benchmarks.get(name)
    problem = benchmark.problem("tiny")
    kernel, grid, block = benchmark.launch(problem)
    runs = []
    for _ in range(2):
        arguments = problem.arguments()
        runs.append(kernel.simulate(grid, block, arguments, gpu="GTX285"))
        problem.check(arguments)
        clear_cache()
    assert files(cache)
    assert runs[0].program is not runs[1].program
    assert same(runs[0].program, runs[1].program)
    assert runs[0].counters == runs[1].counters
    assert runs[1].program.code.flags.writeable == runs[0].program.code.flags.writeable


def test_traps_texts_and_local_memory_come_back(cache: Path) -> None:
    @cuda.jit
    def tells(a):
        i = cuda.grid(1)
        if a[i] > 250:
            late = a[i]
            print("late", late, i)  # noqa: T201
        assert a[i] < 1000
        a[i] = late if i >= 1000 else a[i]

    first = program(tells, check="bounds")
    clear_cache()
    second = program(tells, check="bounds")
    assert first.traps
    assert first.texts
    assert first is not second
    assert same(first, second)


CHANGES = [
    ("STEP = 3", "STEP = 4"),
    ("STEP = 3", "STEP = 3.0"),
    ("np.arange(8", "1 + np.arange(8"),
    ("by=1.5", "by=2.5"),
    ("floor(x) * by", "floor(x) + by"),
    ("from math import floor", "from math import ceil as floor"),
    ("    i = cuda.grid(1)\n", "    # a comment\n    i = cuda.grid(1)\n"),
    ("63 - ", "62 - "),
    ("@cuda.jit\n", "@cuda.jit(fastmath=True)\n"),
]


@pytest.mark.parametrize("old, new", CHANGES)
def test_what_a_program_depends_on_is_in_its_key(
    old: str, new: str, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = program(defined())
    assert len(files(cache)) == 1
    clear_cache()
    assert same(program(defined()), first)
    assert len(files(cache)) == 1
    clear_cache()
    changed = program(defined(KERNEL.replace(old, new)))
    assert len(files(cache)) == 2
    clear_cache()
    monkeypatch.setenv("SMMUX_CACHE", "0")
    assert same(program(defined(KERNEL.replace(old, new))), changed)


def test_types_and_options_are_in_the_key(cache: Path) -> None:
    kernel = defined()
    program(kernel)
    for number, options in enumerate(
        ({"schedule": "source"}, {"max_registers": 8}, {"join": False}, {"typing": "numba"})
    ):
        program(kernel, **options)
        assert len(files(cache)) >= number + 2
    kernel.compile((np.zeros(512, np.float32)[::2],), gpu="GTX285")
    kernel.compile((np.zeros(256, np.float64),), gpu="K20c")
    assert len(files(cache)) >= 7


def test_launches_that_share_a_program_keep_it_once(cache: Path) -> None:
    """Sizes of a wide class have one program in memory; other sizes of it do not go to the disk."""

    @cuda.jit
    def copied(a, n):
        if cuda.grid(1) < n:
            a[cuda.grid(1)] += 1

    programs = [copied.compile((np.zeros(256, np.float32), np.int32(n)), gpu="GTX285") for n in (5, 70, 900)]
    assert all(each is programs[0] for each in programs)
    assert len(files(cache)) == 1


class Point(tuple):
    """A class that another process may have otherwise."""


def test_what_only_this_process_knows_is_not_kept(cache: Path) -> None:
    corner = Point((1, 2))

    @cuda.jit
    def shifted(a):
        a[cuda.grid(1)] += corner[0]

    assert lasting(shifted.definition) is None
    assert lasting(smmux.multiplex.vtb(defined(), n=2).definition) is None
    text = KERNEL.replace(
        "import numpy as np", "import numpy as np\nimport types\nown = types.ModuleType('own')\nown.STEP = 3"
    )
    assert lasting(defined(text.replace("* STEP", "* own.STEP")).definition) is None
    assert lasting(defined(text).definition) is not None
    program(shifted)
    assert not files(cache)


def test_a_damaged_file_is_none(cache: Path) -> None:
    first = program(defined())
    [path] = files(cache)
    content = path.read_bytes()
    key = path.name.removesuffix(kept.END)
    found = kept._read(content, key)
    assert found is not None
    assert same(found, first)
    assert kept._read(content, key[::-1]) is None
    random = np.random.default_rng(1)
    for place in random.integers(0, len(content), 200).tolist():
        assert kept._read(content[:place] + bytes([content[place] ^ 0x10]) + content[place + 1 :], key) is None
        assert kept._read(content[:place], key) is None
    for damage in (b"", content[:-1], b"x" * len(content)):
        path.write_bytes(damage)
        clear_cache()
        assert same(program(defined()), first)
        assert path.read_bytes() == content


def test_the_oldest_programs_go(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(defined())
    [first] = files(cache)
    os.utime(first, (1, 1))
    monkeypatch.setattr(kept, "RARELY", 1)
    monkeypatch.setattr(kept, "MOST_BYTES", 3 * first.stat().st_size)
    for step in range(5, 9):
        program(defined(KERNEL.replace("STEP = 3", f"STEP = {step}")))
    assert first not in files(cache)
    assert 1 <= len(files(cache)) <= 3


@pytest.mark.parametrize("how", ["off", "a file is there", "smmux has changed", "checked"])
def test_without_a_cache_everything_works(
    how: str, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if how == "off":
        monkeypatch.setenv("SMMUX_CACHE", "0")
    elif how == "checked":
        monkeypatch.setenv("SMMUX_CHECK", "1")
    elif how == "smmux has changed":
        monkeypatch.setattr(kept, "BEGUN", 0)
        kept._compiler.cache_clear()
    else:
        (tmp_path / "cache").write_text("no folder")
    assert len(program(defined())) > 10
    assert not cache.exists()


def test_the_folder_is_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SMMUX_CACHE")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", "/there")
    assert kept.folder() == Path("/there/smmux/programs")
    for value in ("", "relative"):
        monkeypatch.setenv("XDG_CACHE_HOME", value)
        assert kept.folder() == Path.home() / ".cache/smmux/programs"


PROCESS = """
import sys
sys.path[:0] = {path!r}
import numpy as np
from kernels_of_a_test import kernel
a = np.arange(256, dtype=np.float32)
result = kernel.simulate(4, 64, (a,), gpu="GTX285")
print(result.cycles, a.sum(), "smmux.compiler.driver.pipeline" in sys.modules)
"""


@pytest.mark.long
def test_processes_share_programs_and_the_second_loads_no_compiler(cache: Path, tmp_path: Path) -> None:
    (tmp_path / "kernels_of_a_test.py").write_text(KERNEL)
    newest = max(changed for _, _, changed in kept._files(kept.PACKAGE))
    time.sleep(max(0, newest + kept.MARGIN + 1_000_000 - time.time_ns()) / 1e9)  # from then on programs are kept
    script = PROCESS.format(path=[str(tmp_path), *sys.path])

    def run(_: int) -> list[str]:
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
        return done.stdout.split()

    with ThreadPoolExecutor(3) as pool:
        several = list(pool.map(run, range(3)))
    assert len({tuple(each[:2]) for each in several}) == 1
    assert [path.suffix for path in files(cache)] == [kept.END]
    assert run(0) == [*several[0][:2], "False"]
