"""How far a long computation is: lines for the person waiting, kept out of the executed notebook.

The stage runner names a file in the environment variable `SELFEVOLVE_PROGRESS` and prints what is appended to it. A
cell that printed its own progress would put wall times into the notebook, and two runs would no longer be identical.
"""

import os
import sys
import time

VARIABLE = "SELFEVOLVE_PROGRESS"
EVERY_S = 5.0


class Progress:
    """Reports `label` advancing towards `total` steps: a line per `EVERY_S` seconds at most, the first and last always.

    Lines go to the file named by `SELFEVOLVE_PROGRESS`, or to stderr when it is unset. The time left is extrapolated
    from the steps done since this object was made, so a resumed run is not flattered by the steps it skipped.
    """

    def __init__(self, label: str, total: int):
        self.label = label
        self.total = total
        self._started = time.monotonic()
        self._first: int | None = None  # steps already done at the first report: none of this object's time went into them
        self._last_line = float("-inf")

    def update(self, done: int, note: str = "") -> None:
        """Say that `done` of `total` steps are complete; a short `note` (e.g. the current accuracy) is appended."""
        now = time.monotonic()
        if self._first is None:
            self._first = max(done - 1, 0)
        elif done < self.total and now - self._last_line < EVERY_S:
            return
        self._last_line = now
        elapsed = now - self._started
        steps = done - self._first
        parts = [f"{self.label} {done}/{self.total}", f"{_clock(elapsed)} elapsed"]
        if steps > 0 and done < self.total:
            parts.append(f"about {_clock(elapsed / steps * (self.total - done))} left")
        if note:
            parts.append(" ".join(note.split()))
        _emit(", ".join(parts))


def _clock(seconds: float) -> str:
    minutes, secs = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{secs:02}" if hours else f"{minutes}:{secs:02}"


def _emit(line: str) -> None:
    path = os.environ.get(VARIABLE)
    if path:
        with open(path, "a", encoding="utf-8") as file:  # one write per line, so several processes may share the file
            file.write(line + "\n")
    else:
        print(line, file=sys.stderr, flush=True)
