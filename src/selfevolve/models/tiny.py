"""The from-scratch models of the `tiny` profile: a Qwen3 architecture of a few hundred thousand weights and its tokenizer.

Deviation from the paper (C.3 starts from Qwen3-8B/4B): architecture and code path are the same, the size is not.
"""

from collections.abc import Iterable

import torch
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

from selfevolve.models.settings import TinyConfig

# A turn is `<role>content`; the assistant's ends with <eos>. The role tokens double as the separators of the prompt.
CHAT_TEMPLATE = (
    "{% for message in messages %}{{ '<' + message['role'] + '>' + message['content'] }}"
    "{% if message['role'] == 'assistant' %}{{ '<eos>' }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<assistant>' }}{% endif %}"
)
SPECIAL = ("<pad>", "<eos>", "<unk>", "<system>", "<user>", "<assistant>")
# What byte-pair merges may not cross. A JSON field boundary is one piece (`", "solution": "`), so that nine keys cost nine tokens;
# a digit is one, so that arithmetic is positional; a word takes the spaces around it along.
_PIECES = (
    r'\{"[a-z_]+": "|", "[a-z_]+": "|"\}'
    r"|\d| ?[A-Za-z_]+ ?|[^\dA-Za-z_]+?(?=\d)|[^\dA-Za-z_]+?(?= [A-Za-z_])|[^\dA-Za-z_]+?(?=\", \"|\"\})|[^\dA-Za-z_]+"
)


def build_tokenizer(corpus: Iterable[str], vocab_size: int, max_length: int) -> PreTrainedTokenizerFast:
    """A byte-pair tokenizer trained on `corpus`, with a chat template. Deterministic in the order of `corpus`."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_PIECES), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    tokens = [AddedToken(token, special=True, normalized=False) for token in SPECIAL]
    trainer = trainers.BpeTrainer(vocab_size=vocab_size, special_tokens=tokens, show_progress=False)
    tokenizer.train_from_iterator(corpus, trainer)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<pad>",
        eos_token="<eos>",
        unk_token="<unk>",
        padding_side="left",
        model_max_length=max_length,
        clean_up_tokenization_spaces=False,
    )
    fast.chat_template = CHAT_TEMPLATE
    return fast


def build_model(config: TinyConfig, tokenizer: PreTrainedTokenizerFast, seed: int) -> Qwen3ForCausalLM:
    """A randomly initialised model; the same seed gives the same weights."""
    torch.manual_seed(seed)
    return Qwen3ForCausalLM(
        Qwen3Config(
            **config.model_dump(exclude={"vocab_size"}),
            vocab_size=len(tokenizer),
            tie_word_embeddings=True,
            rope_parameters={"rope_type": "default", "rope_theta": 10_000.0},
            initializer_range=0.04,
            bos_token_id=None,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
    )
