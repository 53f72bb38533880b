"""`params.yaml` as frozen records: every knob is typed, bounded and documented, and nothing else is accepted.

The file holds `profile` (the active one) and `profiles` (one section tree per profile, all with the same keys). A profile changes
numbers and backends, never code paths. All profiles are validated on every load, so that a mistake in one that is not active does
not lie in wait.
"""

import json
import re
from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from selfevolve.gradus.settings import Gradus
from selfevolve.models.settings import OptimParams, Sampling, SftParams, TinyConfig
from selfevolve.paths import PARAMS
from selfevolve.synco.settings import RejectionSftParams, SourcesParams, Variant, VerifierParams


class ParamsError(ValueError):
    """`params.yaml` cannot be used; the message names each offending key, its value and what is allowed."""


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ScratchModel(_Section):
    """A model trained from random weights inside the pipeline."""

    kind: Literal["scratch"]
    shape: TinyConfig


class PretrainedModel(_Section):
    """A pretrained model: a local folder (relative to the repository) or a hub id."""

    kind: Literal["pretrained"]
    path: str = Field(min_length=1)


class Models(_Section):
    """The base of both agents, which are independently parameterised copies of it (C.3)."""

    base: Annotated[ScratchModel | PretrainedModel, Field(discriminator="kind")]
    dtype: Literal["auto", "float32", "bfloat16"] = Field(
        description="of forward passes; auto: bfloat16 if the device computes it; trained weights are always float32"
    )
    prompts: Literal["paper", "short", "compact"] = Field(description="folder of prompt templates")
    generation_batch: int = Field(ge=1, description="sequences generated together")
    workers: int = Field(ge=1, description="processes: agents, seeds or systems that run side by side")
    threads: int = Field(ge=1, description="CPU threads per process")


class Benchmarks(_Section):
    """What held-out accuracy is measured on, and what no training task may contain (contamination)."""

    names: tuple[Literal["exam", "gsm8k", "svamp", "asdiv", "gsm_hard", "math500", "aime24", "aime25", "minerva"], ...] = Field(
        min_length=1
    )
    folder: str | None = Field(description="local folder with <name>.jsonl files; null loads from the hub")
    limit: int | None = Field(ge=1, description="first N problems of each benchmark; null takes all")


class Synthesis(_Section):
    """Stage 01: tokenizer, base model, bootstrap, static pool."""

    seed: int = Field(ge=0)
    base: SftParams
    synthesizer: SftParams
    reasoner: SftParams
    pool_size: int = Field(ge=1, description="admitted cards in the static pool")
    pool_candidates: int = Field(ge=1, description="most cards proposed to fill it")


class Cotraining(_Section):
    """Stage 02: the co-training loop (3.3, C.3)."""

    seeds: tuple[Annotated[int, Field(ge=0)], ...] = Field(min_length=1)
    iterations: int = Field(ge=1)
    tasks: int = Field(ge=1, description="B, cards proposed per iteration")
    rollouts: int = Field(ge=2, description="K, Reasoner trajectories per admitted card")
    contexts: int = Field(ge=1, description="different contexts per iteration; tasks are split evenly among them")
    recent_iterations: int = Field(ge=1, description="iterations the context looks back on")
    synthesizer_sampling: Sampling
    reasoner_sampling: Sampling
    synthesizer_optim: OptimParams
    reasoner_optim: OptimParams
    checkpoint_every: int = Field(ge=1, description="iterations between resumable checkpoints")
    sources: SourcesParams
    rejection_sft: RejectionSftParams
    variants: dict[str, Variant] = Field(min_length=1)

    @model_validator(mode="after")
    def _settings_fit_each_other(self) -> "Cotraining":
        if len(set(self.seeds)) < len(self.seeds):
            raise ValueError(f"seeds {list(self.seeds)} repeat one: each is a run of its own")
        for name in ("synthesizer_sampling", "reasoner_sampling"):
            if getattr(self, name).temperature == 0:
                raise ValueError(f"{name}.temperature is 0: a policy that is trained on its samples needs a temperature above 0")
        if self.tasks % self.contexts:
            raise ValueError(f"tasks ({self.tasks}) must be a multiple of contexts ({self.contexts})")
        for name, variant in self.variants.items():
            if variant.corpus is not None and variant.corpus not in self.sources.corpora:
                raise ValueError(
                    f"variants.{name}.corpus {variant.corpus!r} is none of sources.corpora: {', '.join(sorted(self.sources.corpora))}"
                )
        if self.rejection_sft.rounds > self.iterations:
            raise ValueError(f"rejection_sft.rounds ({self.rejection_sft.rounds}) exceeds iterations ({self.iterations})")
        return self


class Checkpoint(_Section):
    """A released model that is evaluated as it is (released-checkpoint baselines, C.2)."""

    name: str = Field(pattern=r"^[a-z0-9_]+$", description="of the system in the tables")
    path: str = Field(min_length=1, description="local folder (relative to the repository) or hub id")


class Evaluation(_Section):
    """Stage 04: held-out accuracy of every system."""

    seed: int = Field(ge=0)
    draws: int = Field(ge=1, description="independent sampled runs")
    sampling: Sampling
    source_tasks: int = Field(ge=1, description="tasks of each source that the untrained Reasoner rolls out (Figure 5)")
    checkpoints: tuple[Checkpoint, ...] = Field(description="released models, evaluated beside ours")

    @model_validator(mode="after")
    def _names_differ(self) -> "Evaluation":
        names = [checkpoint.name for checkpoint in self.checkpoints]
        if repeated := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"checkpoints: the name {', '.join(repeated)} is given twice")
        return self


class Analysis(_Section):
    """Stage 05: intervals."""

    resamples: int = Field(ge=100, description="bootstrap resamples")
    seed: int = Field(ge=0)


class Profile(_Section):
    """All settings of one scale."""

    models: Models
    benchmarks: Benchmarks
    verifier: VerifierParams
    synthesis: Synthesis
    cotraining: Cotraining
    gradus: Gradus
    evaluation: Evaluation
    analysis: Analysis


class _File(_Section):
    profile: str
    profiles: dict[str, Profile]

    @model_validator(mode="after")
    def _active_profile_exists(self) -> "_File":
        if self.profile not in self.profiles:
            raise ValueError(f"profile {self.profile!r} is none of {sorted(self.profiles)}")
        return self


class Params(Profile):
    """The settings of one profile, with its name."""

    profile: str


def load(profile: str | None = None, path: Path = PARAMS) -> Params:
    """The named profile of `params.yaml`, or the active one.

    Raises ParamsError, naming the file, each key, its value and what is allowed.
    """
    file = _read(path)
    name = profile or file.profile
    if name not in file.profiles:
        raise ParamsError(f"{path}: profile {name!r} is none of {sorted(file.profiles)}")
    return Params(profile=name, **dict(file.profiles[name]))


def _read(path: Path) -> _File:
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), Loader=_UniqueKeys)
    except FileNotFoundError:
        raise ParamsError(f"{path}: no such file; run from a clone of the repository") from None
    except yaml.YAMLError as error:
        raise ParamsError(f"{path}: not valid YAML: {error}") from None
    try:
        # As JSON, so that strict types apply but a YAML list may still become a tuple.
        return _File.model_validate_json(json.dumps(content, default=str), strict=True)
    except ValidationError as error:
        problems = "\n".join(_problem(detail) for detail in error.errors())
        raise ParamsError(f"{path}:\n{problems}") from None


class _UniqueKeys(yaml.SafeLoader):
    """YAML that refuses a key given twice, where the loader would silently keep the last."""


def _mapping(loader: _UniqueKeys, node: yaml.MappingNode) -> dict:
    keys = [loader.construct_object(key) for key, _ in node.value]
    if repeated := sorted({str(key) for key in keys if keys.count(key) > 1}):
        raise yaml.constructor.ConstructorError(None, None, f"repeated key {', '.join(repeated)}", node.start_mark)
    return yaml.SafeLoader.construct_mapping(loader, node, deep=True)


# YAML 1.2, which DVC reads, takes 1e-6 for a number; PyYAML alone would take it for text.
_UniqueKeys.add_implicit_resolver("tag:yaml.org,2002:float", re.compile(r"[-+]?\d+(?:\.\d*)?[eE][-+]?\d+$"), list("-+0123456789"))
_UniqueKeys.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


def _problem(detail: dict) -> str:
    key = ".".join(str(part) for part in detail["loc"] if part not in ("scratch", "pretrained")) or "(file)"
    message = detail["msg"].removeprefix("Value error, ")
    if detail["type"] == "extra_forbidden":
        return f"  {key}: unknown key (value {detail['input']!r}); see the comments in params.yaml for the keys allowed"
    if detail["type"] == "missing":
        return f"  {key}: missing; every profile must set it"
    if isinstance(detail["input"], dict | list):
        return f"  {key}: {message}"
    return f"  {key}: {detail['input']!r} is not allowed: {message}"
