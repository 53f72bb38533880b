"""What is read from dvc.yaml, and what the key of a stage's work depends on."""

import pytest
import yaml

from selfevolve import pipeline

MATRIX = {"variant": ["x", "y"]}


def test_items_notebook_and_folders_follow_from_dvc_yaml(repository, root):
    path = repository.stage("a", [], matrix=MATRIX, deps=["in/${item.variant}", "in/${profile}"])
    repository.stage("report", [])
    (root / "notebooks/02_report.ipynb").unlink()
    assert pipeline.items("a") == [{"variant": "x"}, {"variant": "y"}]
    assert pipeline.items("report") == [{}]
    assert str(pipeline.notebook("a")) == path and pipeline.notebook("report") is None
    assert str(pipeline.out("a", {"variant": "x"})) == "artifacts/a/x"
    assert pipeline.deps("a", {"variant": "x"}) == [path, "in/x", "in/tiny"]


def test_the_key_follows_parameters_inputs_and_code_and_nothing_else(repository, root):
    repository.stage("a", ["1"], matrix=MATRIX, deps=["in", "m.py"])
    repository.write("in/deep/x", "1")
    repository.write("m.py", "1")
    item = {"variant": "x"}
    keys = [pipeline.key("a", item)]

    def changed(write) -> bool:
        write()
        keys.append(pipeline.key("a", item))
        return keys[-1] not in keys[:-1]

    def params(steps: int, other: int) -> str:
        return yaml.safe_dump({"profile": "tiny", "profiles": {"tiny": {"a": {"steps": steps}}, "smol": other}})

    assert changed(lambda: repository.write("in/deep/x", "2"))
    assert changed(lambda: repository.write("in/y", ""))
    assert changed(lambda: repository.write("m.py", "2"))
    assert changed(lambda: repository.write("params.yaml", params(4, 0)))
    assert not changed(lambda: repository.write("params.yaml", params(4, 1)))
    assert not changed(lambda: repository.write("in/__pycache__/m.pyc", "1"))
    assert not changed(lambda: repository.write("other.py", "1"))
    assert pipeline.key("a", {"variant": "y"}) not in keys


@pytest.mark.parametrize(
    ("entry", "fault"),
    [
        ({"deps": ["nowhere"]}, "stages.a.deps: nowhere does not exist; run `dvc repro`"),
        ({"deps": ["${item.size}"]}, r"\$\{item.size\} is none of its parameters \['variant'\]"),
        ({"deps": ["${profiles.tiny.b}"]}, r"params.yaml has no key 'profiles.tiny.b' \(stops at 'b'\)"),
        ({"params": [{"other.yaml": ["x"]}]}, "is not a key of params.yaml"),
    ],
)
def test_errors_name_the_stage_and_the_field(repository, root, entry, fault):
    repository.stage("a", ["1"], matrix=MATRIX, **entry)
    with pytest.raises(pipeline.PipelineError, match=fault):
        pipeline.key("a", {"variant": "x"})


def test_outputs_and_parameters_of_an_item_are_resolved(repository, root):
    outs = ["artifacts/a/${item.variant}", {"artifacts/times/${item.variant}.csv": {"cache": False}}]
    repository.stage("a", [], matrix={"variant": ["x", "y"]}, outs=outs)
    assert pipeline.outs("a", {"variant": "y"}) == ["artifacts/a/y", "artifacts/times/y.csv"]
    assert pipeline.parameters("a", {"variant": "y"}) == {"profile": "tiny", "profiles.tiny.a": {"steps": 3}}
