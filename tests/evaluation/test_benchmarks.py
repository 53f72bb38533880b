import json
from pathlib import Path

import datasets
import pytest

from selfevolve import families
from selfevolve.evaluation import benchmarks
from selfevolve.evaluation.benchmarks import HUB, NAMES, SCHEMA, BenchmarkError, final_answer, load, load_one
from selfevolve.params import Benchmarks
from selfevolve.paths import DATA, ROOT

SHARED = ROOT.parent / "shared" / "benchmarks"
COUNTS = {
    "gsm8k": 1319,
    "svamp": 300,
    "asdiv": 2215,
    "gsm_hard": 1319,
    "math500": 500,
    "aime24": 30,
    "aime25": 30,
    "minerva": 272,
}
needs_exam = pytest.mark.skipif(
    not (DATA / "exam.parquet").is_file(), reason="data/exam.parquet is absent: restore it with `dvc pull`"
)
GOOD = {"id": "x-1", "problem": "1+1?", "answer": "2"}


def write(folder: Path, name: str, *rows: dict | str) -> str:
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(folder)


@needs_exam
def test_the_exam_is_local_whatever_the_folder(tmp_path):
    exam = load_one("exam", None)
    assert exam.equals(load_one("exam", str(tmp_path)))
    assert dict(exam.schema) == SCHEMA
    assert exam.height == 300 and exam["id"].n_unique() == 300 and exam.null_count().sum_horizontal()[0] == 0
    assert set(exam["skill"]) == set(families.SKILLS) and set(exam["level"]) == {1, 2, 3, 4, 5}
    assert [families.oracle(problem) for problem in exam["problem"]] == exam["answer"].to_list()


def test_a_missing_exam_names_both_remedies(tmp_path, monkeypatch):
    monkeypatch.setattr(benchmarks, "DATA", tmp_path)
    with pytest.raises(BenchmarkError, match=r"exam\.parquet is missing.*dvc pull.*python -m selfevolve\.data"):
        load_one("exam", None)


@pytest.mark.parametrize("name", HUB)
def test_the_eight_sets_load_from_a_folder(name):
    if not SHARED.is_dir():
        pytest.skip(f"{SHARED} is absent: no local copy of the benchmarks")
    frame = load_one(name, "../shared/benchmarks")  # relative to the repository
    assert dict(frame.schema) == SCHEMA
    assert frame.height == COUNTS[name] == frame["id"].n_unique()
    assert set(frame["benchmark"]) == {name}
    assert frame.select("id", "problem", "answer").null_count().sum_horizontal()[0] == 0
    assert all(frame["problem"].str.strip_chars().str.len_chars() > 0)
    assert all(frame["answer"].str.strip_chars().str.len_chars() > 0)
    raw = [json.loads(line) for line in (SHARED / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
    assert frame["problem"].to_list() == [row["problem"] for row in raw]


def test_benchmarks_are_concatenated_and_each_is_cut_to_the_limit(tmp_path):
    folder = write(tmp_path, "svamp", *[{**GOOD, "id": f"s{i}"} for i in range(5)])
    write(tmp_path, "gsm8k", *[{**GOOD, "id": f"g{i}"} for i in range(2)])
    settings = Benchmarks(names=("svamp", "gsm8k"), folder=folder, limit=3)
    assert load(settings)["id"].to_list() == ["s0", "s1", "s2", "g0", "g1"]
    assert load(settings.model_copy(update={"limit": None})).height == 7


def test_a_relative_folder_starts_at_the_repository(tmp_path, monkeypatch):
    (tmp_path / "sets").mkdir()
    write(tmp_path / "sets", "svamp", GOOD)
    monkeypatch.setattr(benchmarks, "ROOT", tmp_path)
    assert load_one("svamp", "sets")["id"].to_list() == ["x-1"]


def test_fields_a_file_does_not_have_are_null_and_all_it_has_are_strings(tmp_path):
    rows = [{"id": 7, "problem": "p", "answer": 5, "extra": [1]}, {"id": 8, "problem": "q", "answer": "x"}]
    frame = load_one("minerva", write(tmp_path, "minerva", *rows))
    assert frame.rows() == [("7", "minerva", None, None, "p", "5"), ("8", "minerva", None, None, "q", "x")]
    assert dict(frame.schema) == SCHEMA
    skilled = load_one("minerva", write(tmp_path, "minerva", {**GOOD, "skill": "optics"}))
    assert skilled["skill"].to_list() == ["optics"]


@pytest.mark.parametrize("name", ["gsm9k", "", "Exam"])
def test_an_unknown_name_is_answered_with_the_known_ones(name):
    with pytest.raises(BenchmarkError, match="benchmarks.names: .* is none of exam, gsm8k, .*, minerva"):
        load_one(name, None)
    assert len(NAMES) == 9


def test_a_missing_file_names_its_place_and_the_remedy(tmp_path):
    with pytest.raises(BenchmarkError) as raised:
        load_one("aime24", str(tmp_path / "nowhere"))
    assert str(tmp_path / "nowhere" / "aime24.jsonl") in str(raised.value)
    assert "set benchmarks.folder to null" in str(raised.value)


@pytest.mark.parametrize("line", ["nonsense", '{"id": "x", "prob', "[1, 2]", ""])
def test_a_file_that_is_not_json_lines_is_refused(tmp_path, line):
    rows = [GOOD, line] if line else [""]
    with pytest.raises(BenchmarkError, match=r"aime24\.jsonl: not one JSON object per line"):
        load_one("aime24", write(tmp_path, "aime24", *rows))


@pytest.mark.parametrize("field", ["id", "problem", "answer"])
def test_a_field_missing_from_all_or_from_one_row_is_named(tmp_path, field):
    without = {key: value for key, value in GOOD.items() if key != field}
    with pytest.raises(BenchmarkError, match=rf"svamp\.jsonl: field {field} is missing"):
        load_one("svamp", write(tmp_path, "svamp", without))
    for broken in (without, {**GOOD, field: None}):
        with pytest.raises(BenchmarkError, match=rf"svamp\.jsonl, row 3: field {field} is missing or null"):
            load_one("svamp", write(tmp_path, "svamp", GOOD, GOOD, broken, GOOD))


HUB_ROWS = {
    "gsm8k": {"question": "How many?", "answer": "She has 2 * 3 = <<2*3=6>>6.\n#### 2,125"},
    "svamp": {"Body": "b", "Question": "q", "question_concat": "How many?", "Answer": "145.0", "Equation": "e"},
    "asdiv": {"body": "How", "question": "many?", "answer": "9 (apples)", "formula": "7+2=9", "solution_type": "Sum"},
    "gsm_hard": {"input": "How many?", "code": "def solution(): ...", "target": -9867630.0},
    "math500": {"problem": "How many?", "solution": "s", "answer": "\\frac{1}{2}", "level": 2},
    "aime24": {"problem": "How many?", "solution": "s", "answer": "033", "year": "2024"},
    "aime25": {"problem": "How many?", "answer": "70", "id": "0"},
    "minerva": {"question": "How many?", "solution": "s", "answer": "4.5e33"},
}
ANSWERS = {
    "gsm8k": "2,125",
    "svamp": "145",
    "asdiv": "9",
    "gsm_hard": "-9867630",
    "math500": "\\frac{1}{2}",
    "aime24": "033",
    "aime25": "70",
    "minerva": "4.5e33",
}


@pytest.mark.parametrize("name", HUB)
def test_the_hub_is_read_by_the_columns_of_each_set(name, monkeypatch):
    asked = []

    def local(path, config=None, *, split):
        asked.append((path, config, split))
        return datasets.Dataset.from_list([HUB_ROWS[name]] * 2)

    monkeypatch.setattr(datasets, "load_dataset", local)
    frame = load_one(name, None)
    assert asked == [HUB[name][:3]]
    row = {"benchmark": name, "skill": None, "level": None, "problem": "How many?", "answer": ANSWERS[name]}
    assert frame.to_dicts() == [{"id": f"{name}-000{i}", **row} for i in range(2)]
    assert dict(frame.schema) == SCHEMA


def test_asdiv_problems_with_several_answers_are_left_out(monkeypatch):
    answers = ["9 (apples)", "5 (boys); 4 (girls)", "-(1/3)", "3:2"]
    rows = datasets.Dataset.from_list([{**HUB_ROWS["asdiv"], "answer": answer} for answer in answers])
    monkeypatch.setattr(datasets, "load_dataset", lambda *_, **__: rows)
    frame = load_one("asdiv", None)
    assert frame["answer"].to_list() == ["9", "-(1/3)", "3:2"]
    assert frame["id"].to_list() == ["asdiv-0000", "asdiv-0001", "asdiv-0002"]


@pytest.mark.parametrize(
    ("error", "shown"), [(ConnectionError("no route\nto host"), "no route"), (TimeoutError(), r"TimeoutError\(\)")]
)
def test_without_the_hub_the_remedy_is_a_local_folder(error, shown, monkeypatch):
    def unreachable(*_, **__):
        raise error

    monkeypatch.setattr(datasets, "load_dataset", unreachable)
    with pytest.raises(BenchmarkError, match=rf"cannot load gsm8k from the hub \(openai/gsm8k\): {shown}\. ") as raised:
        load_one("gsm8k", None)
    assert "benchmarks.folder in params.yaml to a folder that holds gsm8k.jsonl" in str(raised.value)
    assert raised.value.__cause__ is error


def test_nothing_is_downloaded_when_a_folder_is_given(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets, "load_dataset", lambda *_, **__: pytest.fail("the hub was asked"))
    assert load_one("gsm8k", write(tmp_path, "gsm8k", GOOD)).height == 1


@pytest.mark.parametrize(
    ("name", "raw", "expected"),
    [
        ("gsm8k", "work #### not this\n#### 2,125", "2,125"),
        ("gsm8k", "#### -3 ", "-3"),
        ("asdiv", "9 (apples)", "9"),
        ("asdiv", "-(1/3)", "-(1/3)"),
        ("asdiv", "10:30 (am)", "10:30"),
        ("svamp", "145.0", "145"),
        ("svamp", 100.0, "100"),
        ("svamp", "0.5", "0.5"),
        ("gsm_hard", "-9867630.0", "-9867630"),
        ("gsm_hard", 3244047.0999999996, "3244047.0999999996"),
        ("math500", "(3, 4.0", "(3, 4.0"),
        ("minerva", "1.0", "1.0"),
        ("aime24", " 33 ", "33"),
        ("aime25", 588, "588"),
    ],
)
def test_the_final_answer_of_each_source(name, raw, expected):
    assert final_answer(name, raw) == expected
