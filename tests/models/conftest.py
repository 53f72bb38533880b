"""One small character-level tokenizer and from-scratch models on it, shared by the tests of this folder."""

import random

import pytest
import torch

from selfevolve import families
from selfevolve.models.tiny import TinyConfig, build_model, build_tokenizer

CONFIG = TinyConfig(
    hidden_size=16,
    num_hidden_layers=2,
    num_attention_heads=2,
    num_key_value_heads=1,
    head_dim=8,
    intermediate_size=32,
    max_position_embeddings=128,
    vocab_size=96,
)


@pytest.fixture(scope="session")
def tokenizer():
    rng = random.Random(0)
    problems = [families.generate(rng, skill, level) for skill in families.SKILLS for level in families.LEVELS]
    return build_tokenizer([f"{problem.text}{problem.solution}" for problem in problems], CONFIG.vocab_size, 128)


@pytest.fixture(scope="session")
def make_model(tokenizer):
    def make(seed=0, scale=1.0):
        """`scale` enlarges the random weights, so that outputs hang on every token before them."""
        model = build_model(CONFIG, tokenizer, seed)
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.ndim == 2:
                    parameter.mul_(scale)
        return model.eval()

    return make
