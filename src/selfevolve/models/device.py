"""Where models live and what they compute in: one rule for generation, training and evaluation."""

import torch


def device() -> str:
    """ "cuda" if there is a CUDA GPU, else "cpu"."""
    return "cuda" if torch.cuda.is_available() else "cpu"


def computes_bfloat16() -> bool:
    """Whether the device has bfloat16 arithmetic: a GPU, or a CPU with AVX-512. Others emulate it, many times slower than float32."""
    return device() == "cuda" or torch.backends.cpu.get_cpu_capability() not in ("DEFAULT", "AVX2")
