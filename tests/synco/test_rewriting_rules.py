"""Rewriting one problem by rule."""

import random

import pytest

from selfevolve import families
from selfevolve.synco import rewriting_rules as rules

BOX = "A box has 12 nuts. Add 5. How many?"
SHOP = "Tom buys 3 bags at $4.50 each, i.e. for 1,350 cents. What is 1/2 of that?"


def test_a_problem_is_cut_before_its_question():
    assert rules.split(BOX) == ("A box has 12 nuts. Add 5.", "How many?")
    assert rules.split("What is 2 + 3?") == ("", "What is 2 + 3?")


def test_rephrasings_keep_words_and_numbers():
    texts = rules.rephrasings(BOX)
    assert texts == [
        "How many? A box has 12 nuts. Add 5.",
        "A box has 12 nuts; Add 5. How many?",
        "Given this: A box has 12 nuts. Add 5. How many?",
    ]
    assert all(rules.keeps_numbers(BOX, text) for text in texts)
    assert rules.rephrasings("What is 2 + 3?") == []


def test_numbers_that_stand_for_themselves_can_be_hidden():
    assert [(name, number) for _, name, number in rules.hidden(SHOP)] == [("x", "3"), ("x", "4.50"), ("x", "1,350")]
    assert rules.hidden(BOX)[0] == ("A box has x nuts. Add 5. How many?", "x", "12")


def test_the_unknown_gets_a_name_the_problem_does_not_use():
    assert rules.hidden("If x + 3 = 8, what is x?")[0][1] == "X"
    assert rules.hidden("x X y z w n 3?") == []
    assert rules.hidden("The next box holds 3.")[0][1] == "x"  # a letter inside a word is no name


@pytest.mark.parametrize(
    ("question", "answer", "expected"),
    [("How many?", "17", "How many: 17."), ("b?", "17", "b=17."), ("Find x.", "2", "Find x: 2.")],
)
def test_question_and_answer_become_a_statement(question, answer, expected):
    assert rules.statement(question, answer) == expected


def test_backward_questions_ask_for_the_hidden_number():
    masked, name, _ = rules.hidden(BOX)[1]
    assert rules.backward(masked, "17", name) == "A box has 12 nuts. Add x. How many? If the answer is 17, what is x?"
    assert rules.self_verification(masked, "How many: 17.", name) == "A box has 12 nuts. Add x. How many: 17. What is x?"


@pytest.mark.parametrize("skill", families.SKILLS)
def test_putting_the_number_back_gives_the_problem(skill):
    problem = families.generate(random.Random(3), skill, 4).text
    for masked, name, number in rules.hidden(problem):
        before, after = masked.split(name, 1) if masked.count(name) == 1 else (None, None)
        if before is not None:
            assert f"{before}{number}{after}" == problem
    assert len(rules.hidden(problem)) >= 4


def test_changed_numbers_are_noticed():
    assert not rules.keeps_numbers(BOX, "A box has 12 nuts. Add 6. How many?")
    assert not rules.keeps_numbers(BOX, "A box has 12 nuts. Add 5 and 5. How many?")
