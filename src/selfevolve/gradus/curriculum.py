"""The verified curriculum: accepted tasks as rows to imitate and items to practise on, in a folder that `datasets` opens.

Paper: Gradus 3.1 (depths 1-3 mainly to SFT, 4-5 mainly to RL; the RL reward is the acceptance signal of construction) and A.5
(Tables 5 and 6: one SFT row per assistant step, one RL item per task).

A row is a conversation up to one step of the assistant (`prompt`) and that step (`completion`), so that the loss falls on the final
assistant turn (A.3). Both have the columns of stock TRL: messages in the OpenAI form, arguments of calls as JSON text, the tools as JSON
text. An item has the opening of the conversation and all that its reward needs: `Item.of(row)` gives back the records.

Deviation: the paper's routing is "mainly"; here it is exact.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from selfevolve.environments import Environment
from selfevolve.gradus.blueprints import Blueprint
from selfevolve.gradus.tasks import Demonstration, Event, Task

SPLITS = ("sft", "rl")
_FUNCTION = pl.Struct({"name": pl.String, "arguments": pl.String})
_CALL = pl.Struct({"id": pl.String, "type": pl.String, "function": _FUNCTION})
_MESSAGES = pl.List(pl.Struct({"role": pl.String, "content": pl.String, "tool_calls": pl.List(_CALL), "tool_call_id": pl.String}))
_COMMON = {"task": pl.String, "domain": pl.String, "depth": pl.Int64, "round": pl.Int64, "kernels": pl.List(pl.String)}
SFT_SCHEMA = {**_COMMON, "step": pl.Int64, "prompt": _MESSAGES, "completion": _MESSAGES, "tools": pl.String}
RL_SCHEMA = {
    **_COMMON,
    "prompt": _MESSAGES,
    "tools": pl.String,
    "blueprint": pl.String,
    "specification": pl.String,
}


class Item(NamedTuple):
    """What the reward of an RL item needs (`verification.verify`)."""

    blueprint: Blueprint
    task: Task

    @classmethod
    def of(cls, row: dict[str, Any]) -> Item:
        """The records of a row of the `rl` part. Raises pydantic's ValidationError if it was edited into something else."""
        return cls(Blueprint.model_validate_json(row["blueprint"]), Task.model_validate_json(row["specification"]))


def tables(env: Environment, records: pl.DataFrame, sft_depths: Iterable[int]) -> dict[str, pl.DataFrame]:
    """The parts `sft` and `rl`, in the order of the records.

    Args:
        env: gives tools, and the policy as the agent has it in each task; it is reset.
        records: of one arm, see `run.Tables`; tasks that were not accepted are left out.
        sft_depths: depths that become SFT rows; every other depth becomes RL items.
    """
    shallow = set(sft_depths)
    tools = json.dumps(env.tools, ensure_ascii=False)
    rows: dict[str, list[dict]] = {"sft": [], "rl": []}
    for record in records.filter("accepted").iter_rows(named=True):
        common = {
            "task": record["blueprint"],
            "domain": env.name,
            "depth": record["depth"],
            "round": record["round"],
            "kernels": record["kernels"] + record["interactions"],
        }
        env.reset(Task.model_validate_json(record["specification"]).init_actions)
        opening = {"role": "system", "content": env.policy, "tool_calls": None, "tool_call_id": None}
        if record["depth"] in shallow:
            messages = [opening, *conversation(Demonstration.model_validate_json(record["demonstration"]).events)]
            steps = [number for number, message in enumerate(messages) if message["role"] == "assistant"]
            rows["sft"] += [
                {**common, "step": step, "prompt": messages[:number], "completion": messages[number : number + 1], "tools": tools}
                for step, number in enumerate(steps)
            ]
        else:
            plans = {"blueprint": record["plan"], "specification": record["specification"]}
            rows["rl"].append({**common, "prompt": [opening], "tools": tools, **plans})
    return {
        "sft": pl.DataFrame(rows["sft"], schema=SFT_SCHEMA, orient="row"),
        "rl": pl.DataFrame(rows["rl"], schema=RL_SCHEMA, orient="row"),
    }


def conversation(events: Iterable[Event]) -> list[dict[str, Any]]:
    """A demonstration as the assistant's messages: its own calls and what they returned; of the user, the words alone."""
    messages: list[dict[str, Any]] = []
    for event in events:
        message = {"role": event.kind, "content": event.text, "tool_calls": None, "tool_call_id": None}
        if event.kind != "call":
            messages.append(message)
        elif event.call is not None and event.call.requestor == "assistant":
            id = f"call{len(messages):05d}"  # nine letters and digits, which every chat template accepts
            arguments = json.dumps(event.call.arguments, ensure_ascii=False)
            call = {"id": id, "type": "function", "function": {"name": event.call.name, "arguments": arguments}}
            messages.append(message | {"role": "assistant", "content": "", "tool_calls": [call]})
            messages.append(message | {"role": "tool", "content": event.observation or "", "tool_call_id": id})
    return messages


def write(folder: Path, parts: dict[str, pl.DataFrame], domain: str, origin: str) -> None:
    """Write the dataset: `<part>.parquet` and the card `README.md`, which names the parts. `origin`: the card's first line."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in SPLITS:
        parts[name].write_parquet(folder / f"{name}.parquet")
    (folder / "README.md").write_text(card(parts, domain, origin), encoding="utf-8")


def sizes(parts: dict[str, pl.DataFrame]) -> pl.DataFrame:
    """Table 5: one row per domain: domain, sft_tasks, sft_rows, rl_tasks."""
    sft = parts["sft"].group_by("domain").agg(sft_tasks=pl.col("task").n_unique(), sft_rows=pl.len())
    rl = parts["rl"].group_by("domain").agg(rl_tasks=pl.len())
    return sft.join(rl, on="domain", how="full", coalesce=True).with_columns(pl.exclude("domain").fill_null(0)).sort("domain")


def counts(parts: dict[str, pl.DataFrame], by: str) -> pl.DataFrame:
    """Table 6: tasks by `depth`, `round` or `kernels` (a task counts once for each kernel it has): domain, `by`, tasks."""
    tasks = pl.concat([parts[name].select(*_COMMON) for name in SPLITS]).unique("task", maintain_order=True)
    if by == "kernels":
        tasks = (
            tasks.with_columns(pl.col("kernels").list.unique())
            .explode("kernels")
            .with_columns(pl.col("kernels").fill_null("none (atomic)"))
        )
    return tasks.group_by("domain", by).agg(tasks=pl.len()).sort("domain", by)


def card(parts: dict[str, pl.DataFrame], domain: str, origin: str) -> str:
    """The dataset card: what `datasets.load_dataset` reads of it, and the counts."""
    configs = [line for name in SPLITS for line in (f"- config_name: {name}", f"  data_files: {name}.parquet")]
    size = sizes(parts)
    lines = [
        "---",
        "configs:",
        *configs,
        "---",
        origin,
        "",
        f"# Gradus curriculum: {domain}",
        "",
        "`sft`: one row per assistant step (`prompt`, `completion`, `tools`), for TRL's SFTTrainer. `rl`: one item per task; the reward is",
        "the acceptance signal of construction, `selfevolve.gradus.verification.verify` on `Item.of(row)`.",
        "",
        "Every task was replayed: reference and demonstration reach the same state from the same start, break no policy, and exercise the",
        "branches the blueprint asks for.",
        "",
        *_markdown(size),
        "",
    ]
    for by in ("depth", "round", "kernels"):
        lines += [f"Tasks by {by}:", "", *_markdown(counts(parts, by).drop("domain")), ""]
    return "\n".join(lines)


def _markdown(table: pl.DataFrame) -> list[str]:
    rows = [[*map(str, row)] for row in table.iter_rows()]
    return [f"| {' | '.join(row)} |" for row in [table.columns, ["---"] * table.width, *rows]]
