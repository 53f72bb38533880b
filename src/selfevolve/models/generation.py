"""Generation with transformers: chat prompts to token ids, token ids to completions.

Sampling is strictly seeded: the random state is set from the caller's seed before every call, so a rerun or a resumed run draws
the same completions without any stored random state.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from selfevolve.models.settings import Sampling

Message = dict[str, str]


class Completion(NamedTuple):
    ids: list[int]
    """Sampled token ids, up to and including the end token (absent if the completion was cut)."""
    text: str
    """Decoded text without special tokens."""


def encode_chats(tokenizer: PreTrainedTokenizerBase, chats: Sequence[Sequence[Message]]) -> list[list[int]]:
    """Token ids of conversations that end where the assistant's turn begins. A message without content is left out."""
    if not chats:
        return []
    said = [[message for message in chat if message["content"]] for chat in chats]
    texts = tokenizer.apply_chat_template(said, add_generation_prompt=True, tokenize=False)
    return tokenizer(texts, add_special_tokens=False)["input_ids"]


@torch.no_grad()
def generate(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    prompts: Sequence[Sequence[int]],
    sampling: Sampling,
    seed: int,
    batch_size: int,
) -> list[Completion]:
    """One completion for each prompt (a list of token ids), in order.

    Prompts are sorted by length and run `batch_size` at a time, left-padded. Raises ValueError if a prompt leaves no room for
    `max_new_tokens` within the model's context.
    """
    if not prompts:
        return []
    room = model.config.max_position_embeddings - sampling.max_new_tokens
    if longest := max((len(p) for p in prompts if len(p) > room), default=0):
        raise ValueError(
            f"a prompt of {longest} tokens and {sampling.max_new_tokens} new ones exceed the model's context of "
            f"{model.config.max_position_embeddings}: shorten the prompt template or lower max_new_tokens"
        )
    torch.manual_seed(seed)
    training, cache = model.training, model.config.use_cache
    model.eval()
    sampled: dict[int, list[int]] = {}
    order = sorted(range(len(prompts)), key=lambda i: len(prompts[i]))
    arguments: dict = {"do_sample": sampling.temperature > 0}
    if sampling.temperature > 0:
        arguments |= {"temperature": sampling.temperature, "top_p": sampling.top_p, "top_k": 0}
    for start in range(0, len(order), batch_size):
        chosen = order[start : start + batch_size]
        batch = tokenizer.pad({"input_ids": [list(prompts[i]) for i in chosen]}, padding_side="left", return_tensors="pt")
        width = batch["input_ids"].shape[1]
        output = model.generate(
            input_ids=batch["input_ids"].to(model.device),
            attention_mask=batch["attention_mask"].to(model.device),
            max_new_tokens=sampling.max_new_tokens,
            pad_token_id=tokenizer.pad_token_id,
            eos_token_id=tokenizer.eos_token_id,
            use_cache=True,
            **arguments,
        )
        for i, ids in zip(chosen, output[:, width:].tolist(), strict=True):
            end = tokenizer.eos_token_id
            sampled[i] = ids[: ids.index(end) + 1] if end in ids else ids
    model.train(training)
    model.config.use_cache = cache
    completions = [sampled[i] for i in range(len(prompts))]
    return [Completion(ids, text) for ids, text in zip(completions, _decode(tokenizer, completions), strict=True)]


def _decode(tokenizer: PreTrainedTokenizerBase, completions: list[list[int]]) -> list[str]:
    return tokenizer.batch_decode(completions, skip_special_tokens=True, clean_up_tokenization_spaces=False)
