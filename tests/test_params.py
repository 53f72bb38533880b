"""params.yaml: what is in the repository loads, and every mistake is named before any work."""

import re
from pathlib import Path

import pytest
import yaml

from selfevolve import params
from selfevolve.paths import PARAMS


def write(folder: Path, change) -> Path:
    content = yaml.safe_load(PARAMS.read_text())
    change(content)
    path = folder / "params.yaml"
    path.write_text(yaml.safe_dump(content))
    return path


@pytest.mark.parametrize("profile", ["tiny", "smol", "paper"])
def test_every_profile_loads(profile):
    assert params.load(profile).profile == profile


def test_the_paper_profile_has_the_papers_values():
    """C.3 and Table 8."""
    loop = params.load("paper").cotraining
    assert (loop.tasks, loop.rollouts, loop.iterations, loop.contexts) == (32, 4, 100, 1)
    for optim in (loop.synthesizer_optim, loop.reasoner_optim):
        assert (optim.learning_rate, optim.warmup_steps, optim.weight_decay) == (1e-6, 10, 0.1)
    assert (loop.synthesizer_sampling.temperature, loop.reasoner_sampling.temperature) == (1.0, 0.9)
    assert loop.synthesizer_sampling.top_p == loop.reasoner_sampling.top_p == 0.95
    evaluation = params.load("paper").evaluation.sampling
    assert (evaluation.temperature, evaluation.top_p) == (0.6, 0.95)


def test_all_profiles_have_the_same_keys():
    def keys(tree, prefix=""):
        if not isinstance(tree, dict):
            return {prefix}
        return {prefix} | {key for name, sub in tree.items() for key in keys(sub, f"{prefix}.{name}")}

    profiles = yaml.safe_load(PARAMS.read_text())["profiles"]
    trees = {name: {k for k in keys(tree) if ".models.base" not in k} for name, tree in profiles.items()}
    assert trees["tiny"] == trees["smol"] == trees["paper"]


def test_every_knob_is_explained_where_it_is_first_set():
    text = PARAMS.read_text()
    section = text[text.index("  tiny:") : text.index("  smol:")].splitlines()[1:]
    explained: set[str] = set()
    for line in section:
        if match := re.match(r" +([a-z_0-9]+):", line):
            is_leaf = not line.split("#")[0].rstrip().endswith(":")
            assert "#" in line or match[1] in explained or not is_leaf, f"no comment: {line}"
            if "#" in line:
                explained.add(match[1])


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda c: c["profiles"]["tiny"]["cotraining"].update(iteratons=5), ["iteratons", "unknown key", "5"]),
        (lambda c: c["profiles"]["tiny"]["cotraining"].update(iterations="many"), ["cotraining.iterations", "'many'", "integer"]),
        (
            lambda c: c["profiles"]["tiny"]["cotraining"].update(rollouts=1),
            ["cotraining.rollouts", "1", "greater than or equal to 2"],
        ),
        (lambda c: c["profiles"]["tiny"]["cotraining"].update(tasks=True), ["cotraining.tasks", "True", "integer"]),
        (lambda c: c["profiles"]["tiny"]["cotraining"].pop("seeds"), ["cotraining.seeds", "missing"]),
        (lambda c: c["profiles"]["tiny"]["cotraining"].update(contexts=3), ["multiple of contexts (3)"]),
        (
            lambda c: c["profiles"]["tiny"]["cotraining"]["reasoner_sampling"].update(top_p=1.5),
            ["reasoner_sampling.top_p", "1.5", "less than or equal to 1"],
        ),
        (
            lambda c: c["profiles"]["tiny"]["cotraining"]["reasoner_optim"].update(learning_rate="1e-6x"),
            ["reasoner_optim.learning_rate", "1e-6x"],
        ),
        (
            lambda c: c["profiles"]["tiny"]["verifier"]["quality_weights"].update(format=0.5),
            ["quality_weights", "sum to 1"],
        ),
        (
            lambda c: c["profiles"]["tiny"]["cotraining"]["variants"]["static_pool"].update(train_synthesizer=True),
            ["variants.static_pool", "no Synthesizer to train"],
        ),
        (
            lambda c: c["profiles"]["tiny"]["cotraining"]["variants"]["r_zero"].update(learner="rejection_sft"),
            ["variants.r_zero", "set learner to grpo"],
        ),
        (
            lambda c: c["profiles"]["tiny"]["cotraining"]["variants"]["metamathqa"].update(corpus="gsm8k"),
            ["variants.metamathqa.corpus 'gsm8k'", "openmathinstruct2, scalequest"],
        ),
        (
            lambda c: c["profiles"]["tiny"]["cotraining"]["variants"]["metamathqa"].pop("corpus"),
            ["variants.metamathqa", "source corpus needs corpus"],
        ),
        (
            lambda c: c["profiles"]["tiny"]["cotraining"]["variants"]["synco"].update(corpus="metamathqa"),
            ["variants.synco", "source synthesizer has no corpus"],
        ),
        (
            lambda c: c["profiles"]["smol"]["cotraining"]["sources"]["corpora"]["scalequest"].update(path="a.jsonl"),
            ["corpora.scalequest", "path and hub are both given"],
        ),
        (
            lambda c: c["profiles"]["tiny"]["cotraining"]["sources"]["rewriting"]["shares"].update(
                rephrase=0, self_verification=0, backward=0
            ),
            ["rewriting.shares", "all shares are 0"],
        ),
        (
            lambda c: c["profiles"]["tiny"]["cotraining"]["rejection_sft"].update(rounds=33),
            ["rejection_sft.rounds (33) exceeds iterations (32)"],
        ),
        (
            lambda c: c["profiles"]["tiny"]["evaluation"].update(
                checkpoints=[{"name": "a", "path": "x"}, {"name": "a", "path": "y"}]
            ),
            ["evaluation", "the name a is given twice"],
        ),
        (
            lambda c: c["profiles"]["tiny"]["evaluation"].update(checkpoints=[{"name": "A b", "path": "x"}]),
            ["evaluation.checkpoints.0.name", "A b"],
        ),
        (lambda c: c["profiles"]["tiny"]["cotraining"].update(seeds=[0, 0]), ["cotraining", "seeds [0, 0]", "repeat"]),
        (
            lambda c: c["profiles"]["tiny"]["cotraining"].update(seeds=[-1]),
            ["cotraining.seeds.0", "-1", "greater than or equal to 0"],
        ),
        (
            lambda c: c["profiles"]["tiny"]["cotraining"]["reasoner_sampling"].update(temperature=0.0),
            ["reasoner_sampling.temperature is 0", "above 0"],
        ),
        (
            lambda c: c["profiles"]["tiny"]["synthesis"]["base"].update(micro_batch_size=5),
            ["synthesis.base", "batch_size 16", "micro_batch_size 5"],
        ),
        (lambda c: c["profiles"]["tiny"]["benchmarks"].update(names=["gsm9k"]), ["benchmarks.names.0", "gsm9k", "gsm8k"]),
        (
            lambda c: c["profiles"]["tiny"]["models"]["base"]["shape"].update(num_key_value_heads=3),
            ["models.base.shape", "num_key_value_heads 3"],
        ),
        (lambda c: c.update(profile="huge"), ["'huge'", "paper", "smol", "tiny"]),
        (lambda c: c["profiles"]["paper"]["models"].update(dtype="float16"), ["paper.models.dtype", "float16", "bfloat16"]),
    ],
)
def test_a_mistake_is_named_with_its_value_and_what_is_allowed(tmp_path, change, named):
    path = write(tmp_path, change)
    with pytest.raises(params.ParamsError) as error:
        params.load(path=path)
    assert str(path) in str(error.value)
    for part in named:
        assert part in str(error.value)


def test_every_variant_that_is_run_is_declared_in_every_profile():
    matrix = yaml.safe_load((PARAMS.parent / "dvc.yaml").read_text())["stages"]["cotraining"]["matrix"]["variant"]
    for profile in ("tiny", "smol", "paper"):
        assert set(matrix) <= set(params.load(profile).cotraining.variants)


@pytest.mark.parametrize("profile", ["tiny", "smol", "paper"])
def test_every_trained_row_of_table_1_is_a_variant(profile):
    """C.2: three controlled baselines, R-Zero, three corpora, the frozen Synthesizer, and SynCo."""
    variants = params.load(profile).cotraining.variants
    parts = {name: (v.source, v.learner, v.train_synthesizer) for name, v in variants.items()}
    assert parts == {
        "synco": ("synthesizer", "grpo", True),
        "frozen": ("synthesizer", "grpo", False),
        "static_pool": ("static_pool", "grpo", False),
        "static_pool_sft": ("static_pool", "rejection_sft", False),
        "rewriting": ("rewriting", "grpo", False),
        "metamathqa": ("corpus", "grpo", False),
        "scalequest": ("corpus", "grpo", False),
        "openmathinstruct2": ("corpus", "grpo", False),
        "r_zero": ("r_zero", "grpo", True),
    }
    corpora = params.load(profile).cotraining.sources.corpora
    assert all(corpus.problems == 2940 for corpus in corpora.values())
    assert all((corpus.hub is None) == (profile == "tiny") for corpus in corpora.values())  # nothing is downloaded at tiny


def test_an_unknown_profile_name_is_refused():
    with pytest.raises(params.ParamsError, match="'huge' is none of"):
        params.load("huge")


def test_broken_yaml_and_a_repeated_key_are_refused(tmp_path):
    path = tmp_path / "params.yaml"
    path.write_text("profile: [tiny")
    with pytest.raises(params.ParamsError, match="not valid YAML"):
        params.load(path=path)
    path.write_text("profile: tiny\nprofile: smol\n")
    with pytest.raises(params.ParamsError, match="repeated key profile"):
        params.load(path=path)
    with pytest.raises(params.ParamsError, match="no such file"):
        params.load(path=tmp_path / "none.yaml")


def test_scientific_notation_without_a_point_is_a_number(tmp_path):
    """DVC reads YAML 1.2, where 1e-6 is a number; PyYAML alone would read text."""
    text = PARAMS.read_text().replace("learning_rate: 0.0004", "learning_rate: 1e-6")
    path = tmp_path / "params.yaml"
    path.write_text(text)
    assert params.load("tiny", path).cotraining.reasoner_optim.learning_rate == 1e-6


def test_no_code_branches_on_a_profiles_name():
    source = PARAMS.parent / "src"
    for path in source.rglob("*.py"):
        assert not re.search(r"profile\s*(==|!=|in)\s*[\[(\"']", path.read_text()), path
