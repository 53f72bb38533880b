import contextlib
import json

import huggingface_hub.constants
import pytest
import torch
from transformers import PreTrainedTokenizerFast

from selfevolve.models import policy
from selfevolve.models.generation import Sampling
from selfevolve.models.policy import ModelError, Policy, load, point_to_base

GREEDY = Sampling(temperature=0.0, top_p=1.0, max_new_tokens=10)
SAMPLED = Sampling(temperature=1.0, top_p=1.0, max_new_tokens=10)
CHATS = [[{"role": "user", "content": text}] for text in ("a=3. b=a+4. b?", "7+1", "Total?")]


@pytest.fixture
def saved(make_model, tokenizer, tmp_path):
    agent = Policy(make_model(scale=6.0), tokenizer, "float32", 4)
    agent.save(tmp_path / "agent")
    return agent, tmp_path / "agent"


def weights(agent: Policy) -> torch.Tensor:
    return torch.cat([parameter.detach().cpu().flatten() for parameter in agent.model.parameters()])


def answers(agent: Policy, sampling: Sampling = GREEDY):
    return agent.generate(agent.encode(CHATS), sampling, 0)


def test_what_is_saved_is_loaded(saved):
    agent, folder = saved
    loaded = load(folder, "float32", 4)
    assert torch.equal(weights(loaded), weights(agent))
    assert loaded.encode(CHATS) == agent.encode(CHATS)
    assert answers(loaded) == answers(agent)
    assert (loaded.batch_size, loaded.tokenizer.padding_side) == (4, "left")
    assert {parameter.dtype for parameter in loaded.model.parameters()} == {torch.float32}


def test_weights_stored_in_bfloat16_are_trained_in_float32(make_model, tokenizer, tmp_path):
    Policy(make_model().to(torch.bfloat16), tokenizer, "float32", 4).save(tmp_path)
    assert load(tmp_path, "float32", 4).model.dtype == torch.float32


def test_a_pointer_stands_for_its_base(saved, tmp_path):
    agent, folder = saved
    point_to_base(tmp_path / "new" / "reasoner", str(folder))
    assert [path.name for path in (tmp_path / "new" / "reasoner").iterdir()] == ["base.json"]
    assert json.loads((tmp_path / "new" / "reasoner" / "base.json").read_text()) == {"path": str(folder)}
    assert torch.equal(weights(load(tmp_path / "new" / "reasoner", "float32", 4)), weights(agent))


def test_relative_paths_start_at_the_repository(saved, tmp_path, monkeypatch):
    agent, folder = saved
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    monkeypatch.setattr(policy, "ROOT", tmp_path)
    assert torch.equal(weights(load("agent", "float32", 4)), weights(agent))
    point_to_base(tmp_path / "pointing", "agent")
    assert torch.equal(weights(load(tmp_path / "pointing", "float32", 4)), weights(agent))


@pytest.mark.parametrize("source", ["nobody/no-such-model", "/no/such/folder"])
def test_a_model_that_cannot_be_had_offline_says_what_to_do(source, monkeypatch):
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(ModelError, match=f"cannot load a model from '{source}'") as raised:
        load(source, "float32", 4)
    assert "models.base.path" in str(raised.value) and "make smollm2" in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("error", [OSError(), ValueError("\nfirst\nsecond")])
def test_an_error_of_any_shape_becomes_a_model_error(error, monkeypatch):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(policy.AutoTokenizer, "from_pretrained", fail)
    with pytest.raises(ModelError, match=r"\((OSError\(\)|first)\)\. Give"):
        load("some/model", "float32", 4)


def test_a_folder_without_weights_is_refused(saved):
    _, folder = saved
    (folder / "model.safetensors").unlink()
    with pytest.raises(ModelError, match="cannot load a model from .*agent"):
        load(folder, "float32", 4)


def test_without_a_pad_token_the_end_token_pads(saved, make_model, tmp_path, tokenizer):
    agent, _ = saved
    bare = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer.backend_tokenizer, eos_token="<eos>", chat_template=tokenizer.chat_template
    )
    assert bare.pad_token_id is None
    Policy(make_model(scale=6.0), bare, "float32", 4).save(tmp_path / "bare")
    loaded = load(tmp_path / "bare", "float32", 4)
    assert loaded.tokenizer.pad_token_id == loaded.tokenizer.eos_token_id == 1
    assert len({len(prompt) for prompt in loaded.encode(CHATS)}) > 1  # so that there is padding
    assert answers(loaded) == answers(agent)


def test_sampling_defaults_of_a_checkpoint_do_not_leak_in(saved):
    agent, folder = saved
    suggested = {"repetition_penalty": 3.0, "top_k": 1, "min_p": 0.5, "no_repeat_ngram_size": 1, "eos_token_id": [1, 9]}
    path = folder / "generation_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **suggested, "do_sample": True}))
    loaded = load(folder, "float32", 4)
    assert answers(loaded) == answers(agent)
    assert answers(loaded, SAMPLED) == answers(agent, SAMPLED)


def test_the_bfloat16_sampler_follows_the_weights(saved):
    _, folder = saved
    agent = load(folder, "bfloat16", 4)
    before = answers(agent)
    with torch.no_grad():
        for parameter in agent.model.parameters():
            parameter.add_(torch.linspace(-0.3, 0.3, parameter.numel()).view_as(parameter).to(parameter.device))
    after = answers(agent)
    assert after != before
    agent.save(folder)
    assert answers(load(folder, "bfloat16", 4)) == after
    assert {parameter.dtype for parameter in agent.model.parameters()} == {torch.float32}
    assert {parameter.dtype for parameter in agent._sampler.parameters()} == {torch.bfloat16}


def test_generating_in_bfloat16_leaves_the_trained_weights_exact(saved):
    agent, folder = saved
    loaded = load(folder, "bfloat16", 4)
    answers(loaded)
    assert torch.equal(weights(loaded), weights(agent))


@torch.no_grad()
def test_the_bfloat16_sampler_keeps_exact_rotary_frequencies(make_model, tokenizer):
    agent = Policy(make_model(), tokenizer, "bfloat16", 4)
    agent.generate(agent.encode(CHATS), GREEDY, 0)
    exact, sampler = dict(agent.model.named_buffers()), dict(agent._sampler.named_buffers())
    assert any("inv_freq" in name for name in exact)
    for name, buffer in exact.items():
        assert sampler[name].dtype == buffer.dtype and torch.equal(sampler[name], buffer), name
    far = torch.arange(5000, 5128)[None].to(agent.model.device)
    one = torch.zeros(1, 128, 16, device=far.device)
    angles = [torch.stack(m.model.rotary_emb(one, far)) for m in (agent.model, agent._sampler)]
    assert torch.allclose(*angles, atol=1e-6)


def test_float32_generates_with_the_trained_model_itself(saved):
    agent, _ = saved
    assert agent._sampler is agent.model and agent.bf16 is False


@pytest.mark.parametrize(("capability", "bf16"), [("AVX2", False), ("AVX512", True)])
def test_auto_computes_in_bfloat16_only_where_the_cpu_can(saved, monkeypatch, capability, bf16):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: capability)
    assert load(saved[1], "auto", 4).bf16 is bf16
    with pytest.warns(UserWarning, match="emulates") if not bf16 else contextlib.nullcontext():
        load(saved[1], "bfloat16", 4)
