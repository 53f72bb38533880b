"""The client against a loopback server: faults, re-asking, single flight, replay, accounting, secrets."""

from __future__ import annotations

import json
import logging
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from email.utils import formatdate

import pytest
from conftest import KEY
from loopback import content, drop, garbage, half_body, hang, status, too_long, trickle
from pydantic import ValidationError

from selfevolve.gradus.errors import RoleFailed
from selfevolve.gradus.llm.client import Client, Reply
from selfevolve.gradus.llm.errors import EndpointError, RecordingError
from selfevolve.gradus.llm.forms import Diagnosed
from selfevolve.gradus.llm.recording import read

GOOD = json.dumps({"feedback": "look first", "route": "task"})
CHAT = [{"role": "user", "content": "Where is the fault?"}]
TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}


def diagnose(client: Client, seed: int = 1, chat=CHAT) -> Diagnosed:
    return client.ask("diagnose", chat, Diagnosed, seed, lambda answer: answer)


def call(name: str, arguments: str) -> dict:
    function = {"name": name, "arguments": arguments}
    return {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "function", "function": function}]}


# ------------------------------------------------------------------------------------------------ what is sent, what comes back


def test_a_constrained_answer(serve, connect):
    server = serve(lambda body: GOOD)
    assert diagnose(connect(server.url)).route == "task"
    (body,) = server.bodies
    assert body["model"] == "model" and body["messages"] == CHAT and body["seed"] == 1 and body["max_completion_tokens"] == 100
    assert body["temperature"] == 1.0 and "top_p" not in body and "tools" not in body
    form = body["response_format"]["json_schema"]
    assert form["strict"] is True and form["name"] == "Diagnosed" and form["schema"]["required"] == ["feedback", "route"]


def test_words_and_calls(serve, connect):
    replies = iter(["Hello.", call("look", '{"id": "b10"}'), call("look", "")])
    server = serve(lambda body: next(replies))
    client = connect(server.url)
    assert client.converse("act", CHAT, [TOOL], 1) == Reply(text="Hello.")
    assert client.converse("act", CHAT, [TOOL], 2) == Reply(tool="look", arguments={"id": "b10"})
    assert client.converse("act", CHAT, [TOOL], 3) == Reply(tool="look", arguments={})
    assert server.bodies[0]["tools"] == [TOOL] and server.bodies[0]["parallel_tool_calls"] is False


# ------------------------------------------------------------------------------------------------------------- faults of the network


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (status(429), "http_429"),
        (status(429, Retry_After="0.2"), "http_429"),
        (status(408), "http_408"),
        (status(500), "http_500"),
        (status(503), "http_503"),
        (drop, "connection"),
        (half_body, "connection"),
        (garbage, "malformed"),
        (hang, "time_out"),
        (trickle, "time_out"),
    ],
)
def test_network_faults_are_retried_and_counted(serve, connect, fault, kind):
    server = serve(lambda body: GOOD, [fault, fault])
    client = connect(server.url, time_limit_s=1.0 if kind == "time_out" else 10.0)
    assert diagnose(client).route == "task"
    assert len(server.bodies) == 3 and all(body == server.bodies[0] for body in server.bodies)
    report = client.report()
    assert report.retries == {kind: 2} and report.failures == {} and report.paid.answers == 1


@pytest.mark.parametrize("fault", [status(429), status(500), drop, garbage, hang])
def test_retries_are_bounded_and_a_failed_call_is_made_again_by_the_next_run(serve, connect, fault):
    server = serve(lambda body: GOOD, [fault] * 3)
    client = connect(server.url, time_limit_s=1.0 if fault is hang else 10.0)
    with pytest.raises(EndpointError, match=r"attempts: 3"):
        diagnose(client)
    assert len(server.bodies) == 3 and sum(client.report().failures.values()) == 1
    client.close()
    assert diagnose(connect(server.url)).route == "task"


def test_retry_after_is_honoured(serve, connect):
    server = serve(lambda body: GOOD, [status(429, Retry_After="1")])
    start = time.monotonic()
    diagnose(connect(server.url))
    assert time.monotonic() - start >= 1.0


def test_retry_after_may_be_a_date(serve, connect):
    server = serve(lambda body: GOOD, [status(503, Retry_After=formatdate(time.time() + 2, usegmt=True))])
    start = time.monotonic()
    diagnose(connect(server.url))
    assert time.monotonic() - start > 0.8  # dates have whole seconds


def test_a_wait_beyond_the_limit_ends_the_run_and_is_not_cut_short(serve, connect):
    server = serve(lambda body: GOOD, [status(429, Retry_After="3600")])
    with pytest.raises(EndpointError, match="3600 s, more than max_wait_s"):
        diagnose(connect(server.url))
    assert len(server.bodies) == 1


@pytest.mark.parametrize("code", [400, 401, 403, 404, 409, 422])
def test_a_refusal_is_never_retried(serve, connect, code):
    server = serve(lambda body: GOOD, [status(code)] * 5)
    client = connect(server.url)
    with pytest.raises(EndpointError, match=f"HTTP {code}") as caught:
        diagnose(client)
    assert caught.value.kind == f"http_{code}" and len(server.bodies) == 1
    assert client.report().failures == {f"http_{code}": 1}


def test_nobody_listens(connect, tmp_path):
    with pytest.raises(EndpointError, match="no connection") as caught:
        diagnose(connect("http://127.0.0.1:9/v1", attempts=2))
    assert caught.value.kind == "connection"
    assert not list((tmp_path / "calls").glob("*.jsonl"))


# ---------------------------------------------------------------------------------------------------------------- faults of the model


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (content(GOOD[:20], "length"), "truncated"),
        (content(GOOD[:20]), "not_json"),
        (content(""), "not_json"),
        (content('{"feedback": "\\ud800", "route": "task"}'), "not_json"),
        (content('{"feedback": "x"}'), "schema"),
        (content('{"feedback": 3, "route": "task"}'), "schema"),
        (content('{"feedback": "x", "route": "nowhere"}'), "schema"),
        (content('{"feedback": "x", "route": "task", "more": 1}'), "schema"),
        (content("[" * 100_000), "not_json"),
        (content("", "content_filter"), "refused"),
    ],
)
def test_unusable_answers_are_recorded_and_asked_for_again(serve, connect, tmp_path, fault, kind):
    server = serve(lambda body: GOOD, [fault, fault])
    client = connect(server.url)
    assert diagnose(client).route == "task"
    report = client.report()
    assert report.unusable == {kind: 2} and report.paid.answers == 3 and report.retries == {}
    draws = [body["seed"] for body in server.bodies]
    assert len(set(draws)) == 3 and draws[0] == 1
    client.close()
    assert [request.draw for request, _ in read(tmp_path / "calls")] == draws  # every paid answer is there
    replay = connect("http://127.0.0.1:9/v1")
    assert diagnose(replay).route == "task"
    assert len(server.bodies) == 3 and replay.report().used == report.used


def test_asking_again_is_bounded_and_a_rerun_fails_alike_without_a_network(serve, connect):
    server = serve(lambda body: '{"feedback": "x"}')
    client = connect(server.url, reasks=2)
    with pytest.raises(RoleFailed, match="diagnose gave no usable answer, asked 3 times: schema: route: Field required") as first:
        diagnose(client)
    assert len(server.bodies) == 3
    client.close()
    with pytest.raises(RoleFailed) as second:
        diagnose(connect("http://127.0.0.1:9/v1", reasks=2))
    assert str(second.value) == str(first.value) and len(server.bodies) == 3


def test_the_model_is_told_what_was_wrong_with_a_whole_answer(serve, connect):
    server = serve(lambda body: GOOD, [content('{"feedback": "x"}'), content(GOOD)])

    def accept(answer: Diagnosed) -> Diagnosed:
        if len(server.bodies) == 2:
            raise ValueError("feedback names no rule")
        return answer

    connect(server.url).ask("diagnose", CHAT, Diagnosed, 1, accept)
    last = server.bodies[-1]["messages"]
    assert [message["role"] for message in last] == ["user", "assistant", "user", "assistant", "user"]
    assert "route: Field required" in last[2]["content"] and "feedback names no rule" in last[4]["content"]


def test_a_cut_answer_is_asked_for_again_in_the_same_words(serve, connect):
    server = serve(lambda body: GOOD, [content(GOOD[:9], "length"), content("no JSON")])
    diagnose(connect(server.url))
    assert all(body["messages"] == CHAT for body in server.bodies)


@pytest.mark.parametrize("bad", [call("look", "{"), call("look", "[1]"), call("look", '{"x": NaN}'), "   "])
def test_calls_that_are_no_calls_are_asked_for_again(serve, connect, bad):
    replies = iter([bad, call("look", "{}")])
    server = serve(lambda body: next(replies))
    assert connect(server.url).converse("act", CHAT, [TOOL], 1) == Reply(tool="look")
    assert len(server.bodies) == 2


def test_a_fence_around_the_answer_is_taken_off(serve, connect):
    server = serve(lambda body: f"```json\n{GOOD}\n```")
    assert diagnose(connect(server.url)).route == "task" and len(server.bodies) == 1


def test_a_prompt_beyond_the_context_is_asked_once_and_recorded(serve, connect):
    server = serve(lambda body: GOOD, [too_long])
    client = connect(server.url)
    with pytest.raises(RoleFailed, match="exceeds the model's context"):
        diagnose(client)
    client.close()
    with pytest.raises(RoleFailed, match="exceeds the model's context"):
        diagnose(connect("http://127.0.0.1:9/v1"))
    assert len(server.bodies) == 1


# --------------------------------------------------------------------------------------------------------- concurrency and accounting


def test_identical_requests_under_way_are_sent_once(serve, connect):
    server = serve(lambda body: GOOD, latency_s=0.3)
    client = connect(server.url)
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda _: diagnose(client), range(16)))
    assert len(server.bodies) == 1 and len({answer.route for answer in answers}) == 1
    report = client.report()
    assert (report.requests, report.sent, report.joined, report.used.answers) == (16, 1, 15, 1)


def test_all_who_wait_for_a_call_get_its_failure(serve, connect):
    def slow(handler) -> None:
        time.sleep(1.0)
        status(401)(handler)

    server = serve(lambda body: GOOD, [slow])
    client = connect(server.url)

    def work(_: int) -> str:
        with pytest.raises(EndpointError) as caught:
            diagnose(client)
        return caught.value.kind

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(4))) == ["http_401"] * 4
    assert len(server.bodies) == 1 and client.report().failures == {"http_401": 4}
    assert diagnose(client).route == "task"


def test_concurrency_is_bounded(serve, connect):
    server = serve(lambda body: GOOD, latency_s=0.05)
    client = connect(server.url, concurrency=5)
    with ThreadPoolExecutor(32) as pool:
        list(pool.map(lambda seed: diagnose(client, seed), range(60)))
    assert server.most == 5 and len(server.bodies) == 60


def test_under_a_storm_nothing_is_lost_and_nothing_is_paid_twice(serve, connect, tmp_path):
    storm = [
        status(429),
        status(500),
        drop,
        half_body,
        garbage,
        hang,
        content(GOOD[:9], "length"),
        content('{"feedback": 1}'),
        None,
    ]
    server = serve(lambda body: GOOD, storm * 8)
    client = connect(server.url, time_limit_s=3.0, attempts=20, reasks=10, concurrency=16)
    with ThreadPoolExecutor(24) as pool:
        answers = list(pool.map(lambda seed: diagnose(client, seed), range(100)))
    assert [answer.route for answer in answers] == ["task"] * 100
    report = client.report()
    client.close()
    recorded = list(read(tmp_path / "calls"))
    assert len({request.key for request, _ in recorded}) == len(recorded) == report.paid.answers == report.sent
    # What the server answered in full (the unusable answers of the storm included) is what is recorded, once each.
    assert len(recorded) == len(server.answered) + 2 * 8 == 100 + sum(report.unusable.values())
    assert len(server.bodies) == report.sent + sum(report.retries.values())
    assert report.unusable == {"schema": 8, "truncated": 8} and report.failures == {}
    assert report.retries == {"connection": 16, "http_429": 8, "http_500": 8, "malformed": 8, "time_out": 8}
    assert report.used.prompt_tokens == sum(answer.prompt_tokens for _, answer in recorded) > 0
    assert report.used.cost == pytest.approx((report.used.prompt_tokens + 4 * report.used.completion_tokens) / 1e6)


def test_a_replay_with_the_server_down_is_identical(serve, connect):
    server = serve(lambda body: json.dumps({"feedback": f"{body['seed']}", "route": "task"}))
    client = connect(server.url)
    first = [diagnose(client, seed) for seed in range(20)]
    used = client.report().used
    client.close()
    server.stop()
    replay = connect(server.url)
    assert [diagnose(replay, seed) for seed in range(20)] == first
    report = replay.report()
    assert (report.sent, report.replayed, report.paid.answers, report.used) == (0, 20, 0, used)
    with pytest.raises(EndpointError):
        diagnose(replay, 99)


def test_the_report_in_words(serve, connect):
    server = serve(lambda body: GOOD, [status(500), content("{}")])
    client = connect(server.url)
    diagnose(client)
    diagnose(client)
    text = client.report().text()
    assert "4 requests: 2 sent, 2 replayed, 0 joined; 0 failed" in text
    assert "retries: 1 http_500; failures: none; unusable answers: 2 schema" in text and "$0.0" in text
    client.close()
    later = connect(server.url)
    diagnose(later, 2)
    text = later.report().text()
    assert (
        "by all sessions: 3 answers" in text
        and "used in this session: 1 answers" in text
        and "paid for in this session: 1" in text
    )


def test_what_cannot_be_recorded_is_not_sent(serve, connect, monkeypatch):
    server = serve(lambda body: GOOD)
    client = connect(server.url)
    monkeypatch.setattr(client._recording, "_failure", "cannot record: disk full")
    with pytest.raises(RecordingError, match="disk full"):
        diagnose(client)
    assert not server.bodies


def test_closing_waits_for_what_is_under_way(serve, connect, tmp_path):
    server = serve(lambda body: GOOD, latency_s=0.5)
    client = connect(server.url)
    thread = threading.Thread(target=diagnose, args=(client,))
    thread.start()
    while not server.bodies:
        time.sleep(0.01)
    client.close()
    thread.join()
    assert len(list(read(tmp_path / "calls"))) == 1


# ------------------------------------------------------------------------------------------------------------------------------ secrets


def test_the_key_is_sent_and_is_nowhere_else(serve, connect, key, tmp_path, caplog):
    caplog.set_level(logging.DEBUG)

    def echo(body) -> str:  # some servers show the request that they got
        return json.dumps({"feedback": f"Authorization: Bearer {KEY}", "route": "task"})

    server = serve(echo, [status(500), status(429), None, status(401)])
    client = connect(server.url, api_key_env="TEST_LLM_KEY")
    said = diagnose(client)
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    assert "[key]" in said.feedback
    with pytest.raises(EndpointError) as caught:
        diagnose(client, 2)
    shown = "".join(traceback.format_exception(caught.value)) + repr(caught.value) + str(client.report()) + repr(client.settings)
    assert caught.value.__cause__ is None and caught.value.__context__ is None
    client.close()
    on_disk = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"Bearer" in on_disk  # the echo is recorded
    for secret in (KEY, KEY[:12]):
        assert secret not in shown and secret not in caplog.text and secret.encode() not in on_disk


def test_a_key_that_is_not_set(serve, connect, monkeypatch):
    monkeypatch.delenv("TEST_LLM_KEY", raising=False)
    server = serve(lambda body: GOOD)
    with pytest.raises(EndpointError, match="set the environment variable TEST_LLM_KEY") as caught:
        diagnose(connect(server.url, api_key_env="TEST_LLM_KEY"))
    assert caught.value.kind == "key" and not server.bodies


def test_a_replay_needs_no_key(serve, connect, key, monkeypatch):
    server = serve(lambda body: GOOD)
    client = connect(server.url, api_key_env="TEST_LLM_KEY")
    diagnose(client)
    client.close()
    monkeypatch.delenv("TEST_LLM_KEY")
    assert diagnose(connect(server.url, api_key_env="TEST_LLM_KEY")).route == "task"


@pytest.mark.parametrize("url", ["http://me:secret@host/v1", "http://host/v1?key=secret", "ftp://host", "host"])
def test_an_address_holds_no_secret(settings, url):
    with pytest.raises(ValidationError) as caught:
        settings(url)
    assert "base_url" in str(caught.value)


def test_greedy_answers_are_not_asked_for_again(settings):
    greedy = {"temperature": 0.0, "top_p": None, "max_tokens": 5}
    with pytest.raises(ValidationError, match="draws the same answer again"):
        settings(sampling=greedy)
    assert settings(sampling=greedy, reasks=0).reasks == 0
