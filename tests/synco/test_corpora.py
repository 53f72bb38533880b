"""External corpora, with the columns their files really have."""

import json
import random
from pathlib import Path

import polars as pl
import pytest

from selfevolve import params
from selfevolve.synco import corpora
from selfevolve.synco.corpus_files import CorpusError, Row
from selfevolve.synco.settings import CorpusParams
from selfevolve.synco.verifier import Verifier

SETTINGS = params.load("paper").verifier
METAMATH = {
    "type": "GSM_Rephrased",
    "query": "If Tom has 3 pens and buys 4 more, how many pens does he have?",
    "original_question": "Tom has 3 pens. He buys 4 more. How many pens does he have?",
    "response": "Tom starts with 3 pens.\nHe buys 4 more, so he has 3 + 4 = 7 pens.\n#### 7\nThe answer is: 7",
}
SCALEQUEST = {"query": "What is the sum of the first 4 odd numbers?", "response": "1 + 3 + 5 + 7 = 16, so it is $\\boxed{16}$."}
OPENMATH = {
    "problem": "A train travels 60 miles in 2 hours. How fast is it, in miles per hour?",
    "generated_solution": "60 / 2 = 30, so \\boxed{30}.",
    "expected_answer": "30",
    "problem_source": "augmented_gsm8k",
}
FILES = {"metamathqa": METAMATH, "scalequest": SCALEQUEST, "openmathinstruct2": OPENMATH}


def settings(path: Path | str | None, layout: str = "plain", problems: int = 1, hub: str | None = None) -> CorpusParams:
    return CorpusParams(layout=layout, path=None if path is None else str(path), hub=hub, problems=problems)


def build(
    corpus: CorpusParams, name: str = "mine", held_out=(), fits=lambda problem: True, seed: int = 0, rows=None
) -> pl.DataFrame:
    return corpora.build(name, corpus, Verifier(SETTINGS, held_out), fits, seed, rows)


def write(path: Path, records: list[dict]) -> Path:
    if path.suffix == ".parquet":
        pl.DataFrame(records).write_parquet(path)
    else:
        path.write_text("\n".join(json.dumps(record) for record in records) + "\n")
    return path


def plain(count: int) -> list[dict]:
    return [{"problem": f"What is {n} plus {n * 7} plus {n % 13}?", "answer": str(8 * n + n % 13)} for n in range(count)]


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
@pytest.mark.parametrize(
    ("layout", "answer", "origin"),
    [("metamathqa", "7", "GSM_Rephrased"), ("scalequest", "16", "mine"), ("openmathinstruct2", "30", "augmented_gsm8k")],
)
def test_a_known_corpus_is_read_by_its_real_columns(tmp_path, layout, answer, origin, suffix):
    pool = build(settings(write(tmp_path / f"part{suffix}", [FILES[layout]]), layout))
    assert dict(pool.schema) == corpora.SCHEMA
    assert pool.select("origin", "answer", "reason").rows() == [(origin, answer, "")]
    (proposal,) = corpora.proposals(pool)
    card = json.loads(proposal.text)
    assert proposal.origin == origin and card["final_answer"] == answer and card["target_reasoning_style"] == origin
    assert card["problem"] == FILES[layout].get("query", FILES[layout].get("problem"))


def test_questions_that_are_not_new_are_left_out(tmp_path):
    """Answer augmentation repeats the original question; OpenMathInstruct-2 also has rows of the original training sets."""
    same = METAMATH | {"type": "GSM_AnsAug", "query": METAMATH["original_question"] + " "}
    pool = build(settings(write(tmp_path / "m.jsonl", [same, METAMATH]), "metamathqa"))
    assert pool["origin"].to_list() == ["GSM_Rephrased"]
    original = OPENMATH | {"problem_source": "gsm8k", "problem": "Another problem: what is 1 + 1?"}
    pool = build(settings(write(tmp_path / "o.jsonl", [original, OPENMATH]), "openmathinstruct2"))
    assert pool["problem"].to_list() == [OPENMATH["problem"]]


def test_a_list_of_objects_and_a_folder_of_files_are_read_too(tmp_path):
    """MetaMathQA's file is one JSON list, OpenMathInstruct-2 comes in shards."""
    listed = tmp_path / "list.json"
    listed.write_text(json.dumps([METAMATH]))
    assert build(settings(listed, "metamathqa")).height == 1
    folder = tmp_path / "shards"
    folder.mkdir()
    rows = plain(6)
    write(folder / "a.parquet", rows[:3])
    write(folder / "b.jsonl", rows[3:])
    (folder / "README.md").write_text("not data")
    assert set(build(settings(folder, problems=6))["problem"]) == {row["problem"] for row in rows}


def test_exactly_n_unique_problems_are_sampled_whatever_the_order(tmp_path):
    rows = plain(200)
    shuffled = random.Random(1).sample([*rows, *rows[:150]], 350)  # with duplicates, in another order
    one = build(settings(write(tmp_path / "a.jsonl", rows), problems=40))
    other = build(settings(write(tmp_path / "b.jsonl", shuffled), problems=40))
    assert one["admitted"].sum() == 40 == one["problem"].n_unique()
    assert one.equals(other)
    assert not build(settings(tmp_path / "a.jsonl", problems=40), seed=1).equals(one)


def test_a_problem_with_two_answers_is_one_problem_whatever_the_order(tmp_path):
    rows = [{"problem": "What is 2 plus 2, and why?", "answer": answer} for answer in ("4", "5")]
    one = build(settings(write(tmp_path / "a.jsonl", rows)))
    assert one.height == 1 and one.equals(build(settings(write(tmp_path / "b.jsonl", rows[::-1]))))


def test_the_sample_is_uniform_over_problems():
    """Each of 20 problems, one of them 30 times as frequent, is drawn about equally often over 400 seeds."""
    rows = [Row(f"What is {n} plus 100?", "not given", str(n + 100), "mine") for n in range(20)]
    rows += [rows[0]] * 30
    counts = dict.fromkeys((row.problem for row in rows), 0)
    for seed in range(400):
        for row in corpora._smallest(rows, 5, seed)[0]:
            counts[row.problem] += 1
    assert sum(counts.values()) == 2000
    assert all(60 < count < 145 for count in counts.values())  # 100 expected, standard deviation 8.7


def test_what_cannot_be_trained_on_is_replaced_by_another(tmp_path):
    """No answer, an answer the checker cannot read, a benchmark's problem, a prompt too long: the sample is still whole."""
    held_out = "What is the largest prime below 50, in the usual sense of that word?"
    rows = [
        *plain(8),
        {"problem": held_out, "answer": "47"},
        {"problem": "What is missing here, of all things?", "answer": ""},
        {"problem": "What is the congruence of this sentence?", "answer": "x \\equiv 3 \\pmod{7} \\text{ if } \\{"},
        {"problem": "long " * 40 + "is it?", "answer": "5"},
    ]
    corpus = settings(write(tmp_path / "a.jsonl", rows), problems=8)
    pool = build(corpus, held_out=[held_out], fits=lambda problem: len(problem) < 150)
    assert pool["admitted"].sum() == 8
    assert set(pool.filter("admitted")["problem"]) == {row["problem"] for row in rows[:8]}
    with pytest.raises(CorpusError) as error:
        build(settings(tmp_path / "a.jsonl", problems=9), held_out=[held_out], fits=lambda problem: len(problem) < 150)
    for part in (
        "corpora.mine",
        "9 unique problems",
        "8 usable",
        "a.jsonl",
        "1 contaminated",
        "1 no_answer",
        "1 too_long",
        "1 unreadable",
    ):
        assert part in str(error.value)


def test_more_than_twice_the_sample_is_read_when_many_are_left_out(tmp_path):
    rows = plain(400)
    corpus = settings(write(tmp_path / "a.jsonl", rows), problems=10)
    allowed = {row["problem"] for row in rows[::20]}
    pool = build(corpus, fits=allowed.__contains__)
    assert pool["admitted"].sum() == 10 and set(pool.filter("admitted")["problem"]) <= allowed


@pytest.mark.parametrize(
    ("content", "layout", "named"),
    [
        ('{"query": "x?"}', "metamathqa", ["line 1", "response is missing", "original_question", "found query", "mine.layout"]),
        ('{"problem": "x?", "answer": null}', "plain", ["line 1", "field answer", "None"]),
        ('{"problem": "x?", "answer": "1"}\n{"problem":', "plain", ["line 2", "not JSON"]),
        ("[1, 2]", "plain", ["item 1", "not a JSON object"]),
        ('"text"', "plain", ["line 1", "not a JSON object"]),
    ],
)
def test_a_bad_file_is_named_with_line_and_field(tmp_path, content, layout, named):
    path = tmp_path / "bad.jsonl"
    path.write_text(content)
    with pytest.raises(CorpusError) as error:
        build(settings(path, layout))
    for part in (str(path), *named):
        assert part in str(error.value)


def test_a_number_as_answer_is_text(tmp_path):
    pool = build(settings(write(tmp_path / "a.jsonl", [{"problem": "What is 2 plus 2, I ask?", "answer": 4}])))
    assert pool["answer"].to_list() == ["4"]


def test_a_place_that_is_not_there_is_named(tmp_path):
    with pytest.raises(CorpusError, match=r"corpora\.mine has neither path nor hub: set path to a local"):
        build(settings(None))
    with pytest.raises(CorpusError, match=r"corpora\.mine\.path: there is no .*nowhere"):
        build(settings(tmp_path / "nowhere.jsonl"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(CorpusError, match=r"empty: no \.jsonl or \.parquet file"):
        build(settings(tmp_path / "empty"))
    (tmp_path / "corpus.txt").write_text("x")
    with pytest.raises(CorpusError, match=r"corpus\.txt: a corpus must be"):
        build(settings(tmp_path / "corpus.txt"))
    (tmp_path / "broken.parquet").write_text("x")
    with pytest.raises(CorpusError, match=r"broken\.parquet: not a Parquet file"):
        build(settings(tmp_path / "broken.parquet"))


def test_a_hub_corpus_is_streamed_and_its_failure_is_explained(monkeypatch):
    import datasets

    asked = []

    def load(hub, split, streaming):
        asked.append((hub, split, streaming))
        return iter([OPENMATH])

    monkeypatch.setattr(datasets, "load_dataset", load)
    corpus = settings(None, "openmathinstruct2", hub="nvidia/OpenMathInstruct-2")
    assert build(corpus).height == 1 and asked == [("nvidia/OpenMathInstruct-2", "train", True)]

    def offline(*_, **__):
        raise ConnectionError("no route\nto the hub")

    monkeypatch.setattr(datasets, "load_dataset", offline)
    with pytest.raises(CorpusError, match=r"cannot read nvidia/OpenMathInstruct-2 .*no route\. Offline, set .*mine\.hub to null"):
        build(corpus)
