import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from selfevolve.gradus import journal as module
from selfevolve.gradus.journal import Journal, JournalError


def test_records_are_there_after_reopening(tmp_path):
    path = tmp_path / "runs" / "journal.jsonl"
    with Journal(path) as journal:
        assert journal.get("a") is None and len(journal) == 0
        journal.put("a", {"x": [1, 2.5, None], "é": "two\nlines "})
        journal.put("b", {})
    with Journal(path) as journal:
        assert journal.get("a") == {"x": [1, 2.5, None], "é": "two\nlines "}
        assert journal.get("b") == {} and "b" in journal and "c" not in journal and len(journal) == 2
        journal.put("c", {"y": 1})
    assert [json.loads(line)["key"] for line in path.read_text(encoding="utf-8").split("\n")[:-1]] == ["a", "b", "c"]


def test_a_record_is_the_same_before_and_after_a_resume_and_the_callers_own(tmp_path):
    with Journal(tmp_path / "j") as journal:
        journal.put("a", {"pair": (1, 2)})
        first = journal.get("a")
        first["pair"].append(3)
        assert journal.get("a") == {"pair": [1, 2]}


def test_without_a_path_records_stay_in_memory():
    with Journal(None) as journal:
        journal.put("a", {"x": 1})
        assert journal.get("a") == {"x": 1}


@pytest.mark.parametrize("path", [True, False])
def test_a_key_is_used_once(tmp_path, path):
    with Journal(tmp_path / "j" if path else None) as journal:
        journal.put("a", {"x": 1})
        with pytest.raises(ValueError, match="'a' already"):
            journal.put("a", {"x": 2})
        assert journal.get("a") == {"x": 1}


def test_what_is_not_json_is_refused_and_leaves_no_line(tmp_path):
    with Journal(tmp_path / "j") as journal:
        for record in ({"x": float("nan")}, {"x": object()}):
            with pytest.raises((ValueError, TypeError)):
                journal.put("a", record)
        assert (tmp_path / "j").read_bytes() == b"" and "a" not in journal


def test_a_journal_cut_at_any_byte_keeps_its_whole_lines_and_goes_on(tmp_path):
    path = tmp_path / "j"
    with Journal(path) as journal:
        for number in range(3):
            journal.put(f"k{number}", {"text": "é" * number})
    data = path.read_bytes()
    ends = [index + 1 for index, byte in enumerate(data) if byte == ord("\n")]
    for cut in range(len(data) + 1):
        path.write_bytes(data[:cut])
        whole = sum(end <= cut for end in ends)
        with Journal(path) as journal:
            assert len(journal) == whole
            journal.put("more", {})
        assert path.read_bytes() == data[: ([0, *ends])[whole]] + b'{"key": "more", "record": {}}\n'


def test_a_last_line_of_noise_is_cut_off(tmp_path):
    path = tmp_path / "j"
    path.write_bytes(b'{"key": "a", "record": {}}\n\x00\x00\x00\n')
    with Journal(path) as journal:
        assert len(journal) == 1
    assert path.read_bytes() == b'{"key": "a", "record": {}}\n'


@pytest.mark.parametrize("line", ["{", "[]", '{"key": 1, "record": {}}', '{"key": "b"}', "\xff"])
def test_damage_in_the_middle_is_an_error_that_names_file_and_line(tmp_path, line):
    path = tmp_path / "j"
    whole = '{"key": "a", "record": {}}\n'
    path.write_bytes((whole + line + "\n" + whole.replace("a", "c")).encode("latin-1"))
    before = path.read_bytes()
    with pytest.raises(JournalError, match=r"j, line 2 is damaged"):
        Journal(path)
    assert path.read_bytes() == before


def test_a_key_twice_in_a_file_is_an_error(tmp_path):
    path = tmp_path / "j"
    path.write_text('{"key": "a", "record": {}}\n' * 2)
    with pytest.raises(JournalError, match="line 2 repeats the key 'a'"):
        Journal(path)


def test_a_journal_has_one_holder(tmp_path):
    with Journal(tmp_path / "j"), pytest.raises(JournalError, match="in use by another run"):
        Journal(tmp_path / "j")
    Journal(tmp_path / "j").close()


def test_a_closed_journal_takes_nothing(tmp_path):
    journal = Journal(tmp_path / "j")
    journal.close()
    with pytest.raises(JournalError, match="closed"):
        journal.put("a", {})


def test_after_a_failed_write_nothing_more_is_recorded(tmp_path, monkeypatch):
    journal = Journal(tmp_path / "j")
    journal.put("a", {"x": 1})

    def full(file: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module.os, "fsync", full)
    with pytest.raises(JournalError, match="No space left"):
        journal.put("b", {"x": 2})
    monkeypatch.undo()
    with pytest.raises(JournalError, match="closed"):
        journal.put("c", {})
    assert journal.get("b") is None and journal.get("a") == {"x": 1}


def test_a_record_is_on_disk_when_put_returns(tmp_path, monkeypatch):
    synced: list[bytes] = []
    real = os.fsync

    def sync(file: int) -> None:
        real(file)
        synced.append(Path(tmp_path / "j").read_bytes())

    with Journal(tmp_path / "j") as journal:
        monkeypatch.setattr(module.os, "fsync", sync)
        journal.put("a", {"x": 1})
        assert synced == [b'{"key": "a", "record": {"x": 1}}\n']


def test_threads_share_a_journal(tmp_path):
    with Journal(tmp_path / "j") as journal, ThreadPoolExecutor(16) as executor:
        list(executor.map(lambda number: journal.put(str(number), {"x": number}), range(200)))
    with Journal(tmp_path / "j") as journal:
        assert len(journal) == 200 and all(journal.get(str(number)) == {"x": number} for number in range(200))
