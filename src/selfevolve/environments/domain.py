"""One episode in a tau2 domain: reset, calls, snapshots and hashes, over the library's toolkits.

Paper: Gradus section 2.1 (what a call is and does) and appendix A.2 (replay from one initial state). The deviations
from tau2-bench are listed in `tau2` and `telecom`.
"""

from __future__ import annotations

import copy
import marshal
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from inspect_ai.tool import ToolError
from pydantic_core import to_json

from selfevolve.environments import snapshots
from selfevolve.environments.arguments import Arguments, excerpt
from selfevolve.environments.entries import clone
from selfevolve.environments.library import Listed, arguments_of
from selfevolve.environments.overlay import Base, Overlay, TooLarge
from selfevolve.environments.protocol import Observation

MAX_STARTS = 6_000  # states of init actions kept per domain; the 2,285 telecom tasks pass through 5,026, of some 10 kB
MAX_MADE = 64
MAX_ERROR = 500  # characters of a tool's error that reach the caller


class Tool(NamedTuple):
    """A listed tool: its check and what it runs."""

    arguments: Arguments
    run: Callable[..., Any]
    writes: bool


class Domain:
    """What the tau2 domains share. A subclass fills `_tools` and `_toolkits` and says how tools see the state.

    Implements `protocol.Environment`.
    """

    def __init__(self, name: str, now: str | None, base: Base):
        self.name, self.now = name, now
        self.tools: list[dict[str, Any]] = []
        self.user_tools: list[dict[str, Any]] = []
        self._tools: dict[tuple[str, str], Tool] = {}
        self._toolkits: dict[str, Any] = {}
        self._overlay = Overlay(base, snapshots.size)
        self._made: dict[bytes, tuple[dict, dict]] = {}  # own recent snapshots, which need no reading
        self._packed: dict[tuple[int, int], tuple[dict, dict, bytes]] = {}  # and no making; by identity of the changes

    def _list_tools(self, requestor: str, tools: list[Listed], **generic: Callable[..., Any]) -> None:
        """List tools; they run the toolkit's method of their name, or else what `generic` names."""
        for tool in tools:
            run = generic.get(tool.name) or getattr(self._toolkits[requestor], tool.name)
            self._tools[requestor, tool.name] = Tool(tool.arguments, run, tool.writes)
        descriptions = copy.deepcopy([tool.description for tool in tools])
        if requestor == "user":
            self.user_tools = descriptions
        else:
            self.tools = descriptions

    def _open(self, writes: bool) -> None:
        """Let the toolkits see the state: itself, or the running call's copies."""
        raise NotImplementedError

    def _settle(self) -> None:
        """What follows a call that may have changed the state, before it becomes the state."""

    def reset(self, init_actions: Iterable[Mapping[str, Any]] = ()) -> None:
        """See `protocol.Environment.reset`."""
        overlay = self._overlay
        initial, before = overlay.initial, overlay.changed
        overlay.start({})
        starts, path = overlay.base.starts, b""
        for index, action in enumerate(init_actions):
            try:
                path = None if path is None else _path(path, action)
                if path is not None and path in starts:
                    overlay.assign(starts[path])
                    continue
                self._initialise(action)
            except Exception as error:
                overlay.resume(initial, before)
                name = action.get("func_name") if isinstance(action, Mapping) else action
                raise ValueError(f"init action {index}, {excerpt(name)}: {_reason(error)}") from None
            if path is not None:
                while len(starts) >= MAX_STARTS:
                    del starts[next(iter(starts))]
                starts[path] = overlay.changed
        overlay.start(overlay.changed)

    def _initialise(self, action: Mapping[str, Any]) -> None:
        """Run one init action: any public function of a toolkit, as tau2-bench does, with arguments of the right types."""
        if not isinstance(action, Mapping) or not {"env_type", "func_name", "arguments"} <= action.keys():
            raise ValueError("an init action has env_type, func_name and arguments")
        side, name = action["env_type"], action["func_name"]
        toolkit = self._toolkits.get(side)
        if toolkit is None:
            raise ValueError(f"env_type must be one of {', '.join(self._toolkits)}, not {excerpt(side)}")
        function = getattr(toolkit, name, None) if isinstance(name, str) and not name.startswith("_") else None
        if not isinstance(function, types.MethodType):
            raise ValueError(f"the {side} side has no such public function")
        tool = self._tools.get((side, name))
        arguments, fault = (tool.arguments if tool else arguments_of(function.__func__)).read(action["arguments"])
        if fault:
            raise ValueError(fault)
        self._run(function, arguments, writes=True, exact=any(type(value) is int for value in arguments.values()))

    def call(self, name: str, arguments: Any, requestor: str = "assistant") -> Observation:
        """See `protocol.Environment.call`."""
        tool = self._tools.get((requestor, name)) if isinstance(name, str) and isinstance(requestor, str) else None
        if tool is None:
            who = requestor if requestor in ("assistant", "user") else excerpt(requestor)
            return Observation.failed("unknown_tool", f"the {who} has no tool {excerpt(name)}")
        arguments, fault = tool.arguments.read(arguments)
        if fault:
            return Observation.failed("invalid_arguments", fault)
        try:
            return Observation(self._run(tool.run, arguments, tool.writes))
        except Exception as error:  # a tool may fail in any way on arguments that fit its schema
            return Observation.failed("tool_error", _reason(error))

    def _run(self, function: Callable[..., Any], arguments: dict[str, Any], writes: bool, exact: bool = False) -> str:
        self._open(writes)
        try:
            text = as_text(function(**(clone(arguments) if writes else arguments)))
            if writes:
                self._settle()
                self._overlay.commit(exact)
            return text
        finally:
            self._overlay.discard()

    def snapshot(self) -> bytes:
        """See `protocol.Environment.snapshot`."""
        both = self._overlay.initial, self._overlay.changed
        key = id(both[0]), id(both[1])  # of objects that are kept as long as the key
        if key not in self._packed:
            blob = snapshots.pack(self._overlay)
            self._made[blob], self._packed[key] = both, (*both, blob)
            for kept in (self._made, self._packed):
                if len(kept) > MAX_MADE:
                    del kept[next(iter(kept))]
        return self._packed[key][2]

    def restore(self, blob: bytes) -> None:
        """See `protocol.Environment.restore`."""
        made = self._made.get(blob) if isinstance(blob, bytes) else None
        if made:
            self._overlay.resume(*made, len(blob))
        else:
            snapshots.unpack(blob, self._overlay)

    def state_hash(self) -> str:
        """See `protocol.Environment.state_hash`."""
        return self._overlay.digest()


def _path(path: bytes, action: Any) -> bytes | None:
    """The path of init actions with one more; equal paths mean equal actions, types included. None if it is not plain JSON."""
    try:
        return path + marshal.dumps(action, 2)  # version 2: without references, which depend on object identity
    except ValueError:
        return None


def _reason(error: Exception) -> str:
    if isinstance(error, ToolError):
        text = error.message
    elif isinstance(error, (TooLarge, ValueError)):
        text = str(error)
    else:
        text = f"{type(error).__name__}: {error}"
    return text if len(text) <= MAX_ERROR else text[: MAX_ERROR - 3] + "..."


def as_text(result: Any) -> str:
    """What the caller of a tool sees of its result."""
    return result if isinstance(result, str) else to_json(result).decode()
