"""What the scripted agent remembers of a conversation: who it talks to, what was asked for, what has been done about it.

Paper: Gradus 2.4 (the agent sees only the conversation and tool responses). Everything is recalled from the events; of a conversation
that goes on, only the new ones are heard.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from selfevolve.gradus.scripted.language import Language
from selfevolve.gradus.scripted.phrases import (
    About,
    Asks,
    Cannot,
    Done,
    Given,
    Hurries,
    Insists,
    Request,
    Sentence,
    Told,
    Unknown,
    Use,
    Used,
    Whichever,
    plain,
)  # fmt: skip
from selfevolve.gradus.tasks import Event


@dataclass
class Wish:
    """A request. `facts` told for it; `unknown`, what the user could not say; `whichever`, the arguments the user leaves to the agent;
    `begun`: the agent has looked something up for it, or asked for more than missing arguments; `outcome`: what came of it, if the user has been told (`reported`) or not;
    `difficulties`: in how many ways it was put awkwardly; `insisted`: how often the user has insisted on it."""

    action: str
    values: dict[str, Any]
    entity: str | None
    facts: dict[str, Any] = field(default_factory=dict)
    unknown: set[str] = field(default_factory=set)
    whichever: set[str] = field(default_factory=set)
    begun: bool = False
    outcome: Literal["done", "denied"] | None = None
    reason: str = ""
    reported: bool = False
    difficulties: int = 0
    insisted: int = 0

    @property
    def short(self) -> dict[str, Any]:
        """The arguments that a sentence needs to be about this request."""
        return {self.entity: self.values[self.entity]} if self.entity in self.values else {}


@dataclass
class Memory:
    """`facts` of the conversation; `given`: what the user gave to be identified by; `called`: what each call answered, None if it was
    refused, by `key`; `finished`: the agent has ended the turn that the user's last message began."""

    facts: dict[str, Any] = field(default_factory=dict)
    given: dict[str, Any] = field(default_factory=dict)
    unknown: set[str] = field(default_factory=set)
    wishes: list[Wish] = field(default_factory=list)
    called: dict[str, str | None] = field(default_factory=dict)
    finished: bool = False

    @property
    def open(self) -> list[Wish]:
        return [wish for wish in self.wishes if wish.outcome is None]

    @property
    def unreported(self) -> list[Wish]:
        return [wish for wish in self.wishes if wish.outcome is not None and not wish.reported]

    def find(self, about: About, among: list[Wish] | None = None) -> Wish | None:
        """The first request, of the open ones unless told otherwise, that a sentence is about."""
        wishes = [wish for wish in (self.open if among is None else among) if wish.action == about.action]
        for wish in wishes:
            if all(wish.values.get(name) == plain(value) for name, value in about.values.items()):
                return wish
        return wishes[0] if wishes else None


def key(action: str, arguments: dict[str, Any]) -> str:
    """A call as text."""
    return f"{action} {_encode(arguments)}"


_encode = json.JSONEncoder(sort_keys=True).encode  # as json.dumps would, without a new encoder each time


class Recall:
    """Recalls conversations, from any thread. The memory it gives must not be changed."""

    def __init__(self, language: Language):
        self._language, self._last = language, threading.local()

    def __call__(self, events: Sequence[Event]) -> Memory:
        """What there is to know after the events."""
        heard, listener = getattr(self._last, "conversation", ((), None))
        if listener is None or len(heard) > len(events) or any(old is not new for old, new in zip(heard, events, strict=False)):
            heard, listener = (), _Listener(self._language)
        for event in events[len(heard) :]:
            listener.hear(event)
        self._last.conversation = events, listener
        return listener.memory


class _Listener:
    def __init__(self, language: Language):
        self._language, self._library = language, language.library
        self.memory = Memory()
        self._asked: tuple[Wish, tuple[str, ...]] | None = None  # the open question
        self._used: Wish | None = None  # what the user was asked to do

    def hear(self, event: Event) -> None:
        if event.kind == "call":
            if event.call is not None and event.call.requestor == "assistant":
                self._called(event)
            return
        latest: Wish | None = None
        if event.kind == "user":
            self.memory.finished = False
        for sentence in self._language.read(event.text):
            if event.kind == "assistant":
                self._said(sentence)
            else:
                latest = self._heard(sentence, latest)

    def _heard(self, sentence: Sentence, latest: Wish | None) -> Wish | None:
        """Take in a sentence of the user. `latest`: the last request of the message so far; returns the new one."""
        about, asked = (self._asked[0], self._asked[1]) if self._asked else (None, ())
        wish = latest or about
        match sentence:
            case Insists():
                denied = [each for each in self.memory.wishes if each.outcome == "denied"]
                if (again := self.memory.find(sentence, denied[::-1])) is not None:
                    again.outcome, again.reported, again.begun = None, False, False
                    again.insisted += 1
                return again
            case Request(action, values):
                entity = next(iter(self._library.operators[action].parameters), None)
                described = sum(plain(value) is not value for value in values.values())
                new = Wish(action, {name: plain(value) for name, value in values.items()}, entity, difficulties=described)
                self.memory.wishes.append(new)
                return new
            case Told(name="", value=value):
                booleans = [name for name in asked if name in self._library.facts and self._library.facts[name].type == "boolean"]
                if about is not None and booleans:
                    about.facts[booleans[0]] = value
            case Told(name, value):
                self._tell(name, plain(value), wish)
            case Given(name, value) if wish is not None:
                wish.values[name] = plain(value)
            case Unknown(name):
                (wish.unknown if wish is not None else self.memory.unknown).add(name)
                self.memory.unknown.add(name)
            case Whichever(name) if wish is not None:
                wish.whichever.add(name)
            case Hurries() if wish is not None:
                wish.difficulties += 1
            case Used() if self._used is not None:
                self._used.outcome, self._used = "done", None
        return latest

    def _tell(self, name: str, value: Any, wish: Wish | None) -> None:
        fact = self._library.facts.get(name)
        self.memory.given[name] = value
        if fact is None or not fact.accepts(value):
            return
        if fact.scope == "conversation":
            self.memory.facts[name] = value
        elif wish is not None:
            wish.facts[name] = value

    def _said(self, sentence: Sentence) -> None:
        """Take in a sentence of the agent's own."""
        if not isinstance(sentence, About):
            return
        reported = [wish for wish in self.memory.wishes if not wish.reported]
        wish = self.memory.find(sentence, reported)
        if wish is None:
            return
        match sentence:
            case Asks(names=names):
                self._asked = (wish, names)
                withheld = [name for name in names if name in self._library.operators[wish.action].parameters]
                wish.difficulties += len(withheld)
                wish.begun |= any(name in self._library.facts for name in names if name not in withheld)
            case Use():
                self._used = wish
            case Done():
                wish.outcome, wish.reported = "done", True
            case Cannot():
                wish.outcome, wish.reported = "denied", True

    def _called(self, event: Event) -> None:
        """Take in a call of the agent's own."""
        call, memory, conduct = event.call, self.memory, self._library.conduct
        assert call is not None
        memory.called[key(call.name, call.arguments)] = event.observation if event.error is None else None
        head = next((wish for wish in memory.wishes if wish.outcome is None), None)
        identified = [look_up for look_up in conduct.identified if look_up.action == call.name]
        if head is not None and not identified:
            head.begun = True
        if event.error is not None:
            return
        if call.name == conduct.finished:
            memory.finished = True
        if conduct.refused is not None and call.name == conduct.refused.action:
            self._refused(list(call.arguments.values()))
        elif head is not None and (operator := self._library.operators.get(call.name)) is not None:
            entity = next(iter(operator.parameters), "")
            short = {entity: call.arguments[entity]} if entity in call.arguments else {}
            wish = memory.find(Request(call.name, short))
            if wish is not None and wish.short == short:
                wish.outcome = "done"
        for look_up in identified:
            memory.facts |= {**look_up.facts, look_up.result: _answer(event.observation or "", look_up.result)}

    def _refused(self, arguments: list[Any]) -> None:
        for wish in self.memory.open:
            if arguments[:1] == list(wish.short.values()):
                wish.outcome, wish.reason = "denied", " ".join(map(str, arguments[1:]))
                return


def _answer(observation: str, name: str) -> Any:
    """What a look-up found: the field of that name, or all of the answer."""
    try:
        found = json.loads(observation)
    except ValueError:
        return observation
    if isinstance(found, list) and found:
        found = found[0]
    return found.get(name, observation) if isinstance(found, dict) else found
