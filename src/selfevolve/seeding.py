"""Seeds for every random draw, derived from what the draw is for.

A draw is named by (seed, purpose, iteration, ...) and gets its own seed from that name. So nothing depends on the order
in which draws are made, and a run that was killed resumes without any saved random state.
"""

import hashlib
import json


def derive(seed: int, *labels: str | int) -> int:
    """A seed in [0, 2**31) for the draw named by `seed` and `labels`; equal names give equal seeds on every machine.

    Raises TypeError for a label that is neither a string nor an integer (a float or an object has no stable spelling).
    """
    for label in (seed, *labels):
        if isinstance(label, bool) or not isinstance(label, str | int):
            raise TypeError(f"derive: label {label!r} is a {type(label).__name__}; give a string or an integer")
    name = json.dumps([seed, *labels]).encode()  # JSON keeps ("a", "b") apart from ("ab",) and 1 apart from "1"
    return int.from_bytes(hashlib.sha256(name).digest()[:8], "big") % 2**31
