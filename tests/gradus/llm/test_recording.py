"""The recording: durable, append-only, torn at most at the end of a part."""

from __future__ import annotations

import errno
import json
import os
import threading
from concurrent.futures import Future

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfevolve.gradus.llm import recording
from selfevolve.gradus.llm.calls import Answer, Output, Request
from selfevolve.gradus.llm.errors import RecordingError
from selfevolve.gradus.llm.recording import Recording, read
from selfevolve.gradus.settings import Sampling

SAMPLING = Sampling(temperature=1.0, top_p=None, max_tokens=10)


def request(text: str = "hello", **changes) -> Request:
    values = {"model": "m", "messages": ({"role": "user", "content": text},), "sampling": SAMPLING, "draw": 0}
    return Request(**(values | changes))


def answer(text: str = "yes") -> Answer:
    return Answer(
        message={"role": "assistant", "content": text}, finish="stop", prompt_tokens=3, completion_tokens=1, seconds=0.5
    )


def put(recorded: Recording, asked: Request, said: Answer) -> None:
    """Record a call and wait until it is on disk."""
    done: Future[None] = Future()

    def told(error: RecordingError | None) -> None:
        done.set_exception(error) if error else done.set_result(None)

    recorded.append(asked.spelled(), said, told)
    done.result()


def fill(folder, count: int) -> list[Request]:
    requests = [request(f"question {number}") for number in range(count)]
    recorded = Recording(folder)
    for number, each in enumerate(requests):
        put(recorded, each, answer(f"answer {number}"))
    recorded.close()
    return requests


def test_the_key_covers_all_that_decides_an_answer():
    tool = {"type": "function", "function": {"name": "f"}}
    variants = [
        request(),
        request("other"),
        request(model="n"),
        request(sampling=SAMPLING.model_copy(update={"temperature": 0.5})),
        request(output=Output(name="a", json_schema={"type": "object"})),
        request(output=Output(name="a", json_schema={"type": "array"})),
        request(tools=(tool,)),
        request(draw=1),
    ]
    assert len({each.key for each in variants}) == len(variants)
    assert request().key == request().key and len(request().key) == 64


def test_what_was_recorded_is_there_again_whole(tmp_path):
    tool = {"type": "function", "function": {"name": "f", "parameters": {}}}
    asked = [request(), request(tools=(tool,), output=Output(name="a", json_schema={"type": "object"}))]
    recorded = Recording(tmp_path)
    for each in asked:
        put(recorded, each, answer())
    recorded.close()
    again = Recording(tmp_path)
    assert len(again) == 2 and all(again.get(each.key) == answer() for each in asked)
    again.close()
    found = list(read(tmp_path))
    assert [each for each, _ in found] == asked
    assert [each.key for each, _ in found] == [each.key for each in asked]


def test_a_message_is_stored_once(tmp_path):
    long = {"role": "system", "content": "policy " * 1000}
    recorded = Recording(tmp_path)
    for number in range(20):
        put(recorded, request(messages=(long, {"role": "user", "content": str(number)})), answer())
    recorded.close()
    assert sum(path.stat().st_size for path in tmp_path.glob("*.jsonl")) < 20_000


@pytest.mark.parametrize("kept", range(0, 400, 7))
def test_a_part_may_be_torn_anywhere_at_its_end(tmp_path, kept):
    requests = fill(tmp_path, 3)
    (part,) = tmp_path.glob("*.jsonl")
    data = part.read_bytes()
    part.write_bytes(data[: len(data) - kept])
    recorded = Recording(tmp_path)
    known = [recorded.get(each.key) is not None for each in requests]
    assert known == sorted(known, reverse=True)  # the earlier ones survive
    for each in requests:
        put(recorded, each, answer("later"))
    recorded.close()
    again = Recording(tmp_path)
    assert len(again) == 3
    assert all(recorded.get(each.key) == again.get(each.key) for each in requests)
    again.close()


def test_a_torn_end_is_never_written_to(tmp_path):
    fill(tmp_path, 2)
    (part,) = tmp_path.glob("*.jsonl")
    torn = part.read_bytes()[:-5]
    part.write_bytes(torn)
    recorded = Recording(tmp_path)
    put(recorded, request("new"), answer())
    recorded.close()
    assert part.read_bytes() == torn
    assert sorted(path.name for path in tmp_path.glob("*.jsonl")) == ["000000.jsonl", "000001.jsonl"]


def test_damage_elsewhere_is_an_error_that_names_the_line(tmp_path):
    fill(tmp_path, 3)
    (part,) = tmp_path.glob("*.jsonl")
    lines = part.read_bytes().split(b"\n")
    lines[1] = lines[1][:10]
    part.write_bytes(b"\n".join(lines))
    with pytest.raises(RecordingError, match=r"000000.jsonl, line 2"):
        Recording(tmp_path)


def test_a_replay_writes_nothing(tmp_path):
    requests = fill(tmp_path, 2)
    before = sorted(path.name for path in tmp_path.iterdir())
    recorded = Recording(tmp_path)
    assert recorded.get(requests[0].key)
    recorded.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_one_run_at_a_time_holds_a_folder(tmp_path):
    recorded = Recording(tmp_path)
    with pytest.raises(RecordingError, match="in use"):
        Recording(tmp_path)
    recorded.close()
    Recording(tmp_path).close()


def test_many_threads_share_the_fsyncs(tmp_path, monkeypatch):
    syncs = []
    monkeypatch.setattr(recording.os, "fsync", lambda fd, sync=os.fsync: (syncs.append(fd), sync(fd)))
    recorded = Recording(tmp_path)

    def work(name: int) -> None:
        for number in range(20):
            put(recorded, request(f"{name} {number}"), answer())

    threads = [threading.Thread(target=work, args=(name,)) for name in range(32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    recorded.close()
    assert len(list(read(tmp_path))) == 640
    assert len(syncs) < 640 / 2


def test_an_answer_is_known_only_once_it_is_on_disk(tmp_path, monkeypatch):
    recorded = Recording(tmp_path)
    seen = []
    monkeypatch.setattr(recording.os, "fsync", lambda fd: seen.append(recorded.get(request().key)))
    put(recorded, request(), answer())
    assert seen and set(seen) == {None} and recorded.get(request().key) == answer()
    recorded.close()


def test_a_full_disk_stops_the_run_and_harms_nothing(tmp_path, monkeypatch):
    fill(tmp_path, 2)
    recorded = Recording(tmp_path)

    def write(fd, data, write=os.write):
        write(fd, data[:20])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(recording.os, "write", write)
    with pytest.raises(RecordingError, match="No space left"):
        put(recorded, request("new"), answer())
    with pytest.raises(RecordingError, match="No space left"):
        recorded.check()
    monkeypatch.undo()
    put(recorded, request("paid already"), answer())  # an answer under way is still kept
    recorded.close()
    again = Recording(tmp_path)
    assert len(again) == 3 and again.get(request("new").key) is None
    again.close()


@given(st.text(), st.dictionaries(st.text(), st.none() | st.booleans() | st.integers() | st.text(), max_size=4))
def test_any_text_survives(tmp_path_factory, text, extra):
    folder = tmp_path_factory.mktemp("calls")
    recorded = Recording(folder)
    said = answer().model_copy(update={"message": {"content": text + "\ud800", **extra}})
    put(recorded, request(text), said)
    recorded.close()
    again = Recording(folder)
    assert again.get(request(text).key) == said
    again.close()
    (part,) = folder.glob("*.jsonl")
    assert all(json.loads(line) for line in part.read_text(encoding="ascii").splitlines())
