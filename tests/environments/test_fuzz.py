import fuzz
import pytest

from selfevolve.environments import NAMES, load


@pytest.mark.parametrize("name", NAMES)
def test_random_calls(name):
    corpus, starts = [], []
    if name != "desk":
        pytest.importorskip("inspect_evals", reason="pip install inspect-evals==0.26.0")
        corpus, starts = fuzz.corpus_of(name)
    outcomes = fuzz.fuzz(name, 2_000, seed=7, corpus=corpus, starts=starts)
    assert all(outcomes[kind] > 50 for kind in (None, "unknown_tool", "invalid_arguments", "tool_error", "changed")), outcomes


@pytest.mark.parametrize("name", NAMES)
def test_nonsense(name):
    if name != "desk":
        pytest.importorskip("inspect_evals", reason="pip install inspect-evals==0.26.0")
    env = load(name)
    before = env.state_hash()
    tools = [tool["function"] for tool in env.tools + env.user_tools]
    for junk in fuzz.JUNK:
        assert env.call(junk, {}).error == "unknown_tool"
        assert not env.call(tools[0]["name"], {}, junk).ok
        for tool in tools:
            for requestor in ("assistant", "user"):
                env.call(tool["name"], junk, requestor)
                for argument in tool["parameters"]["properties"]:
                    env.call(tool["name"], {argument: junk}, requestor)
    for name in fuzz.PRIVATE:
        assert env.call(name, {}).error == "unknown_tool"
        assert env.call(name, {}, "user").error == "unknown_tool"
    harmless = {tool["name"] for tool in tools if not tool["parameters"].get("required")}
    assert harmless or env.state_hash() == before
