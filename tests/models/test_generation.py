import pytest
import torch
from pydantic import ValidationError

from selfevolve.models.generation import Sampling, encode_chats, generate

GREEDY = Sampling(temperature=0.0, top_p=1.0, max_new_tokens=12)
SAMPLED = Sampling(temperature=1.0, top_p=1.0, max_new_tokens=40)
TEXTS = (
    "a=3. b=a+4. b?",
    "A box has 9 nuts. Add 2. Take 5. How many?",
    "7",
    "Al is 3. Bo is 2 times. Last age?",
    "1+1",
)


@pytest.fixture(scope="module")
def model(make_model):
    return make_model(scale=6.0)


@pytest.fixture(scope="module")
def prompts(tokenizer):
    return [tokenizer(text)["input_ids"] for text in TEXTS]


def test_a_prompt_is_answered_as_if_it_were_alone_whatever_shares_its_batch(model, tokenizer, prompts):
    alone = [generate(model, tokenizer, [prompt], GREEDY, 0, 1)[0] for prompt in prompts]
    assert len({tuple(completion.ids) for completion in alone}) == len(prompts)  # or the comparison would say nothing
    assert len({len(prompt) for prompt in prompts}) > 3
    for batch_size in (2, 3, 16):
        assert generate(model, tokenizer, prompts, GREEDY, 0, batch_size) == alone


def test_greedy_takes_the_most_likely_token_given_all_before(model, tokenizer, prompts):
    for prompt, completion in zip(prompts, generate(model, tokenizer, prompts, GREEDY, 0, 8), strict=True):
        logits = model(input_ids=torch.tensor([prompt + completion.ids])).logits[0]
        assert logits[len(prompt) - 1 : -1].argmax(-1).tolist() == completion.ids


def test_the_seed_alone_decides_the_draw(model, tokenizer, prompts):
    torch.manual_seed(1)
    first = generate(model, tokenizer, prompts, SAMPLED, 5, 8)
    torch.manual_seed(2)
    assert generate(model, tokenizer, prompts, SAMPLED, 5, 8) == first
    assert generate(model, tokenizer, prompts, SAMPLED, 6, 8) != first


def test_equal_prompts_are_drawn_independently(model, tokenizer, prompts):
    drawn = generate(model, tokenizer, [prompts[0]] * 8, SAMPLED, 0, 4)
    assert len({tuple(completion.ids) for completion in drawn}) == 8


def test_a_completion_ends_with_its_end_token_or_is_cut(make_model, tokenizer, prompts):
    drawn = generate(make_model(), tokenizer, prompts * 12, SAMPLED, 0, 64)
    ended = [completion for completion in drawn if tokenizer.eos_token_id in completion.ids]
    assert 0 < len(ended) < len(drawn)
    for completion in drawn:
        if completion in ended:
            assert completion.ids.index(tokenizer.eos_token_id) == len(completion.ids) - 1
        else:
            assert len(completion.ids) == SAMPLED.max_new_tokens
        assert completion.text == tokenizer.decode(completion.ids, skip_special_tokens=True)
        assert "<eos>" not in completion.text
    assert len({len(completion.ids) for completion in ended}) > 3  # rows of a batch that ended early were cut there


def frequencies(model, tokenizer, prompt, sampling, count=3000):
    drawn = generate(model, tokenizer, [prompt] * count, sampling, 0, count)
    return torch.bincount(torch.tensor([c.ids[0] for c in drawn]), minlength=len(tokenizer)) / count


@torch.no_grad()
def test_tokens_are_drawn_from_the_whole_tempered_distribution(model, tokenizer, prompts):
    logits = model(input_ids=torch.tensor([prompts[0]])).logits[0, -1]
    plain, tempered = torch.softmax(logits, -1), torch.softmax(logits / 2.5, -1)
    drawn = frequencies(model, tokenizer, prompts[0], Sampling(temperature=2.5, top_p=1.0, max_new_tokens=1))
    assert (tempered > 1e-3).sum() > 60  # more than the 50 that transformers keeps unless told otherwise
    assert (drawn - tempered).abs().sum() < 0.2 < 0.4 < (drawn - plain).abs().sum()


@torch.no_grad()
def test_the_nucleus_leaves_out_the_tail(model, tokenizer, prompts):
    logits = model(input_ids=torch.tensor([prompts[0]])).logits[0, -1]
    ranked, order = torch.softmax(logits, -1).sort(descending=True)
    kept = int((ranked.cumsum(0) < 0.5).sum()) + 1
    drawn = frequencies(model, tokenizer, prompts[0], Sampling(temperature=1.0, top_p=0.5, max_new_tokens=1), 1500)
    assert set(drawn.nonzero().flatten().tolist()) == set(order[:kept].tolist())


def test_what_a_checkpoint_suggests_for_sampling_does_not_leak_in(make_model, tokenizer, prompts):
    clean = generate(make_model(), tokenizer, prompts, SAMPLED, 0, 8)
    model = make_model()
    model.generation_config.update(do_sample=False, top_k=1, top_p=0.01, temperature=0.01, max_new_tokens=2)
    assert generate(model, tokenizer, prompts, SAMPLED, 0, 8) == clean


@pytest.mark.parametrize("training", [True, False])
def test_generation_is_without_dropout_and_leaves_the_mode_as_it_was(make_model, tokenizer, prompts, training):
    expected = generate(make_model(scale=6.0), tokenizer, prompts, GREEDY, 0, 8)
    model = make_model(scale=6.0)
    for layer in model.model.layers:
        layer.self_attn.attention_dropout = 0.9
    model.train(training)
    assert generate(model, tokenizer, prompts, GREEDY, 0, 8) == expected
    assert model.training is training
    assert all(module.training is training for module in model.modules())
    assert all(parameter.grad is None for parameter in model.parameters())


def test_the_cache_is_used_even_if_training_switched_it_off(make_model, tokenizer, prompts, monkeypatch):
    model, widths = make_model(), []
    model.config.use_cache = False
    forward = model.model.embed_tokens.forward
    monkeypatch.setattr(model.model.embed_tokens, "forward", lambda ids: widths.append(ids.shape[1]) or forward(ids))
    generate(model, tokenizer, prompts[:1], GREEDY, 0, 1)
    assert len(widths) > 1 and set(widths[1:]) == {1}
    assert model.config.use_cache is False


def test_a_prompt_must_leave_room_for_the_completion(model, tokenizer):
    fits = model.config.max_position_embeddings - GREEDY.max_new_tokens
    assert len(generate(model, tokenizer, [[7] * fits], GREEDY, 0, 1)[0].ids) > 0
    with pytest.raises(ValueError, match=rf"{fits + 1} tokens and 12 new ones exceed .* 128: shorten"):
        generate(model, tokenizer, [[7], [7] * (fits + 1)], GREEDY, 0, 1)


def test_no_prompts_give_no_completions(model, tokenizer):
    assert generate(model, tokenizer, [], SAMPLED, 0, 8) == []
    assert encode_chats(tokenizer, []) == []


def test_chats_follow_the_template_and_empty_messages_are_left_out(tokenizer):
    user = {"role": "user", "content": "1+1"}
    system, silent = {"role": "system", "content": "Add"}, {"role": "system", "content": ""}
    special = tokenizer.convert_tokens_to_ids
    ids = tokenizer("1+1")["input_ids"]
    with_system, without = encode_chats(tokenizer, [[system, user], [silent, user]])
    assert without == [special("<user>"), *ids, special("<assistant>")]
    assert with_system == [special("<system>"), *tokenizer("Add")["input_ids"], *without]
    answered = [user, {"role": "assistant", "content": "2"}, user]
    (ids,) = encode_chats(tokenizer, [answered])
    assert tokenizer.decode(ids) == "<user>1+1<assistant>2<eos><user>1+1<assistant>"


def test_encoding_adds_no_special_tokens_of_its_own(make_model, tokenizer):
    class Adding(type(tokenizer)):
        def __call__(self, texts, add_special_tokens=True, **options):
            encoded = super().__call__(texts, add_special_tokens=add_special_tokens, **options)
            return {"input_ids": [[1] * add_special_tokens + ids for ids in encoded["input_ids"]]}

    adding = Adding(tokenizer_object=tokenizer.backend_tokenizer, eos_token="<eos>", pad_token="<pad>")
    adding.chat_template = tokenizer.chat_template
    chats = [[{"role": "user", "content": "1+1"}]]
    assert encode_chats(adding, chats) == encode_chats(tokenizer, chats)


@pytest.mark.parametrize("change", [{"temperature": -0.1}, {"top_p": 0.0}, {"max_new_tokens": 0}, {"top_k": 5}])
def test_sampling_out_of_range_or_unknown_is_refused(change):
    with pytest.raises(ValidationError):
        Sampling(**{"temperature": 1.0, "top_p": 1.0, "max_new_tokens": 4, **change})
