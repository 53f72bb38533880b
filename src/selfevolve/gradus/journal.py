"""Journal: what a run has done, as an append-only file of JSON lines, so that a killed run goes on where it was.

Paper: Gradus Algorithm 1 (A.4); that a run can be resumed is design.md section 6, not the paper.

A line is `{"key": ..., "record": ...}` and is on disk (fsync) before `put` returns. Only the last line can be torn by a kill; it was
never promised to anyone and is cut off when the journal is opened. One process at a time holds a journal.
"""

from __future__ import annotations

import fcntl
import json
import os
import threading
from pathlib import Path
from typing import Any, Self


class JournalError(RuntimeError):
    """A journal that cannot be used; the text names the file and what to do."""


class Journal:
    """Records by key. Methods may be called from any thread.

    Args:
        path: the file, made if missing; None keeps the records in memory only.

    Raises:
        JournalError: another process (or object) holds the file, or a line other than the last is damaged.
    """

    def __init__(self, path: Path | None):
        self.path = path
        self._lines: dict[str, str] = {}
        self._mutex = threading.Lock()
        self._file: int | None = None
        if path is None:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise JournalError(f"{path} is in use by another run: wait for it, or run in a folder of its own") from None
            os.ftruncate(file, self._read(path))
            _sync_folder(path.parent)  # the name of the file, too, must outlive a power cut
        except BaseException:
            os.close(file)
            raise
        self._file = file

    def __len__(self) -> int:
        return len(self._lines)

    def __contains__(self, key: str) -> bool:
        return key in self._lines

    def get(self, key: str) -> dict[str, Any] | None:
        """The record of a key, as JSON gives it back: the same now and after a resume, and the caller's own. None if there is none."""
        line = self._lines.get(key)
        return None if line is None else json.loads(line)["record"]

    def put(self, key: str, record: dict[str, Any]) -> None:
        """Add a record; it is on disk when this returns.

        Raises:
            ValueError: the key has a record.
            TypeError, ValueError: the record is not JSON.
            JournalError: it could not be written (then nothing more is), or the journal is closed.
        """
        line = json.dumps({"key": key, "record": record}, ensure_ascii=False, allow_nan=False)
        with self._mutex:
            if key in self._lines:
                raise ValueError(f"{self.path or 'the journal'} has a record of {key!r} already: keys are used once")
            if self.path is not None:
                self._write(line.encode() + b"\n")
            self._lines[key] = line

    def close(self) -> None:
        """Let go of the file. What was put is on disk already."""
        with self._mutex:
            if self._file is not None:
                os.close(self._file)
                self._file = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _write(self, data: bytes) -> None:
        if self._file is None:
            raise JournalError(f"{self.path} is closed: nothing more can be recorded in it")
        try:
            while data:
                data = data[os.write(self._file, data) :]
            os.fsync(self._file)
        except OSError as error:  # the file may end in half a line, which only the next opening cuts off
            os.close(self._file)
            self._file = None
            raise JournalError(f"cannot write to {self.path} ({error}): make room, then resume the run") from None

    def _read(self, path: Path) -> int:
        """Take up the whole lines; the number of bytes they have."""
        *lines, torn = path.read_bytes().split(b"\n")
        place = 0
        for number, raw in enumerate(lines, start=1):
            try:
                line = raw.decode()
                key, _ = _entry(line)
            except (ValueError, KeyError, TypeError, RecursionError):
                if number == len(lines) and not torn:
                    return place
                raise JournalError(
                    f"{path}, line {number} is damaged, though lines follow it: restore the file, or remove the line"
                ) from None
            if key in self._lines:
                raise JournalError(f"{path}, line {number} repeats the key {key!r}: remove one of the two lines")
            self._lines[key] = line
            place += len(raw) + 1
        return place


def _entry(line: str) -> tuple[str, dict[str, Any]]:
    entry = json.loads(line)
    if type(entry) is not dict or entry.keys() != {"key", "record"} or type(entry["key"]) is not str:
        raise ValueError("not a key and its record")
    return entry["key"], entry["record"]


def _sync_folder(folder: Path) -> None:
    directory = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
