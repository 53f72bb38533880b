"""The fast path never changes a verdict: everything through sympy in a worker, and the same verdicts come back."""

import json

import pytest
import sympy
from mutations import pairs

from selfevolve.checker import check_batch, workers
from selfevolve.checker.checking import check_slowly
from selfevolve.checker.kinds import Expression
from selfevolve.checker.reading import read
from selfevolve.checker.symbolic import Unparsable, parse_latex, to_sympy


@pytest.fixture(scope="module", autouse=True)
def no_workers_left():
    yield
    workers.close()


def _assert_same(work: list[tuple[str, str]]) -> None:
    fast, slow = check_batch(work), check_slowly(work, timeout_s=30)
    differ = [
        (*pair, a.method, b.method)
        for pair, a, b in zip(work, fast, slow, strict=True)
        if a.correct is not b.correct or b.method in ("timeout", "memory", "undecided")
    ]
    assert differ == []


def test_on_benchmarks_and_cases(shared, golds):
    work = []
    for benchmark in ("math500", "minerva", "asdiv"):
        answers = golds(benchmark)
        work += [(f"\\boxed{{{answer}}}", answer) for answer in answers]
        work += [(f"\\boxed{{{other}}}", answer) for answer, other in zip(answers, answers[1:], strict=False)]
    lines = (shared / "checker" / "cases.jsonl").read_text(encoding="utf-8").splitlines()
    work += [(case["pred"], case["gold"]) for case in map(json.loads, lines)]
    _assert_same(list(dict.fromkeys(work)))


def test_on_mutations():
    _assert_same([(text, gold) for _, text, gold, _ in pairs(seed=31, per_kind=4)])


def test_our_grammar_agrees_with_math_verify(golds):
    """Where Math-Verify's parser reads a gold, its value is the one of our tree, but for its known errors."""
    theirs_wrong = {"\\left(\\gamma^{2}-1\\right)", "\\dot{x}_{0}", "\\text {red}"}  # zoo; a name "dotx"; "textred"
    agreed = 0
    for gold in dict.fromkeys(golds("math500") + golds("minerva")):
        answer = read(gold)
        if not isinstance(answer, Expression) or any(part in gold for part in theirs_wrong):
            continue
        try:
            theirs = parse_latex(gold)
        except Unparsable:
            continue
        if theirs.atoms(sympy.core.function.AppliedUndef):
            continue  # u(t): a name of ours
        ours = to_sympy(answer.tree, signed=False)
        values = {s: sympy.Rational(3 * at + 2, 7) for at, s in enumerate(sorted(ours.free_symbols, key=str))}
        assert abs(sympy.N((ours - theirs).subs(values), 30)) < 1e-20, gold
        agreed += 1
    assert agreed >= 100
