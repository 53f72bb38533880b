"""Kernels: the transformations by which blueprints are evolved, read from `kernels.yaml`.

Paper: Gradus 2.3 (structural kernels: causal, parallel, repetition; interaction kernels: indirect references, ambiguity, user pressure,
additional reasoning; "New interaction dimensions can be added through additional kernel instructions").
"""

from __future__ import annotations

from pathlib import Path

import yaml
from pydantic import TypeAdapter, ValidationError

from selfevolve.gradus.roles import Kernel

PATH = Path(__file__).with_name("kernels.yaml")
_KERNELS = TypeAdapter(tuple[Kernel, ...])


class KernelError(ValueError):
    """A file of kernels that cannot be used; the text names the file, the entry, the field and what to do."""


def load(path: Path = PATH) -> tuple[Kernel, ...]:
    """The kernels of a file, in its order. Raises KernelError; FileNotFoundError if there is none."""
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        kernels = _KERNELS.validate_python(content)
    except yaml.YAMLError as error:
        raise KernelError(f"{path}: not YAML: {error}") from None
    except ValidationError as error:
        raise KernelError(
            "\n".join(f"{path}: {_place(each['loc'], content)}: {each['msg']}" for each in error.errors())
        ) from None
    names = [kernel.name for kernel in kernels]
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise KernelError(f"{path}: {repeated[0]}: there are two kernels of this name: rename one")
    for kernel in kernels:
        if (kernel.relation is None) == (kernel.kind == "structural"):
            raise KernelError(
                f"{path}: {kernel.name}.relation: a structural kernel has one (enables, independent, repeat), no other kernel has"
            )
        if (kernel.surface is None) == (kernel.kind == "interaction"):
            raise KernelError(
                f"{path}: {kernel.name}.surface: an interaction kernel has one (how a scripted user puts it), no other kernel has"
            )
    for kind in ("structural", "interaction"):
        if not any(kernel.kind == kind for kernel in kernels):
            raise KernelError(f"{path}: no {kind} kernel: the search needs at least one")
    return kernels


def _place(where: tuple, content: object) -> str:
    if not where or not isinstance(content, list) or not isinstance(where[0], int):
        return "the file is a list of kernels"
    entry = content[where[0]]
    name = entry.get("name", f"entry {where[0]}") if isinstance(entry, dict) else f"entry {where[0]}"
    return ".".join(map(str, [name, *where[1:]]))
