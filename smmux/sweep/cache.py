"""A cache of records on disk: one SQLite file, which several processes may use at once.

Records are texts of JSON under the fingerprint of what made them, so that reading a file runs nothing, whoever wrote
it. Each has its point, the files of modules that only running it has loaded, and a checksum of all that.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
import threading
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import quote

from smmux.errors import ConfigError
from smmux.sweep.modules import digest_of

__all__ = ["Cache", "CacheWarning"]

APPLICATION = 0x534D4D58
"""What marks a SQLite file as one of these: the letters SMMX."""
PATIENCE = 60.0
"""Seconds to wait for another process that writes into the same file [EST]: writing a record takes milliseconds."""
COLUMNS = ("key", "point", "record", "also", "checksum")
TABLE = (
    "CREATE TABLE records (key TEXT PRIMARY KEY, point TEXT NOT NULL, record TEXT NOT NULL, also TEXT NOT NULL, "
    "checksum TEXT NOT NULL)"
)
SCHEMA = {(b"table", b"records", TABLE.encode()), (b"index", b"sqlite_autoindex_records_1", None)}
OLD = b"CREATE TABLE records (key TEXT PRIMARY KEY, record TEXT NOT NULL)"
"""The table of earlier versions of smmux, none of whose records can be found again."""

GOOD = "the records in it are as they were"
REASONS = {
    sqlite3.SQLITE_FULL: f"the disk is full; {GOOD}, make room and go on",
    sqlite3.SQLITE_READONLY: f"it cannot be written: it, its folder or its disk is read-only; {GOOD}",
    sqlite3.SQLITE_PERM: f"this user may not write it; {GOOD}",
    sqlite3.SQLITE_CANTOPEN: "it, or the journal beside it, cannot be opened: look at the rights of file and folder",
    sqlite3.SQLITE_AUTH: "this user may not read it",
    sqlite3.SQLITE_BUSY: f"another process has kept it locked for {PATIENCE:.0f} s; {GOOD}, try again",
    sqlite3.SQLITE_LOCKED: f"this process has kept it locked; {GOOD}",
    sqlite3.SQLITE_IOERR: "its disk cannot be read or written, or a quota is used up; nothing in it was given up",
    sqlite3.SQLITE_CORRUPT: "it is damaged, and what it holds is not to be trusted; name another file",
    sqlite3.SQLITE_NOTADB: "it is no cache of records; name another file",
}
"""What to say of an error, by SQLite's own code."""


class CacheWarning(UserWarning):
    """A record that was not taken from a cache, or not kept there."""


class Cache:
    """Records by what made them: a function, its arguments, and the program around.

    path: the file, which is made with its folders if there is none. A record is on disk when `put` returns, so that a
    killed process loses only what it was computing. A file that cannot be written is read. Raises ConfigError for a
    file that is something else or cannot be used, and says which of these it is.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.found = self.made = 0
        self._lock = threading.Lock()
        self._warned = self._sound = False
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(f"{self.path}: its folder cannot be made ({error.strerror})") from None
        if self.path.exists() and not self.path.is_file():
            raise ConfigError(f"{self.path}: it is no file; name a file for the records")
        self.readonly = self.path.exists() and not (_writable(self.path) and _writable(self.path.parent))
        """Whether the file can only be read."""
        with self._telling():
            self._database = self._connected()

    def _connected(self) -> sqlite3.Connection:
        """The opened and examined file. One that cannot be written may have been left by a program that keeps its
        index in memory that is to be shared beside it; nobody can write it, so it is read as it stands."""
        modes = ("mode=ro", "mode=ro&immutable=1") if self.readonly else ("mode=rwc",)
        for mode in modes:
            uri = f"file:{quote(str(self.path.absolute()))}?{mode}"
            database = sqlite3.connect(uri, timeout=PATIENCE, check_same_thread=False, uri=True, isolation_level=None)
            try:
                self._examine(database)
                return database
            except BaseException as error:
                database.close()
                code = getattr(error, "sqlite_errorcode", 0) & 0xFF
                if mode == modes[-1] or code not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
                    raise
        raise AssertionError("one of the modes has returned or raised")

    def _examine(self, database: sqlite3.Connection) -> None:
        """Refuse what is no cache; make the table of a new one."""
        database.execute("PRAGMA trusted_schema = OFF")
        database.execute("PRAGMA cell_size_check = ON")
        if self._schema(database) == SCHEMA:
            return
        if self.readonly:
            raise ConfigError(f"{self.path}: it is no cache of records of this version, and cannot be written")
        database.execute("BEGIN IMMEDIATE")
        try:
            found = self._schema(database)  # another process may just have made it
            if {sql for kind, _, sql in found if kind == b"table"} == {OLD} and len(found) == 2:
                database.execute("DROP TABLE records")
                found = set()
            if not found:
                database.execute(f"PRAGMA application_id = {APPLICATION}")
                database.execute(TABLE)
            elif found != SCHEMA:
                raise _not_ours(self.path, "its tables are not those of a cache")
            database.execute("COMMIT")
        except BaseException:
            _roll_back(database)
            raise

    def _schema(self, database: sqlite3.Connection) -> set[tuple[Any, ...]]:
        """All that a file of this kind defines; nothing of one that is empty."""
        [[mark]] = database.execute("PRAGMA application_id")
        columns = ", ".join(f"CAST({column} AS BLOB)" for column in ("type", "name", "sql"))  # whatever bytes they are
        found = set(database.execute(f"SELECT {columns} FROM sqlite_master"))
        if mark != APPLICATION and (found or mark):
            raise _not_ours(self.path, "it is a database of another program")
        return found

    @contextlib.contextmanager
    def _telling(self) -> Iterator[None]:
        """Turn SQLite's errors into a ConfigError that says what is the matter."""
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            reason = REASONS.get(code, "it is closed" if isinstance(error, sqlite3.ProgrammingError) else str(error))
            raise ConfigError(f"{self.path}: {reason} (SQLite: {error})") from None
        except UnicodeDecodeError:  # of a message of SQLite's that quotes the file
            raise ConfigError(f"{self.path}: {REASONS[sqlite3.SQLITE_CORRUPT]}") from None

    def get(self, key: str, point: str = "{}") -> dict[str, Any] | None:
        """The record under a key, made of this point (a text), or None; a record that does not fit is none, too."""
        asked = ", ".join(f"CAST({column} AS BLOB)" for column in COLUMNS)
        with self._lock, self._telling():
            row = self._database.execute(f"SELECT {asked} FROM records WHERE key = ?", (key,)).fetchone()
        if row is None:
            return None
        try:
            texts = [bytes(part).decode("ascii") for part in row]
            fits = texts[:2] == [key, point] and texts[4] == _checksum(*texts[:4])
            record, also = (json.loads(text) for text in texts[2:4]) if fits else (None, None)
        except (ValueError, TypeError, RecursionError):
            record = also = None
        if not isinstance(record, dict) or not isinstance(also, dict):
            self.warn("a record does not fit its point or its checksum")
            return None
        if any(digest_of(name, path) != digest for name, (digest, path) in also.items()):
            return None
        self.found += 1
        return record

    def put(
        self, key: str, record: dict[str, Any], point: str = "{}", also: Mapping[str, tuple[str, str]] | None = None
    ) -> None:
        """Keep a record of numbers and texts under a key. also: modules that it depends on beside those of the key,
        each with the digest of its file, and its path."""
        texts = key, point, json.dumps(record), json.dumps(dict(also or {}))
        with self._lock, self._telling():
            self._check()
            try:
                marks = ", ".join("?" * len(COLUMNS))
                self._database.execute(f"INSERT OR REPLACE INTO records VALUES ({marks})", (*texts, _checksum(*texts)))
            except sqlite3.Error:
                _roll_back(self._database)
                raise
            self.made += 1

    def _check(self) -> None:
        """Refuse to write into a damaged file, where that could destroy what can still be read: once is enough."""
        if not self._sound:
            found = self._database.execute("PRAGMA integrity_check(1)").fetchall()
            if found != [("ok",)]:
                raise ConfigError(f"{self.path}: {REASONS[sqlite3.SQLITE_CORRUPT]}")
            self._sound = True

    def warn(self, what: str) -> None:
        """Warn of a record that is made again, or not kept: of the first one."""
        if not self._warned:
            self._warned = True
            message = f"{self.path}: {what}; it is made again when it is needed (others are not told)"
            warnings.warn(message, CacheWarning, stacklevel=3)

    def fingerprint(self) -> str:
        """What a program that holds a cache is known by: nothing of what is in it, or has been found."""
        return str(self.path)

    def __len__(self) -> int:
        with self._lock, self._telling():
            [[rows]] = self._database.execute("SELECT count(*) FROM records")
        return int(rows)

    def clear(self) -> None:
        """Forget all records."""
        with self._lock, self._telling():
            self._check()
            self._database.execute("DELETE FROM records")

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def __enter__(self) -> Cache:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()


def _checksum(*texts: str) -> str:
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()


def _writable(path: Path) -> bool:
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def _not_ours(path: Path, why: str) -> ConfigError:
    return ConfigError(f"{path}: it is no cache of records: {why}; name another file")


def _roll_back(database: sqlite3.Connection) -> None:
    """End a transaction that an error has left open."""
    if database.in_transaction:
        with contextlib.suppress(sqlite3.Error):
            database.execute("ROLLBACK")
