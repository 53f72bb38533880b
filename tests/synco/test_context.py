"""The context (p_t, d_t, e_t), its wording, and that nothing but the problem reaches the Reasoner."""

import inspect

import polars as pl
import pytest

from selfevolve.cards import FIELDS, TaskCard
from selfevolve.synco import context as module
from selfevolve.synco.context import (
    Context,
    band,
    build_contexts,
    pool_report,
    reasoner_messages,
    reasoner_report,
    rejection_summary,
    synthesizer_messages,
)
from selfevolve.synco.cotraining import _reasoner_prompts
from selfevolve.synco.memory import SCHEMA
from selfevolve.synco.verifier import Report

PROMPTS = ("paper", "short", "compact")


def rows(*cards: tuple) -> pl.DataFrame:
    """(admitted, reason, skill, difficulty, success_rate) -> memory rows."""
    names = ("admitted", "reason", "skill", "difficulty", "success_rate")
    dicts = [dict.fromkeys(SCHEMA) | dict(zip(names, card, strict=True)) for card in cards]
    return pl.DataFrame(dicts, schema=SCHEMA)


RECENT = rows(
    (True, "", "shop", "learnable", 1.0),
    (True, "", "shop", "learnable", 0.75),
    (True, "", "trip", "hard", 0.5),
    (True, "", "age", "hard", 0.0),
    (False, "duplicate", "age", "hard", None),
    (False, "duplicate", None, None, None),
    (False, "schema:truncated", None, None, None),
    (False, "wrong_step", "seq", "hard", None),
)


def test_context_of_a_known_window():
    (context,) = build_contexts(RECENT, 1)
    assert context.tasks == 4
    assert context.tasks_by_skill == {"age": 1, "shop": 2, "trip": 1}
    assert context.tasks_by_difficulty == {"hard": 2, "learnable": 2}
    assert context.success_rate == pytest.approx(0.5625)
    assert context.success_by_skill == {"age": 0.0, "shop": 0.875, "trip": 0.5}
    assert context.acceptance_rate == 0.5
    assert context.rejections == {"duplicate": 2, "schema:truncated": 1, "wrong_step": 1}
    assert context.weakness == "trip"  # nearest to one half
    assert context.least_covered == "age"  # fewest tasks, first by name


def test_several_contexts_name_different_skills_and_share_the_rest():
    contexts = build_contexts(RECENT, 4)
    assert [c.weakness for c in contexts] == ["trip", "shop", "age", "trip"]
    assert [c.least_covered for c in contexts] == ["age", "trip", "shop", "age"]
    shared = [c.model_dump(exclude={"weakness", "least_covered"}) for c in contexts]
    assert all(dump == shared[0] for dump in shared)


def test_no_history_gives_neutral_descriptions():
    """C.4: "the context fields are initialized with neutral descriptions"."""
    (context,) = build_contexts(pl.DataFrame(schema=SCHEMA), 1)
    assert context == Context()
    texts = pool_report(context), reasoner_report(context), rejection_summary(context)
    assert all("yet" in text for text in texts)


def test_a_window_without_admitted_cards_still_reports_the_rejections():
    (context,) = build_contexts(RECENT.filter(~pl.col("admitted")), 1)
    assert context.acceptance_rate == 0 and context.rejections["duplicate"] == 2 and context.success_rate is None
    assert "duplicate 2" in rejection_summary(context)


@pytest.mark.parametrize(
    ("rate", "word"), [(None, "none"), (0.0, "low"), (0.339, "low"), (0.34, "mid"), (0.669, "mid"), (0.67, "high"), (1.0, "high")]
)
def test_bands(rate, word):
    assert band(rate) == word


@pytest.mark.parametrize("prompts", PROMPTS)
def test_templates_are_filled_completely(prompts):
    system, user = synthesizer_messages(build_contexts(RECENT, 1)[0], prompts)
    for name in ("pool_report", "reasoner_diagnostic_report", "recent_rejection_summary", "output_schema", "weakness"):
        assert "{" + name + "}" not in user["content"]
    assert system["role"] == "system" and "trip" in user["content"]


def test_the_papers_prompts_hold_all_three_reports_and_the_schema():
    context = build_contexts(RECENT, 1)[0]
    text = synthesizer_messages(context, "paper")[1]["content"]
    for part in (pool_report(context), reasoner_report(context), rejection_summary(context), *FIELDS):
        assert part in text


@pytest.mark.parametrize("prompts", PROMPTS)
def test_the_reasoner_sees_the_problem_and_no_other_field(prompts):
    """3.2: "The Reasoner receives q_t alone"."""
    card = TaskCard(**{name: f"SECRET {name}" for name in FIELDS} | {"problem": "What is 6 times 7?"})

    class Recorder:
        def encode(self, chats):
            self.chats = chats
            return [[1] for _ in chats]

    reasoner = Recorder()
    _reasoner_prompts(
        [Report(admitted=True, reason="", card=card), Report(admitted=False, reason="duplicate")], reasoner, prompts
    )
    (chat,) = reasoner.chats
    text = "\n".join(message["content"] for message in chat)
    assert "What is 6 times 7?" in text and "SECRET" not in text


def test_the_reasoners_prompt_cannot_take_anything_else():
    assert list(inspect.signature(reasoner_messages).parameters) == ["problem", "prompts"]


def test_braces_and_placeholders_in_a_problem_stay_as_they_are():
    problem = r"Let $S=\{1,2\}$ and {pool_report} or {problem}. Find \frac{1}{2}."
    assert problem in reasoner_messages(problem, "paper")[1]["content"]


def test_long_free_text_skills_cannot_outgrow_the_prompt():
    many = rows(*[(True, "", f"{'very long style ' * 10}{i}", "hard", 0.5) for i in range(200)])
    assert len(pool_report(build_contexts(many, 1)[0])) < 1500


def test_every_template_exists():
    for prompts in PROMPTS:
        for name in ("synthesizer_system", "synthesizer_user", "reasoner_system", "reasoner_user"):
            module.template(prompts, name)
