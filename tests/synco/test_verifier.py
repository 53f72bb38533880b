import json
import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from selfevolve import families
from selfevolve.cards import REASONS, TaskCard
from selfevolve.synco.verifier import Report, Verifier, VerifierParams

WEIGHTS = {
    "quality_weights": {
        "completeness": 0.2,
        "validity": 0.2,
        "consistency": 0.3,
        "format": 0.15,
        "non_redundancy": 0.15,
    },
    "reliability_weights": {"consistency": 0.6, "steps": 0.25, "grounding": 0.15},
}
TINY = WEIGHTS | {
    "min_problem_chars": 10,
    "max_answer_chars": 40,
    "min_consistency": 1.0,
    "min_step_count": 1,
    "min_steps": 1.0,
    "min_grounding": 1.0,
    "min_support": 1.0,
    "duplicate_similarity": 0.9,
    "recent_pool": 100,
    "contamination_ngram": 13,
    "overlap_ngram": 5,
    "consensus": {"solutions": 0, "min_agreement": 0.5},
}
ENGLISH = TINY | {"min_step_count": 0, "min_grounding": 0.0, "min_support": 0.0, "max_answer_chars": 100}
EXAM = ["A box has 40 eggs. Take 9. How many?", "Buy 3 nuts at 4. Buy 5 pens at 6. Pay 7 fee. Use 2 coupon. Total?"]

STOCK = {
    "teaching_intent": "stock level 2",
    "target_reasoning_style": "step by step",
    "expected_reasoner_weakness": "carry",
    "difficulty_estimate": 0.4,
    "problem": "A box has 12 nuts. Add 5. Take 3. How many?",
    "solution": "12+5=17; 17-3=14",
    "final_answer": "14",
    "verification_notes": "redo each step",
    "novelty_notes": "new numbers",
}
LATEX = STOCK | {
    "teaching_intent": "Systems with a hidden constraint",
    "problem": r"Let $x$ and $y$ be positive with $\frac{x}{y} = \frac{3}{4}$ and $x + y = 21$. Find $x \cdot y$.",
    "solution": r"Write $x = 3k$, $y = 4k$. Then $7k = 21$, so $k = 3$, $x = 9$ and $y = 12$. "
    r"Hence $x \cdot y = 9 \cdot 12 = \boxed{108}$.",
    "final_answer": "108",
}


def verify(card: dict, params: dict = TINY, exam: list[str] = EXAM) -> Report:
    return Verifier(VerifierParams(**params), exam).verify(json.dumps(card))


def test_a_sound_card_is_admitted_with_full_marks():
    report = verify(STOCK)
    assert report.admitted
    assert report.reason == ""
    assert report.card.problem == STOCK["problem"]
    assert report.card.difficulty_estimate == "0.4"
    assert (report.completeness, report.validity, report.consistency, report.format) == (1.0, 1.0, 1.0, 1.0)
    assert (report.steps, report.grounding, report.novelty) == (1.0, 1.0, 1.0)
    assert (report.redundancy, report.leakage, report.contamination) == (0.0, 0.0, 0.0)
    assert report.quality == pytest.approx(1.0)
    assert report.reliability == pytest.approx(1.0)


def test_a_latex_card_with_undoubled_backslashes_is_admitted():
    wire = json.dumps(LATEX).replace("\\\\", "\\")
    assert r"\frac{x}" in wire
    report = Verifier(VerifierParams(**ENGLISH), EXAM).verify(f"<think>so</think>\n```json\n{wire}\n```")
    assert report.reason == ""
    assert report.card.problem == LATEX["problem"]
    assert report.steps == 1.0


@pytest.mark.parametrize("skill", families.SKILLS)
@pytest.mark.parametrize("level", families.LEVELS)
def test_true_cards_of_every_family_and_level_pass(skill, level):
    rng = random.Random(level)
    verifier = Verifier(VerifierParams(**TINY), [])
    for _ in range(10):
        problem = families.generate(rng, skill, level)
        card = STOCK | {"problem": problem.text, "solution": problem.solution, "final_answer": int(problem.answer)}
        report = verifier.verify(json.dumps(card))
        assert report.reason == "", problem
        assert report.quality == report.reliability == pytest.approx(1.0)


REJECTED = [
    ("incomplete:placeholder", {"novelty_notes": "..."}),
    ("incomplete:placeholder", {"teaching_intent": "teaching_intent"}),
    ("incomplete:placeholder", {"verification_notes": "N/A"}),
    ("incomplete:placeholder", {"solution": "<your solution here>"}),
    ("incomplete:placeholder", {"problem": "Find [insert number] plus 5. How many are there?"}),
    ("incomplete:short", {"problem": "12 + 5?"}),
    ("incomplete:truncated", {"problem": "A box has 12 nuts. Add 5. Take 3. How many of the"}),
    ("incomplete:truncated", {"problem": "A box has 12 nuts. Add 5. Take 3. How many ..."}),
    ("incomplete:truncated", {"solution": "12+5=17; 17-3="}),
    ("invalid:no_question", {"problem": "A box has 12 nuts. Add 5. Take 3."}),
    ("invalid:figure", {"problem": "In the figure, a box has 12 nuts. Add 5. Take 3. How many?"}),
    ("invalid:figure", {"problem": "A box has 12 nuts, as shown. Add 5. Take 3. How many?"}),
    ("invalid:several_problems", {"problem": "A box has 12 nuts. Add 5. How many? Take 3. How many?"}),
    ("invalid:several_problems", {"problem": "(a) Find 12 + 5. (b) Then take 3. How many?"}),
    ("invalid:unbalanced", {"problem": r"A box has \frac{12}{1 nuts. Add 5. Take 3. How many?"}),
    ("invalid:unbalanced", {"problem": "A box has $x nuts. Add 5. Take 3. How many?"}),
    ("invalid:unbalanced", {"solution": r"12+5=17; 17-3=14 \boxed{14"}),
    ("format:box", {"final_answer": r"\boxed{14}"}),
    ("format:sentence", {"final_answer": "The answer is 14"}),
    ("format:sentence", {"final_answer": "he has 14 nuts left over"}),
    ("format:several_lines", {"final_answer": "14\n15"}),
    ("format:long_answer", {"final_answer": "1" * 41}),
    ("format:unbalanced", {"final_answer": r"\frac{28}{2"}),
    ("leakage", {"problem": "A box has 12 nuts. Add 5. Take 3. The answer is 14. How many?"}),
    ("leakage", {"problem": "A box has 12 nuts. Add 5. Take 3. How many? (Answer: $14$)"}),
    ("leakage", {"problem": r"A box has 12 nuts. Add 5. Take 3. How many? \boxed{14}"}),
    ("leakage", {"problem": "A box has 12 nuts. 12+5=17; 17-3=14. How many?"}),
    ("leakage", {"problem": "A box has 12 nuts. Add 5. 17 - 3 = 14. How many?"}),
    ("contaminated", {"problem": EXAM[0], "solution": "40-9=31", "final_answer": "31"}),
    (
        "contaminated",
        {
            "problem": EXAM[1].replace("Total?", "How much?"),
            "solution": "3*4=12; 5*6=30; 12+30=42",
            "final_answer": "42",
        },
    ),
    ("inconsistent", {"final_answer": "15"}),
    ("inconsistent", {"solution": r"12+5=17; 17-3=14 \boxed{15}"}),
    ("no_step", {"solution": "12 and 5 less 3 gives 14"}),
    ("wrong_step", {"solution": "12+5=16; 17-3=14"}),
    ("ungrounded", {"solution": "12+2=14"}),
    ("ungrounded", {"problem": "a=12. b=a+5. c=b-17. c?", "solution": "12+5=17; 17-12=5", "final_answer": "5"}),
    ("ungrounded", {"problem": "a=22. b=a-7. b?", "solution": "22*2=44", "final_answer": "44"}),
]


@pytest.mark.parametrize(("reason", "change"), REJECTED)
def test_each_reason_for_rejection(reason, change):
    report = verify(STOCK | change)
    assert not report.admitted
    assert report.reason == reason
    assert report.card is not None
    assert 0.0 <= report.quality <= 1.0
    assert 0.0 <= report.reliability <= 1.0


def test_an_answer_the_checker_cannot_read_is_a_format_fault(monkeypatch):
    class Unread:
        correct = None

    monkeypatch.setattr("selfevolve.synco.verifier.check", lambda text, reference: Unread())
    report = verify(STOCK)
    assert report.reason == "format:unreadable"
    assert (report.format, report.consistency) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "schema:empty"),
        ("prose", "schema:prose"),
        ('{"problem": "x', "schema:truncated"),
        ("{}", "schema:missing_key"),
    ],
)
def test_an_unreadable_card_has_a_schema_reason_and_no_signals(text, reason):
    report = Verifier(VerifierParams(**TINY), EXAM).verify(text)
    assert report == Report(admitted=False, reason=reason)
    assert reason.removeprefix("schema:") in REASONS


@pytest.mark.parametrize(
    "problem",
    [
        "A box has 14 nuts. Add 3. Take 3. How many?",  # the answer is one of the givens
        "A box has 12 nuts. Add 5. Take 3. Give your answer in nuts. How many?",
        "The answer is 141 to another task. A box has 12 nuts. Add 5. Take 3. How many?",
        "The answer is 14.5 to another task. A box has 12 nuts. Add 5. Take 3. How many?",
        "A box has 12 nuts. If 10 + 4 = 14 is shown on it, add 5. Take 3. How many?",
    ],
)
def test_no_leak(problem):
    assert verify(STOCK | {"problem": problem}).leakage == 0.0


@pytest.mark.parametrize(
    "problem",
    [
        "Find the next term of the sequence 2, 4, 8, ...",
        "She hung the picture of a box with 12 nuts on the wall. Add 5. Take 3. How many nuts?",
        "How many two-digit figures are there that end in 7?",
        "Tom has $12, earns $5 and spends 3$. How much has he left?",
        r"Evaluate \( \left[ 1, 2 \right) \cap \{ 1 \} \) and give its size.",
        "Which is larger, (A) 12 or (B) 14?",
        "In a two-part task, count the nuts (b for short) of the first part?",
    ],
)
def test_honest_problems_are_whole_and_valid(problem):
    report = verify(STOCK | {"problem": problem}, ENGLISH)
    assert (report.completeness, report.validity) == (1.0, 1.0)
    assert not report.reason.startswith(("incomplete", "invalid"))


@pytest.mark.parametrize(
    ("answer", "score"),
    [
        ("14", 1.0),
        ("3/4", 1.0),
        (r"\frac{3}{4}", 1.0),
        ("(1, 2)", 1.0),
        ("Monday", 1.0),
        ("$14$", 0.5),
        ("14 nuts", 0.5),
    ]
    + [("14.", 0.5), ("x = 14", 0.5)],
)
def test_format_scores(answer, score):
    assert verify(STOCK | {"final_answer": answer}, ENGLISH).format == score


@pytest.mark.parametrize(
    ("solution", "consistency"),
    [
        ("12+5=17; 17-3=14", 1.0),
        (r"First 15, no: \boxed{14}", 1.0),
        (r"\boxed{14} was wrong, so \boxed{15}", 0.0),
        ("12+5=17; 17-3=14 after 2 moves", 1.0),
        ("12+5=17; 17-3=14 nuts. That is 2 more.", 1.0),
        ("12+5=17; 17-3=20-6. So 14 are left.", 1.0),
        ("12+5=17; 17-3=15 after 2 moves", 0.0),
        ("so 14 are left", 1.0),
        ("so 14 of the 17 are left", 0.0),
        ("The answer is 15, as 12+5-3=14", 0.0),
    ],
)
def test_consistency_reads_the_solutions_own_final_value(solution, consistency):
    assert verify(STOCK | {"solution": solution}, ENGLISH).consistency == consistency


def test_grounding_and_steps_are_shares_and_reliability_their_average():
    loose = TINY | {"min_steps": 0.0, "min_grounding": 0.0, "min_support": 0.0}
    report = verify(STOCK | {"solution": "12+5=17; 9+9=19; 17-2=15; 15-1=14"}, loose)
    assert report.admitted
    assert report.steps == 0.75
    assert report.grounding == pytest.approx(2 / 3)
    assert report.reliability == pytest.approx(0.6 + 0.25 * 0.75 + 0.15 * 2 / 3)


@pytest.mark.parametrize(
    ("solution", "answer", "support"),
    [
        ("12+5=17; 17-3=14", 14, 1.0),
        ("12+5=17; 16-3=13", 13, 0.75),  # every step is right and every given is used, but 16 comes from nowhere
        ("12+5=17; 3+7=10", 10, 0.75),
        ("12+5=17; 5-3=2", 2, 0.75),  # 5 is given once only
    ],
)
def test_numbers_from_nowhere_are_unsupported(solution, answer, support):
    report = verify(STOCK | {"solution": solution, "final_answer": answer})
    assert (report.grounding, report.support) == (1.0, support)
    assert report.reason == ("" if support == 1.0 else "unsupported")


def test_signals_that_do_not_apply_leave_the_average():
    report = verify(STOCK | {"solution": "twelve and five less three: 14", "problem": "How many nuts are left?"}, ENGLISH)
    assert (report.steps, report.grounding, report.consistency) == (None, None, 1.0)
    assert report.reliability == pytest.approx(1.0)


def test_percentages_are_grounded_as_decimals():
    card = STOCK | {
        "problem": "Tom had 50 nuts and ate 20% of them. How many?",
        "solution": "50*0.2=10",
        "final_answer": 10,
    }
    assert verify(card).grounding == 1.0


def test_a_duplicate_is_caught_once_the_first_is_remembered():
    verifier = Verifier(VerifierParams(**TINY), EXAM)
    first = verifier.verify(json.dumps(STOCK))
    assert verifier.verify(json.dumps(STOCK)).admitted  # verify does not change the pool
    verifier.remember(first.card)
    again = verifier.verify(json.dumps(STOCK))
    assert again.reason == "duplicate"
    assert (again.redundancy, again.novelty) == (1.0, 0.0)
    assert again.quality == pytest.approx(0.85)
    near = verifier.verify(json.dumps(STOCK | {"problem": STOCK["problem"].replace("nuts", "pens")}))
    assert near.reason == "duplicate"
    variant = verifier.verify(
        json.dumps(STOCK | {"problem": STOCK["problem"].replace("5", "6"), "solution": "12+6=18; 18-3=15", "final_answer": 15})
    )
    assert variant.admitted
    assert variant.redundancy == 0.0
    assert variant.quality == pytest.approx(1.0)


def test_the_pool_can_be_rebuilt_from_problems_and_forgets_the_oldest():
    verifier = Verifier(VerifierParams(**TINY | {"recent_pool": 1}), [])
    verifier.remember_problem(STOCK["problem"])
    assert verifier.verify(json.dumps(STOCK)).reason == "duplicate"
    verifier.remember_problem("Go 3 h at 4 km. How far?")
    assert verifier.verify(json.dumps(STOCK)).admitted


def test_the_index_names_the_overlapping_item():
    verifier = Verifier(VerifierParams(**TINY), EXAM)
    assert verifier.contamination.overlap(EXAM[1]) == 1


@pytest.mark.parametrize(
    ("switch", "change"),
    [
        ({"min_consistency": 0.0}, {"final_answer": "15"}),
        ({"min_steps": 0.5, "min_support": 0.0}, {"solution": "12+5=16; 17-3=14"}),
        ({"min_step_count": 0, "min_support": 0.0}, {"solution": "12 and 5 less 3 gives 14"}),
        ({"min_grounding": 0.5, "min_support": 0.0}, {"solution": "12+2=14; 5+9=14"}),
        ({"min_support": 0.7}, {"solution": "12+5=17; 16-3=13", "final_answer": "13"}),
        ({"max_answer_chars": 50}, {"final_answer": "0" * 42 + "14"}),
    ],
)
def test_each_threshold_decides(switch, change):
    assert not verify(STOCK | change).admitted
    assert verify(STOCK | change, TINY | switch).reason == ""


@pytest.mark.parametrize(
    "change",
    [
        {"reliability_weights": {"consistency": 0.6, "steps": 0.25, "grounding": 0.2}},
        {"reliability_weights": {"consistency": 1.2, "steps": -0.2, "grounding": 0.0}},
        {"reliability_weights": {"consistency": float("nan"), "steps": 0.5, "grounding": 0.5}},
        {"min_steps": 1.5},
        {"min_grounding": -0.1},
        {"duplicate_similarity": 0.0},
        {"recent_pool": 0},
        {"contamination_ngram": 0},
        {"overlap_ngram": 0},
        {"consensus": {"solutions": 4, "min_agreement": 0.0}},
        {"consensus": {"solutions": -1, "min_agreement": 0.5}},
        {"unknown": 1},
    ],
)
def test_impossible_parameters_are_refused(change):
    with pytest.raises(ValidationError):
        VerifierParams(**TINY | change)


def test_a_report_cannot_be_changed():
    with pytest.raises(ValidationError):
        verify(STOCK).admitted = False


VERIFIER = Verifier(VerifierParams(**ENGLISH), EXAM)
words = st.text(st.sampled_from("0123456789+-*/=()$\\{}., ?abxn\n"), min_size=1, max_size=40).filter(str.strip)


@given(words, words, words)
def test_any_card_gets_a_report(problem, solution, answer):
    card = STOCK | {"problem": problem, "solution": solution, "final_answer": answer}
    report = VERIFIER.verify(json.dumps(card))
    assert report.admitted == (report.reason == "")
    for name in (
        "completeness",
        "validity",
        "consistency",
        "format",
        "redundancy",
        "novelty",
        "quality",
        "reliability",
    ):
        value = getattr(report, name)
        assert report.card is None or 0.0 <= value <= 1.0


@given(st.text())
def test_any_text_gets_a_report(text):
    assert not VERIFIER.verify(text).admitted


@pytest.mark.parametrize("unit", ["![", "in the figure ", "answer ", "(b) ", "$1", "\\left", ", ", "9", "a ", "\\boxed{"])
def test_hostile_cards_are_quick(unit):
    card = STOCK | {"problem": "How many? " + unit * (20_000 // len(unit)), "solution": unit * (20_000 // len(unit))}
    started = time.process_time()
    verify(card)
    assert time.process_time() - started < 4.0


def test_a_small_card_takes_about_a_millisecond():
    rng = random.Random(0)
    verifier = Verifier(VerifierParams(**TINY | {"recent_pool": 1000}), EXAM)
    problems = [families.generate(rng, rng.choice(families.SKILLS), rng.choice(families.LEVELS)) for _ in range(400)]
    texts = [json.dumps(STOCK | {"problem": p.text, "solution": p.solution, "final_answer": p.answer}) for p in problems]
    started = time.process_time()
    for text in texts:
        report = verifier.verify(text)
        if report.admitted:
            verifier.remember(report.card)
    assert (time.process_time() - started) / len(texts) < 0.006  # 1 ms measured alone; room for a busy machine


def test_the_same_cards_give_the_same_reports():
    reports = [[v.verify(json.dumps(STOCK)), v.verify(json.dumps(LATEX))] for v in (VERIFIER, VERIFIER)]
    assert reports[0] == reports[1]
    assert isinstance(reports[0][0].card, TaskCard)


def test_an_emptied_verifier_forgets_the_pool_and_keeps_the_benchmarks():
    verifier = Verifier(VerifierParams(**TINY), EXAM)
    card = verifier.verify(json.dumps(STOCK)).card
    verifier.remember(card)
    assert verifier.verify(json.dumps(STOCK)).reason == "duplicate"
    other = verifier.emptied()
    assert other.verify(json.dumps(STOCK)).admitted
    other.remember(card)
    assert verifier.emptied().verify(json.dumps(STOCK)).admitted
    assert other.verify(json.dumps(STOCK | {"problem": EXAM[0]})).contamination == 1.0
