"""Labelled tricky cases, and every benchmark gold against itself."""

import json

import pytest

from selfevolve.checker import check, check_batch

BENCHMARKS = ("gsm8k", "svamp", "asdiv", "gsm_hard", "math500", "minerva", "aime24", "aime25")
PHRASINGS = (
    "\\boxed{%s}",
    "So the result is $\\boxed{%s}$.",
    "First \\boxed{0}. Checking again, that fails, so \\[\\boxed{%s}\\]",
    "The answer is %s.",
    "Therefore, the answer is $%s$.",
    "The final answer is: \\(%s\\).",
    "**Final Answer:** $%s$",
    "**Final Answer**\n\n\\[%s\\]\n",
    "Answer: %s",
    "Some work.\n#### %s",
    "<think>I guess \\boxed{1}</think><answer>%s</answer>",
)


def test_labelled_cases(shared):
    lines = (shared / "checker" / "cases.jsonl").read_text(encoding="utf-8").splitlines()
    cases = [json.loads(line) for line in lines]
    verdicts = check_batch([(case["pred"], case["gold"]) for case in cases])
    wrong = [case for case, verdict in zip(cases, verdicts, strict=True) if verdict.correct is not case["match"]]
    assert len(wrong) <= 0.01 * len(cases), wrong


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_every_gold_is_itself(golds, benchmark):
    answers = golds(benchmark)
    for phrasing in PHRASINGS:
        pairs = [(phrasing % answer, answer) for answer in answers]
        wrong = [pair for pair, verdict in zip(pairs, check_batch(pairs), strict=True) if verdict.correct is not True]
        assert wrong == [], phrasing


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_the_next_gold_is_another(golds, benchmark):
    answers, equal = golds(benchmark), 0
    for gold, other in zip(answers, answers[1:], strict=False):
        forth = check(f"\\boxed{{{other}}}", gold)
        back = check(f"\\boxed{{{gold}}}", other)
        assert forth.correct == back.correct
        assert forth.correct or gold != other
        equal += forth.correct
    assert equal <= 0.12 * len(answers)


@pytest.mark.parametrize(
    "reference",
    [
        "",
        "  ",
        "\\frac{1}{",
        "{{",
        "(1,2",
        "1\x002",
        "\ud800",
        "???",
        "1/0",
        "\\frac{1}{0}",
        "\\int_0^1",
        "\\nosuch{3}{",
    ],
)
def test_a_reference_that_cannot_be_read_has_no_verdict(reference):
    for text in ("\\boxed{1}", "no answer here", f"\\boxed{{{reference}}}"):
        assert check(text, reference).correct is None
