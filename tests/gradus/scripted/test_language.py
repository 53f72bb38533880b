"""What one side says, the other reads: every sentence about every action of the four libraries, and whole scripts."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from selfevolve.gradus import operators
from selfevolve.gradus.scripted.language import Language
from selfevolve.gradus.scripted.phrases import (
    Asks,
    Cannot,
    Done,
    Given,
    Hurries,
    Insists,
    More,
    Nth,
    Request,
    Sum,
    Told,
    Unknown,
    Use,
    Used,
    Whichever,
    plain,
)  # fmt: skip
from selfevolve.gradus.scripted.script import Ask, Script, Scripts

LANGUAGES = {domain: Language(operators.load(domain)) for domain in ("desk", "tau2/airline", "tau2/retail", "tau2/telecom")}

numbers = st.integers(-1000, 1000) | st.floats(-1000, 1000).map(lambda number: round(number, 2))
scalars = st.text(max_size=10) | numbers | st.booleans() | st.none()
values = st.recursive(
    scalars, lambda part: st.lists(part, max_size=3) | st.dictionaries(st.text(max_size=5), part, max_size=2), max_leaves=4
)
sums = st.builds(Sum, st.integers(0, 99), st.integers(-99, 99))
places = st.integers(1, 10) | st.builds(Sum, st.integers(1, 5), st.integers(-4, 5))
nths = st.builds(Nth, places, st.lists(values, min_size=1, max_size=3).map(tuple))


@st.composite
def calls(draw, language: Language):
    action = draw(st.sampled_from(sorted(language.library.operators)))
    names = draw(st.lists(st.sampled_from([*language.library.operators[action].parameters, ""]), unique=True))
    return action, {name: draw(values | sums | nths) for name in names if name}


@st.composite
def sentences(draw, language: Language):
    action, arguments = draw(calls(language))
    facts, parameters = language.library.facts, list(language.library.operators[action].parameters)
    booleans = [name for name, fact in facts.items() if fact.type == "boolean"]
    others = [name for name in facts if name not in booleans]
    name = draw(st.sampled_from([*others, *parameters]))
    kinds = [
        lambda: Request(action, arguments),
        lambda: Insists(action, arguments),
        lambda: Used(action, arguments, draw(st.text(max_size=20))),
        lambda: Told("", draw(st.booleans())),
        lambda: Told(draw(st.sampled_from(booleans)), draw(st.booleans())),
        lambda: Told(name, draw(values)),
        lambda: Given(name, draw(values | sums)),
        lambda: Unknown(name),
        lambda: Whichever(name),
        Hurries,
        lambda: Asks(action, arguments, tuple(draw(st.lists(st.sampled_from([*facts, *parameters]), min_size=1, max_size=3)))),
        lambda: Use(action, arguments),
        lambda: Done(action, arguments),
        lambda: Cannot(action, arguments, " ".join(draw(st.text(max_size=20)).split()).removesuffix(".")),
        More,
    ]
    return draw(st.sampled_from(kinds))()


@pytest.mark.parametrize("language", LANGUAGES.values(), ids=LANGUAGES)
@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_what_is_said_is_read(language: Language, data) -> None:
    said = data.draw(st.lists(sentences(language), max_size=4))
    assert language.read(language.say(*said)) == tuple(said)


@pytest.mark.parametrize("language", LANGUAGES.values(), ids=LANGUAGES)
@settings(deadline=None, max_examples=15)
@given(data=st.data())
def test_a_script_is_read_as_it_was_written(language: Language, data) -> None:
    scripts, asks = Scripts(language), []
    for number in range(data.draw(st.integers(1, 3))):
        answers = [
            each for each in data.draw(st.lists(sentences(language), max_size=2)) if isinstance(each, Told | Given | Whichever)
        ]
        said = [each for each in data.draw(st.lists(sentences(language), max_size=2)) if isinstance(each, Told)]
        along = number > 0 and data.draw(st.booleans())
        request = Request(*data.draw(calls(language)))
        asks.append(Ask(request, tuple(said), tuple(answers), insist=data.draw(st.integers(0, 3)), along=along))
    opening = [each for each in data.draw(st.lists(sentences(language), max_size=2)) if isinstance(each, Told)]
    script = Script(tuple(asks), tuple(opening))
    assert scripts.read(scripts.write(script, data.draw(st.text()))) == script


def test_it_reads_well() -> None:
    language = LANGUAGES["tau2/airline"]
    request = Request("cancel_reservation", {"reservation_id": Nth(2, ("4WQ150", "EHGLP3"))})
    assert language.say(request, Told("reason", "change_of_plan")) == (
        'Please cancel reservation, reservation id the second of ["4WQ150", "EHGLP3"]. My reason is "change_of_plan".'
    )
    assert language.say(Asks("cancel_reservation", {"reservation_id": "EHGLP3"}, ("confirmed",))) == (
        'Before I cancel reservation, reservation id "EHGLP3": do you confirm, yes or no?'
    )
    assert plain(request.values["reservation_id"]) == "EHGLP3"


def test_small_talk_means_nothing() -> None:
    language = LANGUAGES["desk"]
    assert language.read('Hello there. Please be quick! Please cancel, id "b17". Thank you, bye') == (
        Request("cancel", {"id": "b17"}),
    )
    assert language.read('Please cancel, id b17. Please fly, id "b17".') == ()


def test_a_text_without_requests_is_no_script() -> None:
    with pytest.raises(ValueError, match="not a script: no line starts with 'Ask: '"):
        Scripts(LANGUAGES["desk"]).read("You are a vip member and want booking b10 cancelled.")
