"""The script of a scripted user: what to ask in which order, what to answer, when to insist. It is the text of `Task.scenario`.

Paper: Gradus A.7 (the user request of an initialized task). Written in the sentences of `language`, one instruction a line:

    Ask: Please cancel reservation, reservation id "EHGLP3". My reason is "health".
    With it, ask: Please update reservation baggages, reservation id "4WQ150", total baggages 3.
      When asked: The payment id is "credit_card_1".
      When asked: Confirmed: yes.
      When refused: insist 2 times.

Other lines are for whoever reads along.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import lru_cache

from selfevolve.gradus.scripted.language import Language
from selfevolve.gradus.scripted.phrases import Given, Request, Sentence, Told, Whichever

_FIRST, _ASK, _ALSO, _ANSWER = "At first: ", "Ask: ", "With it, ask: ", "  When asked: "
_INSIST = re.compile(r"  When refused: insist (\d+) times\.")


@dataclass(frozen=True)
class Ask:
    """One request. `said` goes with it; `answers` only when asked for; `insist`: how often to insist when it is refused; `along`: in the
    same message as the request before."""

    request: Request
    said: tuple[Sentence, ...] = ()
    answers: tuple[Told | Given | Whichever, ...] = ()
    insist: int = 0
    along: bool = False


@dataclass(frozen=True)
class Script:
    """What the user says: `opening` before all requests."""

    asks: tuple[Ask, ...]
    opening: tuple[Told, ...] = field(default=())

    @property
    def messages(self) -> tuple[tuple[Ask, ...], ...]:
        """The requests by message."""
        grouped: list[list[Ask]] = []
        for ask in self.asks:
            if ask.along and grouped:
                grouped[-1].append(ask)
            else:
                grouped.append([ask])
        return tuple(map(tuple, grouped))


class Scripts:
    """Writes and reads scripts in one language."""

    def __init__(self, language: Language):
        self._language = language
        self.read = lru_cache(maxsize=256)(self._read)
        """The script in a text. Raises ValueError if it asks for nothing."""

    def write(self, script: Script, about: str) -> str:
        """The script as text; `about`, in words, comes first."""
        say = self._language.say
        lines = [f"About: {' '.join(about.split())}"]
        lines += [_FIRST + say(told) for told in script.opening]
        for number, ask in enumerate(script.asks):
            lines.append((_ALSO if ask.along and number else _ASK) + say(ask.request, *ask.said))
            lines += [_ANSWER + say(answer) for answer in ask.answers]
            lines += [f"  When refused: insist {ask.insist} times."] if ask.insist else []
        return "\n".join(lines)

    def _read(self, text: str) -> Script:
        opening: list[Told] = []
        asks: list[Ask] = []
        for line in text.split("\n"):
            if line.startswith(_FIRST):
                opening += [each for each in self._said(line, _FIRST) if isinstance(each, Told)]
            elif line.startswith((_ASK, _ALSO)):
                along = line.startswith(_ALSO)
                request, *said = self._said(line, _ALSO if along else _ASK)
                assert isinstance(request, Request)
                asks.append(Ask(request, tuple(said), along=along))
            elif line.startswith(_ANSWER) and asks:
                answers = [each for each in self._said(line, _ANSWER) if isinstance(each, Told | Given | Whichever)]
                asks[-1] = replace(asks[-1], answers=(*asks[-1].answers, *answers))
            elif (match := _INSIST.fullmatch(line)) and asks:
                asks[-1] = replace(asks[-1], insist=int(match[1]))
        if not asks:
            raise ValueError(f"not a script: no line starts with {_ASK!r}")
        return Script(tuple(asks), tuple(opening))

    def _said(self, line: str, opening: str) -> tuple[Sentence, ...]:
        return self._language.read(line.removeprefix(opening))
