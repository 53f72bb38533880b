"""The synthesis context c_t = (p_t, d_t, e_t) and the prompts it fills (SynCo 3.2, Eq. 3 and 10; prompts C.4).

p_t: the recent synthetic pool and its coverage. d_t: the Reasoner's recent success and what it has left to learn. e_t: how many
candidates were rejected lately and why. All three are computed from the memory's recent window alone.

Deviations: the paper does not say how the reports are worded. Here a *skill* is a card's `target_reasoning_style`, and the
weakness named is the skill whose recent success rate is nearest to one half, where a group-relative update learns most. An iteration
may use several contexts that name different skills (the paper: one); cards that share one form a Synthesizer group. The least covered
skill is one seen in the recent window, so a skill that has died out is not named. The `compact` prompts of the `tiny` profile tell the
Synthesizer the two named skills and bands of success and acceptance only, and the Reasoner the bare problem.
"""

import re
from collections import Counter
from functools import cache
from pathlib import Path

import polars as pl
from pydantic import BaseModel, ConfigDict, Field

from selfevolve.cards import FIELDS
from selfevolve.models.generation import Message

PROMPTS = Path(__file__).parent / "prompts"
Rate = float | None


class Context(BaseModel):
    """What the Synthesizer is told at one iteration; empty (all defaults) before there is any history."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    tasks: int = Field(0, ge=0, description="admitted tasks in the recent window")
    tasks_by_skill: dict[str, int] = {}
    tasks_by_difficulty: dict[str, int] = {}
    least_covered: str | None = Field(None, description="a skill with few tasks in the recent window")
    success_rate: Rate = Field(None, ge=0, le=1, description="mean rollout success over the recent window")
    success_by_skill: dict[str, float] = {}
    weakness: str | None = Field(None, description="a skill whose recent success rate is near one half")
    acceptance_rate: Rate = Field(None, ge=0, le=1, description="admitted / proposed in the recent window")
    rejections: dict[str, int] = Field({}, description="reason -> count in the recent window")


def build_contexts(recent: pl.DataFrame, count: int) -> list[Context]:
    """`count` contexts from the recent memory rows (schema: `memory.SCHEMA`).

    Context j names the skill ranked j-th by closeness of its success rate to one half, and the j-th least covered one.
    """
    if recent.is_empty():
        return [Context()] * count
    admitted = recent.filter("admitted")
    if admitted.is_empty():
        return [Context(acceptance_rate=0.0, rejections=_counts(recent["reason"]))] * count
    by_skill = admitted.group_by("skill").agg(pl.len().alias("tasks"), pl.mean("success_rate")).sort("skill")
    weak = by_skill.sort((pl.col("success_rate") - 0.5).abs(), "skill")["skill"].to_list()
    thin = by_skill.sort("tasks", "skill")["skill"].to_list()
    shared = {
        "tasks": admitted.height,
        "tasks_by_skill": dict(zip(by_skill["skill"], by_skill["tasks"], strict=True)),
        "tasks_by_difficulty": _counts(admitted["difficulty"]),
        "success_rate": admitted["success_rate"].mean(),
        "success_by_skill": dict(zip(by_skill["skill"], by_skill["success_rate"], strict=True)),
        "acceptance_rate": admitted.height / recent.height,
        "rejections": _counts(recent.filter(~pl.col("admitted"))["reason"]),
    }
    return [Context(**shared, weakness=weak[j % len(weak)], least_covered=thin[j % len(thin)]) for j in range(count)]


def _counts(column: pl.Series) -> dict[str, int]:
    return dict(sorted(Counter(column.to_list()).items(), key=lambda item: (-item[1], item[0])))


def band(rate: Rate) -> str:
    """A rate as one word: low below 0.34, high from 0.67."""
    if rate is None:
        return "none"
    return "low" if rate < 0.34 else "mid" if rate < 0.67 else "high"


@cache
def template(prompts: str, name: str) -> str:
    """The text of a prompt template, e.g. `template("paper", "reasoner_system")`."""
    return (PROMPTS / prompts / f"{name}.txt").read_text(encoding="utf-8").strip()


def _fill(text: str, values: dict[str, str]) -> str:
    """Replace each `{name}` in one pass, so that braces in LaTeX and inside the values stay as they are."""
    return re.sub(r"\{(" + "|".join(values) + r")\}", lambda match: values[match[1]], text)


def reasoner_messages(problem: str, prompts: str) -> list[Message]:
    """The Reasoner's prompt. Its only input is the problem statement: no other field of a card can reach it."""
    return _messages(prompts, "reasoner", {"problem": problem})


def synthesizer_messages(context: Context, prompts: str) -> list[Message]:
    """The Synthesizer's prompt for one context."""
    schema = "{\n" + ",\n".join(f'  "{name}": "..."' for name in FIELDS) + "\n}"
    values = {
        "pool_report": pool_report(context),
        "reasoner_diagnostic_report": reasoner_report(context),
        "recent_rejection_summary": rejection_summary(context),
        "output_schema": schema,
        "least_covered": context.least_covered or "none",
        "success": band(context.success_rate),
        "weakness": context.weakness or "none",
        "acceptance": band(context.acceptance_rate),
    }
    return _messages(prompts, "synthesizer", values)


def rewriting_messages(prompts: str, what: str, **values: str) -> list[Message]:
    """The prompt that asks a model to rewrite: `what` is "rephrase" (of `problem`) or "statement" (of `question` and `answer`)."""
    return [{"role": "user", "content": _fill(template(prompts, what), values)}]


def _messages(prompts: str, role: str, values: dict[str, str]) -> list[Message]:
    system, user = template(prompts, f"{role}_system"), template(prompts, f"{role}_user")
    return [{"role": "system", "content": system}, {"role": "user", "content": _fill(user, values)}]


def pool_report(context: Context) -> str:
    """p_t in words."""
    if not context.tasks and not context.least_covered:
        return "No synthetic pool is available yet."
    lines = [f"{context.tasks} tasks were admitted recently."]
    if context.tasks_by_skill:
        lines.append("By reasoning style: " + _listed(context.tasks_by_skill) + ".")
    if context.tasks_by_difficulty:
        lines.append("By intended difficulty: " + _listed(context.tasks_by_difficulty) + ".")
    if context.least_covered:
        lines.append(f"Under-explored: {context.least_covered}.")
    return "\n".join(lines)


def reasoner_report(context: Context) -> str:
    """d_t in words."""
    if context.success_rate is None:
        return "No Reasoner diagnostics are available yet."
    lines = [f"Recent success rate: {context.success_rate:.0%}."]
    if context.success_by_skill:
        rates = {skill: f"{rate:.0%}" for skill, rate in list(context.success_by_skill.items())[:LISTED]}
        lines.append("By reasoning style: " + _listed(rates) + ".")
    if context.weakness:
        lines.append(f"Most to learn: {context.weakness}.")
    return "\n".join(lines)


def rejection_summary(context: Context) -> str:
    """e_t in words."""
    if context.acceptance_rate is None:
        return "No rejection records are available yet."
    if not context.rejections:
        return f"{context.acceptance_rate:.0%} of recent candidates were admitted; none was rejected."
    return f"{context.acceptance_rate:.0%} of recent candidates were admitted. Rejected: {_listed(context.rejections)}."


LISTED = 12
"""At most this many entries are listed in a report, so that free-text skills cannot outgrow the prompt."""


def _listed(entries: dict) -> str:
    return ", ".join(f"{key[:40]} {value}" for key, value in list(entries.items())[:LISTED])
