"""Off-Augment: a pool of rewritten problems, made once before training (SynCo C.2, "inspired by MetaMath").

Paper: "constructs an offline task pool through mathematical question rewriting and variation inspired by MetaMath"; it names neither
seeds nor writer nor size. Ours: the seeds are the cards of the static pool; the kinds are MetaMath's three that make new questions
(rephrase, self-verification, backward; its fourth only adds answers, which a Reasoner that learns by GRPO samples itself), in the shares
of MetaMathQA. Keys follow from the seed's: a rephrased problem keeps the answer, a backward one asks for a number of the seed.

Deviations: MetaMath drops rewritten questions a model cannot answer as expected; here a rephrasing must keep the seed's numbers, and every
rewritten problem passes the verifier except for the checks of its solution, which is the seed's (`CHECKS`). The writer is rules
(`rewriting_rules`) or the untrained Reasoner, not GPT-3.5.
"""

import json
import random
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

import polars as pl

from selfevolve import families
from selfevolve.cards import FIELDS, TaskCard, parse_card
from selfevolve.models.generation import Message, Sampling
from selfevolve.models.policy import Policy
from selfevolve.seeding import derive
from selfevolve.synco import rewriting_rules as rules
from selfevolve.synco.context import rewriting_messages
from selfevolve.synco.proposals import Proposal
from selfevolve.synco.settings import RewritingParams
from selfevolve.synco.verifier import Verifier

CHECKS = frozenset({"incomplete", "format", "leakage", "contaminated", "duplicate"})
BLOCK = 128  # rewritings that are written together
LARGEST = 199  # number tried when the oracle looks for a second solution; the families' values stay below
SCHEMA = {
    "origin": pl.String,
    "seed_problem": pl.String,
    "problem": pl.String,
    "answer": pl.String,
    "true_key": pl.Boolean,
    "admitted": pl.Boolean,
    "reason": pl.String,
    "text": pl.String,
}
"""One row per rewriting tried: its kind, the seed, the new problem and its answer, whether that is right (null where the oracle cannot
read the seed; no reward uses it), the verifier's verdict, and the card."""


class Draft(NamedTuple):
    """One rewriting to be made: of what, and with which number hidden."""

    kind: str
    card: TaskCard
    variant: int
    """Which rephrasing, or which number of the problem."""


class Writer(Protocol):
    def rephrase(self, drafts: Sequence[Draft]) -> list[str | None]:
        """The problems in other words; None where it cannot be done."""

    def state(self, drafts: Sequence[Draft]) -> list[str]:
        """Each problem's question and answer as one statement."""


class Rules:
    """Rewrites by `rewriting_rules`."""

    def rephrase(self, drafts: Sequence[Draft]) -> list[str | None]:
        found = [(rules.rephrasings(draft.card.problem), draft.variant) for draft in drafts]
        return [texts[variant] if variant < len(texts) else None for texts, variant in found]

    def state(self, drafts: Sequence[Draft]) -> list[str]:
        return [rules.statement(rules.split(draft.card.problem).question, draft.card.final_answer) for draft in drafts]


class ModelWriter:
    """Rewrites by a model that follows instructions."""

    def __init__(self, model: Policy, prompts: str, sampling: Sampling, seed: int):
        self.model, self.prompts, self.sampling, self.seed, self._calls = model, prompts, sampling, seed, 0

    def rephrase(self, drafts: Sequence[Draft]) -> list[str | None]:
        return self._write([rewriting_messages(self.prompts, "rephrase", problem=draft.card.problem) for draft in drafts])

    def state(self, drafts: Sequence[Draft]) -> list[str]:
        asked = [(rules.split(draft.card.problem).question, draft.card.final_answer) for draft in drafts]
        return self._write([rewriting_messages(self.prompts, "statement", question=q, answer=a) for q, a in asked])

    def _write(self, chats: list[list[Message]]) -> list[str]:
        self._calls += 1
        seed = derive(self.seed, "rewriting", self._calls)
        completions = self.model.generate(self.model.encode(chats), self.sampling, seed)
        return [" ".join(completion.text.split()) for completion in completions]


def build(cards: Sequence[str], params: RewritingParams, writer: Writer, verifier: Verifier, seed: int) -> pl.DataFrame:
    """Rewrite until `params.size` are admitted or nothing is left to try. Rows as in `SCHEMA`, in the order tried.

    Args:
        cards: texts of the seed cards.
        verifier: a new one; admitted problems join its recent pool, so that the pool holds no duplicates.
        seed: of the order in which seeds, numbers and rephrasings are taken.
    """
    drafts = _drafts([parse_card(text) for text in cards], params, seed)
    rows: list[dict] = []
    admitted = 0
    while admitted < params.size:
        block = [draft for draft, _ in zip(drafts, range(BLOCK), strict=False)]
        if not block:
            break
        for row in _rewrite(block, writer):
            if admitted == params.size:
                break
            if not row["reason"]:
                report = verifier.verify(row["text"], CHECKS)
                row |= {"admitted": report.admitted, "reason": report.reason}
                if report.admitted:
                    verifier.remember(report.card)
                    admitted += 1
            rows.append(row)
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def proposals(pool: pl.DataFrame) -> list[Proposal]:
    """The admitted rewritings, for `sources.FixedPool`."""
    rows = pool.filter("admitted").select("text", "origin", "true_key").iter_rows()
    return [Proposal(text, 0, origin=origin, true_key=true_key) for text, origin, true_key in rows]


def _drafts(cards: list[TaskCard], params: RewritingParams, seed: int) -> Iterator[Draft]:
    """All rewritings there are, the kinds in turn by their shares, each in an order of its own; a kind may run out first."""
    by_kind = {
        "rephrase": [(card, i) for card in cards for i in range(len(rules.rephrasings(card.problem)) or 1)],
        "self_verification": [(card, i) for card in cards for i in range(len(rules.hidden(card.problem)))],
        "backward": [(card, i) for card in cards for i in range(len(rules.hidden(card.problem)))],
    }
    for kind, items in by_kind.items():
        random.Random(derive(seed, "rewriting", kind)).shuffle(items)
    shares = params.shares.model_dump()
    while any(by_kind[kind] and share for kind, share in shares.items()):
        for kind, share in shares.items():
            for _ in range(min(share, len(by_kind[kind]))):
                yield Draft(kind, *by_kind[kind].pop())


def _rewrite(drafts: Sequence[Draft], writer: Writer) -> list[dict]:
    """Rows of the drafts, in order; `reason` is set where there is nothing to verify."""
    rephrased = iter(writer.rephrase([draft for draft in drafts if draft.kind == "rephrase"]))
    statements = iter(writer.state([draft for draft in drafts if draft.kind == "self_verification"]))
    rows = []
    for draft in drafts:
        card = draft.card
        reason = ""
        if draft.kind == "rephrase":
            problem, answer = next(rephrased), card.final_answer
            if problem is None or problem == card.problem:
                reason = "not_rephrased"
            elif not rules.keeps_numbers(card.problem, problem):
                reason = "numbers_changed"
        else:
            masked, name, answer = rules.hidden(card.problem)[draft.variant]
            if draft.kind == "backward":
                problem = rules.backward(masked, card.final_answer, name)
            else:
                problem = rules.self_verification(masked, next(statements), name)
                if card.final_answer not in problem:
                    reason = "answer_lost"
        rows.append(
            {
                "origin": draft.kind,
                "seed_problem": card.problem,
                "problem": problem,
                "answer": answer,
                "true_key": _true_key(draft),
                "admitted": False,
                "reason": reason,
                "text": None if reason else _card(draft, problem, answer),
            }
        )
    return rows


def _true_key(draft: Draft) -> bool | None:
    """Whether the seed's key is right and, where a number is hidden, no other one up to `LARGEST` leads to it; None if unreadable."""
    card = draft.card
    true = families.true_key(card.problem, card.final_answer)
    if not true or draft.kind == "rephrase":
        return true
    masked, name, number = rules.hidden(card.problem)[draft.variant]
    before, after = re.split(rf"(?<![A-Za-z]){name}(?![A-Za-z])", masked)
    fitting = [str(n) for n in range(LARGEST + 1) if families.oracle(f"{before}{n}{after}") == card.final_answer]
    return fitting == [number]


def _card(draft: Draft, problem: str, answer: str) -> str:
    """The seed's card about the new problem. Its solution is the seed's, followed by the number asked for."""
    values = {name: getattr(draft.card, name) for name in FIELDS}
    if draft.kind != "rephrase":
        values["solution"] = f"{values['solution']} with {answer}"
    return json.dumps(values | {"problem": problem, "final_answer": answer})
