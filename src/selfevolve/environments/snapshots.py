"""Snapshots: the entries an episode has changed, as compressed JSON patches of the base database.

Paper: Gradus appendix A.2 (replay and comparison of states). A snapshot is JSON, not pickle: it may come from a file or
another process, and reading it must not be able to run code. It carries the hash of its state, so a blob that was cut,
edited or made against another version of the database is refused instead of restored wrongly.

Patches keep types and order: `["=", value]` replaces, `{name: patch}` changes the fields of an object and
`["+", length, {index: patch}, tail]` changes elements of a list, cuts it to `length` and appends; null changes nothing.
"""

from __future__ import annotations

import json
import zlib
from typing import Any

from pydantic import BaseModel

from selfevolve.environments.entries import Entry, plain
from selfevolve.environments.overlay import Base, Key, Overlay
from selfevolve.environments.protocol import MAX_SNAPSHOT

VERSION = 1
MAX_JSON = 64 * 1024 * 1024  # characters of a decompressed snapshot; beyond this the blob is not one of ours


def pack(overlay: Overlay) -> bytes:
    """The overlay's state, and its initial state, in a hundred bytes to `protocol.MAX_SNAPSHOT`."""
    return _pack(overlay, overlay.digest())


def size(overlay: Overlay) -> int:
    """Bytes of the snapshot, at most 64 too many; quicker than making it, as the hash is left out."""
    return len(_pack(overlay, "")) + 64


def _pack(overlay: Overlay, digest: str) -> bytes:
    changed = ",".join(_item(overlay.base, key, new) for key, new in overlay.changed.items())
    initial = "null"
    if overlay.initial is not overlay.changed:  # an entry not changed since is only named
        kept = {key for key, new in overlay.initial.items() if overlay.changed.get(key) is new}
        items = (_item(overlay.base, key, None if key in kept else new) for key, new in overlay.initial.items())
        initial = f"[{','.join(items)}]"
    head = _text([VERSION, overlay.base.name, digest])
    return zlib.compress(f"{head[:-1]},[{changed}],{initial}]".encode())


def unpack(blob: bytes, overlay: Overlay) -> None:
    """Put the state of `blob` into an overlay.

    Raises:
        ValueError: if it is not a snapshot of this domain; the overlay is as before.
    """
    initial_before, changed_before = overlay.initial, overlay.changed
    try:
        version, name, digest, changed, initial = _read(blob)
        if (version, name) != (VERSION, overlay.base.name):
            raise ValueError(f"it is of {name!r}, version {version!r}, not of {overlay.base.name!r}, version {VERSION}")
        entries = {(table, entry): _decode(overlay.base, (table, entry), patch) for table, entry, patch in changed}
        first = entries
        if initial is not None:
            first = {
                (table, entry): _decode(overlay.base, (table, entry), patch[0]) if patch else entries[table, entry]
                for table, entry, *patch in initial
            }
        overlay.resume(first, entries, len(blob))
        if overlay.digest() != digest:
            raise ValueError("its state does not have the recorded hash: damaged, or made with other domain data")
    except Exception as error:
        overlay.resume(initial_before, changed_before)
        raise ValueError(f"not a snapshot of {overlay.base.name}: {error}; restore only what snapshot() gave") from None


def _read(blob: bytes) -> list[Any]:
    if not isinstance(blob, bytes) or len(blob) > 2 * MAX_SNAPSHOT:
        raise ValueError(f"expected at most {2 * MAX_SNAPSHOT} bytes")
    reader = zlib.decompressobj()
    text = reader.decompress(blob, MAX_JSON)
    if not reader.eof or reader.unused_data:
        raise ValueError("it is incomplete, too large or followed by something")
    return json.loads(text)


def _text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def _item(base: Base, key: Key, new: Entry | None) -> str:
    """`[table, entry, patch]`, or `[table, entry]` without an entry."""
    if new is None:
        return _text(key)
    if new.text is None:
        value, original = plain(new.value), base.entry(key)
        whole = _text([*key, ["=", value]])
        patch = whole if original is None else _text([*key, difference(original.plain, value)])
        new.text = min(patch, whole, key=len)
    return new.text


def _decode(base: Base, key: Key, patch: Any) -> Entry:
    table, entry = key
    original = base.tables[table].get(entry)
    model = rebuild(base.models[table], apply(None if original is None else plain(original), patch))
    return Entry(model)


def difference(old: Any, new: Any) -> Any:
    """The patch that turns one JSON value into another; None if they are equal in type, value and order of keys."""
    if type(old) is not type(new):
        return ["=", new]
    if isinstance(new, dict):
        if list(old) != list(new):
            return ["=", new]
        return {key: patch for key, value in new.items() if (patch := difference(old[key], value)) is not None} or None
    if isinstance(new, list):
        both = min(len(old), len(new))
        changes = {str(i): patch for i in range(both) if (patch := difference(old[i], new[i])) is not None}
        return ["+", both, changes, new[both:]] if changes or len(old) != len(new) else None
    equal = repr(old) == repr(new) if isinstance(new, float) else old == new  # 0.0 is not -0.0, NaN is NaN
    return None if equal else ["=", new]


def apply(old: Any, patch: Any) -> Any:
    """The new value: `apply(old, difference(old, new))` is the same as `new`."""
    if patch is None:
        return old
    if isinstance(patch, dict):
        return {key: apply(value, patch[key]) if key in patch else value for key, value in old.items()}
    if patch[0] == "=":
        return patch[1]
    _, both, changes, tail = patch
    return [apply(old[i], changes[str(i)]) if str(i) in changes else old[i] for i in range(both)] + tail


def rebuild(model: type[BaseModel], value: Any) -> BaseModel:
    """The model whose JSON dump is `value`, digit for digit.

    Tools assign to fields without validation, so a float field may hold 15 where validation would make it 15.0, which
    has another hash; such scalars are put back.
    """
    built = model.model_validate(value)
    _restore_scalars(built, value)
    return built


def _restore_scalars(built: Any, value: Any) -> Any:
    if isinstance(built, BaseModel):
        fields = built.__dict__
        for name, item in value.items():
            fields[name] = _restore_scalars(fields[name], item)
    elif isinstance(built, dict):
        for key, item in zip(list(built), value.values(), strict=True):
            built[key] = _restore_scalars(built[key], item)
    elif isinstance(built, list):
        built[:] = map(_restore_scalars, built, value)
    elif type(built) in (int, float, bool) and type(built) is not type(value):
        return value
    return built
