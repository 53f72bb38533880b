"""The scripted solving agent: keeps the policy, except for slips at declared rates.

Paper: Gradus 2.4 (the agent sees only the conversation and tool responses) and A.7 (what it must do: look up before deciding, take an
enabling action first, refuse with the reason; and what goes wrong: a status assumed instead of read).

For each request in turn it asks for what is missing, looks up what the call is about, asks for confirmation, and makes the call; or, if
the policy denies it, makes it possible by what it may do of its own accord, or refuses. It decides by the guards in a private copy of the
environment (`AgentView.probe`), where a model would reason from policy and look-ups.

Slips, at most one per handling of a request: it denies what is allowed without looking it up; makes a call without look-ups and
confirmation, allowed or not; says that it has done what it has not; gives a wrong argument. A user who insists may make it give in.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from selfevolve.environments import Environment
from selfevolve.gradus import candidates
from selfevolve.gradus.blueprints import Call
from selfevolve.gradus.operators import Operator
from selfevolve.gradus.roles import AgentView
from selfevolve.gradus.scripted.language import Language
from selfevolve.gradus.scripted.looking import LookUps
from selfevolve.gradus.scripted.memory import Memory, Recall, Wish, key
from selfevolve.gradus.scripted.permitting import Permits
from selfevolve.gradus.scripted.phrases import Asks, Cannot, Done, More, Sentence, Use
from selfevolve.gradus.scripted.settings import AgentSlips
from selfevolve.seeding import derive

_AFTERWARDS = r"tool call to {action},? and then send the message '([^']+)'"  # what the policy wants said after a call


class Agent:
    """Plays `Roles.act` in one domain. Holds no state of a conversation."""

    def __init__(self, language: Language, permits: Permits, slips: AgentSlips):
        self._language, self._permits, self._slips = language, permits, slips
        self._library = language.library
        self._recall = Recall(language)
        self._look_ups: LookUps | None = None

    def act(self, view: AgentView, feedback: Sequence[str], seed: int) -> Call | str:
        """The next call or message."""
        if self._look_ups is None:
            self._look_ups = LookUps(self._library, view.tools)
        memory = self._recall(view.events)
        if not memory.wishes:
            return "How can I help you?" if not memory.given else self._say(More())
        return _Turn(self, self._look_ups, view, memory, len(feedback), seed).next()

    def _say(self, *sentences: Sentence) -> str:
        return self._language.say(*sentences)


class _Turn:
    """One step of the agent."""

    def __init__(self, agent: Agent, look_ups: LookUps, view: AgentView, memory: Memory, lessons: int, seed: int):
        self._language, self._permits, self._library = agent._language, agent._permits, agent._library
        self._slips, self._lessons = agent._slips, lessons
        self._look_ups, self._view, self._memory, self._seed = look_ups, view, memory, seed
        self._env: Environment | None = None

    @property
    def env(self) -> Environment:
        """A private copy of the environment as it is now."""
        if self._env is None:
            self._env = self._view.probe()
        return self._env

    @property
    def _identifying(self) -> frozenset[str]:
        """The facts that looking the user up establishes."""
        return frozenset(name for each in self._library.conduct.identified for name in (each.result, *each.facts))

    def next(self) -> Call | str:
        wishes = self._memory.open
        if not wishes:
            return self._finish() or self._tell(More())
        wish = replace(wishes[0], values=dict(wishes[0].values))  # what is chosen for it now is not remembered
        return self._missing(wish) or self._identify(wish) or self._slip(wish) or self._read(wish) or self._decide(wish)

    def _tell(self, *sentences: Sentence) -> str:
        """A message, after what the user has not been told yet."""
        told: list[Sentence] = []
        for wish in self._memory.unreported:
            done = wish.outcome == "done"
            told.append(Done(wish.action, wish.short) if done else Cannot(wish.action, wish.short, wish.reason))
        said = self._language.say(*told, *sentences)
        after = [text for wish in self._memory.unreported if wish.outcome == "done" for text in self._afterwards(wish.action)]
        return "\n".join([*after, said])

    def _afterwards(self, action: str) -> list[str]:
        if self._library.operators[action].kind != "other":
            return []
        return re.findall(_AFTERWARDS.format(action=re.escape(action)), " ".join(self._view.policy.replace("`", "").split()))

    def _finish(self) -> Call | None:
        """The call that ends the turn, if there is one and it has not been made."""
        tool = self._library.conduct.finished
        if tool is None or self._memory.finished:
            return None
        facts = {name: False for name in self._permits.facts[tool] if self._library.facts[name].source == "requests"}
        return Call(name=tool, arguments={}, facts=facts)

    def _missing(self, wish: Wish) -> Call | str | None:
        """Ask for arguments that are missing; choose those that the user leaves to the agent."""
        operator = self._library.operators[wish.action]
        needed = [name for name in operator.parameters if name not in wish.values and name in self._required(operator)]
        if unknown := [name for name in needed if name in wish.unknown]:
            return self._refuse(wish, f"the {unknown[0].replace('_', ' ')} is not known")
        if asked := [name for name in needed if name not in wish.whichever]:
            return self._tell(Asks(wish.action, self._ordered(wish), tuple(asked)))
        for name in needed:
            wish.values[name] = self._chosen(wish, name)
        return None

    def _required(self, operator: Operator) -> Sequence[str]:
        for tool in self._view.tools:
            if tool["function"]["name"] == operator.action:
                return tool["function"]["parameters"].get("required", ())
        return tuple(operator.parameters)  # a tool of the user's

    def _chosen(self, wish: Wish, name: str) -> Any:
        """The first value with which the call is not denied."""
        values = candidates.values(self._library, self.env, wish.action, name, wish.values)
        for value in values:
            judgement = self._permits.judge(self.env, wish.action, {**wish.values, name: value}, self._known(wish))
            if not judgement.violations and not judgement.rejections:
                return value
        return values[0] if values else None

    def _identify(self, wish: Wish) -> Call | str | None:
        """Find out who the user is, if the policy asks for it and a tool tells."""
        identified, memory = self._library.conduct.identified, self._memory
        known = any({each.result, *each.facts} <= set(memory.facts) for each in identified)
        if (
            known
            or wish.action in {each.action for each in identified}
            or not self._identifying & self._permits.facts[wish.action]
        ):
            return None
        for look_up in identified:
            parameters = list(self._library.operators[look_up.action].parameters)
            if all(name in memory.given for name in parameters):
                arguments = {name: memory.given[name] for name in parameters}
                if key(look_up.action, arguments) not in memory.called:
                    return Call(name=look_up.action, arguments=arguments, facts=self._relevant(look_up.action, memory.facts))
        first = self._library.operators[identified[0].action].parameters
        unasked = [name for name in first if name not in memory.unknown and name not in memory.given]
        if unasked:
            return self._tell(Asks(wish.action, self._ordered(wish), tuple(unasked)))
        return self._refuse(wish, "I could not find out who you are")

    def _read(self, wish: Wish) -> Call | None:
        """The next look-up that the request calls for and the policy allows."""
        if wish.begun and any(name in wish.facts for name in self._booleans()):
            return None  # asked and answered: it has been read before
        for action, arguments in self._looked(wish):
            if key(action, arguments) in self._memory.called:
                continue
            judgement = self._permits.judge(self.env, action, arguments, self._memory.facts)
            if not judgement.violations and not judgement.rejections and not self._permits.undecided(action, judgement):
                return Call(name=action, arguments=arguments, facts=self._relevant(action, self._memory.facts))
        return None

    def _looked(self, wish: Wish) -> list[tuple[str, dict[str, Any]]]:
        known = self._memory.facts | {name: value for name, value in wish.facts.items() if type(value) is str}
        return list(self._look_ups.of(wish.action, known | wish.values, self._memory.called, key))

    def _known(self, wish: Wish) -> dict[str, Any]:
        """What is known of the facts that the call depends on. What the agent has read it knows itself, unless the user forbids it."""
        facts = self._memory.facts | wish.facts
        for name in self._permits.facts[wish.action]:
            if self._library.facts[name].source == "reads":
                read = any(self._memory.called.get(key(*look_up)) is not None for look_up in self._looked(wish))
                facts[name] = read and wish.facts.get(name) is not False
        return self._relevant(wish.action, facts)

    def _relevant(self, action: str, facts: Mapping[str, Any]) -> dict[str, Any]:
        return {name: facts[name] for name in self._library.facts if name in self._permits.facts[action] and name in facts}

    def _booleans(self) -> list[str]:
        return [name for name, fact in self._library.facts.items() if fact.type == "boolean" and fact.source == "user"]

    def _decide(self, wish: Wish) -> Call | str:
        facts = self._known(wish)
        judgement = self._permits.judge(self.env, wish.action, wish.values, facts)
        if judgement.violations or judgement.rejections:
            return self._deny(wish, facts, "; ".join(self._permits.denials(wish.action, judgement)))
        if undecided := self._permits.undecided(wish.action, judgement):
            unknown = [name for name in self._library.facts if name in undecided]
            asked = [name for name in unknown if self._library.facts[name].source == "user" and name not in wish.unknown]
            asked = [name for name in asked if name not in self._identifying]
            if asked:
                return self._tell(Asks(wish.action, self._ordered(wish), tuple(asked)))
            return self._deny(wish, facts, f"the {unknown[0].replace('_', ' ')} is not known")
        return self._do(wish, facts, self._mistaken(wish))

    def _do(self, wish: Wish, facts: dict[str, Any], values: dict[str, Any]) -> Call | str:
        if self._library.operators[wish.action].requestor == "user":
            return self._tell(Use(wish.action, values))
        return Call(name=wish.action, arguments=values, facts=facts)

    def _deny(self, wish: Wish, facts: dict[str, Any], reason: str) -> Call | str:
        """What to do about a request that the policy denies now."""
        chain = self._permits.chain(self.env, wish.action, wish.values, facts)
        if chain:
            name, arguments = chain[0]
            return Call(name=name, arguments=arguments)
        refusal = self._permits.refusal(self.env, wish.action, wish.values) if not wish.insisted else None
        if refusal is not None and (refused := self._library.conduct.refused) is not None:
            return Call(name=refused.action, arguments=refusal[0], facts=refusal[1])
        return self._refuse(wish, reason)

    def _refuse(self, wish: Wish, reason: str) -> Call | str:
        """Say why not; at the end of the turn, end it first."""
        last = len(self._memory.open) == 1
        end = self._finish() if last else None
        return end or self._tell(Cannot(wish.action, wish.short, reason), *([More()] if last else []))

    def _slip(self, wish: Wish) -> Call | str | None:
        """A mistake made before anything is looked up."""
        rng = random.Random(derive(self._seed, "slip"))
        if wish.begun or rng.random() >= self._rate(wish):
            return None
        facts, operator = self._known(wish), self._library.operators[wish.action]
        judgement = self._permits.judge(self.env, wish.action, wish.values, facts)
        denied = bool(judgement.violations or judgement.rejections)
        kind = rng.choice(("hasty",) if denied else ("denied", "hasty", "forgotten"))
        if kind == "hasty" or wish.insisted:
            return self._do(
                wish, {name: False for name in self._permits.facts[wish.action] if name in self._booleans()} | facts, wish.values
            )
        if kind == "forgotten":
            claim = self._tell(Done(wish.action, wish.short), *([More()] if len(self._memory.open) == 1 else []))
            return (self._finish() if len(self._memory.open) == 1 else None) or claim
        wrong = [guard.text for guard in operator.guards if guard.verdict == "deny"]
        refused = self._library.conduct.refused
        if refused is None or not wish.values:
            return self._refuse(wish, rng.choice(wrong)) if wrong else None
        first, *others = self._library.operators[refused.action].parameters
        made = {first: next(iter(wish.values.values()))}
        for name in others:
            made[name] = rng.choice(candidates.values(self._library, self.env, refused.action, name, made))
        return Call(name=refused.action, arguments=made, facts=self._permits.about_refused(wish.action, wish.values))

    def _mistaken(self, wish: Wish) -> dict[str, Any]:
        """The arguments of a call that is about to be made; by mistake, another value for one of them."""
        rng = random.Random(derive(self._seed, "argument"))
        names = [name for name in self._library.operators[wish.action].parameters if name in wish.values]
        values = self._ordered(wish)
        if not names or rng.random() >= self._rate(wish) / 4:
            return values
        name = rng.choice(names[1:] or names)
        before = {other: values[other] for other in names[: names.index(name)]}
        others = [
            value
            for value in candidates.values(self._library, self.env, wish.action, name, before)
            if value not in (values[name], None)
        ]
        return {**values, name: rng.choice(others)} if others else values

    def _rate(self, wish: Wish) -> float:
        heard = len({(each.action, json.dumps(each.values, sort_keys=True, default=str)) for each in self._memory.wishes})
        return self._slips.rate(heard, wish.difficulties + wish.insisted, self._lessons)

    def _ordered(self, wish: Wish) -> dict[str, Any]:
        return {name: wish.values[name] for name in self._library.operators[wish.action].parameters if name in wish.values}
