"""Entries of a database: copying them and telling whether two are the same.

Paper: Gradus appendix A.2 compares states; tau2-bench compares the sorted JSON dumps of whole databases. An entry is
one model of such a database: a reservation, a line, the user's phone.
"""

from __future__ import annotations

import json
import typing
from typing import Any

from pydantic import BaseModel
from pydantic_core import to_json


class Entry:
    """An entry that differs from the base.

    Attributes:
        value: the model; part of a state, so never mutated again.
        raw: its JSON in the model's order, quickly made: tells whether a call has changed the entry.
        text: its part of a snapshot, once one was made.
    """

    __slots__ = ("value", "raw", "text", "_dump", "_plain")

    def __init__(self, value: BaseModel, raw: bytes | None = None):
        self.value = value
        self.raw = quick(value) if raw is None else raw
        self.text: str | None = None
        self._dump: str | None = None
        self._plain: Any = None

    @property
    def dump(self) -> str:
        """Its sorted JSON dump, made when first asked for."""
        if self._dump is None:
            self._dump = canonical(self.value)
        return self._dump

    @property
    def plain(self) -> Any:
        """`plain` of the model, kept: not to be mutated."""
        if self._plain is None:
            self._plain = plain(self.value)
        return self._plain


_encode = json.JSONEncoder(sort_keys=True, default=str).encode  # as json.dumps would, without a new encoder each time
_set_dict, _set_fields_set, _set_extra, _set_private = (
    vars(BaseModel)[slot].__set__
    for slot in ("__dict__", "__pydantic_fields_set__", "__pydantic_extra__", "__pydantic_private__")
)
_ATOMS = frozenset({str, int, float, bool, type(None)})
_UNIONS: dict[type, bool] = {}  # whether a model has a field with a union of models
_MODELS: dict[type, bool] = {}  # whether a type is a model: pydantic's own isinstance check is slow


def canonical(value: BaseModel) -> str:
    """The part of tau2-bench's hashed dump that describes one entry."""
    return _encode(value.model_dump(warnings=False))


def plain(value: BaseModel) -> Any:
    """The JSON value of an entry, exactly as in its canonical dump but in its own order."""
    return json.loads(json.dumps(value.model_dump(warnings=False), default=str))


def quick(value: BaseModel) -> bytes:
    """JSON of a model in the model's own order, in which the order of dictionaries counts.

    An integer in a float field may look like a float here, but not in the canonical dump. The tools put none there, init
    actions may.
    """
    kind = type(value)
    union = _UNIONS.get(kind)
    if union is None:
        union = _UNIONS[kind] = any(_of_models(field.annotation) for field in kind.model_fields.values())
    if union:  # pydantic would try every member of the union; not told the field's type it asks the value
        return to_json(value.__dict__)
    return kind.__pydantic_serializer__.to_json(value, warnings=False)


def _of_models(annotation: Any) -> bool:
    """Whether an annotation holds a union of models."""
    members = typing.get_args(annotation)
    if sum(isinstance(member, type) and issubclass(member, BaseModel) for member in members) > 1:
        return True
    return any(map(_of_models, members))


def clone(value: Any) -> Any:
    """A deep copy of models, lists and dictionaries; other values are immutable and shared.

    `copy.deepcopy` and pickle give the same, several times slower.
    """
    kind = type(value)
    if kind is dict:
        return _clone_items(value)
    if kind is list:
        return [item if type(item) in _ATOMS else clone(item) for item in value]
    model = _MODELS.get(kind)
    if model is None:
        model = _MODELS[kind] = issubclass(kind, BaseModel)
    if not model:
        return value
    copy = kind.__new__(kind)
    _set_dict(copy, _clone_items(value.__dict__))
    _set_fields_set(copy, value.__pydantic_fields_set__.copy())
    _set_extra(copy, value.__pydantic_extra__)
    _set_private(copy, value.__pydantic_private__)
    return copy


def _clone_items(items: dict[Any, Any]) -> dict[Any, Any]:
    copy = items.copy()
    for key, item in items.items():
        if type(item) not in _ATOMS:
            copy[key] = clone(item)
    return copy
