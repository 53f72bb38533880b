"""What can go wrong with a call, kept apart by what to do about it.

`gradus.errors.RoleFailed` is the model's: its answers are recorded, so a rerun fails in the same way, and a run may go on and record the
reason. `EndpointError` is the network's or the configuration's: nothing was recorded, and a run should stop, to be resumed later; else
what it produces would depend on the weather.
"""


class EndpointError(RuntimeError):
    """An endpoint gave no answer. `kind`: connection, time_out, malformed, http_<status> or key; the text says what to do."""

    def __init__(self, kind: str, text: str):
        super().__init__(text)
        self.kind = kind


class RecordingError(RuntimeError):
    """Recorded calls that cannot be read or written; the text names the file."""
