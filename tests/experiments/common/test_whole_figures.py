"""The four files of a figure change together or not at all, on a disk that is full at any of their writes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from experiments import table1
from experiments.common.harness import SUFFIXES
from tests.package.small_disk import only, small_disk


def files(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Which files they are, and what they hold."""
    paths = [folder / f"table1{suffix}" for suffix in SUFFIXES]
    return {path.suffix: (path.stat().st_ino, path.read_bytes()) for path in paths if path.exists()}


@pytest.mark.parametrize("step", [pytest.param(64, marks=pytest.mark.long), pytest.param(1, marks=pytest.mark.slow)])
def test_a_full_disk_leaves_the_old_figure(step: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outcomes = []
    with small_disk(tmp_path, 512) as disk:
        for free in range(0, 200, step):
            before = files(disk)
            with only(disk, free):
                status = table1.main(["--out", str(disk)])
            after = files(disk)
            errors = capsys.readouterr().err
            if status:
                assert after == before
                assert "No space left on device" in errors
                assert errors.count("\n") == 1
            else:
                assert set(after) == set(SUFFIXES)
                assert all(after[suffix][0] != before.get(suffix, (0,))[0] for suffix in SUFFIXES)
            assert not [name for name in os.listdir(disk) if name.startswith(".")]
            outcomes.append(status)
            if outcomes[-2:] == [0, 0]:
                break
        assert table1.main(["--out", str(disk)]) == 0
        with only(disk, 3):
            before = files(disk)
            assert table1.main(["--out", str(disk)]) == 2
            assert files(disk) == before
    assert outcomes[0] == 2
    assert outcomes[-1] == 0
