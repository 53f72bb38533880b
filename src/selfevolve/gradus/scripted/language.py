"""The sentences that the scripted user and the scripted agent say to each other: one writer and one reader for both.

Paper: Gradus 2.4 (the agent sees only the conversation), A.7 (a user's request). The paper's roles speak freely; these speak a small
English that either can read without a model, and that a reader of the demonstrations can too.

Names are those of the operator library with spaces for underscores, values are JSON. A value may be described instead of said:
`the second of ["A", "B"]`, `3 + 4`. What is not a sentence of the language is small talk and means nothing.

    Please cancel reservation, reservation id "EHGLP3". My reason is "health".
    Before I cancel reservation, reservation id "EHGLP3": do you confirm, yes or no?
    Yes.
    Done: cancel reservation, reservation id "EHGLP3".
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from selfevolve.gradus.operators import Library
from selfevolve.gradus.scripted.phrases import (
    About,
    Asks,
    Cannot,
    Done,
    Given,
    Hurries,
    Insists,
    More,
    Nth,
    Request,
    Sentence,
    Sum,
    Told,
    Unknown,
    Use,
    Used,
    Whichever,
)  # fmt: skip
from selfevolve.gradus.scripted.reader import Misread, Reader, clause

ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")


def words(name: str) -> str:
    """A name as it is said."""
    return name.replace("_", " ")


class Language:
    """Writes and reads the sentences about the actions, parameters and facts of one library."""

    def __init__(self, library: Library):
        self.library = library
        self._booleans = {name for name, fact in library.facts.items() if fact.type == "boolean"}
        self._statements = {key.capitalize(): name for key, name in _by_words(self._booleans).items()}
        self._actions = _by_words(library.operators)
        self._parameters = {action: _by_words(operator.parameters) for action, operator in library.operators.items()}
        every = [name for operator in library.operators.values() for name in operator.parameters]
        self._names = _by_words([*library.facts, *every])
        self.read = lru_cache(maxsize=4096)(self._read)
        """The sentences of a text, in order."""

    def say(self, *sentences: Sentence) -> str:
        """The sentences as one text; a refusal ends its line."""
        said = [self._said(sentence) + ("\n" if isinstance(sentence, Cannot) else " ") for sentence in sentences]
        return "".join(said).strip()

    def call(self, action: str, values: Mapping[str, Any]) -> str:
        """A call as part of a sentence."""
        return ", ".join([words(action), *(f"{words(name)} {_value(value)}" for name, value in values.items())])

    def _said(self, sentence: Sentence) -> str:
        match sentence:
            case Told(name="", value=value):
                return "Yes." if value else "No."
            case Told(name, value) if name in self._booleans:
                return f"{words(name).capitalize()}: {'yes' if value else 'no'}."
            case Told(name, value):
                return f"My {words(name)} is {_value(value)}."
            case Given(name, value):
                return f"The {words(name)} is {_value(value)}."
            case Unknown(name):
                return f"I do not know the {words(name)}."
            case Whichever(name):
                return f"Any {words(name)} will do."
            case Hurries():
                return "I am in a hurry, so please skip all questions."
            case More():
                return "Is there anything else?"
        assert isinstance(sentence, About)
        call = self.call(sentence.action, sentence.values)
        match sentence:
            case Insists():
                return f"I insist: {call}. I was told that it is allowed."
            case Used(answer=answer):
                return f"I used {call}. It says: {_value(answer)}."
            case Asks(names=names):
                return f"Before I {call}: {' '.join(self._question(sentence.action, name) for name in names)}"
            case Use():
                return f"On your side, please {call}."
            case Done():
                return f"Done: {call}."
            case Cannot(reason=reason):
                return f"I cannot {call}: {clause(reason)}"
        return f"Please {call}."

    def _question(self, action: str, name: str) -> str:
        if name == "confirmed":
            return "do you confirm, yes or no?"
        if name in self._booleans:
            return f"{words(name)}, yes or no?"
        return f"what is {'the' if name in self.library.operators[action].parameters else 'your'} {words(name)}?"

    def _read(self, text: str) -> tuple[Sentence, ...]:
        reader, found = Reader(text), []
        while reader.more():
            start = reader.place
            try:
                found.append(self._sentence(reader))
            except Misread:
                reader.place = start
                reader.skip()
        return tuple(found)

    def _sentence(self, reader: Reader) -> Sentence:
        for opening, read in _OPENINGS:
            if reader.take(opening):
                return read(self, reader)
        name = reader.name(self._statements)
        reader.need(": ")
        value = reader.one({"yes.": True, "no.": False})
        return Told(name, value)

    def _about(self, reader: Reader) -> tuple[str, dict[str, Any]]:
        action = reader.name(self._actions)
        values: dict[str, Any] = {}
        while reader.take(", "):
            name = reader.name(self._parameters[action])
            reader.need(" ")
            values[name] = _read_value(reader)
        return action, values

    def _request(self, reader: Reader) -> Sentence:
        action, values = self._about(reader)
        reader.need(".")
        return Request(action, values)

    def _insists(self, reader: Reader) -> Sentence:
        action, values = self._about(reader)
        reader.need(". I was told that it is allowed.")
        return Insists(action, values)

    def _used(self, reader: Reader) -> Sentence:
        action, values = self._about(reader)
        reader.need(". It says: ")
        answer = reader.json()
        reader.need(".")
        return Used(action, values, str(answer))

    def _told(self, reader: Reader) -> Sentence:
        return Told(*self._named(reader))

    def _given(self, reader: Reader) -> Sentence:
        return Given(*self._named(reader))

    def _named(self, reader: Reader) -> tuple[str, Any]:
        name = reader.name(self._names)
        reader.need(" is ")
        value = _read_value(reader)
        reader.need(".")
        return name, value

    def _unknown(self, reader: Reader) -> Sentence:
        name = reader.name(self._names)
        reader.need(".")
        return Unknown(name)

    def _whichever(self, reader: Reader) -> Sentence:
        name = reader.name(self._names)
        reader.need(" will do.")
        return Whichever(name)

    def _asks(self, reader: Reader) -> Sentence:
        action, values = self._about(reader)
        reader.need(":")
        names = []
        while reader.take(" "):
            start = reader.place
            try:
                names.append(self._asked(reader))
            except Misread:
                reader.place = start - 1
                break
        return Asks(action, values, tuple(names))

    def _asked(self, reader: Reader) -> str:
        if reader.take("do you confirm, yes or no?"):
            return "confirmed"
        if reader.take("what is the ") or reader.take("what is your "):
            name = reader.name(self._names)
            reader.need("?")
            return name
        name = reader.name(self._names)
        reader.need(", yes or no?")
        return name

    def _use(self, reader: Reader) -> Sentence:
        action, values = self._about(reader)
        reader.need(".")
        return Use(action, values)

    def _done(self, reader: Reader) -> Sentence:
        action, values = self._about(reader)
        reader.need(".")
        return Done(action, values)

    def _cannot(self, reader: Reader) -> Sentence:
        action, values = self._about(reader)
        reader.need(": ")
        return Cannot(action, values, reader.line().removesuffix("."))


_OPENINGS = (
    ("Please ", Language._request),
    ("My ", Language._told),
    ("The ", Language._given),
    ("Yes.", lambda language, reader: Told("", True)),
    ("No.", lambda language, reader: Told("", False)),
    ("I insist: ", Language._insists),
    ("I used ", Language._used),
    ("I do not know the ", Language._unknown),
    ("I am in a hurry, so please skip all questions.", lambda language, reader: Hurries()),
    ("Any ", Language._whichever),
    ("Before I ", Language._asks),
    ("On your side, please ", Language._use),
    ("Done: ", Language._done),
    ("I cannot ", Language._cannot),
    ("Is there anything else?", lambda language, reader: More()),
)


def _by_words(names: Iterable[str]) -> dict[str, str]:
    return {words(name): name for name in sorted(names, key=lambda name: (-len(name), name))}


def _value(value: Any) -> str:
    match value:
        case Sum(left, right):
            return f"{_value(left)} {'-' if right < 0 else '+'} {_value(abs(right))}"
        case Nth(Sum() as position, options):
            return f"number {_value(position)} of {_value(list(options))}"
        case Nth(position, options):
            return f"the {ORDINALS[position - 1]} of {_value(list(options))}"
    return json.dumps(value, ensure_ascii=False)


def _read_value(reader: Reader) -> Any:
    if reader.take("number "):
        position = _read_number(reader)
        reader.need(" of ")
        return Nth(position, tuple(reader.json()))
    if reader.take("the "):
        position = reader.one({ordinal: number for number, ordinal in enumerate(ORDINALS, 1)})
        reader.need(" of ")
        return Nth(position, tuple(reader.json()))
    return _read_number(reader)


def _read_number(reader: Reader) -> Any:
    """A JSON value, or a sum if a number goes on as one."""
    left = reader.json()
    if type(left) not in (int, float):
        return left
    for sign, factor in ((" + ", 1), (" - ", -1)):
        if reader.take(sign):
            return Sum(left, factor * reader.json())
    return left
