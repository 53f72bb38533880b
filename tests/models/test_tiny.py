import json
import random

import pytest
import torch
from pydantic import ValidationError
from transformers import AutoModelForCausalLM, AutoTokenizer

from selfevolve import families
from selfevolve.cards import FIELDS, parse_card
from selfevolve.models.tiny import SPECIAL, TinyConfig, build_model, build_tokenizer

CONFIG = TinyConfig(
    hidden_size=16,
    num_hidden_layers=1,
    num_attention_heads=2,
    num_key_value_heads=1,
    head_dim=8,
    intermediate_size=32,
    max_position_embeddings=64,
    vocab_size=512,
)


def card(problem: families.Problem) -> str:
    other = ("4 steps", problem.skill, "times table", families.DIFFICULTY[problem.level])
    values = (*other, problem.text, problem.solution, problem.answer, "redo", "numbers")
    return json.dumps(dict(zip(FIELDS, values, strict=True)))


def problems(seed: int, repeats: int = 1) -> list[families.Problem]:
    rng = random.Random(seed)
    cells = [(skill, level) for skill in families.SKILLS for level in families.LEVELS] * repeats
    return [families.generate(rng, *cell) for cell in cells]


def corpus() -> list[str]:
    return [text for p in problems(0, 8) for text in (card(p), p.text, f"{p.solution} \\boxed{{{p.answer}}}")]


@pytest.fixture(scope="module")
def words():
    return build_tokenizer(corpus(), 512, 256)


def test_cards_problems_and_solutions_survive_the_round_trip(words):
    for problem in problems(1, 3):  # not those the tokenizer was trained on
        for text in (card(problem), problem.text, f"{problem.solution} \\boxed{{{problem.answer}}}"):
            ids = words(text)["input_ids"]
            assert words.decode(ids) == text
            assert not set(ids) & set(words.all_special_ids)
        parse_card(words.decode(words(card(problem))["input_ids"]))


@pytest.mark.parametrize("text", ["A box has 128 nuts", "a=4093. b=a+77.", "12*34=408; 408-9=399", '{"final_answer": "650"}'])
def test_a_digit_is_a_token_of_its_own(words, text):
    tokens = words.tokenize(text)
    assert [token for token in tokens if any(c.isdigit() for c in token)] == [c for c in text if c.isdigit()]


def test_a_field_boundary_is_one_token(words):
    text = card(problems(2)[17])
    encoded = words(text, return_offsets_mapping=True)
    pieces = [text[start:end] for start, end in encoded["offset_mapping"]]
    boundaries = [f'{{"{FIELDS[0]}": "', *(f'", "{name}": "' for name in FIELDS[1:]), '"}']
    assert [piece for piece in pieces if '"' in piece] == boundaries


def test_a_card_fits_the_tokens_it_is_given(words):
    lengths = [len(words(card(problem))["input_ids"]) + 1 for problem in problems(3, 5)]
    assert 40 < max(lengths) <= 140  # max_new_tokens of the `tiny` profile
    assert len(words) <= 512


def test_a_character_never_seen_becomes_unk(words):
    ids = words("a=3☃ Ω")["input_ids"]
    assert ids[:3] == words("a=3")["input_ids"]
    assert words.unk_token_id in ids[3:]
    assert words.decode(ids, skip_special_tokens=True).startswith("a=3")
    assert words("☃")["input_ids"] and set(words("☃")["input_ids"]) == {words.unk_token_id}


def test_special_tokens_have_fixed_ids_and_the_chat_template_uses_them(words):
    assert words.convert_tokens_to_ids(list(SPECIAL)) == list(range(len(SPECIAL)))
    assert (words.pad_token, words.eos_token, words.unk_token, words.padding_side) == (
        "<pad>",
        "<eos>",
        "<unk>",
        "left",
    )
    chat = [{"role": "user", "content": "a=3"}, {"role": "assistant", "content": "3"}]
    assert words.apply_chat_template(chat, tokenize=False) == "<user>a=3<assistant>3<eos>"
    turn = words.apply_chat_template(chat[:1], tokenize=False, add_generation_prompt=True)
    assert words(turn)["input_ids"] == [4, *words("a=3")["input_ids"], 5]


def test_the_same_corpus_gives_the_same_tokenizer(words):
    assert build_tokenizer(iter(corpus()), 512, 256).backend_tokenizer.to_str() == words.backend_tokenizer.to_str()
    assert len(build_tokenizer(corpus(), 100, 256)) == 100


def weights(model) -> torch.Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


def test_the_seed_decides_the_weights(words):
    torch.manual_seed(1)
    first = weights(build_model(CONFIG, words, 3))
    torch.manual_seed(2)
    assert torch.equal(weights(build_model(CONFIG, words, 3)), first)
    other = weights(build_model(CONFIG, words, 4))
    assert (other != first).float().mean() > 0.9


def test_the_model_has_the_shape_asked_for(words):
    model = build_model(CONFIG, words, 0)
    assert model.config.vocab_size == len(words) < CONFIG.vocab_size  # training stops when nothing repeats
    shape = CONFIG.model_dump(exclude={"vocab_size"})
    assert {name: getattr(model.config, name) for name in shape} == shape
    assert model.lm_head.weight is model.model.embed_tokens.weight
    assert (model.config.eos_token_id, model.config.pad_token_id) == (words.eos_token_id, words.pad_token_id)
    assert model.dtype == torch.float32


def test_saving_keeps_weights_tokens_and_chat_template(words, tmp_path):
    model = build_model(CONFIG, words, 0)
    model.save_pretrained(tmp_path)
    words.save_pretrained(tmp_path)
    loaded, text = AutoTokenizer.from_pretrained(tmp_path), card(problems(5)[9])
    assert loaded(text)["input_ids"] == words(text)["input_ids"]
    assert loaded.decode(loaded(text)["input_ids"]) == text
    assert loaded.chat_template == words.chat_template is not None
    assert (loaded.pad_token_id, loaded.eos_token_id, loaded.unk_token_id) == (0, 1, 2)
    assert torch.equal(weights(AutoModelForCausalLM.from_pretrained(tmp_path)), weights(model))


@pytest.mark.parametrize("change", [{"hidden_size": 4}, {"vocab_size": 10}, {"max_position_embeddings": 0}, {"depth": 3}])
def test_a_shape_out_of_range_or_an_unknown_key_is_refused(change):
    with pytest.raises(ValidationError, match=next(iter(change))):
        TinyConfig(**{**CONFIG.model_dump(), **change})
