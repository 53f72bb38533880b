"""What the calls of a run were, and what they cost.

Three counts that must not be mixed: what the folder *holds*, paid for by all sessions that recorded in it; what this session *used* (distinct
answers, whenever they were paid for; a replay uses the same); and what this session sent for and *paid*.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Collection

from pydantic import Field

from selfevolve.gradus.blueprints import Record
from selfevolve.gradus.llm.calls import Answer
from selfevolve.gradus.settings import Prices


class Use(Record):
    """Distinct answers and their tokens."""

    answers: int = Field(ge=0)
    prompt_tokens: int = Field(ge=0)
    completion_tokens: int = Field(ge=0)
    cost: float = Field(ge=0, description="US dollars, by the prices of the settings")


class Report(Record):
    """The final report of a client: requests = sent + replayed + joined."""

    held: Use = Field(description="all that is recorded, by this session and those before it, killed ones included")
    used: Use = Field(description="the part of it that this session asked for; a replay reports the same")
    paid: Use = Field(description="the part of that which this session sent for")
    requests: int = Field(ge=0, description="answers asked of the client")
    sent: int = Field(ge=0, description="sent for, with or without success")
    replayed: int = Field(ge=0, description="answered from the recording")
    joined: int = Field(ge=0, description="answered by an identical request that was under way")
    retries: dict[str, int] = Field(description="failed attempts that were followed by another, by kind")
    failures: dict[str, int] = Field(description="requests without an answer, by kind")
    unusable: dict[str, int] = Field(description="recorded answers that no role could use, by kind; each was paid for")

    def text(self) -> str:
        """The report in a few lines."""

        def listed(counts: dict[str, int]) -> str:
            return ", ".join(f"{count} {kind}" for kind, count in counts.items()) or "none"

        def tokens(use: Use) -> str:
            return f"{use.prompt_tokens:,} prompt and {use.completion_tokens:,} completion tokens, ${use.cost:.4f}"

        return "\n".join(
            [
                f"{self.requests:,} requests: {self.sent:,} sent, {self.replayed:,} replayed, {self.joined:,} joined; "
                f"{sum(self.failures.values()):,} failed",
                f"recorded by all sessions: {self.held.answers:,} answers, {tokens(self.held)}",
                f"used in this session: {self.used.answers:,} answers, {tokens(self.used)}",
                f"paid for in this session: {self.paid.answers:,} answers, {tokens(self.paid)}",
                f"retries: {listed(self.retries)}; failures: {listed(self.failures)}; unusable answers: {listed(self.unusable)}",
            ]
        )


class Tally:
    """Counts, from any thread."""

    def __init__(self, prices: Prices):
        self._prices, self._lock = prices, threading.Lock()
        self._used: dict[str, Answer] = {}
        self._paid: dict[str, Answer] = {}
        self._counts: Counter[str] = Counter()
        self._kinds: dict[str, Counter[str]] = {"retries": Counter(), "failures": Counter(), "unusable": Counter()}

    def request(self, how: str) -> None:
        """A request; `how`: "sent", "replayed" or "joined"."""
        with self._lock:
            self._counts.update(["requests", how])

    def used(self, key: str, answer: Answer, paid: bool) -> None:
        """An answer is handed out; `paid`: by this session."""
        with self._lock:
            self._used[key] = answer
            if paid:
                self._paid[key] = answer

    def count(self, what: str, kind: str) -> None:
        """One of "retries", "failures", "unusable"."""
        with self._lock:
            self._kinds[what][kind] += 1

    def report(self, held: Collection[Answer]) -> Report:
        """`held`: all recorded answers."""
        with self._lock:
            kinds = {what: dict(sorted(counts.items())) for what, counts in self._kinds.items()}
            counts = {name: self._counts[name] for name in ("requests", "sent", "replayed", "joined")}
            uses = {"held": held, "used": self._used.values(), "paid": self._paid.values()}
            return Report(**{name: self._use(answers) for name, answers in uses.items()}, **counts, **kinds)

    def _use(self, answers: Collection[Answer]) -> Use:
        prompt = sum(answer.prompt_tokens for answer in answers)
        completion = sum(answer.completion_tokens for answer in answers)
        cost = (prompt * self._prices.prompt + completion * self._prices.completion) / 1e6
        return Use(answers=len(answers), prompt_tokens=prompt, completion_tokens=completion, cost=cost)
