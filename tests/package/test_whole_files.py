"""Files are written whole or not at all, several of them together, whenever a disk is full or a process is killed."""

from __future__ import annotations

import os
import re
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from smmux import ConfigError, cuda
from smmux.base import whole_files
from smmux.base.whole_files import finish, replacing, write_bytes, write_text
from smmux.sweep.record_list import Records
from tests.package.small_disk import only, small_disk

NAMES = ("a.json", "a.csv", "a.png", "a.pdf")


@pytest.fixture(autouse=True)
def attentive() -> Iterator[None]:
    """Processes of the tests hear Ctrl-C, also where the tests run in the background, which a shell keeps from it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def write_all(folder: Path, word: str, length: int = 10) -> None:
    with replacing(*(folder / name for name in NAMES)) as drafts:
        for draft in drafts:
            draft.write_text(f"{word} {draft.name} " * length)


def generation(folder: Path) -> set[str]:
    """The first words of the files; what a reader sees."""
    return {(folder / name).read_text().partition(" ")[0] if (folder / name).exists() else "" for name in NAMES}


def test_files_are_what_was_written_with_the_rights_that_they_had(tmp_path: Path) -> None:
    write_all(tmp_path, "old")
    (tmp_path / "a.csv").chmod(0o640)
    (tmp_path / "target").mkdir()
    (tmp_path / "target" / "a").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "target" / "a")
    write_all(tmp_path, "new")
    write_text(tmp_path / "link", "n\u00f6w")
    assert generation(tmp_path) == {"new"}
    assert stat.S_IMODE((tmp_path / "a.csv").stat().st_mode) == 0o640
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target" / "a").read_text(encoding="utf-8") == "n\u00f6w"
    assert sorted(os.listdir(tmp_path)) == sorted([*NAMES, "link", "target"])


def test_an_exception_leaves_what_was_there(tmp_path: Path) -> None:
    write_all(tmp_path, "old")
    with pytest.raises(KeyboardInterrupt), replacing(*(tmp_path / name for name in NAMES)) as drafts:
        drafts[0].write_text("new")
        raise KeyboardInterrupt
    with pytest.raises(FileNotFoundError), replacing(*(tmp_path / name for name in NAMES)) as drafts:
        drafts[0].write_text("new")  # and not the others
    assert generation(tmp_path) == {"old"}
    assert sorted(os.listdir(tmp_path)) == sorted(NAMES)


def test_a_pipe_is_written_to_directly(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    reads = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_text(tmp_path / "pipe", "text")
    assert os.read(reads, 10) == b"text"
    os.close(reads)
    write_text("/dev/null", "text")


def test_files_of_two_folders_do_not_change_together(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="in one folder"), replacing(tmp_path / "a", tmp_path / "b" / "c"):
        pass


def killed_at(call: int, work: Callable[[], None]) -> bool:
    """Whether the work of a process, killed when it makes the call of that number to the system, was killed."""
    child = os.fork()
    if child == 0:
        made = 0

        def watch(event: str, arguments: tuple[Any, ...]) -> None:
            nonlocal made
            if event in ("open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.chmod", "os.listdir"):
                made += 1
                if made > call:
                    os._exit(9)

        sys.addaudithook(watch)
        try:
            work()
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


def test_a_process_that_is_killed_anywhere_leaves_all_old_files_or_all_new_ones(tmp_path: Path) -> None:
    """Some may be on their way when it dies; whoever reads them, or writes again, brings the others."""
    seen = []
    for call in range(200):
        folder = tmp_path / str(call)
        folder.mkdir()
        write_all(folder, "old")
        killed = killed_at(call, lambda folder=folder: write_all(folder, "new"))
        torn = len(generation(folder)) > 1
        if call % 2:
            finish(folder)
        else:
            write_text(folder / "b", "other")
            (folder / "b").unlink()
        found = generation(folder)
        assert found in ({"old"}, {"new"})
        assert not torn or found == {"new"}
        assert sorted(os.listdir(folder)) == sorted(NAMES)
        seen.append(found)
        if not killed:
            break
    assert seen[0] == {"old"}
    assert seen[-1] == {"new"}
    assert seen.index({"new"}) == seen.count({"old"}) > 10  # from one moment on they are new


def test_two_processes_that_write_the_same_files_do_not_mix_them(tmp_path: Path) -> None:
    children = []
    for word in ("one", "two"):
        if child := os.fork():
            children.append(child)
            continue
        try:
            for _ in range(30):
                write_all(tmp_path, word)
        finally:
            os._exit(0)
    for child in children:
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finish(tmp_path)
    assert sorted(os.listdir(tmp_path)) == sorted(NAMES)


def test_a_full_disk_leaves_the_old_files(tmp_path: Path) -> None:
    outcomes = set()
    with small_disk(tmp_path, 64) as disk:
        write_all(disk, "old", 500)
        for free in range(14):
            with only(disk, free):
                try:
                    write_all(disk, "new", 500)
                    outcomes.add("new")
                    assert generation(disk) == {"new"}
                except ConfigError as error:
                    assert "No space left" in str(error)
                    outcomes.add("old")
                    assert generation(disk) == {"old"}
            assert sorted(os.listdir(disk)) == sorted(NAMES)
            write_all(disk, "old", 500)
    assert outcomes == {"old", "new"}


@cuda.jit
def ones(a):
    a[cuda.grid(1)] = 1


def test_time_lines_and_tables_are_written_whole_too(tmp_path: Path) -> None:
    trace = ones.simulate(2, 32, (np.zeros(64, np.float32),), trace=True).trace
    with small_disk(tmp_path, 16) as disk:
        write_bytes(disk / "t.json", b"old")
        write_bytes(disk / "t.parquet", b"old")
        with only(disk, 1):
            with pytest.raises(ConfigError, match="No space left"):
                trace.to_perfetto(disk / "t.json")
            with pytest.raises(ConfigError, match="No space left"):
                Records([{"n": n, "text": f"{n * 12345}"} for n in range(2000)]).to_parquet(disk / "t.parquet")
        assert (disk / "t.json").read_bytes() == (disk / "t.parquet").read_bytes() == b"old"


def test_whatever_writes_files_writes_them_whole() -> None:
    """What the package and the experiments write goes to drafts, or through the functions of this module; what is
    handed to the vendor's tools lies in a folder that is gone when they have ended."""
    root = Path(whole_files.__file__).parents[2]
    writes = re.compile(r"\b(write_text|write_bytes|savefig|to_parquet|copyfile)\(|open\(.*[\"'][wxa]b?[\"']")
    paths = [path for folder in ("smmux", "experiments") for path in (root / folder).rglob("*.py")]
    texts = {path: path.read_text(encoding="utf-8") for path in paths}
    found = [path.name for path, text in texts.items() if writes.search(text) and "whole_files" not in text + path.name]
    assert found == ["tools.py"]
    tools = (root / "smmux/compiler/sass/tools.py").read_text(encoding="utf-8")
    outside = re.sub(r"with tempfile.TemporaryDirectory.*?(?=\n    \w)", "", tools, flags=re.S)
    assert writes.findall(outside) == []


COMMANDS = {
    "experiment": ["-m", "experiments.fig12", "--quick", "--out", "{out}"],
    "all": ["-m", "experiments.all", "fig12", "--quick", "--out", "{out}"],
    "smmux": ["-m", "smmux", "info"],
    "script": ["-c", "import sys; sys.argv[0] = 'smmux'; from smmux.__main__ import main; sys.exit(main(['info']))"],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_ctrl_c_while_a_command_starts_prints_one_line(command: str, tmp_path: Path) -> None:
    """It comes while NumPy is imported, in whose place something waits."""
    (tmp_path / "numpy").mkdir()
    (tmp_path / "numpy" / "__init__.py").write_text("print('importing', flush=True)\nimport time\ntime.sleep(60)\n")
    root = Path(whole_files.__file__).parents[2]
    words = [word.format(out=tmp_path) for word in COMMANDS[command]]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(root)])}
    process = subprocess.Popen(
        [sys.executable, *words], cwd=tmp_path, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    with process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "importing\n"
            started = time.monotonic()
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=30)
        finally:
            process.kill()
    assert errors == "interrupted\n"
    assert process.returncode == 130
    assert time.monotonic() - started < 10


def test_a_program_that_imports_smmux_keeps_its_own_ctrl_c() -> None:
    script = "import signal, smmux, experiments; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    root = Path(whole_files.__file__).parents[2]
    for words in (["-c", script], ["-c", script, "-m", "smmux"]):
        done = subprocess.run([sys.executable, *words], cwd=root, capture_output=True, text=True, check=True)
        assert done.stdout == "True\n"
