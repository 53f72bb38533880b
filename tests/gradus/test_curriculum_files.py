"""Accepted tasks as a dataset that `datasets` opens and stock TRL trains on."""

import json

import polars as pl
import pytest
from datasets import load_dataset

from selfevolve import paths
from selfevolve.environments import load
from selfevolve.gradus import curriculum
from selfevolve.gradus.blueprints import Blueprint, Call, Step
from selfevolve.gradus.curriculum import Item
from selfevolve.gradus.judgement import Unit
from selfevolve.gradus.run import SCHEMAS
from selfevolve.gradus.tasks import Demonstration, Event, Task

LOOK, CANCEL = (Call(name=name, arguments={"id": "b10"}) for name in ("look", "cancel"))
EVENTS = (
    Event(kind="user", text="Please cancel b10."),
    Event(kind="call", call=LOOK, observation="basic open due 0 age 0"),
    Event(kind="call", call=CANCEL, observation="gone"),
    Event(kind="assistant", text="It is cancelled."),
)


def record(depth: int, accepted: bool = True, kernels: tuple[str, ...] = (), round: int = 0) -> dict:
    step = Step(action="cancel", entity="A", decision="perform", units=(Unit("cancel.status", "open"),))
    plan = Blueprint(
        domain="desk", parent=None, depth=depth, kernels=kernels, interactions=("pressure",), goal=f"goal {depth}", steps=(step,)
    )
    task = Task(blueprint=plan.id, round=round, scenario="Say: cancel b10.", reference=(LOOK, CANCEL), bindings={"A": "b10"})
    shown = Demonstration(task=plan.id, round=round, branch=0, attempt=0, events=EVENTS, stop="done")
    row = {
        "arm": "full",
        "blueprint": plan.id,
        "depth": depth,
        "kernels": list(kernels),
        "interactions": ["pressure"],
        "round": round,
    }
    texts = {"plan": plan.model_dump_json(), "specification": task.model_dump_json(), "demonstration": shown.model_dump_json()}
    return row | {"accepted": accepted, "verified": accepted} | texts


@pytest.fixture(scope="module")
def parts():
    rows = [
        record(1),
        record(3, kernels=("causal", "causal"), round=2),
        record(4, kernels=("causal",)),
        record(2, accepted=False),
    ]
    return curriculum.tables(load("desk"), pl.DataFrame(rows, schema=SCHEMAS["records"]), (1, 2, 3))


@pytest.fixture(scope="module")
def folder(parts, tmp_path_factory):
    folder = tmp_path_factory.mktemp("curriculum") / "desk"
    curriculum.write(folder, parts, "desk", "Roles were scripted.")
    return folder


def test_shallow_tasks_become_a_row_per_assistant_step(parts):
    rows = parts["sft"].filter(depth=1).to_dicts()
    assert [row["step"] for row in rows] == [0, 1, 2]
    assert [len(row["prompt"]) for row in rows] == [2, 4, 6]  # policy, then what was said and done before the step
    assert all(len(row["completion"]) == 1 and row["completion"][0]["role"] == "assistant" for row in rows)
    call = rows[1]["completion"][0]["tool_calls"][0]
    assert call["function"]["name"] == "cancel" and json.loads(call["function"]["arguments"]) == {"id": "b10"}
    answer = rows[2]["prompt"][-1]
    assert answer["role"] == "tool" and answer["content"] == "gone" and answer["tool_call_id"] == call["id"]
    assert rows[2]["completion"][0]["content"] == "It is cancelled."


def test_deep_tasks_become_an_item_with_all_that_its_reward_needs(parts):
    (row,) = parts["rl"].to_dicts()
    item = Item.of(row)
    assert item.task.reference == (LOOK, CANCEL) and item.blueprint.depth == 4 and item.blueprint.id == row["task"]
    assert row["prompt"][0]["content"] == load("desk").policy and len(row["prompt"]) == 1


def test_what_was_not_accepted_is_in_neither_part(parts):
    assert sorted({*parts["sft"]["depth"]}) == [1, 3] and parts["rl"]["depth"].to_list() == [4]


def test_the_counts_are_those_of_tables_5_and_6(parts):
    assert curriculum.sizes(parts).row(0, named=True) == {"domain": "desk", "sft_tasks": 2, "sft_rows": 6, "rl_tasks": 1}
    assert curriculum.counts(parts, "depth").select("depth", "tasks").rows() == [(1, 1), (3, 1), (4, 1)]
    assert curriculum.counts(parts, "round").select("round", "tasks").rows() == [(0, 2), (2, 1)]
    assert curriculum.counts(parts, "kernels").select("kernels", "tasks").rows() == [("causal", 2), ("pressure", 3)]


def test_the_user_s_own_calls_are_not_the_assistant_s_to_learn():
    own = Event(kind="call", call=Call(name="toggle_data", arguments={}, requestor="user"), observation="on")
    assert curriculum.conversation([*EVENTS[:1], own])[1:] == []


def test_datasets_opens_the_folder_and_the_card_says_where_it_comes_from(folder, parts):
    for name in curriculum.SPLITS:
        rows = load_dataset(str(folder), name, split="train", cache_dir=str(folder.parent / "cache"))
        assert rows.num_rows == parts[name].height and rows[0]["task"] == parts[name]["task"][0]
    card = (folder / "README.md").read_text()
    assert card.split("---")[2].strip().startswith("Roles were scripted.") and "| desk | 2 | 6 | 1 |" in card


@pytest.mark.skipif(
    not (paths.ROOT / ".cache" / "SmolLM2-135M-Instruct").is_dir(), reason="needs SmolLM2's tokenizer: make smollm2"
)
def test_stock_trl_trains_on_the_rows(folder, tmp_path):
    from transformers import AutoTokenizer, Qwen3Config, Qwen3ForCausalLM
    from trl import SFTConfig, SFTTrainer

    tokenizer = AutoTokenizer.from_pretrained(paths.ROOT / ".cache" / "SmolLM2-135M-Instruct")
    tokenizer.chat_template = (
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content or '' }}{% for c in m.tool_calls or [] %}"
        "{{ c.function.name }} {{ c.function.arguments }}{% endfor %}<|im_end|>\n{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    )
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 8}
    model = Qwen3ForCausalLM(Qwen3Config(vocab_size=len(tokenizer), intermediate_size=16, **sizes))
    options = SFTConfig(
        output_dir=str(tmp_path), max_steps=1, per_device_train_batch_size=2, report_to=[], use_cpu=True, save_strategy="no"
    )
    rows = load_dataset(str(folder), "sft", split="train", cache_dir=str(tmp_path / "cache"))
    trainer = SFTTrainer(model=model, args=options, train_dataset=rows, processing_class=tokenizer)
    batch = next(iter(trainer.get_train_dataloader()))
    learned = tokenizer.decode(batch["labels"][0][batch["labels"][0] != -100])
    assert "policy" not in learned.lower() and ("cancel" in learned or "look" in learned)
    assert trainer.train().training_loss > 0
