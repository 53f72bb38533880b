"""Mutation harness: false accepts and false rejects over more than 20,000 generated pairs."""

from collections import Counter

from mutate_numbers import NUMERIC, _other_digit
from mutations import pairs

from selfevolve.checker import check

NUMERIC_KINDS = {maker.__name__ for maker in NUMERIC}


def test_false_accepts_and_false_rejects():
    """No false accept on the numeric kinds, under 0.1 % elsewhere; false rejects under 0.5 %."""
    made: Counter[tuple[bool, bool]] = Counter()
    wrong: dict[tuple[bool, bool], list[str]] = {(n, e): [] for n in (True, False) for e in (True, False)}
    for kind, text, gold, expected in pairs(seed=20, per_kind=70):
        key = (kind in NUMERIC_KINDS, expected)
        made[key] += 1
        verdict = check(text, gold)
        assert verdict.method != "error", (text, gold)
        if verdict.correct is not expected:
            wrong[key].append(f"{kind}: {gold!r} against {text!r}")
    assert sum(made.values()) >= 20_000
    assert wrong[True, False] == []
    assert len(wrong[False, False]) < 0.001 * made[False, False], wrong[False, False]
    rejects = wrong[True, True] + wrong[False, True]
    assert len(rejects) < 0.005 * (made[True, True] + made[False, True]), rejects


def test_benchmark_numbers_mutated(golds):
    """Real golds: one digit changed, sign, off by one, x100 are all rejected; usual rewritings all accepted."""
    from random import Random

    rng = Random(7)
    for benchmark in ("gsm8k", "gsm_hard", "svamp", "aime24", "aime25"):
        for gold in golds(benchmark):
            number = gold.replace(",", "")
            changed = _other_digit(number, rng)
            opposite = number[1:] if number.startswith("-") else f"-{number}"
            wrong = [changed, f"{number} + 1", f"{number} - 1"]
            wrong += [opposite, f"{number}e2", f"{number}e-2"] if float(number) else []
            for answer in wrong:
                assert check(f"\\boxed{{{answer}}}", gold).correct is False, (gold, answer)
            for answer in (f"{number}", f"\\${number}", f"x = {number}", f"{number}\\text{{ apples}}", f"{number} + 0"):
                assert check(f"\\boxed{{{answer}}}", gold).correct is True, (gold, answer)
