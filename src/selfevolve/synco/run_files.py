"""A run's own files: which iteration is safely done, checkpoints, and tables with one row per iteration.

Everything is written to a temporary name and moved into place, so that a kill at any instant leaves nothing half-written.
"""

import csv
import json
import os
import shutil
import time
from pathlib import Path

STATE = "state.json"


def completed(folder: Path) -> int:
    """Iterations that are safely done in a run's folder: 0 for a new one."""
    path = folder / STATE
    return json.loads(path.read_text())["iteration"] if path.is_file() else 0


def checkpoint_folder(folder: Path, iteration: int) -> Path:
    return folder / f"checkpoint-{iteration:06d}"


def complete(folder: Path, iteration: int) -> None:
    """Declare `iteration` done, once everything else is written, and drop older checkpoints after that."""
    temporary = folder / f"{STATE}.tmp"
    temporary.write_text(json.dumps({"iteration": iteration}))
    os.replace(temporary, folder / STATE)
    for old in folder.glob("checkpoint-*"):
        if old != checkpoint_folder(folder, iteration):
            shutil.rmtree(old)


class Table:
    """A CSV file with one row per iteration, always whole: every change replaces it."""

    def __init__(self, path: Path, last: int):
        """Open the file with its rows up to iteration `last`; later ones belong to iterations that were not completed."""
        self.path, self.rows = path, []
        if path.exists():
            with path.open(newline="") as file:
                self.rows = [row for row in csv.DictReader(file) if int(row["iteration"]) <= last]

    def append(self, row: dict) -> None:
        self.rows.append(row)
        temporary = self.path.with_suffix(".tmp")
        with temporary.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(row), lineterminator="\n")
            writer.writeheader()
            writer.writerows(self.rows)
        os.replace(temporary, self.path)


class Clock:
    """Seconds spent in each phase of an iteration."""

    def __init__(self, phases: tuple[str, ...]) -> None:
        self._start = self._last = time.perf_counter()
        self._spent = dict.fromkeys(phases, 0.0)

    def lap(self, phase: str) -> None:
        """Give the time since the last lap to `phase`."""
        now = time.perf_counter()
        self._spent[phase] += now - self._last
        self._last = now

    def skip(self) -> None:
        """Leave the time since the last lap to `other`."""
        self._last = time.perf_counter()

    def seconds(self) -> dict[str, float]:
        total = time.perf_counter() - self._start
        spent = {f"{phase}_s": round(seconds, 4) for phase, seconds in self._spent.items()}
        return {"total_s": round(total, 4), **spent, "other_s": round(total - sum(self._spent.values()), 4)}
