"""Caches that are damaged, exchanged or of others, on disks that are full or read-only, and locked ones."""

from __future__ import annotations

import os
import shutil
import sqlite3
import warnings
from contextlib import closing
from pathlib import Path

import pytest

from smmux import ConfigError
from smmux.sweep import Cache, CacheWarning, cache, sweep
from tests.package import cache_damage
from tests.package.cache_damage import POINTS, campaign, expected, filled, run
from tests.package.small_disk import only, read_only, small_disk

pytestmark = pytest.mark.usefixtures("few_modules")


@pytest.mark.parametrize("count", [120, pytest.param(10_000, marks=pytest.mark.slow)])
def test_no_damage_gives_a_wrong_record(count: int) -> None:
    found = campaign(count, seed=count)
    assert all(found[outcome] > count // 100 for outcome in ("read", "made again", "empty", "refused")), found


def records(path: Path) -> tuple[int, list[dict[str, object]]]:
    with Cache(path) as kept:
        made = sweep(run, POINTS, cache=kept, version=1)
        return kept.found, list(made)


def test_rows_with_one_anothers_keys_are_made_again_with_one_warning(tmp_path: Path) -> None:
    path = filled(tmp_path / "c.sqlite")
    with closing(sqlite3.connect(path)) as database:
        database.execute("UPDATE records SET record = replace(record, '0', '1'), point = replace(point, '1', '2')")
        database.commit()
    with pytest.warns(CacheWarning, match="does not fit its point or its checksum") as caught:
        found, made = records(path)
    assert len(caught) == 1
    assert made == [expected(i) for i in range(len(POINTS))]
    assert found < len(POINTS)
    with warnings.catch_warnings(action="error"):
        assert records(path) == (len(POINTS), made)


@pytest.mark.parametrize("statement", [s for s in cache_damage.STATEMENTS if s.startswith("CREATE")])
def test_a_file_that_defines_more_than_records_is_refused(statement: str, tmp_path: Path) -> None:
    path = filled(tmp_path / "c.sqlite")
    with closing(sqlite3.connect(path)) as database:
        database.executescript(statement)
    before = path.read_bytes()
    with pytest.raises(ConfigError, match="its tables are not those of a cache"):
        Cache(path)
    assert path.read_bytes() == before


def test_the_table_of_earlier_versions_makes_room(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "c.sqlite")) as database:
        database.execute(f"PRAGMA application_id = {cache.APPLICATION}")
        database.execute(cache.OLD.decode())
        database.execute("INSERT INTO records VALUES ('a', '{}')")
        database.commit()
    with Cache(tmp_path / "c.sqlite") as kept:
        assert len(kept) == 0


def test_a_disk_that_is_full_at_any_write_of_a_sweep_loses_nothing(tmp_path: Path) -> None:
    whole = [expected(i) for i in range(len(POINTS))]
    outcomes = set()
    with small_disk(tmp_path, 64) as disk:
        path = disk / "c.sqlite"
        for free in range(24):
            kept = 0
            with only(disk, free):
                try:
                    kept, made = records(path)
                    assert made == whole
                    outcomes.add("made")
                except ConfigError as error:
                    assert "the disk is full" in str(error) or "cannot be opened" in str(error)
                    assert "remove" not in str(error)
                    outcomes.add("full")
                if path.exists() and path.stat().st_size:
                    with Cache(path) as again:
                        kept = len(again)
            found, made = records(path)
            assert made == whole
            assert found == kept
            path.unlink()
    assert outcomes == {"made", "full"}


def test_what_is_complete_is_read_where_nothing_can_be_written(tmp_path: Path) -> None:
    with small_disk(tmp_path, 64) as disk:
        path = filled(disk / "c.sqlite")
        shutil.copy(path, disk / "wal.sqlite")
        with closing(sqlite3.connect(disk / "wal.sqlite")) as database:
            database.execute("PRAGMA journal_mode = WAL")
        read_only(disk)
        for name in ("c.sqlite", "wal.sqlite"):
            assert records(disk / name) == (len(POINTS), [expected(i) for i in range(len(POINTS))])
        with Cache(path) as kept:
            with pytest.raises(ConfigError, match="1 of 61 records are not in it, and it cannot be written"):
                sweep(run, [*POINTS, {"n": 1000, "text": ""}], cache=kept, version=1)
            with pytest.raises(ConfigError, match="read-only"):
                kept.put("key", {})
        with pytest.raises(ConfigError, match="cannot be opened|folder cannot be made|read-only"):
            Cache(disk / "new.sqlite")
        with pytest.raises(ConfigError, match="folder cannot be made"):
            Cache(disk / "new" / "c.sqlite")


def test_a_file_that_another_one_has_locked_is_told_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "PATIENCE", 0.05)
    path = filled(tmp_path / "c.sqlite")
    with closing(sqlite3.connect(path, isolation_level=None)) as other, Cache(path) as kept:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(ConfigError, match="kept it locked"):
            kept.get("key")
        with pytest.raises(ConfigError, match="kept it locked"):
            Cache(path)


def test_what_is_no_file_or_closed_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no file"):
        Cache(tmp_path)
    kept = Cache(tmp_path / "c.sqlite")
    kept.close()
    with pytest.raises(ConfigError, match="it is closed"):
        kept.get("key")
    (tmp_path / "damaged").write_bytes((tmp_path / "c.sqlite").read_bytes()[:4096] + os.urandom(4096))
    with pytest.raises(ConfigError, match="damaged|no cache"), Cache(tmp_path / "damaged") as kept:
        kept.put("key", {})
        kept.get("key")
        raise ConfigError("damaged")  # if SQLite made good of it


def test_numbers_of_classes_are_the_same_from_a_cache(tmp_path: Path) -> None:
    import enum

    class Colour(enum.IntEnum):
        RED = 3

    class Word(str):
        pass

    points = [{"c": 1}]

    def run(c: int) -> dict[str, object]:
        return {"red": Colour.RED, "word": Word("a"), "zero": -0.0, "big": 2**100}

    with Cache(tmp_path / "c.sqlite") as kept:
        [first] = sweep(run, points, cache=kept)
        [second] = sweep(run, points, cache=kept)
    assert kept.found == 1
    assert [(type(v), repr(v)) for v in first.values()] == [(type(v), repr(v)) for v in second.values()]
