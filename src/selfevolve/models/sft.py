"""Supervised fine-tuning on TRL's SFTTrainer, over rows whose order and loss mask the caller has decided.

Used to bootstrap both agents before co-training. The paper starts from instruction-tuned models and needs no such step; a
from-scratch model does, and so does a small one that does not write the wire format yet.
"""

import json
import shutil
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from datasets import Dataset
from torch.optim.lr_scheduler import LambdaLR
from transformers import PreTrainedModel, PreTrainedTokenizerBase, PrinterCallback, TrainerCallback
from transformers.trainer import TRAINER_STATE_NAME
from transformers.trainer_utils import get_last_checkpoint
from trl import SFTConfig, SFTTrainer

from selfevolve.models.device import device
from selfevolve.models.settings import SftParams

IGNORED = -100
LOSSES = 50
"""A stage's losses are returned as about this many means over equal stretches of steps."""


class Example(NamedTuple):
    """One training row: token ids, and labels of the same length (IGNORED where no loss is taken)."""

    input_ids: list[int]
    labels: list[int]


def orthogonalise(matrices: torch.Tensor, iterations: int = 5) -> torch.Tensor:
    """Nearest semi-orthogonal matrices of a stack (n, rows, columns) by the quintic Newton-Schulz iteration of Muon."""
    a, b, c = 3.4445, -4.7750, 2.0315
    tall = matrices.shape[-2] > matrices.shape[-1]
    x = matrices.mT if tall else matrices
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(iterations):
        gram = x @ x.mT
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x.mT if tall else x


class MuonWithAdamW(torch.optim.Optimizer):
    """Muon (momentum 0.95, Nesterov, update scaled to AdamW's RMS) for the layers' matrices, AdamW for embeddings and norms.

    `torch.optim.Muon` computes in bfloat16, one matrix at a time; on a CPU without bfloat16 units that costs more than the
    model's forward and backward together, so the iteration is done here in float32 on stacks of equal shape.
    """

    def __init__(self, model: torch.nn.Module, learning_rate: float, weight_decay: float = 0.01):
        matrices, others = [], []
        for name, parameter in model.named_parameters():
            is_matrix = parameter.ndim == 2 and "embed" not in name and "lm_head" not in name
            (matrices if is_matrix else others).append(parameter)
        self.adamw = torch.optim.AdamW(others, lr=learning_rate, weight_decay=0.0, betas=(0.9, 0.98))
        super().__init__([{"params": matrices}], {"lr": learning_rate, "weight_decay": weight_decay})
        # The scheduler sets the learning rate of every group listed here: list AdamW's own group dictionaries.
        self.param_groups += self.adamw.param_groups

    @torch.no_grad()
    def step(self, closure: Callable | None = None) -> None:
        self.adamw.step()
        group, by_shape = self.param_groups[0], {}
        for parameter in group["params"]:
            if parameter.grad is not None:
                by_shape.setdefault(parameter.shape, []).append(parameter)
        for (rows, columns), parameters in by_shape.items():
            updates = []
            for parameter in parameters:
                momentum = self.state[parameter].setdefault("momentum", torch.zeros_like(parameter))
                momentum.lerp_(parameter.grad, 0.05)
                updates.append(parameter.grad.lerp(momentum, 0.95))
            rate = group["lr"] * 0.2 * max(rows, columns) ** 0.5
            for parameter, update in zip(parameters, orthogonalise(torch.stack(updates)), strict=True):
                parameter.mul_(1 - group["lr"] * group["weight_decay"]).add_(update, alpha=-rate)

    def state_dict(self) -> dict:
        group = self.param_groups[0]
        momenta = [self.state[parameter].get("momentum") for parameter in group["params"]]
        return {"momenta": momenta, "lr": group["lr"], "adamw": self.adamw.state_dict()}

    def load_state_dict(self, state_dict: dict) -> None:
        group = self.param_groups[0]
        group["lr"] = state_dict["lr"]
        for parameter, momentum in zip(group["params"], state_dict["momenta"], strict=True):
            if momentum is not None:
                self.state[parameter]["momentum"] = momentum.to(parameter.device, parameter.dtype)
        self.adamw.load_state_dict(state_dict["adamw"])
        self.param_groups = [group, *self.adamw.param_groups]


class _Watch(TrainerCallback):
    def __init__(self, report: Callable[[int], None]):
        self.report = report

    def on_step_end(self, args, state, control, **_) -> None:
        self.report(state.global_step)


class _Trainer(SFTTrainer):
    def _send_telemetry(self) -> None:
        """TRL reports each trainer it builds to a server; a pipeline that promises to run offline does not."""


def fine_tune(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    examples: Sequence[Example],
    params: SftParams,
    seed: int,
    work: Path,
    report: Callable[[int], None],
    bf16: bool = False,
) -> list[float]:
    """Train `model` in place on `examples`, `params.batch_size` rows a step in the order given; return its losses.

    A loss is the mean over `steps // LOSSES` steps (at least one), in nats per learned token; 0 steps do nothing.
    `examples` must hold `steps * batch_size` rows. Checkpoints go to `work`, and a call that finds one there goes on
    from it, to the same weights and losses. `report` is told the step number after each step.
    """
    if len(examples) != params.steps * params.batch_size:
        raise ValueError(f"{len(examples)} examples for {params.steps} steps of {params.batch_size} rows")
    if not params.steps:
        return []
    config = SFTConfig(
        output_dir=str(work),
        max_steps=params.steps,
        per_device_train_batch_size=params.micro_batch_size,
        gradient_accumulation_steps=params.batch_size // params.micro_batch_size,
        train_sampling_strategy="sequential",
        max_grad_norm=1.0,
        learning_rate=params.learning_rate,
        adam_beta2=0.98,
        max_length=None,
        gradient_checkpointing=False,
        bf16=bf16,
        use_cpu=device() == "cpu",
        save_strategy="steps",
        save_steps=params.checkpoint_every,
        save_total_limit=1,
        logging_steps=1,  # means over several steps would start anew at a resume: they are taken below
        logging_nan_inf_filter=False,
        report_to="none",
        disable_tqdm=True,
        seed=seed,
        data_seed=seed,
        dataloader_num_workers=0,
    )

    def scale(step: int) -> float:
        progress = step / params.steps
        decay = 1.0 if progress < 0.7 else max(0.03, (1 - progress) / 0.3)
        return min(1.0, (step + 1) / max(1, params.warmup_steps)) * decay

    if params.optimizer == "muon":
        optimizer: torch.optim.Optimizer = MuonWithAdamW(model, params.learning_rate)
    else:
        optimizer = torch.optim.AdamW(model.parameters(), lr=params.learning_rate, betas=(0.9, 0.98), weight_decay=0.01)
    rows = Dataset.from_dict({"input_ids": [e.input_ids for e in examples], "labels": [e.labels for e in examples]})
    config._n_gpu = min(1, config.n_gpu)  # several GPUs would silently multiply the batch
    trainer = _Trainer(
        model=model,
        args=config,
        train_dataset=rows,
        processing_class=tokenizer,
        callbacks=[_Watch(report)],
        optimizers=(optimizer, LambdaLR(optimizer, scale)),
    )
    trainer.remove_callback(PrinterCallback)
    trainer.train(resume_from_checkpoint=_last_checkpoint(work))
    losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
    every = max(1, params.steps // LOSSES)
    return [statistics.fmean(losses[i : i + every]) for i in range(0, len(losses), every)]


def _last_checkpoint(work: Path) -> str | None:
    """The newest complete checkpoint in `work`; what a kill left half-written is removed."""
    for folder in work.glob("checkpoint-*"):
        try:
            json.loads((folder / TRAINER_STATE_NAME).read_text(encoding="utf-8"))  # Trainer writes it last
        except (OSError, ValueError):
            shutil.rmtree(folder)
    return get_last_checkpoint(str(work)) if work.is_dir() else None
