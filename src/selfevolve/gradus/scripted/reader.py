"""Reading a text from left to right, for `language`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

_DECODER = json.JSONDecoder()
_END = re.compile(r"[.?!](?=\s)|\n|$")
_SPACE = re.compile(r"\s*")


class Misread(ValueError):
    """The text goes on in another way than expected."""


class Reader:
    """A text and how far it has been read (`place`)."""

    def __init__(self, text: str):
        self.text, self.place = text, 0

    def more(self) -> bool:
        """Whether anything but white space is left; white space is passed over."""
        match = _SPACE.match(self.text, self.place)
        assert match is not None
        self.place = match.end()
        return self.place < len(self.text)

    def take(self, literal: str) -> bool:
        """Pass over the literal if the text goes on with it."""
        if not self.text.startswith(literal, self.place):
            return False
        self.place += len(literal)
        return True

    def need(self, literal: str) -> None:
        """Pass over the literal. Raises Misread if the text goes on otherwise."""
        if not self.take(literal):
            raise Misread(literal)

    def one(self, literals: Mapping[str, Any]) -> Any:
        """The value of the first of the literals that the text goes on with. Raises Misread if it does with none."""
        for literal, value in literals.items():
            if self.take(literal):
                return value
        raise Misread(", ".join(literals))

    def name(self, names: Mapping[str, str]) -> str:
        """As `one`, but whole words only."""
        for literal, value in names.items():
            end = self.place + len(literal)
            if self.text.startswith(literal, self.place) and not self.text[end : end + 1].isalnum():
                self.place = end
                return value
        raise Misread(", ".join(names))

    def json(self) -> Any:
        """A JSON value. Raises Misread."""
        try:
            value, self.place = _DECODER.raw_decode(self.text, self.place)
        except json.JSONDecodeError as error:
            raise Misread(str(error)) from None
        return value

    def line(self) -> str:
        """The rest of the line."""
        end = self.text.find("\n", self.place)
        start, self.place = self.place, len(self.text) if end < 0 else end
        return self.text[start : self.place]

    def skip(self) -> None:
        """Pass over one sentence."""
        match = _END.search(self.text, self.place)
        self.place = match.end() if match else len(self.text)


def clause(text: str) -> str:
    """A text as the end of a line: no line breaks, one full stop."""
    return " ".join(text.split()).removesuffix(".") + "."
