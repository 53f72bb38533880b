"""Recorded calls: an append-only folder from which a run replays without a network and a killed run resumes without paying twice.

design.md section 6 ("Calls are recorded"). The format is JSON lines, one part (`000000.jsonl`, ...) per process that wrote:

* `{"piece": digest, "value": ...}`: a message, a schema or a list of tools, once per folder; conversations repeat them at every turn.
* `{"key": ..., "request": {...}, "answer": {...}}`: a call; messages, output and tools are digests of pieces.

`append` tells when the call is on disk (fsync). One thread writes, and whatever arrives while the disk is busy goes into its next write,
so that 64 calls at once do not wait for 64 fsyncs. A process never writes to a part of another one:
only the end of a part can be torn, and what is torn was never handed to anyone. One process at a time holds a folder, else two could pay
for the same call.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import queue
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from selfevolve.gradus.llm.calls import Answer, Request, Spelled, canonical
from selfevolve.gradus.llm.errors import RecordingError


class _Entry(NamedTuple):
    call: Spelled
    answer: Answer
    done: Callable[[RecordingError | None], None]


class Recording:
    """The recorded calls of one folder, held by this process until `close`. Methods may be called from any thread.

    Raises RecordingError if another process (or object) holds the folder, or if a part is damaged elsewhere than at its end.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._lock)
            raise RecordingError(
                f"{folder} is in use by another run: wait for it, or give each run a folder of its own"
            ) from None
        self._answers: dict[str, Answer] = {}
        self._pieces: set[str] = set()
        try:
            for entry in _entries(folder):
                if "piece" in entry:
                    self._pieces.add(entry["piece"])
                else:
                    self._answers.setdefault(entry["key"], entry["answer"])
        except BaseException:
            os.close(self._lock)
            raise
        self._failure: str | None = None
        self._part: int | None = None  # file descriptor; a part begins with the first call it holds
        self._queue: queue.SimpleQueue[_Entry | None] = queue.SimpleQueue()
        self._writer = threading.Thread(target=self._write_all, name="recording", daemon=True)
        self._writer.start()

    def __len__(self) -> int:
        return len(self._answers)

    def get(self, key: str) -> Answer | None:
        """The answer recorded under a key."""
        return self._answers.get(key)

    def answers(self) -> list[Answer]:
        """All answers, in the order of recording."""
        return list(self._answers.values())

    def check(self) -> None:
        """Raise RecordingError if a write has failed: what cannot be recorded must not be paid for."""
        if self._failure:
            raise RecordingError(self._failure)

    def append(self, call: Spelled, answer: Answer, done: Callable[[RecordingError | None], None]) -> None:
        """Record a call. `done` is called in another thread, with None once the call is on disk and `get` finds it, else with the error."""
        self._queue.put(_Entry(call, answer, done))

    def close(self) -> None:
        """Write what was appended, and let go of the folder."""
        self._queue.put(None)
        self._writer.join()
        if self._part is not None:
            os.close(self._part)
            self._part = None
        with contextlib.suppress(OSError):  # closed before
            os.close(self._lock)

    def _write_all(self) -> None:
        open_ = True
        while open_:
            batch = [self._queue.get()]
            while not self._queue.empty():
                batch.append(self._queue.get())
            open_ = None not in batch
            self._write([item for item in batch if item is not None])

    def _write(self, batch: list[_Entry]) -> None:
        if not batch:
            return
        try:
            pieces = {name: text for entry in batch for name, text in entry.call.pieces.items() if name not in self._pieces}
            lines = [f'{{"piece":"{name}","value":{text}}}\n' for name, text in pieces.items()]
            for call, answer, _ in batch:
                lines.append(
                    f'{{"key":"{call.key}","request":{call.rest},"answer":{canonical(answer.model_dump(mode="json"))}}}\n'
                )
            self._put("".join(lines).encode())
        except Exception as error:  # whatever it is, the callers must not wait for ever
            self._abandon()
            self._failure = (
                f"cannot record calls in {self.folder} ({error}): nothing more is sent. Make room, then resume the run"
            )
            for entry in batch:
                entry.done(RecordingError(self._failure))
            return
        self._pieces.update(pieces)
        for entry in batch:
            self._answers.setdefault(entry.call.key, entry.answer)
            entry.done(None)

    def _put(self, data: bytes) -> None:
        if self._part is None:
            number = 1 + max((int(path.stem) for path in self.folder.glob("*.jsonl")), default=-1)
            self._part = os.open(self.folder / f"{number:06d}.jsonl", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)
            directory = os.open(self.folder, os.O_RDONLY)
            try:
                os.fsync(directory)  # the name of the part, too, must outlive a power cut
            finally:
                os.close(directory)
        while data:
            data = data[os.write(self._part, data) :]
        os.fsync(self._part)

    def _abandon(self) -> None:
        """After a failed write the part may end in half a line: go on in a new one."""
        if self._part is not None:
            os.close(self._part)
            self._part = None


def read(folder: Path) -> Iterator[tuple[Request, Answer]]:
    """Every recorded call, in the order of recording, requests put together again. Needs no lock, so a run may be going on."""
    pieces: dict[str, Any] = {}
    for entry in _entries(folder):
        if "piece" in entry:
            pieces[entry["piece"]] = entry["value"]
            continue
        short = entry["request"]
        whole = {
            "messages": [pieces[digest] for digest in short["messages"]],
            "output": pieces.get(short["output"]),
            "tools": pieces.get(short["tools"], []),
        }
        yield Request.model_validate(short | whole), entry["answer"]


def _entries(folder: Path) -> Iterator[dict[str, Any]]:
    """The lines of all parts in order; the torn end of a part is left out."""
    for path in sorted(folder.glob("*.jsonl")):
        bad: int | None = None
        for number, line in enumerate(path.read_bytes().split(b"\n"), start=1):
            entry = _parsed(line)
            if entry is None:
                bad = bad or (number if line else None)
            elif bad:
                raise RecordingError(
                    f"{path}, line {bad} is damaged, though whole lines follow it: restore the file, or remove the line"
                )
            else:
                yield entry


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        entry = json.loads(line)
        if "piece" in entry:
            return {"piece": entry["piece"], "value": entry["value"]}
        return {"key": entry["key"], "request": entry["request"], "answer": Answer.model_validate(entry["answer"])}
    except (ValueError, KeyError, TypeError, RecursionError):  # pydantic's ValidationError is a ValueError
        return None
