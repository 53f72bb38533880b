"""The memory is append-only, whole, and windowed."""

import polars as pl
import pytest

from selfevolve.synco.memory import SCHEMA, Memory


def row(iteration: int) -> dict:
    return dict.fromkeys(SCHEMA) | {"iteration": iteration, "slot": 0, "admitted": True, "reason": ""}


@pytest.fixture
def memory(tmp_path):
    memory = Memory(tmp_path / "memory")
    for iteration in range(1, 6):
        memory.append(iteration, [row(iteration)])
    return memory


def test_a_part_is_never_overwritten(memory):
    with pytest.raises(FileExistsError, match="append-only"):
        memory.append(3, [row(3)])


def test_recent_is_the_window_before_an_iteration(memory):
    assert memory.recent(6, 2)["iteration"].to_list() == [4, 5]
    assert memory.recent(2, 5)["iteration"].to_list() == [1]
    assert memory.recent(1, 5).is_empty() and memory.recent(1, 5).schema == pl.Schema(SCHEMA)


def test_forgetting_drops_only_what_came_after(memory):
    memory.forget_after(3)
    assert memory.all()["iteration"].to_list() == [1, 2, 3]
    memory.append(4, [row(4)])
    assert memory.all()["iteration"].to_list() == [1, 2, 3, 4]


def test_no_half_written_part_is_read(memory):
    (memory.folder / "000006.tmp").write_bytes(b"PAR1 half")
    assert memory.all()["iteration"].to_list() == [1, 2, 3, 4, 5]
