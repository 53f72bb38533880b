"""A tiny policy and its updates, for `test_grpo.py` and for processes of their own (torchrun, a fresh interpreter).

    python tests/models/ddp_update.py trajectory tests/models/grpo_trajectory.json     regenerate the reference
    torchrun --nproc_per_node 2 tests/models/ddp_update.py update FOLDER               two steps, then save
    python tests/models/ddp_update.py resume FROM FOLDER                               two more steps, then save

Regenerate the reference only together with a deliberate change of the reward-to-update path, and say so in the commit.
"""

import json
import random
import sys
import tempfile
from pathlib import Path

import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

from selfevolve.models.grpo import (
    GroupRelativeTrainer,
    OptimParams,
    Row,
    StepMetrics,
    group_advantages,
    open_trainer,
)

VOCABULARY = 24
TEMPERATURE = 0.7


def tiny_tokenizer() -> PreTrainedTokenizerFast:
    words = Tokenizer(WordLevel({f"w{i}": i for i in range(VOCABULARY)}, unk_token="w2"))
    return PreTrainedTokenizerFast(tokenizer_object=words, pad_token="w0", eos_token="w1", unk_token="w2")


def tiny_model(seed: int = 0) -> Qwen3ForCausalLM:
    """4,208 weights. Drawn by Python's generator, whose numbers are the same on every machine."""
    model = Qwen3ForCausalLM(
        Qwen3Config(
            vocab_size=VOCABULARY,
            hidden_size=16,
            num_hidden_layers=2,
            num_attention_heads=2,
            num_key_value_heads=1,
            head_dim=8,
            intermediate_size=24,
            max_position_embeddings=64,
            tie_word_embeddings=True,
            eos_token_id=1,
            pad_token_id=0,
            bos_token_id=None,
        )
    )
    draw = random.Random(seed)
    with torch.no_grad():
        for name, parameter in sorted(model.named_parameters()):
            centre = 1.0 if "norm" in name else 0.0
            values = [draw.gauss(centre, 0.2) for _ in range(parameter.numel())]
            parameter.copy_(torch.tensor(values).view_as(parameter))
    return model.eval()


def scored_rows(step: int, groups: int = 3, size: int = 3) -> list[Row]:
    """Rows of one step: groups with rewards drawn from the Reasoner's 1.0 / 0.9 / 0, some rows with a masked token."""
    draw = random.Random(f"rows {step}")
    rewards = [[draw.choice((1.0, 0.9, 0.0)) for _ in range(size)] for _ in range(groups)]
    rows = []
    for advantages in group_advantages(rewards):
        prompt = [draw.randrange(3, VOCABULARY) for _ in range(draw.randint(1, 9))]
        for advantage in advantages:
            completion = [draw.randrange(3, VOCABULARY) for _ in range(draw.randint(1, 11))]
            mask = [int(i != 1) for i in range(len(completion))] if draw.random() < 0.4 else None
            rows.append(Row(prompt_ids=prompt, completion_ids=completion, advantage=advantage, mask=mask))
    return rows


def tiny_trainer(
    output_dir: Path | str, seed: int = 0, resume_from: Path | None = None, **params: object
) -> GroupRelativeTrainer:
    optim = OptimParams(**{"learning_rate": 1e-2, "warmup_steps": 0, "micro_batch_size": 4} | params)
    return open_trainer(tiny_model(seed), tiny_tokenizer(), optim, 10, TEMPERATURE, 0, output_dir, resume_from)


def trajectory() -> dict:
    """Three steps from rewards to parameters. The loss of an on-policy step does not depend on the policy (every ratio
    is 1), so gradient norm and entropy are what shows that the previous update was the same."""
    with tempfile.TemporaryDirectory() as folder:
        trainer = tiny_trainer(folder)
        steps = [_summary(trainer.step(scored_rows(step))) for step in range(3)]
        return {"steps": steps, "checksums": checksums(trainer)}


def checksums(trainer: GroupRelativeTrainer) -> dict[str, float]:
    """Per parameter, the dot product with a fixed pattern: any moved or swapped weight shows."""
    return {
        name: float(parameter.detach().double().cpu().flatten() @ torch.arange(parameter.numel()).double().cos())
        for name, parameter in trainer.model.named_parameters()
    }


def _summary(metrics: StepMetrics) -> dict:
    return metrics.model_dump()


def main(command: str, *paths: str) -> None:
    if command == "trajectory":
        Path(paths[0]).write_text(json.dumps(trajectory(), indent=1) + "\n")
        return
    source, target = (paths[0], paths[1]) if command == "resume" else (None, paths[0])
    trainer = tiny_trainer(f"{target}-scratch", resume_from=source)
    first = trainer.steps_done
    metrics = [_summary(trainer.step(scored_rows(step))) for step in range(first, first + 2)]
    trainer.save(target)
    if trainer.accelerator.is_main_process:
        (Path(target) / "metrics.json").write_text(json.dumps({"world": trainer.accelerator.num_processes, "steps": metrics}))
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
