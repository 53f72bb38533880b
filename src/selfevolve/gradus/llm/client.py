"""Recorded calls of a language model, from any number of threads: replay, single flight, limits, re-asking, accounting.

* A request that is recorded is answered from the recording; the network is not touched, nor is a key needed.
* Identical requests under way at once are sent once.
* An answer is on disk before anyone gets it. Whatever was paid for is recorded, usable or not.
* An answer that its role cannot use (cut, no JSON, another schema, wrong content) is asked for again with a new draw index, at most `reasks`
  times. Where it is complete and the model can learn from the complaint, answer and complaint are added to the conversation.

The network side runs in one event loop in a thread of its own, which is what lets a call end at its time limit and 64 wait at once.
A caller is woken by the thread that records its answer, so an answer passes through no more threads than it must.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, NoReturn, Protocol, TypeVar

from pydantic import BaseModel, ValidationError

from selfevolve.gradus.blueprints import Record
from selfevolve.gradus.errors import RoleFailed
from selfevolve.gradus.llm import schemas
from selfevolve.gradus.llm.accounting import Report, Tally
from selfevolve.gradus.llm.calls import Answer, Message, Output, Request, Spelled
from selfevolve.gradus.llm.errors import EndpointError
from selfevolve.gradus.llm.recording import Recording
from selfevolve.gradus.settings import LlmSettings
from selfevolve.seeding import derive

Form = TypeVar("Form", bound=BaseModel)
Result = TypeVar("Result")

_SHOWN = 2_000  # characters of a complaint


class Backend(Protocol):
    """What answers a request that is not recorded."""

    async def send(self, request: Request) -> Answer: ...
    async def close(self) -> None: ...


class Reply(Record):
    """A free answer: words, or a call of a tool with its arguments."""

    text: str = ""
    tool: str | None = None
    arguments: dict[str, Any] = {}


class _Unusable(Exception):
    """An answer that cannot be used. `complaint`: what to tell the model, None if it would not help."""

    def __init__(self, kind: str, reason: str, complaint: str | None = None):
        super().__init__(reason)
        self.kind, self.reason, self.complaint = kind, reason, complaint


class Client:
    """One model with the recording of one run. Close it, or use it in a `with` statement."""

    def __init__(self, settings: LlmSettings, folder: Path, backend: Callable[[LlmSettings, Tally], Backend] | None = None):
        """`folder`: of the recording. `backend`: made when the first request has to be sent; default by `settings.backend`."""
        self.settings = settings
        self._recording = Recording(folder)
        self._tally = Tally(settings.prices)
        self._make = backend or open_backend
        self._backend: Backend | None = None
        self._flights: dict[str, Future[Answer]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._lock = threading.Lock()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="llm", daemon=True)
        self._thread.start()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Wait for the calls under way, whose answers are paid for and recorded; then let go of network and folder."""
        if self._loop.is_closed():
            return
        with self._lock:
            flights = list(self._flights.values())
        for flight in flights:
            flight.exception()
        if self._backend is not None:
            asyncio.run_coroutine_threadsafe(self._backend.close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._recording.close()

    def report(self) -> Report:
        """What was called so far, and what it cost."""
        return self._tally.report(self._recording.answers())

    def complete(self, request: Request) -> Answer:
        """The answer to a request: recorded, under way, or sent for. Raises EndpointError or RecordingError."""
        call, new = request.spelled(), False
        with self._lock:
            answer = self._recording.get(call.key)
            flight = None if answer else self._flights.get(call.key)
            if answer is None and flight is None:
                flight = self._flights[call.key] = Future()
                new = True
        self._tally.request("replayed" if answer else "sent" if new else "joined")
        if new:
            self._loop.call_soon_threadsafe(self._start, request, call)
        if flight is not None:
            try:
                answer = flight.result()
            except Exception as error:
                self._tally.count("failures", error.kind if isinstance(error, EndpointError) else type(error).__name__)
                raise
        self._tally.used(call.key, answer, paid=flight is not None)
        return answer

    def _start(self, request: Request, call: Spelled) -> None:
        task = self._loop.create_task(self._fetch(request, call))
        self._tasks.add(task)  # the loop alone would let it be collected
        task.add_done_callback(self._tasks.discard)

    async def _fetch(self, request: Request, call: Spelled) -> None:
        try:
            self._recording.check()
            if self._backend is None:
                self._backend = self._make(self.settings, self._tally)
            answer = await self._backend.send(request)
        except BaseException as error:
            self._land(call.key, error)
        else:
            self._recording.append(call, answer, lambda error: self._land(call.key, error or answer))

    def _land(self, key: str, what: Answer | BaseException) -> None:
        """Give an answer that is on disk, or what went wrong, to all who wait for it."""
        with self._lock:
            flight = self._flights.pop(key)
        if isinstance(what, Answer):
            flight.set_result(what)
        else:
            flight.set_exception(what)

    def ask(
        self, role: str, messages: Sequence[Message], form: type[Form], seed: int, accept: Callable[[Form], Result]
    ) -> Result:
        """A schema-constrained answer, as what `accept` makes of it; `accept` raises ValueError for content it cannot take.

        Raises RoleFailed if no answer could be used; EndpointError.
        """

        def take(answer: Answer) -> Result:
            try:
                record = form.model_validate_json(_json_of(answer), strict=True)
            except ValidationError as error:
                reason = "; ".join(_told(each) for each in error.errors())
                if any(each["type"] == "json_invalid" for each in error.errors()):
                    raise _Unusable("not_json", reason) from None
                _complain("schema", reason)
            try:
                return accept(record)
            except ValueError as error:
                _complain("content", str(error))

        return self._ask(role, messages, seed, take, output=schemas.output(form))

    def converse(self, role: str, messages: Sequence[Message], tools: Sequence[dict[str, Any]], seed: int) -> Reply:
        """A free answer: words, or the first tool call of the answer. Raises as `ask` does."""

        def take(answer: Answer) -> Reply:
            if not answer.calls:
                if not answer.text.strip():
                    raise _Unusable("empty", "it has neither words nor a call")
                return Reply(text=_whole(answer.text.strip()))
            call = answer.calls[0]
            try:
                arguments = json.loads(_whole(call.arguments or "{}"), parse_constant=_no_number)
            except (ValueError, RecursionError) as error:
                raise _Unusable("not_json", f"the arguments of {call.name} are no JSON ({error})") from None
            if not isinstance(arguments, dict):
                raise _Unusable("schema", f"the arguments of {call.name} are no JSON object")
            return Reply(tool=call.name, arguments=arguments)

        return self._ask(role, messages, seed, take, tools=tuple(tools))

    def _ask(
        self, role: str, messages: Sequence[Message], seed: int, take: Callable[[Answer], Result],
        output: Output | None = None, tools: tuple[dict[str, Any], ...] = (),
    ) -> Result:  # fmt: skip
        messages, reasons = list(messages), list[str]()
        for number in range(self.settings.reasks + 1):
            answer = self.complete(
                Request(
                    model=self.settings.model,
                    messages=tuple(messages),
                    sampling=self.settings.sampling,
                    output=output,
                    tools=tools,
                    draw=seed if number == 0 else derive(seed, "ask again", number),
                )
            )
            try:
                if answer.finish == "too_long":
                    raise _Unusable("too_long", "the prompt exceeds the model's context")
                if answer.finish == "length":
                    raise _Unusable("truncated", f"cut after {answer.completion_tokens} tokens (sampling.max_tokens)")
                if answer.finish == "content_filter" or answer.message.get("refusal"):
                    raise _Unusable("refused", "the model or its filter refused to answer")
                return take(answer)
            except _Unusable as problem:
                self._tally.count("unusable", problem.kind)
                reasons.append(f"{problem.kind}: {problem.reason}")
                if problem.kind == "too_long":
                    break  # another draw has the same prompt
                if problem.complaint:
                    messages += [
                        {"role": "assistant", "content": answer.text},
                        {"role": "user", "content": f"This answer cannot be used: {problem.complaint}\nAnswer again, in full."},
                    ]
        raise RoleFailed(f"{role} gave no usable answer, asked {len(reasons)} times: " + " | ".join(reasons))


def open_backend(settings: LlmSettings, tally: Tally) -> Backend:
    """The backend that the settings name. Imported here, so that a replay needs neither openai nor torch."""
    if settings.backend == "local":
        from selfevolve.gradus.llm.local import Local

        return Local(settings)
    from selfevolve.gradus.llm.endpoint import Endpoint

    return Endpoint(settings, lambda kind: tally.count("retries", kind))


def _complain(kind: str, reason: str) -> NoReturn:
    raise _Unusable(kind, reason[:_SHOWN], reason[:_SHOWN]) from None


def _json_of(answer: Answer) -> str:
    """The JSON of an answer; models that are not constrained like to put it into a fence."""
    text = answer.text.strip()
    if text.startswith("```") and text.endswith("```"):
        text = text.removeprefix("```json").removeprefix("```").removesuffix("```")
    return text


def _whole(text: str) -> str:
    """The text, unless half a character is in it, which no file could hold."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise _Unusable("not_text", "it holds half of a surrogate pair") from None
    return text


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _told(error: Any) -> str:
    place = ".".join(map(str, error["loc"]))
    return f"{place}: {error['msg']}" if place else error["msg"]
