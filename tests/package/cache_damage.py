"""Caches that something has happened to: bytes, pages, rows and tables that are not what was written.

    python -m tests.package.cache_damage --count 10000 --seed 1

tries that many and prints what came of them.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sqlite3
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from smmux import ConfigError
from smmux.sweep.cache import Cache
from smmux.sweep.lookup import Lookup

POINTS = [{"n": n, "text": "x" * (n % 7)} for n in range(60)]


def run(n: int, text: str) -> dict[str, Any]:
    return {"square": n * n, "root": n**0.5, "name": text * 40}


def expected(number: int) -> dict[str, Any]:
    return {**POINTS[number], **run(**POINTS[number])}


def filled(path: Path) -> Path:
    """A cache with all records."""
    with Cache(path) as cache:
        lookup = Lookup(cache, run, POINTS, version=1)
        for i in range(len(POINTS)):
            lookup.keep(i, expected(i), None)
    return path


def _bytes(path: Path, chance: random.Random) -> None:
    content = bytearray(path.read_bytes())
    for _ in range(chance.choice((1, 1, 4, 64, 1000))):
        content[chance.randrange(len(content))] = chance.randrange(256)
    path.write_bytes(content)


def _bits(path: Path, chance: random.Random) -> None:
    content = bytearray(path.read_bytes())
    content[chance.randrange(min(len(content), chance.choice((100, 4096, len(content)))))] ^= 1 << chance.randrange(8)
    path.write_bytes(content)


def _length(path: Path, chance: random.Random) -> None:
    content = path.read_bytes()
    end = chance.randrange(len(content) + 1)
    path.write_bytes(content[:end] + chance.randbytes(chance.choice((0, 0, 1, 4096))))


def _pages(path: Path, chance: random.Random) -> None:
    content = bytearray(path.read_bytes())
    pages = len(content) // 4096
    one, two = (4096 * chance.randrange(pages) for _ in range(2))
    first, second = content[one : one + 4096], content[two : two + 4096]
    content[one : one + 4096] = second if chance.random() < 0.8 else bytes(4096)
    content[two : two + 4096] = first
    path.write_bytes(content)


def _part(path: Path, chance: random.Random) -> None:
    content = bytearray(path.read_bytes())
    begin, length = chance.randrange(len(content)), chance.choice((10, 500, 5000))
    source = chance.randrange(len(content))
    content[begin : begin + length] = content[source : source + length]
    path.write_bytes(content)


def _journal(path: Path, chance: random.Random) -> None:
    Path(f"{path}{chance.choice(('-journal', '-wal'))}").write_bytes(chance.randbytes(chance.choice((1, 512, 9000))))


STATEMENTS = (
    "UPDATE records SET record = (SELECT record FROM records ORDER BY random() LIMIT 1)",
    "UPDATE records SET record = replace(record, '1', '2')",
    "UPDATE records SET point = replace(point, '1', '2')",
    "UPDATE records SET checksum = (SELECT checksum FROM records ORDER BY random() LIMIT 1)",
    "UPDATE records SET record = CAST(record AS BLOB)",
    "UPDATE records SET record = x'ff00fe', point = 7",
    "UPDATE records SET record = '[' || record || ']'",
    "UPDATE records SET record = '" + "[" * 9000 + "'",
    "UPDATE records SET also = '[1]'",
    'UPDATE records SET also = \'{"os": ["0", "/etc/passwd"]}\'',
    "UPDATE records SET key = key || '0'",
    "CREATE TRIGGER t AFTER INSERT ON records BEGIN DELETE FROM records; END",
    "CREATE VIEW v AS SELECT * FROM records",
    "CREATE TABLE other (a)",
    "CREATE INDEX i ON records (record)",
    "ALTER TABLE records ADD COLUMN more",
    "ALTER TABLE records RENAME TO r; CREATE VIEW records AS SELECT * FROM r",
    "DROP TABLE records",
    "DROP TABLE records; CREATE TABLE records (key, record)",
    "PRAGMA application_id = 7",
    "PRAGMA application_id = 0",
    "PRAGMA user_version = 7",
    "PRAGMA journal_mode = WAL",
    "PRAGMA encoding = 'UTF-16'",
    "PRAGMA auto_vacuum = 1; VACUUM",
)


def _rows(path: Path, chance: random.Random) -> None:
    with closing(sqlite3.connect(path)) as database:
        database.executescript(chance.choice(STATEMENTS))
        database.commit()


def _exchanged(path: Path, chance: random.Random) -> None:
    """Rows whose checksums fit, under one another's keys."""
    with closing(sqlite3.connect(path)) as database:
        rows = database.execute("SELECT key, point, record, also, checksum FROM records").fetchall()
        keys = [row[0] for row in rows]
        chance.shuffle(keys)
        database.execute("DELETE FROM records")
        renamed = [(key, *row[1:]) for key, row in zip(keys, rows, strict=True)]
        database.executemany("INSERT INTO records VALUES (?, ?, ?, ?, ?)", renamed)
        database.commit()


DAMAGES: tuple[Callable[[Path, random.Random], None], ...] = (
    _bytes,
    _bits,
    _length,
    _pages,
    _part,
    _journal,
    _rows,
    _exchanged,
)


def outcome(path: Path) -> str:
    """What becomes of a sweep with a damaged cache: an error that says so, or records that are right. Anything else is
    an AssertionError, or an exception of another kind."""
    try:
        with Cache(path) as cache:
            lookup = Lookup(cache, run, POINTS, version=1)
            known = lookup.known()
            for i, record in known.items():
                assert record == expected(i), f"record {i} is {record}"
            for i in range(len(POINTS)):
                if i not in known:
                    lookup.keep(i, expected(i), None)
            assert len(cache) >= 0
            again = lookup.known()
            assert all(again[i] == expected(i) for i in again)
            assert len(known) == len(POINTS) or len(again) >= len(known)
        return "read" if len(known) == len(POINTS) else "made again" if known else "empty"
    except ConfigError as error:
        assert "remove" not in str(error)
        return "refused"


def campaign(count: int, seed: int) -> Counter[str]:
    """How many of so many damages had which outcome."""
    chance, found = random.Random(seed), Counter[str]()
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # where waiting for the disk takes no time
    with tempfile.TemporaryDirectory(dir=memory) as folder, warnings.catch_warnings(action="ignore"):
        whole = filled(Path(folder) / "whole.sqlite")
        for number in range(count):
            path = Path(folder) / "damaged" / "c.sqlite"
            path.parent.mkdir()
            shutil.copy(whole, path)
            damages = chance.sample(DAMAGES, 1 if chance.random() < 0.8 else 2)
            try:
                for damage in damages:
                    damage(path, chance)
            except (sqlite3.Error, ValueError, IndexError):
                pass  # it was damaged too much already
            try:
                found[outcome(path)] += 1
            except BaseException as error:
                error.add_note(f"damage {number} of seed {seed}: {[damage.__name__ for damage in damages]}")
                raise
            shutil.rmtree(path.parent)
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    sys.stdout.write(f"{dict(campaign(options.count, options.seed))}\n")
