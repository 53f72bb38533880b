"""Settings of models and their training, as records of `params.yaml`.

Apart from the modules that use them, so that reading the parameters does not import torch.
"""

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator


class TinyConfig(BaseModel):
    """Shape of a from-scratch Qwen3 model."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    hidden_size: int = Field(ge=8)
    num_hidden_layers: int = Field(ge=1)
    num_attention_heads: int = Field(ge=1)
    num_key_value_heads: int = Field(ge=1)
    head_dim: int = Field(ge=2)
    intermediate_size: int = Field(ge=8)
    max_position_embeddings: int = Field(ge=64, description="tokens")
    vocab_size: int = Field(ge=64, description="tokens, an upper limit: training stops when no pair of tokens repeats")

    @model_validator(mode="after")
    def _heads_share_evenly(self) -> Self:
        if self.num_attention_heads % self.num_key_value_heads:
            raise ValueError(
                f"num_attention_heads {self.num_attention_heads} is no multiple of num_key_value_heads {self.num_key_value_heads}"
            )
        return self


class Sampling(BaseModel):
    """How to sample a completion."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    temperature: float = Field(ge=0, le=5, description="0 is greedy decoding")
    top_p: float = Field(gt=0, le=1, description="nucleus; 1 switches it off")
    max_new_tokens: int = Field(ge=1, description="tokens; a completion that reaches it is cut")


class SftParams(BaseModel):
    """Optimisation of a supervised stage."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    steps: int = Field(ge=0, description="optimizer steps; 0 skips the stage and uses the base model as it is")
    batch_size: int = Field(ge=1, description="rows per step, a multiple of micro_batch_size")
    micro_batch_size: int = Field(ge=1, description="rows per forward pass")
    optimizer: Literal["adamw", "muon"] = Field(description="muon: Muon for matrices, AdamW for the rest")
    learning_rate: float = Field(gt=0, lt=1, description="peak; constant after warm-up, linear decay over the last 30%")
    warmup_steps: int = Field(ge=0, description="steps")
    drills: bool = Field(description="mix in bare equations, with loss on their results")
    checkpoint_every: int = Field(ge=1, description="steps between resumable checkpoints")

    @model_validator(mode="after")
    def _whole_micro_batches(self) -> Self:
        if self.batch_size % self.micro_batch_size:
            raise ValueError(f"batch_size {self.batch_size} is no multiple of micro_batch_size {self.micro_batch_size}")
        return self


class OptimParams(BaseModel):
    """How one policy is updated. The defaults are the paper's (C.3) or, where it is silent, AdamW's and TRL's."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    learning_rate: float = Field(1e-6, gt=0, description="AdamW step size after warm-up, constant (C.3)")
    warmup_steps: int = Field(10, ge=0, description="steps of linear warm-up from 0 (C.3)")
    weight_decay: float = Field(0.1, ge=0, description="decoupled, on matrices only: not on norms and biases (C.3)")
    adam_beta1: float = Field(0.9, ge=0, lt=1, description="decay of the mean gradient, per step")
    adam_beta2: float = Field(0.999, ge=0, lt=1, description="decay of the mean squared gradient, per step")
    max_grad_norm: float = Field(1.0, ge=0, description="clip the global L2 norm of the gradient to this; 0 = never")
    micro_batch_size: int = Field(8, ge=1, description="rows per forward pass and process, at most; changes no result")
    loss_type: Literal["dapo", "grpo"] = Field("dapo", description="token mean over the batch, or mean of row means")
