"""Prompts: plain text files with `{name}` placeholders, one file per role.

A line `=== user ===` ends the system message and begins the user's. Lines with other names begin texts that its role puts in by itself:
what later turns of a loop say, or a part that is not always there.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from selfevolve.gradus.llm.calls import Message

FOLDER = Path(__file__).parent / "prompts"
_PLACE = re.compile(r"\{([a-z_]+)\}")  # braces of JSON examples hold a quote or nothing, so they are no placeholders
_SECTION = re.compile(r"^=== ([a-z]+) ===\n", re.MULTILINE)


@cache
def sections(role: str) -> dict[str, str]:
    """The sections of a role's file; what comes first is "system"."""
    first, *rest = _SECTION.split((FOLDER / f"{role}.txt").read_text(encoding="utf-8"))
    return {"system": first.strip(), **{name: text.strip() for name, text in zip(rest[::2], rest[1::2], strict=True)}}


def fill(text: str, values: dict[str, str]) -> str:
    """Put values in place of `{name}`, in one pass, so that braces in the values stay. Raises KeyError for one without value."""
    return _PLACE.sub(lambda match: values[match[1]], text)


def messages(role: str, **values: str) -> list[Message]:
    """The system message of a role, and the user message if its file has one."""
    chat = [(name, text) for name, text in sections(role).items() if name in ("system", "user")]
    return [{"role": name, "content": fill(text, values).strip()} for name, text in chat]


def part(role: str, section: str, **values: str) -> str:
    """A section of a role's file, filled."""
    return fill(sections(role)[section], values)
