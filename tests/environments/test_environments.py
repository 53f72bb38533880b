import json
import os
import subprocess
import sys

import jsonschema
import pytest

from selfevolve.environments import NAMES, Environment, load
from selfevolve.environments.protocol import MAX_SNAPSHOT, Observation


@pytest.fixture(params=NAMES)
def env(request) -> Environment:
    if request.param != "desk":
        pytest.importorskip("inspect_evals", reason="pip install inspect-evals==0.26.0")
    return load(request.param)


def run(code: str, **variables: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ | variables)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_unknown_name():
    with pytest.raises(ValueError, match="'tau2/bank'; choose one of tau2/airline, tau2/retail, tau2/telecom, desk"):
        load("tau2/bank")


def test_importing_and_the_desk_need_no_library():
    code = "import sys; sys.modules['inspect_evals'] = None\nimport selfevolve.environments as e\ne.load('desk')"
    assert "inspect_ai" not in run(code + "\nprint([name for name in sys.modules if name.startswith('inspect_')])")
    code += "\ntry: e.load('tau2/telecom')\nexcept ImportError as error: print(error)"
    assert "pip install inspect-evals==0.26.0" in run(code)


def test_loading_leaves_no_temporary_files(tmp_path):
    pytest.importorskip("inspect_evals", reason="pip install inspect-evals==0.26.0")
    code = "from selfevolve.environments import NAMES, load\nfor name in NAMES: env = load(name); env.reset(); env.snapshot()"
    run(code, TMPDIR=str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_protocol(env):
    assert isinstance(env, Environment)
    assert env.policy.strip() and (env.now is None or len(env.now) == 19)
    names = [tool["function"]["name"] for tool in env.tools + env.user_tools]
    assert len(names) == len(set(names))
    for tool in env.tools + env.user_tools:
        assert tool["type"] == "function" and tool["function"]["description"]
        parameters = tool["function"]["parameters"]
        jsonschema.Draft202012Validator.check_schema(parameters)
        assert parameters["type"] == "object" and parameters["additionalProperties"] is False
    jsonschema.Draft202012Validator.check_schema(env.state_schema)
    assert set(env.state_schema["properties"]) == set(env.state) == set(env.initial)
    with pytest.raises(TypeError):
        env.state["x"] = 1


def test_environments_share_no_state(env):
    other, before = load(env.name), env.state_hash()
    start = dict(other.state)
    for tool in env.tools + env.user_tools:
        for requestor in ("assistant", "user"):
            env.call(tool["function"]["name"], {}, requestor)
    assert other.state_hash() == before and dict(other.state) == start


def test_tools_are_called_by_their_own_side_only(env):
    for tool in env.tools:
        assert env.call(tool["function"]["name"], {}, "user").error == "unknown_tool"
    for tool in env.user_tools:
        assert env.call(tool["function"]["name"], {}).error == "unknown_tool"


@pytest.mark.parametrize(
    "action",
    [
        {"env_type": "assistant", "func_name": "no_such_function", "arguments": {}},
        {"env_type": "assistant", "func_name": "_settle", "arguments": {}},
        {"env_type": "nobody", "func_name": "x", "arguments": {}},
        {"env_type": ["assistant"], "func_name": "x", "arguments": {}},
        {"func_name": "x"},
        "x",
    ],
)
def test_bad_init_action(env, action):
    before = env.state_hash(), env.snapshot()
    with pytest.raises(ValueError, match="init action 0"):
        env.reset([action])
    assert (env.state_hash(), env.snapshot()) == before


@pytest.mark.parametrize("blob", [b"", b"x", b"x" * 200_000, None, "text"])
def test_bad_snapshots_are_refused(env, blob):
    before = env.state_hash()
    with pytest.raises(ValueError, match="snapshot"):
        env.restore(blob)
    assert env.state_hash() == before


def test_snapshots_of_other_domains_and_damaged_ones_are_refused(env):
    blob = env.snapshot()
    for name in NAMES:
        if name != env.name:
            with pytest.raises(ValueError, match="snapshot"):
                load(name).restore(blob)
    with pytest.raises(ValueError, match="snapshot"):
        env.restore(blob + b"x")
    for cut in (1, len(blob) // 2, len(blob) - 1):
        with pytest.raises(ValueError, match="snapshot"):
            env.restore(blob[:cut])


def test_observation():
    assert Observation("x").ok and not Observation.failed("tool_error", "no").ok
    assert Observation.failed("tool_error", "no").text == "Error: no"
    with pytest.raises(AttributeError):
        Observation("x").text = "y"


def test_hash_and_snapshot_hold_in_another_process(env):
    for tool in env.tools:
        env.call(tool["function"]["name"], {})
    blob = env.snapshot()
    code = f"from selfevolve.environments import load\nenv = load({env.name!r})\nenv.restore(bytes.fromhex({blob.hex()!r}))\n"
    code += "import json\nprint(json.dumps([env.state_hash(), env.snapshot().hex()]))"
    assert json.loads(run(code, PYTHONHASHSEED="5")) == [env.state_hash(), blob.hex()]
    assert len(blob) <= MAX_SNAPSHOT
