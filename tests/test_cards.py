import json
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from selfevolve.cards import COMMANDS, FIELDS, MAX_CHARS, REASONS, CardError, TaskCard, parse_card

VALUES = {
    "teaching_intent": "carry in two steps",
    "target_reasoning_style": "step by step",
    "expected_reasoner_weakness": "carry",
    "difficulty_estimate": "0.4",
    "problem": "A box has 12 nuts. Add 5. Take 3. How many?",
    "solution": "12+5=17; 17-3=14",
    "final_answer": "14",
    "verification_notes": "redo each step",
    "novelty_notes": "new numbers",
}
RAW = json.dumps(VALUES)
CARD = TaskCard(**VALUES)


def wire(field: str = "problem", raw: str = '"x"') -> str:
    """The card's text with the JSON source `raw` as the value of `field`."""
    return "{" + ", ".join(f'"{k}": {raw if k == field else json.dumps(v)}' for k, v in VALUES.items()) + "}"


def reason(text: str) -> str:
    with pytest.raises(CardError) as caught:
        parse_card(text)
    assert caught.value.reason in REASONS
    str(caught.value).encode()  # printable whatever the input
    return caught.value.reason


def test_fields_are_the_nine_of_the_paper_in_wire_order():
    assert tuple(VALUES) == FIELDS


@pytest.mark.parametrize(
    "text",
    [
        RAW,
        f"\n  {RAW}\n",
        json.dumps(VALUES, indent=2),
        json.dumps(dict(reversed(VALUES.items()))),
        f"```json\n{RAW}\n```",
        f"```\n{RAW}\n```",
        f"```JSON {RAW}```",
        f"<think>12+5 is 17 {{maybe}}</think>\n{RAW}",
        f"no opening tag, as chat templates write it</think>{RAW}",
        f"<think>first draft: {RAW}</think>\n```json\n{RAW}\n```\n",
        f"{RAW}</think>{RAW}",
    ],
)
def test_reads_a_card_alone_fenced_or_after_thinking(text):
    assert parse_card(text) == CARD


def test_a_card_may_quote_the_end_of_thinking():
    assert parse_card(wire("problem", '"What is </think> for?"')).problem == "What is </think> for?"


# (JSON source between the quotes, the text it stands for)
LATEX = [
    (r"\frac{1}{2}", r"\frac{1}{2}"),
    (r"\forall x", r"\forall x"),
    (r"3 \times 4", r"3 \times 4"),
    (r"\theta + \tau", r"\theta + \tau"),
    (r"\text{cm}", r"\text{cm}"),
    (r"\tan x \to 0", r"\tan x \to 0"),
    (r"\beta \binom{4}{2}", r"\beta \binom{4}{2}"),
    (r"\boxed{14}", r"\boxed{14}"),
    (r"\begin{cases} x \end{cases}", r"\begin{cases} x \end{cases}"),
    (r"\rho \right) \rangle \rightarrow", r"\rho \right) \rangle \rightarrow"),
    (r"a \neq b \ne c", r"a \neq b \ne c"),
    (r"\nu \nabla \not= \notin", r"\nu \nabla \not= \notin"),
    (r"\nu_1", r"\nu_1"),
    (r"\neq0", r"\neq0"),
    (r"\uparrow \underline{x} \union \upsilon", r"\uparrow \underline{x} \union \upsilon"),
    (r"\( x \) and \[ y \]", r"\( x \) and \[ y \]"),
    (r"\alpha \sqrt{2} \pi \cdot \le \Sigma", r"\alpha \sqrt{2} \pi \cdot \le \Sigma"),
    (r"\{1, 2\} 5\% \$3 a\_b \, \; \! \|x\|", r"\{1, 2\} 5\% \$3 a\_b \, \; \! \|x\|"),
    (r"\\frac{1}{2} \\times \\neq", r"\frac{1}{2} \times \neq"),
    (r"\\( x \\) \\nu", r"\( x \) \nu"),
    (r"\\frac12 \times \frac34", r"\frac12 \times \frac34"),
    (r"a \\\\ b", r"a \\ b"),
    (r"\\\\\frac12", r"\\\frac12"),
    (r"\\\nu", r"\\nu"),  # an escaped backslash, then an undoubled command
]
ESCAPES = [
    (r"one\ntwo", "one\ntwo"),
    (r"\nunder", "\nunder"),
    (r"\nThen \nNow \nLet", "\nThen \nNow \nLet"),
    (r"\n2. next", "\n2. next"),
    (r"\n\nnotice", "\n\nnotice"),
    (r"\nexample \nequals \nusing \nin", "\nexample \nequals \nusing \nin"),
    (r"a\tb\t1\tThe", "a\tb\t1\tThe"),
    (r"\n\\nu", "\n\\nu"),
    (r"say \"14\"", 'say "14"'),
    (r"1\/2", "1/2"),
    (r"\u0041\u00e9", "A\u00e9"),
    (r"\ubeef", "\ubeef"),
    (r"\ud83d\ude00", "\U0001f600"),
    (r"\\u0041", r"\u0041"),
    (r"\u005cnu", r"\nu"),
]


@pytest.mark.parametrize(("source", "text"), LATEX + ESCAPES)
def test_latex_survives_and_escapes_stay_escapes(source, text):
    assert parse_card(wire("problem", f'"{source}"')).problem == text
    assert parse_card(wire("solution", f'"x {source} y"')).solution == f"x {text} y"


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_listed_command_survives_undoubled_and_doubled(name):
    for slashes in ("\\", "\\\\"):
        assert parse_card(wire("problem", f'"{slashes}{name} 1"')).problem == f"\\{name} 1"


def test_the_list_holds_only_names_that_json_would_swallow():
    assert all(name[0] in "bfnrtu" and name.isalpha() and len(name) > 1 for name in COMMANDS)


@pytest.mark.parametrize("number", ["14", "-3", "0.60", "1e3", "12345678901234567890123456789012345", "0.10000000000000001"])
@pytest.mark.parametrize("field", ["final_answer", "difficulty_estimate"])
def test_numbers_keep_their_exact_text(field, number):
    assert getattr(parse_card(wire(field, number)), field) == number
    assert type(getattr(parse_card(wire(field, number)), field)) is str


def test_an_integer_longer_than_pythons_limit_is_text_too():
    assert parse_card(wire("final_answer", "7" * 10_000)).final_answer == "7" * 10_000


TRUNCATED = [
    RAW[:-1],
    RAW[:40],
    RAW[:19],
    "{",
    '{"problem": nul',
    '{"problem": 12',
    '{"problem": "\\u00',
    '{"problem": "\\',
]


@pytest.mark.parametrize(
    ("expected", "text"),
    [
        ("empty", ""),
        ("empty", " \n"),
        ("empty", "<think>a</think>"),
        ("empty", "```json\n```"),
        ("prose", f"Here is the card: {RAW}"),
        ("prose", f"{RAW} I hope it helps."),
        ("prose", f"```json\n{RAW}\n``` done"),
        ("prose", f"Sure:\n```json\n{RAW}\n```"),
        ("prose", f"```python\n{RAW}\n```"),
        ("prose", f"<think>a</think>So: {RAW}"),
        ("prose", "A box has 12 nuts."),
        ("not_object", f"[{RAW}]"),
        ("not_object", "14"),
        ("not_object", '"text"'),
        ("not_object", "null"),
        ("two_objects", RAW + RAW),
        ("two_objects", f"{RAW}\n{RAW}"),
        ("two_objects", f"```json\n{RAW}\n{RAW}\n```"),
        *[("truncated", text) for text in TRUNCATED],
        ("truncated", f"<think>I will {RAW}"),
        ("truncated", f"```json\n{RAW}"),
        ("too_long", wire("problem", '"' + "x" * MAX_CHARS + '"')),
        ("too_deep", '{"problem": ' + "[" * 20_000 + "]" * 20_000 + "}"),
        ("too_deep", '{"problem": ' + '{"a":' * 10_000),
        ("malformed", RAW.replace('"14"', '"14",')[:-1] + ",}"),
        ("malformed", RAW.replace('"', "'")),
        ("malformed", wire("problem", r'"\1"')),
        ("malformed", wire("problem", r'"Tom\'s"')),
        ("malformed", wire("problem", r'"\u12"')),
        ("malformed", wire("problem", r'"\é"')),
        ("malformed", wire("problem", "x")),
        ("control_character", wire("problem", '"a\nb"')),
        ("control_character", wire("problem", '"a\tb"')),
        ("control_character", wire("problem", '"a\x00b"')),
        ("control_character", wire("problem", '"a\x7fb"')),
        ("control_character", wire("problem", '"a\x85b"')),
        ("control_character", wire("problem", r'"a\u0000b"')),
        ("control_character", wire("problem", r'"\bfoo"')),
        ("control_character", wire("problem", r'"a\f b"')),
        ("control_character", wire("problem", r'"a\r\nb"')),
        ("surrogate", wire("problem", r'"\ud83d"')),
        ("surrogate", wire("problem", '"\udc80"')),
        ("missing_key", "{}"),
        ("missing_key", json.dumps({k: v for k, v in VALUES.items() if k != "novelty_notes"})),
        ("missing_key", json.dumps({k: v for k, v in VALUES.items() if k != "problem"} | {"Problem": "x"})),
        ("unknown_key", json.dumps(VALUES | {"extra": "x"})),
        ("unknown_key", json.dumps(VALUES | {"\ud800": "x"})),
        ("repeated_key", RAW[:-1] + ', "problem": "again"}'),
        ("null_value", wire("problem", "null")),
        ("blank_value", wire("problem", '""')),
        ("blank_value", wire("problem", r'" \n\u00a0"')),
        ("wrong_type", wire("problem", '["x"]')),
        ("wrong_type", wire("problem", '{"x": 1}')),
        ("wrong_type", wire("problem", "12")),
        ("wrong_type", wire("final_answer", "[14]")),
        ("wrong_type", wire("final_answer", "true")),
        ("not_finite", wire("final_answer", "NaN")),
        ("not_finite", wire("difficulty_estimate", "-Infinity")),
    ],
)
def test_everything_else_is_refused_with_its_reason(expected, text):
    assert reason(text) == expected


def test_every_prefix_of_a_card_is_truncated():
    assert {reason(RAW[:n]) for n in range(1, len(RAW))} == {"truncated"}


def test_the_card_itself_refuses_blank_extra_and_changes():
    with pytest.raises(ValidationError):
        TaskCard(**VALUES | {"problem": " "})
    with pytest.raises(ValidationError):
        TaskCard(**VALUES, extra="x")
    with pytest.raises(ValidationError):
        CARD.problem = "x"


# Newlines and tabs are left out here: before a lone command name they are read as LaTeX (see `selfevolve.cards`).
texts = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1).filter(str.strip)
wrappers = st.sampled_from(["{}", "```json\n{}\n```", "```\n{}```", "<think>so</think>{}", "</think>\n```\n{}\n```", "\n{} "])


@given(st.lists(texts, min_size=9, max_size=9), wrappers, st.booleans(), st.randoms())
def test_any_nine_texts_round_trip(values, wrapper, ascii_only, random):
    card = dict(zip(FIELDS, values, strict=True))
    order = list(card.items())
    random.shuffle(order)
    text = wrapper.replace("{}", json.dumps(dict(order), ensure_ascii=ascii_only))
    assert parse_card(text).model_dump() == card


@given(st.text(string.printable.strip() + " \\é", min_size=1).filter(str.strip))
def test_newlines_before_anything_but_a_command_round_trip(line):
    text = "\n\t " + line + "\n" + line
    kept = "".join(c for c in line if c.isascii())
    run = kept[: len(kept) - len(kept.lstrip(string.ascii_letters))]
    if "n" + run not in COMMANDS:
        assert parse_card(json.dumps(VALUES | {"problem": text})).problem == text


PIECES = [
    RAW,
    "{",
    "}",
    '"',
    "\\",
    "\\u",
    "\\n",
    "```",
    "json",
    "<think>",
    "</think>",
    "[",
    ",",
    ":",
    "null",
    "\n",
    "1",
]


@given(st.one_of(st.text(), st.lists(st.sampled_from(PIECES)).map("".join), st.text(st.characters())))
def test_arbitrary_text_raises_nothing_but_card_error(text):
    try:
        assert isinstance(parse_card(text), TaskCard)
    except CardError as error:
        assert error.reason in REASONS


@given(st.integers(0, len(RAW)), st.text(st.characters(), max_size=4), st.integers(0, 4))
def test_a_corrupted_card_never_crashes(at, inserted, dropped):
    try:
        parse_card(RAW[:at] + inserted + RAW[at + dropped :])
    except CardError as error:
        assert error.reason in REASONS


def test_an_unlisted_reason_is_a_programming_error():
    with pytest.raises(KeyError):
        CardError("odd", "message")
