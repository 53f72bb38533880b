"""The problem families and their oracle agree, and the oracle refuses what it does not know."""

import random

import pytest

from selfevolve.families import LEVELS, MAX_VALUE, SKILLS, generate, oracle


@pytest.mark.parametrize("skill", SKILLS)
@pytest.mark.parametrize("level", LEVELS)
def test_the_oracle_reads_every_problem_back(skill, level):
    rng = random.Random(f"{skill}-{level}")
    for _ in range(100):
        problem = generate(rng, skill, level)
        assert oracle(problem.text) == problem.answer
        assert len(problem.steps) == level
        for step in problem.steps:
            exact = {"+": step.left + step.right, "-": step.left - step.right, "*": step.left * step.right}
            assert step.value == exact.get(step.operator, step.left // step.right)
            assert step.operator != "/" or step.left % step.right == 0
            assert 1 <= step.value <= 2 * MAX_VALUE


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("A box has 12 nuts. Add 5. Take 3. How many?", "14"),
        ("Al is 9. Bo is 2 times. Cy is 4 less. Last age?", "14"),
        ("a=4. b=a*3. c=b-2. c?", "10"),
        ("a=4. b=a*3. c=a-2. c?", "2"),
        ("48 figs in 8 bags. Copy 3 times. Take 4. One bag?", "14"),
        ("Buy 3 pens at 4. Buy 2 cups at 5. Use 8 coupon. Total?", "14"),
        ("Go 2 h at 5 km. Walk 4 km. How far?", "14"),
    ],
)
def test_known_problems(text, answer):
    assert oracle(text) == answer


@pytest.mark.parametrize(
    "text",
    [
        "",
        "What is 2+2?",
        "49 figs in 8 bags. One bag?",
        "4 figs in 0 bags. One bag?",
        "a=4. b=z*3. b?",
        "a=4. b=a+1. f?",
        "A box has 12 nuts. How many?",
        "A box has 12 nuts. Add 5. How many? Explain.",
    ],
)
def test_ill_posed_or_foreign_text_has_no_answer(text):
    assert oracle(text) is None
