"""Time of one update: with rows that carry no gradient left out against all rows, and against stock TRL on the same rows.

    python benchmarks/update.py [--repeats 5]

One batch of the Reasoner at `tiny`: 128 groups of 4 rollouts, prompts of 40 to 90 tokens, completions of 10 to 56, the profile's model and
micro-batch. At each rate that share of the groups has unequal rewards (SynCo reports 10 to 16%). `with / without`: our step, against our step when
rows without advantage are computed as well. `vs_trl`: our step when every group carries a gradient, against TRL's training steps on
batches padded and ordered as TRL does it, its own log-probabilities and its optimizer step. CPU time, the least of `--repeats`, the two sides
taking turns. The last line is JSON: `ratio_by_rate` must stay below rate + 0.1, `vs_trl` below 1.
"""

import argparse
import json
import random
import tempfile
import time
from collections.abc import Callable, Sequence

import torch
from transformers import Trainer
from trl import GRPOTrainer

from selfevolve import params
from selfevolve.models import grpo
from selfevolve.models.grpo import GroupRelativeTrainer, Row, group_advantages, open_trainer
from selfevolve.models.tiny import build_model, build_tokenizer

RATES = (0.10, 0.16, 0.30, 0.60)
GROUPS, ROLLOUTS = 128, 4


class Everything(GroupRelativeTrainer):
    """Ours, with nothing left out: rows without advantage get one too small to matter."""

    def step(self, rows: Sequence[Row]) -> grpo.StepMetrics:
        return super().step([row if row.advantage else row.model_copy(update={"advantage": 1e-30}) for row in rows])


class Stock(GroupRelativeTrainer):
    """TRL's step: rows in the order they come, prompts padded on the left, completions on the right, its own log-probabilities."""

    _get_per_token_logps_and_entropies = GRPOTrainer._get_per_token_logps_and_entropies

    def step(self, rows: Sequence[Row]) -> None:
        size = self.args.per_device_train_batch_size
        batches = [rows[start : start + size] for start in range(0, len(rows), size)]
        self.current_gradient_accumulation_steps = self.args.steps_per_generation = len(batches)
        tokens = sum(row.tokens for row in rows)
        for batch in batches:
            self.training_step(self._net, {"rows": batch, "tokens": tokens}, None)
        self._clip_grad_norm(self._net)
        self.optimizer.step()
        self._net.zero_grad()
        self._metrics["train"].clear()

    def _prepare_inputs(self, inputs: dict) -> dict[str, torch.Tensor]:
        rows, pad = inputs["rows"], self._tokenizer.pad_token_id
        before, after = (max(len(getattr(row, name)) for row in rows) for name in ("prompt_ids", "completion_ids"))
        left = [(before - len(row.prompt_ids), row.prompt_ids) for row in rows]
        right = [(after - len(row.completion_ids), row.completion_ids) for row in rows]
        batch = {
            "prompt_ids": torch.tensor([(pad,) * gap + ids for gap, ids in left]),
            "prompt_mask": torch.tensor([(0,) * gap + (1,) * len(ids) for gap, ids in left]),
            "completion_ids": torch.tensor([ids + (pad,) * gap for gap, ids in right]),
            "completion_mask": torch.tensor([(1,) * len(ids) + (0,) * gap for gap, ids in right]),
            "advantages": torch.tensor([row.advantage for row in rows], dtype=torch.float32),
            "num_items_in_batch": torch.tensor(inputs["tokens"]),
        }
        return Trainer._prepare_inputs(self, batch)


def batch(rate: float, vocabulary: int) -> list[Row]:
    """One Reasoner batch, of whose groups that share has unequal rewards."""
    draw = random.Random(0)
    bearing = set(draw.sample(range(GROUPS), round(rate * GROUPS)))
    rewards = [
        [1.0, *draw.choices((0.0, 0.9), k=ROLLOUTS - 1)] if group in bearing else [1.0] * ROLLOUTS for group in range(GROUPS)
    ]
    rows = []
    for advantages in group_advantages(rewards):
        prompt = tuple(draw.randrange(4, vocabulary) for _ in range(draw.randint(40, 90)))
        for advantage in advantages:
            completion = tuple(draw.randrange(4, vocabulary) for _ in range(draw.randint(10, 56)))
            rows.append(Row(prompt_ids=prompt, completion_ids=completion, advantage=advantage))
    return rows


def ratio(one: Callable[[], object], other: Callable[[], object], repeats: int) -> float:
    """Least CPU time of the one to that of the other, after a warm-up of each."""
    least = [float("inf")] * 2
    for number in range(repeats + 1):
        for side, run in enumerate((one, other)):
            start = time.process_time()
            run()
            if number:
                least[side] = min(least[side], time.process_time() - start)
    return least[0] / least[1]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    torch.set_num_threads(1)
    profile = params.load("tiny")
    optim, temperature = profile.cotraining.reasoner_optim, profile.cotraining.reasoner_sampling.temperature
    tokenizer = build_tokenizer(["How many pens? 3+4=7 is 7."], 200, 256)
    with tempfile.TemporaryDirectory() as folder:
        made = {}
        for kind in (GroupRelativeTrainer, Everything, Stock):
            model = build_model(profile.models.base.shape, tokenizer, 0)
            made[kind] = open_trainer(model, tokenizer, optim, 1000, temperature, 0, folder)
            made[kind].__class__ = kind
        ours, everything, stock = made.values()
        vocabulary = ours.model.config.vocab_size
        by_rate = {}
        for rate in RATES:
            rows = batch(rate, vocabulary)
            by_rate[f"{rate:.2f}"] = round(ratio(lambda: ours.step(rows), lambda: everything.step(rows), repeats), 3)  # noqa: B023
            print(f"{rate:.0%} of the groups carry a gradient: {by_rate[f'{rate:.2f}']} of the time", flush=True)
        rows = batch(1.0, vocabulary)
        vs_trl = round(ratio(lambda: ours.step(rows), lambda: stock.step(rows), repeats), 3)
    print(json.dumps({"ratio_by_rate": by_rate, "vs_trl": vs_trl}))


if __name__ == "__main__":
    main()
