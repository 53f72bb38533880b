"""Where models live: one rule for generation, training and evaluation."""

import torch


def device() -> str:
    """ "cuda" if there is a CUDA GPU, else "cpu"."""
    return "cuda" if torch.cuda.is_available() else "cpu"
