"""Fixtures: a loopback server, and clients of it."""

from __future__ import annotations

import pytest
from loopback import Loopback

from selfevolve.gradus.llm.client import Client
from selfevolve.gradus.settings import LlmSettings

KEY = "sk-verysecret-0123456789"


@pytest.fixture
def key(monkeypatch) -> str:
    monkeypatch.setenv("TEST_LLM_KEY", KEY)
    return KEY


@pytest.fixture
def settings():
    """Makes settings for an address, with short waits."""

    def make(url: str = "http://127.0.0.1:9/v1", **changes) -> LlmSettings:
        values = {
            "backend": "endpoint",
            "model": "model",
            "base_url": url,
            "api_key_env": None,
            "sampling": {"temperature": 1.0, "top_p": None, "max_tokens": 100},
            "prices": {"prompt": 1.0, "completion": 4.0},
            "time_limit_s": 5.0,
            "attempts": 3,
            "max_wait_s": 2.0,
        }
        return LlmSettings.model_validate(values | changes)

    return make


@pytest.fixture
def serve():
    """Starts loopback servers, which are stopped at the end."""
    servers = []

    def start(*args, **kwargs) -> Loopback:
        servers.append(Loopback(*args, **kwargs))
        return servers[-1]

    yield start
    for server in servers:
        if not server.stopped.is_set():
            server.stop()


@pytest.fixture
def connect(settings, tmp_path):
    """Makes clients, which are closed at the end; by default all of them record in one folder, so one at a time."""
    clients = []

    def open_client(url: str, folder=None, **changes) -> Client:
        clients.append(Client(settings(url, **changes), folder or tmp_path / "calls"))
        return clients[-1]

    yield open_client
    for client in clients:
        client.close()
