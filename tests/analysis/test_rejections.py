import json

import polars as pl
import pytest

from selfevolve import params
from selfevolve.analysis.rejections import why
from selfevolve.cards import FIELDS
from selfevolve.synco.batch import Interaction, record
from selfevolve.synco.memory import SCHEMA
from selfevolve.synco.proposals import Proposal
from selfevolve.synco.verifier import Verifier

VERIFIER = params.load("tiny").verifier
BENCHMARK = "A box has 30 eggs. Add 2. Take 9. Add 4. Take 5. How many?"
GOOD = {"problem": "A box has 12 nuts. Add 5. Take 3. How many?", "solution": "12+5=17; 17-3=14", "final_answer": "14"}
CASES = {
    "incomplete": {**GOOD, "problem": "A box has 12 nuts. Add 5 and"},
    "invalid": {**GOOD, "problem": "A box has 12 nuts. Add 5. Take 3."},
    "format": {**GOOD, "final_answer": "it is 14 nuts"},
    "leakage": {**GOOD, "problem": "A box has 12 nuts. Add 5. Take 3. How many? Answer: 14"},
    "contaminated": {"problem": BENCHMARK, "solution": "30+2=32; 32-9=23; 23+4=27; 27-5=22", "final_answer": "22"},
    "inconsistent": {**GOOD, "final_answer": "15"},
    "no_step": {**GOOD, "solution": "The box ends with 14"},
    "wrong_step": {**GOOD, "solution": "12+5=18; 18-3=14"},
    "ungrounded": {**GOOD, "solution": "12+2=14"},
    "unsupported": {**GOOD, "solution": "12+5=17; 17-3=14; 14+8=22; 22-8=14"},
    "duplicate": {**GOOD, "problem": "A box has 12 nuts. Add 5. Take 3. How many ?"},
}


@pytest.fixture(scope="module")
def memory() -> pl.DataFrame:
    """The rows a run records: an admitted card, one for every check that rejects, and an output that is no card."""
    verifier = Verifier(VERIFIER, [BENCHMARK])
    texts = [json.dumps(dict.fromkeys(FIELDS, "counting nuts") | case) for case in (GOOD, *CASES.values())] + ["{"]
    rows = []
    for slot, text in enumerate(texts):
        report = verifier.verify(text)
        if report.admitted:
            verifier.remember(report.card)
        rows.append(record(0, 1, slot, Interaction(Proposal(text, 0), report, None)))
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


@pytest.mark.parametrize("kind", CASES)
def test_the_check_that_decided_is_marked_with_what_it_found(memory, kind):
    card = memory.slice(1 + list(CASES).index(kind), 1)
    assert card["reason"][0].partition(":")[0] == kind
    table = why(card, memory, VERIFIER)
    marked = table.filter("rejected")
    assert marked["check"].to_list() == [kind]
    found = marked["found"][0]
    expected = {
        "wrong_step": "wrong: 12+5 = 18",
        "ungrounded": "unused: 5, 3",
        "unsupported": "from nowhere: 8",
        "duplicate": GOOD["problem"],
        "no_step": "0 steps",
        "incomplete": "(truncated)",
        "invalid": "(no_question)",
    }
    assert expected.get(kind, "") in found and found


def test_the_order_is_the_verifiers_and_nothing_is_marked_on_an_admitted_card(memory):
    table = why(memory.head(1), memory, VERIFIER)
    assert memory["admitted"].to_list() == [True] + [False] * (len(CASES) + 1)
    assert table["check"].to_list() == ["schema", *CASES, "no_consensus"] and not table["rejected"].any()
    assert table.columns == ["check", "found", "asked", "rejected"]


def test_an_output_that_is_no_card_has_one_row(memory):
    table = why(memory.tail(1), memory, VERIFIER)
    assert table["check"].to_list() == ["schema"] and table["rejected"][0]


def test_one_card_at_a_time(memory):
    assert why(memory.clear(), memory, VERIFIER).is_empty()
    with pytest.raises(ValueError, match="one card at a time, not 2 rows"):
        why(memory.head(2), memory, VERIFIER)
