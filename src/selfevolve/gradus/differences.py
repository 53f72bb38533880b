"""What a call has changed: the state before and after it, compared place by place.

Paper: Gradus section 2.2 and A.7 (effects of an operator, "low-level state paths").

A view of the state is taken before the call by copying the tables, not the records in them. That relies on what every
environment here does: a call replaces the records it changes and never mutates them, so records taken before stay as they
were.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from pydantic import BaseModel

from selfevolve.gradus.values import unwrap

ABSENT: Any = type("_Absent", (), {"__repr__": lambda self: "nothing"})()  # the value of a place that is not there


class Change(NamedTuple):
    """One place whose value differs: `place`, the names, keys and indices that lead to it."""

    place: tuple[Any, ...]
    before: Any
    after: Any

    @property
    def path(self) -> str:
        """The place as text, the key of a table's record and indices written `*`: equal for the same field of two records."""
        steps = ("*" if isinstance(key, int) or position == 1 else str(key) for position, key in enumerate(self.place))
        return ".".join(steps)

    def below(self, path: str) -> bool:
        """Whether the place is that of a schema path, or lies below it."""
        steps = path.split(".")
        pairs = zip(steps, self.place, strict=False)
        return len(self.place) >= len(steps) and all(step in ("*", str(key)) for step, key in pairs)


def view(state: Mapping[str, Any]) -> dict[str, Any]:
    """The state as it is now, unaffected by later calls."""
    copied = {}
    for name, value in state.items():
        value = unwrap(value)
        copied[name] = dict(value) if isinstance(value, Mapping) else list(value) if isinstance(value, list) else value
    return copied


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Change]:
    """The places that differ, as deep as both sides have structure; what only one side has is one change."""
    return list(_compare(before, after, ()))


def _compare(before: Any, after: Any, place: tuple[Any, ...]) -> Iterator[Change]:
    if before is after:
        return
    before, after = unwrap(before), unwrap(after)
    left, right = _parts(before), _parts(after)
    if left is None or right is None or isinstance(before, list | tuple) != isinstance(after, list | tuple):
        if type(before) is not type(after) or before != after:
            yield Change(place, before, after)
        return
    for key in [*left, *(key for key in right if key not in left)]:
        old, new = left.get(key, ABSENT), right.get(key, ABSENT)
        if old is not new:
            yield from _compare(old, new, (*place, unwrap(key)))


def _parts(value: Any) -> dict[Any, Any] | None:
    if isinstance(value, BaseModel):
        return {name: getattr(value, name) for name in type(value).model_fields}
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, list | tuple):
        return dict(enumerate(value))
    return None


def value_at(state: Mapping[str, Any], place: tuple[Any, ...]) -> Any:
    """The value at a place, `ABSENT` if it is not there."""
    value: Any = state
    for key in place:
        parts = {unwrap(name): part for name, part in (_parts(unwrap(value)) or {}).items()}
        if key not in parts:
            return ABSENT
        value = parts[key]
    return unwrap(value)
