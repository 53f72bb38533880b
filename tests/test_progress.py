"""Progress lines: which are written, where, and what they promise."""

import pytest

from selfevolve import progress


@pytest.fixture
def clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


@pytest.fixture
def lines(tmp_path, monkeypatch):
    path = tmp_path / "progress.txt"
    monkeypatch.setenv(progress.VARIABLE, str(path))
    return lambda: path.read_text().splitlines()


def test_first_and_last_always_and_the_others_five_seconds_apart(clock, lines):
    reporter = progress.Progress("iteration", 20)
    for done in range(1, 21):
        clock[0] += 2.0
        reporter.update(done)
    assert [line.split(",")[0] for line in lines()] == [f"iteration {done}/20" for done in (1, 4, 7, 10, 13, 16, 19, 20)]


def test_time_left_counts_only_the_steps_of_this_run(clock, lines):
    reporter = progress.Progress("iteration", 100)
    clock[0] += 10
    reporter.update(91, note="accuracy\n0.50")  # resumed at 90: one step took 10 s
    clock[0] += 80
    reporter.update(99)
    clock[0] += 10
    reporter.update(100)
    assert lines() == [
        "iteration 91/100, 0:10 elapsed, about 1:30 left, accuracy 0.50",
        "iteration 99/100, 1:30 elapsed, about 0:10 left",
        "iteration 100/100, 1:40 elapsed",
    ]


def test_without_a_file_the_lines_go_to_stderr(monkeypatch, capsys):
    monkeypatch.delenv(progress.VARIABLE, raising=False)
    progress.Progress("card", 1).update(1)
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("card 1/1, 0:00 elapsed")


def test_hours_are_shown(clock, lines):
    reporter = progress.Progress("card", 4)
    clock[0] += 3725
    reporter.update(1)
    assert lines() == ["card 1/4, 1:02:05 elapsed, about 3:06:15 left"]
