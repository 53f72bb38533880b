"""The scripted user simulator: follows the script in `Task.scenario` and knows nothing else.

Paper: Gradus 2.4 (a user simulator receives the task), A.7 (pushes back twice if refused). It asks for one message of its script after the
other, answers what it is asked, insists on what is refused as often as the script says, and uses its own tools when it is told to.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from selfevolve.gradus.blueprints import Call
from selfevolve.gradus.scripted.language import Language
from selfevolve.gradus.scripted.phrases import (
    About,
    Asks,
    Cannot,
    Given,
    Insists,
    More,
    Request,
    Sentence,
    Told,
    Unknown,
    Use,
    Used,
    Whichever,
    plain,
)  # fmt: skip
from selfevolve.gradus.scripted.script import Ask, Script, Scripts
from selfevolve.gradus.tasks import Event, Task


class User:
    """Plays `Roles.user` in one domain. Holds no state of a conversation."""

    def __init__(self, language: Language):
        self._language, self._scripts = language, Scripts(language)

    def answer(self, task: Task, events: Sequence[Event]) -> Call | str | None:
        """The next message or call; None when everything has been said. Raises ValueError for a scenario that is no script."""
        script, say = self._scripts.read(task.scenario), self._language.say
        heard = [sentence for event in events if event.kind == "user" for sentence in self._language.read(event.text)]
        asked = sum(isinstance(sentence, Request) for sentence in heard)
        sent = next(
            (n for n in range(len(script.messages) + 1) if sum(map(len, script.messages[:n])) >= asked), len(script.messages)
        )
        if not sent:
            return say(*script.opening, *_requests(script.messages[0]))
        last = events[-1]
        if last.kind == "call" and last.call is not None and last.call.requestor == "user":
            return say(Used(last.call.name, last.call.arguments, last.observation or ""))
        said = self._language.read(last.text) if last.kind == "assistant" else ()
        current = [ask for message in reversed(script.messages[:sent]) for ask in message]
        for sentence in said:
            if isinstance(sentence, Use):
                return Call(name=sentence.action, arguments=dict(sentence.values), requestor="user")
        replies = [reply for sentence in said for reply in _replies(sentence, current, script, heard)]
        if replies:
            return say(*replies)
        if not any(isinstance(sentence, More) for sentence in said):
            return "All right."
        return say(*_requests(script.messages[sent])) if sent < len(script.messages) else None


def _requests(message: Sequence[Ask]) -> Iterator[Sentence]:
    for ask in message:
        yield ask.request
        yield from ask.said


def _replies(sentence: Sentence, current: Sequence[Ask], script: Script, heard: Sequence[Sentence]) -> Iterator[Sentence]:
    if not isinstance(sentence, Asks | Cannot):
        return
    ask = next((ask for ask in current if _concerns(sentence, ask)), None)
    if ask is None:
        return
    if isinstance(sentence, Cannot):
        again = Insists(sentence.action, sentence.values)
        if heard.count(again) < ask.insist:
            yield again
        return
    for name in sentence.names:
        answer = _known(name, ask, script)
        alone = len(sentence.names) == 1 and isinstance(answer, Told) and type(answer.value) is bool
        yield Told("", answer.value) if alone and isinstance(answer, Told) else answer


def _concerns(sentence: About, ask: Ask) -> bool:
    """Whether a sentence of the agent is about this request."""
    values = ask.request.values | {answer.name: answer.value for answer in ask.answers if isinstance(answer, Given)}
    free = {answer.name for answer in ask.answers if isinstance(answer, Whichever)}
    return sentence.action == ask.request.action and all(
        name in free or (name in values and plain(values[name]) == plain(value)) for name, value in sentence.values.items()
    )


def _known(name: str, ask: Ask, script: Script) -> Sentence:
    """What the user says about a name."""
    for answer in (*ask.answers, *ask.said, *script.opening):
        if isinstance(answer, Told | Given | Whichever) and answer.name == name:
            return answer
    return Given(name, ask.request.values[name]) if name in ask.request.values else Unknown(name)
