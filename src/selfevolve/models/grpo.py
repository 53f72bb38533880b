"""Group-relative policy optimisation, one optimizer step at a time (SynCo section 3.3, Eq. 8-9; appendix C.3).

SynCo updates two policies in one loop, so neither may own the loop. `GroupRelativeTrainer` is TRL's `GRPOTrainer`
with the loop turned inside out: the caller samples and scores, then calls `step(rows)`, which is exactly one
optimizer step on any number of rows. The loss and the backward pass stay TRL's (`training_step`, `compute_loss`).
What is overridden, and why:

* `_prepare_inputs`: TRL's seam between generation and loss. Here the rows are sampled and scored already.
* `_get_per_token_logps_and_entropies`: TRL scores the vocabulary in tiles of 32,768 entries, recomputed in the
  backward pass. That is right for large vocabularies and costs a small model a quarter of its step, so batches whose
  logits are small keep them. The values are the same.
* `_send_telemetry`: TRL reports each trainer it builds to a server. A pipeline that promises to run offline does not.

Deviations from the paper, and what the paper leaves open:

* Strictly on-policy: rows are used for one step and then dropped, so the importance ratio is 1 and clipping never
  binds. There are therefore no old log-probabilities and no clip range to set. No KL term (C.3: "no KL penalty").
* The loss aggregation is not stated. `dapo` (sum over tokens / tokens of the batch; TRL's default) and `grpo` (mean
  over rows of the mean over tokens) are offered; both are exact for every micro-batch size and process count.
* The schedule after the 10 warm-up steps is not stated: the rate stays constant. The warm-up is transformers'
  `constant_with_warmup`, whose very first step has rate 0.
* Log-probabilities are those of the sampling distribution at its temperature: TRL divides the logits by it, so pass
  the temperature used for sampling. Nucleus sampling (C.3: p = 0.95) is not in them: the renormalised head of the
  distribution is what was sampled, the full one is what is trained. Sample with top_p = 1 for the exact gradient.
* Rows with zero advantage (groups of equal rewards: appendix D.2, four fifths of the groups there) are left out of the forward and
  backward pass. Without a KL term they carry no gradient; they still count in both normalisers, so the gradient is the same.
"""

import contextlib
import json
import math
import warnings
from collections.abc import Sequence
from pathlib import Path

import torch
from datasets import Dataset
from pydantic import BaseModel, ConfigDict, Field
from safetensors.torch import load_model
from transformers import PreTrainedModel, PreTrainedTokenizerBase, Trainer
from trl import GRPOConfig, GRPOTrainer

from selfevolve.models.advantages import group_advantages
from selfevolve.models.device import device
from selfevolve.models.rows import Row, collate, micro_batches
from selfevolve.models.settings import OptimParams

__all__ = ["GroupRelativeTrainer", "OptimParams", "Row", "StepMetrics", "group_advantages", "open_trainer"]

WEIGHTS_FILE = "model.safetensors"
OPTIMIZER_FILE = "optimizer.pt"
STATE_FILE = "trainer.json"  # written last and removed first, so that a folder holding it is complete

LOGITS_AT_ONCE = 2**24  # logits of one micro-batch up to which they are kept whole: 64 MiB in float32


class StepMetrics(BaseModel):
    """What one `step` did, over all processes. None = there was nothing to compute it from."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    loss: float | None = Field(description="policy loss before the step, normalised as `loss_type` says")
    grad_norm: float | None = Field(description="global L2 norm before clipping")
    learning_rate: float = Field(description="rate this step used or, without rows, would have used")
    entropy: float | None = Field(
        description="mean entropy, in nats, of the policy at its own tokens, rows without advantage left out"
    )
    rows: int = Field(description="rows given")
    tokens: int = Field(description="policy tokens in them")


class GroupRelativeTrainer(GRPOTrainer):
    """One policy and its optimizer. Build with `open_trainer`; several may live in one process."""

    def __init__(self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, args: GRPOConfig):
        super().__init__(
            model=model,
            args=args,
            processing_class=tokenizer,
            reward_funcs=_never_called,
            train_dataset=Dataset.from_dict({"prompt": ["-"]}),  # TRL requires both; neither is used
        )
        if self.is_fsdp_enabled or self.is_deepspeed_enabled:
            raise NotImplementedError(
                "GroupRelativeTrainer saves unsharded weights: launch with torchrun (DDP), not FSDP or DeepSpeed"
            )
        self._net, _ = self._prepare_for_training(args.max_steps, None, None)
        self.model.eval()

    @property
    def steps_done(self) -> int:
        """Calls of `step` so far, those without rows included."""
        return self.state.global_step

    def step(self, rows: Sequence[Row]) -> StepMetrics:
        """Make exactly one optimizer step on `rows`; with no rows, only advance the learning-rate schedule.

        Draws nothing at random (models without dropout, as all of ours). Leaves `.model` in eval mode and without
        gradients, ready to generate.

        Args:
            rows: any number, in any order; under torchrun the same rows on every rank.

        Raises:
            FloatingPointError: the gradient is not finite. Parameters, optimizer and schedule are as before.
        """
        tokens = sum(row.tokens for row in rows)
        learning_rate = self.lr_scheduler.get_last_lr()[0]
        loss = grad_norm = entropy = None
        if rows:
            try:
                loss, entropy = self._accumulate_gradient(rows, tokens)
                clipped = self._clip_grad_norm(self._net) if self.args.max_grad_norm > 0 else None
                grad_norm = float(self._get_grad_norm(self._net, clipped))
                if not math.isfinite(grad_norm):
                    raise FloatingPointError(
                        f"gradient norm {grad_norm}, loss {loss} in step {self.steps_done + 1}: the policy has "
                        "diverged; go back to an earlier checkpoint and lower learning_rate or max_grad_norm"
                    )
                self.optimizer.step()
            finally:
                self._net.zero_grad()
                self._metrics["train"].clear()
                self.model.eval()
        with warnings.catch_warnings():  # torch expects an optimizer step before the first tick; an empty step has none
            warnings.filterwarnings("ignore", message="Detected call of `lr_scheduler.step", category=UserWarning)
            self.lr_scheduler.step()
        self.state.global_step += 1
        return StepMetrics(
            loss=loss, grad_norm=grad_norm, learning_rate=learning_rate, entropy=entropy, rows=len(rows), tokens=tokens
        )

    def save(self, folder: Path | str) -> None:
        """Write everything `open_trainer(resume_from=folder)` needs; the folder also loads with `from_pretrained`.

        Only the main process writes, the others wait for it. Files of an older checkpoint in `folder` are replaced.
        """
        folder = Path(folder)
        if self.accelerator.is_main_process:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / STATE_FILE).unlink(missing_ok=True)
            self.model.save_pretrained(folder, max_shard_size="1000TB")  # one file, so that loading can be strict
            self.processing_class.save_pretrained(folder)
            state = {"optimizer": self.optimizer.state_dict(), "scheduler": self.lr_scheduler.state_dict()}
            torch.save(state, folder / OPTIMIZER_FILE)
            (folder / STATE_FILE).write_text(json.dumps({"step": self.steps_done, "settings": self._settings()}))
        self.accelerator.wait_for_everyone()

    def load(self, folder: Path | str) -> None:
        """Restore weights, optimizer, schedule and step count bit for bit from what `save` wrote.

        Nothing in the folder is unpickled into objects: safetensors, JSON and `torch.load(weights_only=True)`.

        Raises:
            FileNotFoundError: `folder` is no complete checkpoint (`save` was interrupted, or never ran).
            ValueError: it was saved under other settings, which loading would silently bring back.
        """
        folder = Path(folder)
        if not (folder / STATE_FILE).is_file():
            raise FileNotFoundError(f"no {STATE_FILE} in {folder}: not a complete checkpoint; resume from an earlier one")
        saved = json.loads((folder / STATE_FILE).read_text())
        if saved["settings"] != self._settings():
            raise ValueError(
                f"{folder} was saved with {saved['settings']}, this trainer has {self._settings()}: resume with the "
                "saved settings, or load only the model from the folder and open a new trainer on it"
            )
        load_model(self.model, folder / WEIGHTS_FILE, device=str(self.args.device))
        state = torch.load(folder / OPTIMIZER_FILE, map_location="cpu", weights_only=True)
        self.optimizer.load_state_dict(state["optimizer"])
        self.lr_scheduler.load_state_dict(state["scheduler"])
        self.state.global_step = saved["step"]

    def _settings(self) -> dict[str, float | str]:
        """What a checkpoint's optimizer state is only good for; micro-batch size and precision may change."""
        names = ("learning_rate", "warmup_steps", "weight_decay", "adam_beta1", "adam_beta2", "max_grad_norm")
        return {name: getattr(self.args, name) for name in (*names, "loss_type", "temperature")}

    def _accumulate_gradient(self, rows: Sequence[Row], tokens: int) -> tuple[float, float | None]:
        """Leave the gradient of the batch loss in the parameters; return that loss and the mean token entropy."""
        accelerator = self.accelerator
        world, rank = accelerator.num_processes, accelerator.process_index
        bearing = [row for row in rows if row.advantage]
        if not bearing:
            for parameter in self.model.parameters():
                parameter.grad = torch.zeros_like(parameter) if parameter.requires_grad else None
            return 0.0, None
        plan = micro_batches(bearing, world, self.args.per_device_train_batch_size)
        loss = torch.zeros((), device=self.args.device)
        for i, shares in enumerate(plan):
            mine = shares[rank]
            # TRL divides the mean over a micro-batch's rows by this number and DDP averages over ranks, so a row
            # weighs 1/len(rows) wherever it lands. The token normaliser has the ratio of the two in it: 1.
            self.current_gradient_accumulation_steps = len(rows) / (world * len(mine))
            self.args.steps_per_generation = self.current_gradient_accumulation_steps
            last = i == len(plan) - 1
            accelerator.gradient_state._set_sync_gradients(last)  # shared by all trainers of the process: always set
            with contextlib.nullcontext() if last else accelerator.no_sync(self._net):
                loss += self.training_step(self._net, {"rows": mine, "tokens": tokens}, None)
        # TRL's entropies are token means over one micro-batch of all ranks: weight each by its tokens.
        sizes = [sum(row.tokens for share in shares for row in share) for shares in plan]
        total = sum(n * mean for n, mean in zip(sizes, self._metrics["train"]["entropy"], strict=True))
        return float(accelerator.reduce(loss, reduction="mean")), total / sum(sizes) if sum(sizes) else None

    def _prepare_inputs(self, inputs: dict) -> dict[str, torch.Tensor]:
        batch = collate(inputs["rows"], self._tokenizer.pad_token_id)
        return Trainer._prepare_inputs(self, {**batch, "num_items_in_batch": torch.tensor(inputs["tokens"])})

    def _get_per_token_logps_and_entropies(
        self, model, input_ids, attention_mask, logits_to_keep, compute_aux_loss=False, **options
    ):
        vocabulary = self.model.config.get_text_config().vocab_size
        if compute_aux_loss or input_ids.size(0) * logits_to_keep * vocabulary > LOGITS_AT_ONCE:
            return super()._get_per_token_logps_and_entropies(
                model, input_ids, attention_mask, logits_to_keep, compute_aux_loss=compute_aux_loss, **options
            )
        with self.accelerator.autocast():
            # No attention mask: padding is on the right, where causal attention never looks (see `collate`).
            outputs = model(input_ids=input_ids, logits_to_keep=logits_to_keep + 1, use_cache=False)
        logps = torch.log_softmax(outputs.logits[:, :-1].float() / self.temperature, dim=-1)
        with torch.no_grad():
            entropies = -(logps.exp() * logps).sum(-1)
        targets = input_ids[:, -logits_to_keep:].unsqueeze(-1)
        return logps.gather(-1, targets).squeeze(-1), entropies, None

    def _send_telemetry(self) -> None:
        pass


def _never_called(prompts: list, **_: object) -> list[float]:
    raise AssertionError("rows arrive with their advantages; TRL must not score anything")


def open_trainer(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    params: OptimParams,
    total_steps: int,
    temperature: float,
    seed: int,
    output_dir: Path | str,
    resume_from: Path | str | None = None,
    bf16: bool = False,
) -> GroupRelativeTrainer:
    """Open a policy for stepwise updates.

    Args:
        model: trained in place and in its own dtype; moved to the GPU if there is one.
        tokenizer: needs a pad or an EOS token; used for padding only, and saved along with the model.
        params: see `OptimParams`.
        total_steps: length of the run, >= 1. The rate being constant, it changes no number.
        temperature: > 0, the one the completions are sampled with (see the module docstring).
        seed: TRL resets Python's, numpy's and torch's global generators to it here; `step` draws nothing.
        output_dir: TRL creates this folder; nothing is written into it.
        resume_from: folder written by `save`; its weights replace those of `model`.
        bf16: autocast forward passes to bfloat16 (parameters keep their dtype).
    """
    args = GRPOConfig(
        output_dir=str(output_dir),
        max_steps=total_steps,
        seed=seed,
        temperature=temperature,
        loss_type=params.loss_type,
        learning_rate=params.learning_rate,
        lr_scheduler_type="constant_with_warmup",
        warmup_steps=params.warmup_steps,
        weight_decay=params.weight_decay,
        adam_beta1=params.adam_beta1,
        adam_beta2=params.adam_beta2,
        max_grad_norm=params.max_grad_norm,
        per_device_train_batch_size=params.micro_batch_size,
        gradient_accumulation_steps=2,  # replaced in every step; even, so that TRL accepts any micro-batch size
        num_generations=2,  # TRL's least; groups are formed by the caller
        beta=0.0,
        bf16=bf16,
        use_cpu=device() == "cpu",  # bfloat16 on a CPU needs it said
        gradient_checkpointing=False,
        use_cache=True,  # Trainer would switch the cache off for generation too; the loss never uses it
        ddp_find_unused_parameters=False,
        report_to="none",
        save_strategy="no",
        logging_strategy="no",
        disable_tqdm=True,
    )
    args._n_gpu = min(1, args.n_gpu)  # one process drives one GPU; several are for torchrun, not for DataParallel
    trainer = GroupRelativeTrainer(model, tokenizer, args)
    if resume_from is not None:
        trainer.load(resume_from)
    return trainer
