"""An OpenAI-compatible endpoint: one request to one answer, over a network that fails.

Retried, up to `attempts` times: no connection, time-outs, HTTP 408, 429 and 5xx, and bodies that are no chat completion. The wait is what
Retry-After asks for, else exponential with jitter. Any other refusal (4xx) is final at once. One attempt ends after `time_limit_s`
whatever the server does, a body that trickles in included.

An attempt that timed out may have been paid for without an answer to record; such retries are counted by kind.

The openai SDK gives the address, the headers and the HTTP client. Its `create` and `post` are not used: what they do for one request takes
three times the CPU of sending it, which 64 calls at once cannot afford; and the body is recorded as it is, unknown fields included.

The key is read from the environment when the first request goes out. Errors are made anew from what the HTTP client raises, without a
chain to it, and the key is struck out of every text and answer, since a server may echo it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import random
import time
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from typing import Any

import httpx2
import openai

from selfevolve.gradus.llm.calls import Answer, Request
from selfevolve.gradus.llm.errors import EndpointError
from selfevolve.gradus.settings import LlmSettings

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
        # aiohttp below the SDK: its other transport looks at every open connection for every request, which 64 at once make dear.
        self._http = openai.DefaultAioHttpClient(
            # Never reached: `_attempt` ends before. aiohttp's lost connections come as time-outs, so these must not be mixed.
            timeout=2 * settings.time_limit_s
        )
        self._client = openai.AsyncOpenAI(
            api_key=self._key or "none", base_url=settings.base_url, max_retries=0, http_client=self._http
        )
        headers = {**self._client.auth_headers, **self._client.default_headers}
        self._headers = {
            name: value for name, value in headers.items() if isinstance(value, str)
        }  # the others are to be left out
        self._url = self._client.base_url.join("chat/completions")
        self._slots = asyncio.Semaphore(settings.concurrency)

    async def send(self, request: Request) -> Answer:
        """The answer to a request. Raises EndpointError."""
        longest = self._settings.max_wait_s
        # The slot is kept between attempts: an endpoint that asks for patience gets less to do.
        async with self._slots:
            for attempt in range(1, self._settings.attempts + 1):
                try:
                    return await self._attempt(request)
                except _Transient as error:
                    fault = error
                wait = fault.retry_after_s
                if wait is None:
                    wait = random.uniform(0, min(longest, 2.0 ** (attempt - 2)))  # 0.5 s, 1 s, 2 s, ... at most
                if wait > longest:
                    fault.text += f". It asks for a wait of {wait:.0f} s, more than max_wait_s"
                    break
                if attempt < self._settings.attempts:
                    self._retried(fault.kind)
                    logger.warning("%s; attempt %d follows in %.1f s", fault.text, attempt + 1, wait)
                    await asyncio.sleep(wait)
        raise EndpointError(
            fault.kind, f"{self._settings.base_url}: {fault.text} (attempts: {attempt}). Resume the run when it answers again"
        )

    async def close(self) -> None:
        await self._client.close()

    async def _attempt(self, request: Request) -> Answer:
        content = json.dumps(_body(request)).encode()
        start = time.perf_counter()
        limit = self._settings.time_limit_s
        try:
            async with asyncio.timeout(limit):
                response = await self._http.send(
                    self._http.build_request("POST", self._url, content=content, headers=self._headers)
                )
        except TimeoutError:
            fault: Exception = _Transient("time_out", f"no answer within {limit:g} s")
        except httpx2.HTTPError as error:
            fault = _Transient("connection", self._clean(f"no connection ({error or type(error).__name__})"))
        else:
            if response.is_success:
                return self._answer(response.text, time.perf_counter() - start)
            if _is_too_long(response):
                return Answer(message={}, finish="too_long", prompt_tokens=0, completion_tokens=0, seconds=0)
            fault = self._refused(response)
        raise fault  # out here, so that no chain leads to the request and its headers

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

    def _refused(self, response: httpx2.Response) -> Exception:
        status = response.status_code
        text = self._clean(f"HTTP {status}: {response.text}")[:_LONGEST]
        if status in _TRANSIENT or status >= 500:
            return _Transient(f"http_{status}", text, _retry_after(response.headers))
        return EndpointError(
            f"http_{status}", f"{self._settings.base_url}: {text}. A refusal is not retried: correct the settings"
        )

    def _clean(self, text: str) -> str:
        return text.replace(self._key, "[key]") if self._key else text


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


def _is_too_long(response: httpx2.Response) -> bool:
    """Whether the prompt exceeds the model's context: a property of the request, so it is recorded like an answer."""
    text = response.text.lower()
    return response.status_code == 400 and ("context_length_exceeded" in text or "context length" in text)


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
