"""What every environment offers: tools over a state that can be read, copied, put back and compared.

Paper: Gradus section 2.1 (the environment E = (S, A, T), its tools and its policy document) and appendix A.2 (replay
from the same initial state; states compared after execution).

Choices the paper leaves open:

* A call never raises: what a tool refuses is an `Observation` with a typed error, and a failed call leaves the state
  as it was. `reset` and `restore` raise, because what they read is ours, not a model's.
* `state` is the live state, read-only by agreement: guards read it, nothing writes through it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

Requestor = Literal["assistant", "user"]
ErrorKind = Literal["unknown_tool", "invalid_arguments", "tool_error"]

MAX_SNAPSHOT = 32_000
"""Bytes. A call that would let `snapshot()` grow beyond this is refused (`tool_error`), so the bound always holds."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What the caller of a tool gets to see.

    `error` is None if the call was executed; else `unknown_tool` (no such tool for this requestor), `invalid_arguments`
    (they do not fit the tool's schema; the text names the argument) or `tool_error` (the tool itself refused).
    The text of an error starts with "Error: ".
    """

    text: str
    error: ErrorKind | None = None

    @property
    def ok(self) -> bool:
        return self.error is None

    @classmethod
    def failed(cls, error: ErrorKind, reason: str) -> Observation:
        return cls(f"Error: {reason}", error)


@runtime_checkable
class Environment(Protocol):
    """One environment object; several objects of one domain never share state.

    Attributes:
        name: as given to `selfevolve.environments.load`.
        now: the domain's fixed clock as an ISO timestamp, or None if it has none.
        tools: the assistant's tools, `{"type": "function", "function": {"name", "description", "parameters"}}`, where
            `parameters` is a JSON schema of an object that allows no other keys.
        user_tools: the same of the user's own tools; empty in most domains.
        policy: the policy document as the assistant gets it.
        state_schema: JSON schema of an object whose properties are the top-level names of `state`.
        state: live view of the state, by top-level name. Reading neither copies nor changes anything.
        initial: the same view of the state right after `reset`.
    """

    name: str
    now: str | None
    tools: list[dict[str, Any]]
    user_tools: list[dict[str, Any]]
    policy: str
    state_schema: dict[str, Any]

    @property
    def state(self) -> Mapping[str, Any]: ...

    @property
    def initial(self) -> Mapping[str, Any]: ...

    def reset(self, init_actions: Iterable[Mapping[str, Any]] = ()) -> None:
        """Go to the base state and apply init actions.

        Args:
            init_actions: items `{"env_type": "assistant" | "user", "func_name": str, "arguments": dict}` as in the
                official task files.

        Raises:
            ValueError: for a bad action, naming its index, function and reason; the environment is as it was before.
        """

    def call(self, name: str, arguments: Any, requestor: str = "assistant") -> Observation:
        """Call one listed tool. Never raises; a failed call never changes the state."""

    def snapshot(self) -> bytes:
        """The state in at most `MAX_SNAPSHOT` bytes, complete: id counters and what `initial` shows are included."""

    def restore(self, blob: bytes) -> None:
        """Put back a snapshot of this domain, made by any process.

        Raises:
            ValueError: if the blob is not such a snapshot; the environment is as it was before.
        """

    def state_hash(self) -> str:
        """Digest of the state; equal states, and only those, have equal digests, in every process."""
