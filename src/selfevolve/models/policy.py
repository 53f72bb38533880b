"""An agent: a causal language model, its tokenizer, and how it generates."""

import copy
import json
import warnings
from collections.abc import Sequence
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from selfevolve.models.device import computes_bfloat16, device
from selfevolve.models.generation import Completion, Message, Sampling, encode_chats, generate
from selfevolve.paths import ROOT

POINTER = "base.json"
"""In an agent folder without weights of its own: where the untouched base model is."""


class ModelError(OSError):
    """A model cannot be loaded; the message says from where, why, and what to do."""


class Policy:
    """A trainable policy. Weights are float32; `dtype` is what forward passes compute in."""

    def __init__(self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, dtype: str, batch_size: int):
        self.model = model
        self.tokenizer = tokenizer
        self.batch_size = batch_size
        self.bf16 = dtype == "bfloat16" or (dtype == "auto" and computes_bfloat16())
        if self.bf16 and not computes_bfloat16():
            warnings.warn(
                "this CPU has no bfloat16 arithmetic and emulates it many times slower than float32: "
                "set models.dtype to auto or float32 in params.yaml",
                stacklevel=2,
            )
        # Generating under autocast would cast every weight again at every token: keep a bfloat16 copy and refresh it.
        self._sampler = _bfloat16_copy(model) if self.bf16 else model

    def encode(self, chats: Sequence[Sequence[Message]]) -> list[list[int]]:
        """Token ids of prompts, one per conversation."""
        return encode_chats(self.tokenizer, chats)

    def generate(self, prompts: Sequence[Sequence[int]], sampling: Sampling, seed: int) -> list[Completion]:
        """One completion per prompt with the current weights; the same seed draws the same completions."""
        if self.bf16:
            self._sampler.load_state_dict(self.model.state_dict())
            self._sampler.to(self.model.device)
        return generate(self._sampler, self.tokenizer, prompts, sampling, seed, self.batch_size)

    def save(self, folder: Path) -> None:
        """Write weights and tokenizer so that `load` reads them back."""
        self.model.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)


def _bfloat16_copy(model: PreTrainedModel) -> PreTrainedModel:
    """A copy with bfloat16 parameters but the same buffers: rounded rotary frequencies turn far positions by radians."""
    sampler = copy.deepcopy(model)
    for parameter in sampler.parameters():
        parameter.data = parameter.data.to(torch.bfloat16)
    return sampler


def point_to_base(folder: Path, path: str) -> None:
    """Make `folder` an agent folder that stands for the untouched base model at `path` (no copy of its weights)."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / POINTER).write_text(json.dumps({"path": path}) + "\n", encoding="utf-8")


def load(folder: Path | str, dtype: str, batch_size: int) -> Policy:
    """Load a policy from an agent folder, any local transformers folder, or a hub id, onto the GPU if there is one.

    Raises ModelError if it is neither here nor to be had from the hub.
    """
    source = str(folder)
    while (pointer := Path(source) / POINTER).is_file():
        source = json.loads(pointer.read_text(encoding="utf-8"))["path"]
    if (ROOT / source).is_dir():  # paths in params.yaml are relative to the repository
        source = str(ROOT / source)
    try:
        tokenizer = AutoTokenizer.from_pretrained(source, padding_side="left")
        model = AutoModelForCausalLM.from_pretrained(source, dtype=torch.float32)
    except (OSError, ValueError) as error:
        reason = (str(error).strip() or repr(error)).splitlines()[0]
        raise ModelError(
            f"cannot load a model from {source!r}: it is no local model folder, or the hub cannot be reached "
            f"({reason}). Give a local folder in params.yaml (models.base.path), or for "
            "SmolLM2-135M run `make smollm2` once"
        ) from error
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    # Sampling is set per call; what a checkpoint suggests (top_k, repetition penalty) must not leak in.
    model.generation_config = type(model.generation_config)(
        pad_token_id=tokenizer.pad_token_id, eos_token_id=tokenizer.eos_token_id, bos_token_id=model.config.bos_token_id
    )
    model.to(device())
    return Policy(model, tokenizer, dtype, batch_size)
