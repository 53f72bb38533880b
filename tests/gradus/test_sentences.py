"""What counts as a sentence of a policy, and what a quote covers."""

import pytest

from selfevolve.gradus.sentences import Sentences

POLICY = """# Desk policy

The desk is open, e.g. on Mondays. It closes at 5 p.m. sharp!
Some text that was wrapped
by hand goes on here. **Ask** before you `pay`.

## Cancel

First: 
- Look at the booking.
- A booking can be cancelled if any of these holds:
  * it is new
  1. It is a *gold* booking

Refund:
The fee is not paid back. The user must say 'yes'. Look at the booking.
"""

SENTENCES = [
    "The desk is open, e.g. on Mondays.",
    "It closes at 5 p.m. sharp!",
    "Some text that was wrapped by hand goes on here.",
    "**Ask** before you `pay`.",
    "Look at the booking.",
    "A booking can be cancelled if any of these holds:",
    "it is new",
    "It is a *gold* booking",
    "The fee is not paid back.",
    "The user must say 'yes'.",
    "Look at the booking.",
]


def test_the_sentences_of_a_policy():
    assert Sentences(POLICY).texts == SENTENCES


def test_every_sentence_quotes_itself():
    assert Sentences(POLICY).uncovered(SENTENCES) == []
    assert Sentences(POLICY).uncovered([]) == SENTENCES


@pytest.mark.parametrize(
    ("quote", "places"),
    [
        ("It is a gold booking", 1),
        ("is a gold", 1),
        ("Ask   before\nyou pay", 1),
        ("**Ask** before you `pay`", 1),
        ("if any of these holds:\n- it is new\n- It is a gold booking", 1),
        ("if any of these holds: - it is new 1. It is a gold booking.", 1),
        ("The user must say ‘yes’", 1),
        ("Look at the booking", 2),
        ("booking", 4),
        ("it is a gold booking", 0),
        ("It is a golden booking", 0),
        ("It is a gold book", 0),
        ("It is gold booking", 0),
        ("any of these; holds", 0),
        ("", 0),
        (" - ", 0),
    ],
)
def test_quotes_match_by_words(quote, places):
    assert len(Sentences(POLICY).places(quote)) == places


def test_half_of_the_words_must_be_reached():
    sentence = "A user may cancel and may pay."
    assert Sentences(sentence).uncovered(["A user may"]) == [sentence]
    assert Sentences(sentence).uncovered(["A user may cancel"]) == []
    assert Sentences(sentence).uncovered(["A user", "may pay"]) == []
    assert Sentences(sentence).uncovered(["A user may", "user may"]) == [sentence], "overlapping quotes count once"


def test_a_quote_over_several_sentences_covers_them_all():
    left = Sentences(POLICY).uncovered(
        ["It closes at 5 p.m. sharp! Some text that was wrapped by hand goes on here. Ask before you pay."]
    )
    assert left == [SENTENCES[0], *SENTENCES[4:]]


def test_a_repeated_sentence_is_covered_everywhere():
    assert Sentences(POLICY).uncovered(["Look at the booking"]) == [text for text in SENTENCES if text != "Look at the booking."]
