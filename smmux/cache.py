"""A cache of records on disk: one SQLite file, which several processes may use at once.

Records are texts of JSON under the fingerprint of what made them, so that reading a
file runs nothing, whoever wrote it.
"""

from __future__ import annotations

import json
import os
import sqlite3
import sys
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from smmux.errors import ConfigError
from smmux.fingerprint import fingerprint, package

__all__ = ["Cache"]

APPLICATION = 0x534D4D58
"""What marks a SQLite file as one of these: the letters SMMX."""
PATIENCE = 60.0
"""Seconds to wait for another process that writes into the same file [EST]: writing a record takes milliseconds."""


class Cache:
    """Records by what made them: a function, its arguments, and this version of smmux and Python.

    path: the file, which is made with its folders if there is none. A record is on disk when `put` returns, so that a
    killed process loses only what it was computing. Raises ConfigError for a file that is something else.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.found = self.made = 0
        self._lock = threading.Lock()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._database = sqlite3.connect(self.path, timeout=PATIENCE, check_same_thread=False)
            self._open()
        except sqlite3.Error as error:
            raise ConfigError(f"{self.path} is no cache of records ({error}); name another file or remove it") from None

    def _open(self) -> None:
        with self._database as database:
            [[mark]] = database.execute("PRAGMA application_id")
            [[tables]] = database.execute("SELECT count(*) FROM sqlite_master")
            if mark != APPLICATION and tables:
                raise sqlite3.DatabaseError("a database of another program")
            database.execute(f"PRAGMA application_id = {APPLICATION}")
            database.execute("CREATE TABLE IF NOT EXISTS records (key TEXT PRIMARY KEY, record TEXT NOT NULL)")

    @staticmethod
    def keys(run: Any, points: Iterable[Mapping[str, Any]]) -> list[str]:
        """The keys of `run(**point)`; raises ConfigError where `run` or a point have contents that nobody knows."""
        function = fingerprint([package(), sys.version, run])
        return [fingerprint([function, dict(sorted(point.items()))]) for point in points]

    def get(self, key: str) -> dict[str, Any] | None:
        """The record under a key, or None."""
        with self._lock:
            row = self._database.execute("SELECT record FROM records WHERE key = ?", (key,)).fetchone()
        if row is None:
            return None
        self.found += 1
        record: dict[str, Any] = json.loads(row[0])
        return record

    def put(self, key: str, record: dict[str, Any]) -> None:
        """Keep a record of numbers and texts under a key."""
        with self._lock, self._database as database:
            database.execute("INSERT OR REPLACE INTO records VALUES (?, ?)", (key, json.dumps(record)))
        self.made += 1

    def __len__(self) -> int:
        with self._lock:
            [[rows]] = self._database.execute("SELECT count(*) FROM records")
        return int(rows)

    def clear(self) -> None:
        """Forget all records."""
        with self._lock, self._database as database:
            database.execute("DELETE FROM records")

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def __enter__(self) -> Cache:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()
