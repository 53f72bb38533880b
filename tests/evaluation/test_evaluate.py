import polars as pl
import pytest
import torch

from selfevolve import params, pipeline
from selfevolve.evaluation import evaluate as module
from selfevolve.evaluation.evaluate import SCHEMA, evaluate
from selfevolve.evaluation.systems import systems
from selfevolve.models.policy import Policy
from selfevolve.models.tiny import TinyConfig, build_model, build_tokenizer
from selfevolve.paths import ARTIFACTS

DRAWS = 3
PROBLEMS = [f"a={i}. b=a+{i % 7}. b?" for i in range(12)]
ITEMS = pl.DataFrame(
    {
        "id": [f"item-{i}" for i in range(12)],
        "benchmark": ["exam"] * 8 + ["gsm8k"] * 4,
        "skill": ["seq"] * 8 + [None] * 4,
        "level": pl.Series([1] * 8 + [None] * 4, dtype=pl.Int64),
        "problem": PROBLEMS,
        "answer": ["5"] * 11 + [""],  # nothing can be compared with the last
    }
)


@pytest.fixture(scope="module")
def agent(tmp_path_factory):
    """A random model whose every token is a digit or the end: its answers are checkable, and rarely the same twice."""
    folder = tmp_path_factory.mktemp("agent")
    tokenizer = build_tokenizer(["".join(PROBLEMS), "0123456789"], 64, 128)
    shape = dict(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=1, head_dim=8)
    config = TinyConfig(**shape, intermediate_size=16, max_position_embeddings=96, vocab_size=64)
    model = build_model(config, tokenizer, 0)
    keep = [*tokenizer.convert_tokens_to_ids(list("0123456789")), tokenizer.eos_token_id]
    model.config.tie_word_embeddings = False
    with torch.no_grad():  # a constant last hidden state, and a head that knows digits and the end only
        model.lm_head.weight = torch.nn.Parameter(torch.full((len(tokenizer), 16), -1.0))
        model.lm_head.weight[keep] = 1.0
        model.lm_head.weight[tokenizer.convert_tokens_to_ids("5")] = 1.02
        model.model.norm.weight.fill_(0)
        model.model.norm.weight[0] = 4.0
        model.model.embed_tokens.weight[:, 0] = 3.0
    Policy(model, tokenizer, "float32", 8).save(folder)
    return folder


@pytest.fixture(scope="module")
def settings():
    tiny = params.load("tiny")
    sampling = tiny.evaluation.sampling.model_copy(update={"temperature": 1.0, "top_p": 1.0, "max_new_tokens": 8})
    evaluation = tiny.evaluation.model_copy(update={"draws": DRAWS, "sampling": sampling})
    models = tiny.models.model_copy(update={"generation_batch": 8})
    return tiny.model_copy(update={"evaluation": evaluation, "models": models})


@pytest.fixture(scope="module")
def predictions(agent, settings, tmp_path_factory):
    return evaluate("synco", 2, agent, settings, ITEMS, tmp_path_factory.mktemp("work") / "synco-2.parquet")


def test_one_row_per_item_and_run_in_the_schema_of_the_artifact(predictions):
    assert dict(predictions.schema) == SCHEMA
    assert predictions.height == 12 * (1 + DRAWS)
    assert predictions.select("item", "mode", "draw").is_unique().all()
    assert set(predictions["system"]) == {"synco"} and set(predictions["seed"]) == {2}
    for (mode, _), run in predictions.group_by("mode", "draw"):
        assert mode in ("greedy", "sampled")
        expected = ITEMS.select(pl.col("id").alias("item"), "benchmark", "skill", "level")
        assert run.select("item", "benchmark", "skill", "level").equals(expected)


def test_one_greedy_run_and_the_asked_number_of_sampled_ones(predictions):
    runs = predictions.group_by("mode", "draw").len().sort("mode", "draw").rows()
    assert runs == [("greedy", 0, 12), *[("sampled", draw, 12) for draw in range(DRAWS)]]


def test_sampled_runs_differ_and_the_greedy_one_is_greedy(predictions):
    runs = predictions.partition_by("mode", "draw", as_dict=True)
    sampled = [runs["sampled", draw].select("answer", "tokens").rows() for draw in range(DRAWS)]
    assert all(sampled[i] != sampled[j] for i in range(DRAWS) for j in range(i))
    assert set(runs["greedy", 0]["answer"]) == {"5" * 8}  # the digit this model prefers, whatever the prompt
    assert runs["sampled", 0]["answer"].n_unique() > 3


def test_tokens_are_counted_up_to_the_end(predictions):
    sampled = predictions.filter(mode="sampled")
    assert sampled["tokens"].min() >= 1 and sampled["tokens"].max() == 8
    assert sampled["tokens"].n_unique() > 3
    for answer, tokens in sampled.select("answer", "tokens").iter_rows():
        assert tokens - len(answer or "") in (0, 1)  # a digit is a token, and so is the end


def test_answers_are_checked_and_an_unreadable_reference_gives_null(predictions):
    readable = predictions.filter(pl.col("item") != "item-11")
    assert readable["correct"].null_count() == 0
    right = [answer is not None and int(answer) == 5 for answer in readable["answer"]]
    assert readable["correct"].to_list() == right
    assert predictions.filter(item="item-11")["correct"].to_list() == [None] * (1 + DRAWS)
    assert not predictions["boxed"].any()


def test_the_seed_of_the_evaluation_decides_the_draws(predictions, agent, settings, tmp_path):
    again = evaluate("synco", 2, agent, settings, ITEMS, tmp_path / "again.parquet")
    assert again.equals(predictions)
    other = settings.model_copy(update={"evaluation": settings.evaluation.model_copy(update={"seed": 1})})
    for system, seed, changed in (("synco", 2, other), ("synco", 1, settings), ("frozen", 2, settings)):
        drawn = evaluate(system, seed, agent, changed, ITEMS, tmp_path / f"{system}-{seed}.parquet")
        assert not drawn.filter(mode="sampled")["answer"].equals(predictions.filter(mode="sampled")["answer"])
        assert drawn.filter(mode="greedy")["answer"].equals(predictions.filter(mode="greedy")["answer"])


def test_right_answers_are_recognised(agent, settings, tmp_path):
    known = ITEMS.head(2).with_columns(pl.Series("answer", ["55,555,555", "5555555"]))
    result = evaluate("vanilla", 0, agent, settings, known, tmp_path / "known.parquet").filter(mode="greedy")
    assert result["correct"].to_list() == [True, False]


def test_rows_are_kept_whole_and_a_rerun_reads_them(predictions, agent, settings, tmp_path, monkeypatch):
    path = tmp_path / "deep" / "synco-2.parquet"
    first = evaluate("synco", 2, agent, settings, ITEMS, path)
    assert pl.read_parquet(path).equals(first)
    assert [each.name for each in path.parent.iterdir()] == [path.name]  # no temporary file stays
    monkeypatch.setattr(module, "load", lambda *_: pytest.fail("the model was loaded again"))
    assert evaluate("synco", 2, agent, settings, ITEMS, path).equals(first)


def test_an_interrupted_evaluation_leaves_nothing_that_passes_for_a_result(agent, settings, tmp_path, monkeypatch):
    def killed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(module.os, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        evaluate("synco", 2, agent, settings, ITEMS, tmp_path / "synco-2.parquet")
    assert not (tmp_path / "synco-2.parquet").exists()


def test_the_systems_are_vanilla_and_every_variant_that_is_run_with_every_seed():
    settings = params.load("tiny")
    cotraining = settings.cotraining.model_copy(update={"seeds": (3, 5)})
    listed = systems(settings.model_copy(update={"cotraining": cotraining}))
    assert listed[0] == ("vanilla", 0, ARTIFACTS / "synthesis" / "reasoner")
    assert listed[1:] == [
        (variant, seed, ARTIFACTS / "cotraining" / variant / f"seed-{seed}" / "reasoner")
        for variant in pipeline.choices("cotraining")["variant"]
        for seed in (3, 5)
    ]


def test_released_checkpoints_are_systems_too(agent, settings, tmp_path):
    """Evaluated as they are, from a folder or a hub id, by the same code."""
    evaluation = settings.evaluation.model_copy(update={"checkpoints": (params.Checkpoint(name="released", path=str(agent)),)})
    name, seed, place = systems(settings.model_copy(update={"evaluation": evaluation}))[-1]
    assert (name, seed) == ("released", 0)
    rows = evaluate(name, seed, place, settings, ITEMS, tmp_path / "released.parquet")
    assert rows["system"].unique().to_list() == ["released"] and rows.height == ITEMS.height * (1 + DRAWS)
