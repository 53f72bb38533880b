"""The extracting role: policy, tool schemas and state schema to a library of guarded operators, repaired by what the validator finds.

Paper: Gradus 2.2 (operators are compiled from the artifacts by a model). What the paper does not have: every extracted library is checked
by `validation.check`, which executes calls, and the parts it finds wrong go back to the model with the problems, for `rounds` rounds.
The result is saved whatever is left wrong with it, and what is left is reported.

The library is asked for in parts (what the operators share, then one operator per tool), so that no answer is long and a repair
rewrites only what is wrong.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, Field

from selfevolve.environments.protocol import Environment
from selfevolve.gradus import operators, validation
from selfevolve.gradus.blueprints import Record
from selfevolve.gradus.errors import RoleFailed
from selfevolve.gradus.functions import FUNCTIONS
from selfevolve.gradus.llm import extraction_forms as forms
from selfevolve.gradus.llm import prompts, wording
from selfevolve.gradus.llm.calls import Message
from selfevolve.gradus.llm.client import Client
from selfevolve.seeding import derive

Form = TypeVar("Form", bound=BaseModel)

SHARED = "(shared)"
SHOWN = 40
"""Problems of one part that the model is shown at a time."""


class Problem(Record):
    """What is wrong with a part of a library: `part` is an action, or `SHARED`."""

    part: str
    text: str


class Extraction(Record):
    """A library that was extracted, and how it went."""

    path: str = Field(description="where the library was saved; it can be loaded only if `loads`")
    loads: bool
    rounds: tuple[int, ...] = Field(description="problems found after the extraction and after each repair")
    problems: tuple[Problem, ...] = Field(description="those of the last round, complete")

    def text(self) -> str:
        found = ", then ".join(map(str, self.rounds))
        lines = [f"{self.path}: {found} problems" + ("" if self.loads else "; it does not load")]
        return "\n".join(lines + [f"  {problem.part}: {problem.text}" for problem in self.problems])


def extract(client: Client, env: Environment, path: Path, rounds: int, seed: int) -> Extraction:
    """Extract the library of an environment into `path`, with up to `rounds` repairs. `env` is reset by the validator.

    Raises EndpointError. A part for which the model gives no usable answer is a problem of the result, not an error.
    """
    return _Extractor(client, env, path, seed).run(rounds)


class _Extractor:
    def __init__(self, client: Client, env: Environment, path: Path, seed: int):
        self._client, self._env, self._path, self._seed = client, env, path, seed
        self._tables = list(env.state_schema.get("properties", {}))
        self._system = prompts.part(
            "extract",
            "system",
            policy=env.policy,
            tools=wording.tools(env.tools),
            user_tools=wording.tools(env.user_tools),
            state_schema=wording.compact(env.state_schema),
            functions=", ".join(sorted(FUNCTIONS)),
            tables=", ".join(self._tables),
        )
        self._requestors = {tool["function"]["name"]: "assistant" for tool in env.tools}
        self._requestors |= {tool["function"]["name"]: "user" for tool in env.user_tools}
        self._shared = forms.Shared(facts=[], definitions=[], not_operational=[])
        self._operators: dict[str, forms.Extracted] = {}
        self._silent: dict[str, str] = {}  # part -> why the model gave no answer the last time

    def run(self, rounds: int) -> Extraction:
        self._ask_parts({SHARED: []}, 0)
        self._ask_parts({action: [] for action in self._requestors}, 0)
        problems, loads = self._check()
        counts = [len(problems)]
        for number in range(1, rounds + 1):
            if not problems:
                break
            wrong: dict[str, list[str]] = {}
            for problem in problems:
                wrong.setdefault(problem.part, []).append(problem.text)
            self._ask_parts(wrong, number)
            problems, loads = self._check()
            counts.append(len(problems))
        return Extraction(path=str(self._path), loads=loads, rounds=tuple(counts), problems=tuple(problems))

    def _ask_parts(self, wrong: dict[str, list[str]], number: int) -> None:
        """Ask for parts, all at once: anew, or with what is wrong with them."""
        with ThreadPoolExecutor(self._client.settings.concurrency) as pool:
            answers = dict(zip(wrong, pool.map(lambda part: self._ask_part(part, wrong[part], number), wrong), strict=True))
        for part, answer in answers.items():
            self._silent.pop(part, None)
            if isinstance(answer, forms.Shared):
                self._shared = answer
            elif isinstance(answer, forms.Extracted):
                self._operators[part] = answer
            else:
                self._silent[part] = answer

    def _ask_part(self, part: str, problems: list[str], number: int) -> forms.Shared | forms.Extracted | str:
        """The part, or why there is none."""
        seed = derive(self._seed, "extract", part, number)
        if part == SHARED:
            task = prompts.part("extract", "shared")
            return self._ask(task, self._shared, problems, forms.Shared, seed, lambda answer: answer)
        task = prompts.part(
            "extract",
            "operator",
            action=part,
            requestor=self._requestors[part],
            facts=wording.bullets(wording.compact(fact.model_dump()) for fact in self._shared.facts),
            definitions=wording.bullets(f"{each.head} = {each.body}" for each in self._shared.definitions),
        )

        def accept(answer: forms.Extracted) -> forms.Extracted:
            if answer.action != part:
                raise ValueError(f"action is {answer.action!r}, but the operator of {part!r} is asked for")
            return answer

        return self._ask(task, self._operators.get(part), problems, forms.Extracted, seed, accept)

    def _ask(
        self,
        task: str,
        previous: BaseModel | None,
        problems: list[str],
        form: type[Form],
        seed: int,
        accept: Callable[[Form], Form],
    ) -> Form | str:
        chat: list[Message] = [{"role": "system", "content": self._system}, {"role": "user", "content": task}]
        if problems and previous is not None:
            more = len(problems) - SHOWN
            shown = problems[:SHOWN] + ([f"and {more} more"] if more > 0 else [])
            chat[1]["content"] += "\n\n" + prompts.part(
                "extract", "revise", previous=previous.model_dump_json(), problems=wording.bullets(shown)
            )
        try:
            return self._client.ask("extract", chat, form, seed, accept)
        except RoleFailed as error:
            return str(error)

    def _check(self) -> tuple[list[Problem], bool]:
        """Save the library as it is, and say what is wrong with it and whether it loads."""
        made = [self._operators[action] for action in self._requestors if action in self._operators]
        self._save(forms.library(self._env.name, self._tables, self._shared, made))
        problems = [Problem(part=part, text=text) for part, text in self._silent.items()]
        try:
            found: Any = validation.check(operators.load_file(self._path), self._env).problems
            loads = True
        except operators.LibraryError as error:
            found, loads = error.problems, False
        return problems + [Problem(part=self._part(each.operator), text=str(each)) for each in found], loads

    def _part(self, operator: str | None) -> str:
        return operator if operator in self._requestors else SHARED

    def _save(self, content: dict[str, Any]) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        temporary = self._path.with_suffix(".tmp")
        temporary.write_text(yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=140), encoding="utf-8")
        os.replace(temporary, self._path)
