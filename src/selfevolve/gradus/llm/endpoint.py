"""An OpenAI-compatible endpoint: one request to one answer, over a network that fails.

Retried, up to `attempts` times: no connection, time-outs, HTTP 408, 429 and 5xx, and bodies that are no chat completion. The wait is what
Retry-After asks for, else exponential with jitter. Any other refusal (4xx) is final at once. One attempt ends after `time_limit_s`
whatever the server does, a body that trickles in included.

An attempt that timed out may have been paid for without an answer to record; such retries are counted by kind.

The key is read from the environment when the first request goes out. Errors are made anew from what the SDK raises, without a chain to it,
and the key is struck out of every text and answer, since a server may echo it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import time
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from typing import Any

import openai
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, stop_after_attempt, wait_random_exponential

from selfevolve.gradus.llm.calls import Answer, Request
from selfevolve.gradus.llm.errors import EndpointError
from selfevolve.gradus.llm.settings import LlmSettings

logger = logging.getLogger(__name__)

_TRANSIENT = (408, 429)
_LONGEST = 500  # characters of a server's words in an error


class _Transient(Exception):
    """A failure that another attempt may mend."""

    def __init__(self, kind: str, text: str, retry_after_s: float | None = None):
        super().__init__(text)
        self.kind, self.text, self.retry_after_s = kind, text, retry_after_s


class Endpoint:
    """Sends requests; to be used within one event loop. Raises EndpointError(kind="key") if the variable of the key is not set.

    Args:
        retried: called with the kind of failure before each further attempt.
    """

    def __init__(self, settings: LlmSettings, retried: Callable[[str], None]):
        self._settings, self._retried = settings, retried
        self._key = _key(settings)
        # aiohttp below the SDK: its own transport looks at every open connection for every request, which 64 at once make dear.
        self._client = openai.AsyncOpenAI(
            api_key=self._key or "none",
            base_url=settings.base_url,
            max_retries=0,
            http_client=openai.DefaultAioHttpClient(),
            # Never reached: `_attempt` ends before. aiohttp's lost connections come as time-outs of the SDK, so these must not be mixed.
            timeout=2 * settings.time_limit_s,
        )
        self._slots = asyncio.Semaphore(settings.concurrency)

    async def send(self, request: Request) -> Answer:
        """The answer to a request. Raises EndpointError."""
        retrying = AsyncRetrying(
            retry=retry_if_exception_type(_Transient), stop=self._stop, wait=self._wait, before_sleep=self._note, reraise=True
        )
        # The slot is kept between attempts: an endpoint that asks for patience gets less to do.
        async with self._slots:
            try:
                return await retrying(self._attempt, request)
            except _Transient as fault:
                attempts = retrying.statistics["attempt_number"]
                kind, text, asked = fault.kind, fault.text, fault.retry_after_s
        if asked is not None and asked > self._settings.max_wait_s:
            text += f". It asks for a wait of {asked:.0f} s, more than max_wait_s"
        raise EndpointError(
            kind, f"{self._settings.base_url}: {text} (attempts: {attempts}). Resume the run when it answers again"
        )

    async def close(self) -> None:
        await self._client.close()

    async def _attempt(self, request: Request) -> Answer:
        start = time.perf_counter()
        limit = self._settings.time_limit_s
        try:
            async with asyncio.timeout(limit):
                # Not `chat.completions.create`: its checks of every message cost more CPU than all the rest of a call, and the body is
                # recorded as it is, fields the SDK does not know included.
                body = await self._client.post("/chat/completions", cast_to=str, body=_body(request))
        except TimeoutError:
            fault: Exception = _Transient("time_out", f"no answer within {limit:g} s")
        except openai.APIStatusError as error:
            if _is_too_long(error):
                return Answer(message={}, finish="too_long", prompt_tokens=0, completion_tokens=0, seconds=0)
            fault = self._refused(error)
        except openai.APIConnectionError as error:
            fault = _Transient("connection", self._clean(f"no connection ({error.__cause__ or error})"))
        except openai.OpenAIError as error:
            fault = EndpointError("sdk", self._clean(f"{self._settings.base_url}: {type(error).__name__}: {error}")[:_LONGEST])
        else:
            return self._answer(body, time.perf_counter() - start)
        raise fault  # out here, so that no chain leads to the SDK's request and its headers

    def _answer(self, body: str, seconds: float) -> Answer:
        try:
            content = json.loads(self._clean(body))
            choice, usage = content["choices"][0], content.get("usage") or {}
            return Answer(
                message=choice["message"],
                finish=choice.get("finish_reason") or "unknown",
                prompt_tokens=usage.get("prompt_tokens") or 0,
                completion_tokens=usage.get("completion_tokens") or 0,
                seconds=round(seconds, 3),
            )
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            pass
        raise _Transient("malformed", f"the body is no chat completion: {self._clean(body)[:_LONGEST]!r}")

    def _refused(self, error: openai.APIStatusError) -> Exception:
        status = error.status_code
        text = self._clean(f"HTTP {status}: {error.message}")[:_LONGEST]
        if status in _TRANSIENT or status >= 500:
            return _Transient(f"http_{status}", text, _retry_after(error.response.headers))
        return EndpointError(
            f"http_{status}", f"{self._settings.base_url}: {text}. A refusal is not retried: correct the settings"
        )

    def _clean(self, text: str) -> str:
        return text.replace(self._key, "[key]") if self._key else text

    def _stop(self, state: RetryCallState) -> bool:
        asked = _fault(state).retry_after_s
        return stop_after_attempt(self._settings.attempts)(state) or (asked is not None and asked > self._settings.max_wait_s)

    def _wait(self, state: RetryCallState) -> float:
        asked = _fault(state).retry_after_s
        return wait_random_exponential(multiplier=0.5, max=self._settings.max_wait_s)(state) if asked is None else asked

    def _note(self, state: RetryCallState) -> None:
        fault = _fault(state)
        self._retried(fault.kind)
        wait = state.next_action.sleep if state.next_action else 0
        logger.warning("%s; attempt %d follows in %.1f s", fault.text, state.attempt_number + 1, wait)


def _key(settings: LlmSettings) -> str | None:
    if settings.api_key_env is None:
        return None
    key = os.environ.get(settings.api_key_env, "").strip()
    if not key:
        raise EndpointError(
            "key",
            f"a call is not recorded yet and {settings.base_url} needs a key: set the environment variable "
            f"{settings.api_key_env}, or api_key_env to null if it needs none",
        )
    return key


def _body(request: Request) -> dict[str, Any]:
    sampling = {name: value for name, value in request.sampling.model_dump().items() if value is not None}
    arguments: dict[str, Any] = {"model": request.model, "messages": list(request.messages), "seed": request.draw}
    # max_tokens is the deprecated name, which newer models refuse.
    arguments |= {"max_completion_tokens": sampling.pop("max_tokens"), **sampling}
    if request.output:
        form = {"name": request.output.name, "schema": request.output.json_schema, "strict": True}
        arguments["response_format"] = {"type": "json_schema", "json_schema": form}
    if request.tools:
        arguments |= {"tools": list(request.tools), "parallel_tool_calls": False}
    return arguments


def _fault(state: RetryCallState) -> _Transient:
    fault = state.outcome.exception() if state.outcome else None
    return fault if isinstance(fault, _Transient) else _Transient("unknown", "")


def _is_too_long(error: openai.APIStatusError) -> bool:
    """Whether the prompt exceeds the model's context: a property of the request, so it is recorded like an answer."""
    return error.status_code == 400 and (
        error.code == "context_length_exceeded" or "context length" in str(error.message).lower()
    )


def _retry_after(headers: Any) -> float | None:
    """Seconds that a server asks to wait for, from a number or a date."""
    value = headers.get("retry-after", "").strip()
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time.time()
        except (ValueError, TypeError):
            return None
    return max(0.0, seconds) if seconds == seconds else None
