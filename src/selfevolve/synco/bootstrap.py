"""Bootstrap: both agents learn the wire format and some arithmetic from frozen corpora before co-training starts.

Not in the paper, which initialises both agents as copies of an instruction-tuned Qwen3 (C.3); a profile with such a model sets the
steps to 0. A from-scratch base learns to solve problems, worked in full. Its copy that becomes the Synthesizer then learns contexts ->
task cards, the other learns the Reasoner's corpus, which leaves it room to improve. Bare equations, with loss on the results only, come
first and alone: mixed with text from the start, arithmetic took three times as many steps to form.
"""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import polars as pl
from transformers import PreTrainedTokenizerBase

from selfevolve.cards import FIELDS
from selfevolve.models.generation import Message, encode_chats
from selfevolve.models.sft import IGNORED, Example, SftParams
from selfevolve.synco.context import Context, reasoner_messages, synthesizer_messages

DRILL_SHARE_EARLY, DRILL_SHARE_LATE, EARLY = 1.0, 0.1, 1 / 3
"""Of the rows, before and after the first third of the steps. A shorter start leaves arithmetic unformed for some seeds (docs/log.md)."""
BUCKET = 8
"""Batches sorted by length together, so that little is spent on padding."""
CONTEXT_COLUMNS = ("success_rate", "weakness", "least_covered", "acceptance_rate")

FOCUSED = 0.5
"""Share of the card rows that take loss from the solution on only. What comes before (a random problem) cannot be predicted, and its
gradient drowns that of the part that can be right or wrong."""


class Turn(NamedTuple):
    """A prompt and what the agent is taught to say to it."""

    messages: list[Message]
    text: str
    learned_from: int = 0
    """Characters of `text` before this one carry no loss."""


def card_turns(cards: pl.DataFrame, prompts: str) -> list[Turn]:
    """Synthesizer turns: the prompt of each row's context, and its card as JSON."""
    turns = []
    for number, row in enumerate(cards.iter_rows(named=True)):
        context = Context(**{name: row[name] for name in CONTEXT_COLUMNS})
        text = json.dumps({name: row[name] for name in FIELDS})
        focused = number % 10 < FOCUSED * 10
        turns.append(Turn(synthesizer_messages(context, prompts), text, text.index('"solution"') if focused else 0))
    return turns


def solution_turns(solutions: pl.DataFrame, prompts: str) -> list[Turn]:
    """Reasoner turns: the problem's prompt, and its demonstration."""
    rows = solutions.select("problem", "solution").iter_rows()
    return [Turn(reasoner_messages(problem, prompts), solution) for problem, solution in rows]


def turn_examples(tokenizer: PreTrainedTokenizerBase, turns: list[Turn]) -> list[Example]:
    """Loss on the assistant's text from `learned_from` on, and on its end token."""
    if not turns:
        return []
    prompts = encode_chats(tokenizer, [turn.messages for turn in turns])
    texts = tokenizer([turn.text for turn in turns], add_special_tokens=False, return_offsets_mapping=True)
    examples = []
    for turn, prompt, ids, spans in zip(turns, prompts, texts["input_ids"], texts["offset_mapping"], strict=True):
        labels = [i if start >= turn.learned_from else IGNORED for i, (start, _) in zip(ids, spans, strict=True)]
        end = tokenizer.eos_token_id
        examples.append(Example([*prompt, *ids, end], [*[IGNORED] * len(prompt), *labels, end]))
    return examples


def drill_examples(tokenizer: PreTrainedTokenizerBase, lines: list[str]) -> list[Example]:
    """Loss on the results of the equations only: the characters after an `=` up to the next `;`."""
    if not lines:
        return []
    encoded = tokenizer(lines, add_special_tokens=False, return_offsets_mapping=True)
    examples = []
    for line, ids, spans in zip(lines, encoded["input_ids"], encoded["offset_mapping"], strict=True):
        learned, result = [], False
        for character in line:
            learned.append(result and character != ";")
            result = (result or character == "=") and character != ";"
        examples.append(Example(ids, [i if learned[start] else IGNORED for i, (start, _) in zip(ids, spans, strict=True)]))
    return examples


def schedule(turns: list[Example], drills: list[Example], params: SftParams, seed: int) -> list[Example]:
    """`steps * batch_size` rows in training order: drills mixed in, batches of similar length, buckets shuffled."""
    rng = random.Random(seed)
    rows: list[Example] = []
    turn_source, drill_source = _endless(turns, rng), _endless(drills, rng)
    step = 0
    while step < params.steps:
        size = min(BUCKET, params.steps - step)
        share = DRILL_SHARE_EARLY if step < EARLY * params.steps else DRILL_SHARE_LATE
        share = share if drills else 0.0
        count = size * params.batch_size
        bucket = [next(drill_source if rng.random() < share else turn_source) for _ in range(count)]
        bucket.sort(key=lambda example: len(example.input_ids))
        batches = [bucket[i : i + params.batch_size] for i in range(0, count, params.batch_size)]
        rng.shuffle(batches)
        rows += [example for batch in batches for example in batch]
        step += size
    return rows


def _endless(examples: list[Example], rng: random.Random) -> Iterator[Example]:
    while examples:
        yield from rng.sample(examples, len(examples))


def tokenizer_corpus(folder: Path, prompts: str) -> Iterator[str]:
    """Texts the tokenizer is trained on: 4,000 rows of each bootstrap corpus."""
    turns = card_turns(pl.read_parquet(folder / "cards.parquet").head(4000), prompts)
    turns += solution_turns(pl.read_parquet(folder / "solutions.parquet").head(4000), prompts)
    for turn in turns:
        yield turn.messages[-1]["content"]
        yield turn.text
