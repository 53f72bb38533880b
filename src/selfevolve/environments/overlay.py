"""Copy-on-access state: a shared base database plus the few entries an episode has changed.

Paper: Gradus appendix A.2 replays every reference and demonstration from the same initial state and compares the final
states. Loading, copying or dumping a whole database for that takes hundreds of milliseconds; here the base is parsed
once per process and never changes, and an episode holds only what it changed.

How it stays exact:

* A call works on copies of the entries it asks for. They become the state when the call has succeeded and are dropped
  otherwise, so a failed call cannot leave a trace. Entries that are part of a state are never mutated again, so views
  taken before a call stay true.
* Two entries are the same if their sorted JSON dumps are: 1 and 1.0 differ, the order of a dictionary's keys does not
  matter. That is the dump the official hash of tau2-bench is made of. An entry changed back to its base value counts
  as unchanged, so equal states have equal hashes whatever led to them. Dumps are made when a hash is asked for.
* An episode's changes are bounded (`protocol.MAX_SNAPSHOT`): the official code doubles the payment history of a
  reservation each time it is cancelled again, and would fill any memory.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from selfevolve.environments.entries import Entry, canonical, clone, quick
from selfevolve.environments.protocol import MAX_SNAPSHOT

Key = tuple[str, str]
"""(table, entry)."""
Join = Callable[[dict[str, str]], str]

EMPTY = 500  # bytes allowed for a snapshot without changes; it has some 90
PER_ENTRY = 100  # bytes allowed for the name of an entry
MAX_ENTRY = 64_000  # characters of one entry's dump; the longest entry of a base database has 4,800


class TooLarge(Exception):
    """The change would not fit a snapshot."""


class Base:
    """A parsed database, shared by all environments of a process and never changed.

    Args:
        name: of the domain.
        tables: table -> entry -> model; a value that is no table has one entry, "".
        models: the model of each table's entries.

    Attributes:
        starts: what init actions lead to, by the actions so far: tasks are replayed many times and begin alike.
    """

    def __init__(self, name: str, tables: dict[str, dict[str, BaseModel]], models: dict[str, type[BaseModel]]):
        self.name = name
        self.tables = tables
        self.models = models
        self._entries: dict[Key, Entry] = {}
        self._joined: dict[str, str] = {}
        self.starts: dict[bytes, dict[Key, Entry]] = {}

    def entry(self, key: Key) -> Entry | None:
        """A base entry, dumped once; None if there is none."""
        entry = self._entries.get(key)
        if entry is None and (value := self.tables[key[0]].get(key[1])) is not None:
            entry = self._entries[key] = Entry(value)
        return entry

    def joined(self, table: str, join: Join) -> str:
        """The dump of a whole unchanged table, kept."""
        text = self._joined.get(table)
        if text is None:
            text = self._joined[table] = join(self.dumps(table))
        return text

    def dumps(self, table: str) -> dict[str, str]:
        return {entry: self.entry((table, entry)).dump for entry in self.tables[table]}


class Overlay:
    """The state of one episode.

    Attributes:
        live: table -> entry -> model, the state. Its dictionaries stay the same objects for the overlay's lifetime.
        changed: what differs from the base, in the order in which entries first differed. Replaced, never mutated.
        initial: `changed` right after the episode's reset.
    """

    def __init__(self, base: Base, size: Callable[[Overlay], int]):
        self.base = base
        self.live = {table: dict(entries) for table, entries in base.tables.items()}
        self.changed: dict[Key, Entry] = {}
        self.initial: dict[Key, Entry] = {}
        self._initial_tables: dict[str, dict[str, Any]] | None = None
        self._work: dict[str, dict[str, Any]] = {}
        self._digest: tuple[dict[Key, Entry], str] | None = None  # of the changes it was last asked for
        self._size = size
        self._room = MAX_SNAPSHOT - EMPTY

    def own(self, table: str, entry: str) -> Any:
        """The running call's copy of an entry. Raises KeyError if there is none."""
        work = self._work.get(table)
        if work is None:
            work = self._work[table] = {}
        copy = work.get(entry)
        if copy is None:
            copy = work[entry] = clone(self.live[table][entry])
        return copy

    def put(self, table: str, entry: str, value: BaseModel) -> None:
        """Add or replace an entry, as part of the running call."""
        self._work.setdefault(table, {})[entry] = value

    def seen(self, table: str) -> dict[str, Any]:
        """A table as the running call sees it; not to be mutated."""
        work = self._work.get(table)
        return self.live[table] | work if work else self.live[table]

    def find(self, table: str, entry: str) -> Any:
        """An entry as the running call sees it, not to be mutated, or None."""
        work = self._work.get(table)
        return (work and work.get(entry)) or self.live[table].get(entry)

    def discard(self) -> None:
        """Forget the running call's copies."""
        self._work = {}

    def commit(self, exact: bool = False) -> None:
        """Make the running call's copies the state.

        Args:
            exact: also see a change from 15.0 to 15 in a float field, which costs a canonical dump of each copy.

        Raises:
            TooLarge: if the changes would not fit a snapshot; the state is as before the call.
        """
        before, changed, written = self.changed, dict(self.changed), 0
        work = [((table, entry), value) for table, values in self._work.items() for entry, value in values.items()]
        for key, value in work:
            raw, original = quick(value), self.base.entry(key)
            current = changed.get(key, original)
            if current is not None and raw == current.raw and not (exact and canonical(value) != current.dump):
                continue
            if len(raw) > MAX_ENTRY:
                raise TooLarge(f"entry {key[1]!r} of {key[0]} would grow beyond {MAX_ENTRY:,} characters")
            if original is not None and raw == original.raw and not (exact and canonical(value) != original.dump):
                del changed[key]
            else:
                changed[key] = Entry(value, raw)
                written += len(raw) + PER_ENTRY
        for key, _ in work:  # as `assign` does, but only what may have changed
            if (new := changed.get(key) or self.base.entry(key)) is not None:
                self.live[key[0]][key[1]] = new.value
        self.changed, self._work = changed, {}
        # A snapshot grows by less than what is written, so it is measured only when that has used up the known room.
        if written <= self._room:
            self._room -= written
        elif written:
            size = self._size(self)
            if size > MAX_SNAPSHOT:
                self.assign(before)
                raise TooLarge(f"the changes of this episode would not fit a snapshot of {MAX_SNAPSHOT:,} bytes")
            self._room = MAX_SNAPSHOT - EMPTY - size

    def assign(self, changed: dict[Key, Entry]) -> None:
        """Go to another state of the same base."""
        for table, entry in self.changed:
            original = self.base.tables[table].get(entry)
            if original is None:  # all new entries go first: their order is the order of `changed`
                del self.live[table][entry]
            elif (table, entry) not in changed:
                self.live[table][entry] = original
        for (table, entry), new in changed.items():
            self.live[table][entry] = new.value
        self.changed = changed

    def start(self, changed: dict[Key, Entry]) -> None:
        """Go to a state and call it the initial one."""
        self.assign(changed)
        self.initial, self._initial_tables = changed, None
        held = sum(len(new.raw) + PER_ENTRY for new in changed.values())
        self._room = MAX_SNAPSHOT - EMPTY - held

    def resume(self, initial: dict[Key, Entry], changed: dict[Key, Entry], size: int = MAX_SNAPSHOT) -> None:
        """Go to a state that had another initial one; `size` is that of its snapshot, if known."""
        self.start(initial)
        self.assign(changed)
        self._room = MAX_SNAPSHOT - EMPTY - size

    def initial_tables(self) -> dict[str, dict[str, Any]]:
        """The tables of the initial state; not to be mutated."""
        if not self.initial:
            return self.base.tables
        if self._initial_tables is None:
            self._initial_tables = {table: dict(entries) for table, entries in self.base.tables.items()}
            for (table, entry), new in self.initial.items():
                self._initial_tables[table][entry] = new.value
        return self._initial_tables

    def digest(self) -> str:
        """Hash of the state, from the changed entries alone."""
        if self._digest is None or self._digest[0] is not self.changed:
            parts = sorted((*key, new.dump) for key, new in self.changed.items() if self._differs(key, new))
            self._digest = self.changed, hashlib.sha256(json.dumps([self.base.name, parts]).encode()).hexdigest()
        return self._digest[1]

    def _differs(self, key: Key, new: Entry) -> bool:
        """Whether an entry differs by more than the order of a dictionary."""
        original = self.base.entry(key)
        return original is None or new.dump != original.dump

    def official(self, joins: Mapping[str, Join]) -> str:
        """tau2-bench's hash of a database with these tables: sha256 of its sorted JSON dump, joined from kept pieces.

        Args:
            joins: table -> how the dumps of its entries make the dump of the table.
        """
        parts = []
        for table in sorted(joins):
            changes = {entry: new.dump for (name, entry), new in self.changed.items() if name == table}
            text = joins[table](self.base.dumps(table) | changes) if changes else self.base.joined(table, joins[table])
            parts.append(f'"{table}": {text}')
        return hashlib.sha256(("{" + ", ".join(parts) + "}").encode()).hexdigest()


class WorkingTable(Mapping[str, Any]):
    """A dictionary table as a writing tool gets it: entries are copied when looked up. No tool deletes entries."""

    def __init__(self, overlay: Overlay, table: str):
        self._overlay, self._table = overlay, table

    def __getitem__(self, entry: str) -> Any:
        return self._overlay.own(self._table, entry)

    def __setitem__(self, entry: str, value: BaseModel) -> None:
        self._overlay.put(self._table, entry, value)

    def __contains__(self, entry: Any) -> bool:
        return self._overlay.find(self._table, entry) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self._overlay.seen(self._table))

    def __len__(self) -> int:
        return len(self._overlay.seen(self._table))
