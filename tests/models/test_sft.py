import copy
import shutil
import statistics

import pytest
import torch
import trl.trainer.base_trainer
from pydantic import ValidationError

from selfevolve.models import sft
from selfevolve.models.sft import IGNORED, Example, MuonWithAdamW, SftParams, fine_tune, orthogonalise

PARAMS = SftParams(
    steps=12,
    batch_size=4,
    micro_batch_size=2,
    optimizer="muon",
    learning_rate=0.01,
    warmup_steps=3,
    drills=False,
    checkpoint_every=5,
)


def with_(**changes) -> SftParams:
    return PARAMS.model_copy(update=changes)


def rows(count: int, seed: int = 0) -> list[Example]:
    """Random prompts of different lengths, then a run of one of four tokens, which alone is learned."""
    draw = torch.Generator().manual_seed(seed)
    examples = []
    for _ in range(count):
        length, kind = (int(torch.randint(low, high, (1,), generator=draw)) for low, high in ((2, 7), (10, 14)))
        prompt = torch.randint(20, 60, (length,), generator=draw).tolist() + [kind]
        examples.append(Example([*prompt, *[kind + 4] * 5], [*[IGNORED] * len(prompt), *[kind + 4] * 5]))
    return examples


class Interrupted(Exception):
    pass


def train(make_model, tokenizer, work, params=PARAMS, examples=None, stop=None, steps=None):
    """A fresh model trained in `work`: (weights, losses); losses are None if it was interrupted at step `stop`."""
    model = make_model()

    def report(step):
        if steps is not None:
            steps.append(step)
        if step == stop:
            raise Interrupted

    examples = rows(params.steps * params.batch_size) if examples is None else examples
    try:
        losses = fine_tune(model, tokenizer, examples, params, 0, work, report)
    except Interrupted:
        losses = None
    return torch.cat([parameter.detach().cpu().flatten() for parameter in model.parameters()]), losses


def hand_loss(model, examples) -> torch.Tensor:
    total, count = torch.zeros(()), 0
    for example in examples:
        logps = model(input_ids=torch.tensor([example.input_ids])).logits[0].log_softmax(-1)
        for at, label in enumerate(example.labels):
            if label != IGNORED:
                total, count = total - logps[at - 1, label], count + 1
    return total / count


@pytest.mark.parametrize("micro_batch_size", [4, 2, 1])
def test_the_loss_is_the_mean_over_the_learned_tokens_of_the_batch(make_model, tokenizer, tmp_path, micro_batch_size):
    examples = rows(4)
    longer = Example([*examples[0].input_ids, 5, 5, 5], [*examples[0].labels, 5, 5, 5])  # rows weigh by their tokens
    examples = [longer, *examples[1:]]
    params = with_(steps=1, micro_batch_size=micro_batch_size)
    _, (loss,) = train(make_model, tokenizer, tmp_path, params, examples)
    assert loss == pytest.approx(hand_loss(make_model(), examples).item(), abs=1e-5)


def test_tokens_without_a_label_are_not_learned(make_model, tokenizer, tmp_path):
    """What follows the last learned token has no influence; as soon as it is labelled, it has."""
    examples = rows(8)
    ending = [Example([*e.input_ids, 5, 6], [*e.labels, IGNORED, IGNORED]) for e in examples]
    other = [Example([*e.input_ids, 7, 8], [*e.labels, IGNORED, IGNORED]) for e in examples]
    learned = [Example([*e.input_ids, 7, 8], [*e.labels, 7, 8]) for e in examples]
    params = with_(steps=2, warmup_steps=0)
    results = [train(make_model, tokenizer, tmp_path / str(i), params, e) for i, e in enumerate((ending, other, learned))]
    # AdamW moves an input embedding only along its gradient, which is exactly zero for tokens behind the last label
    assert torch.equal(results[0][0], results[1][0]) and results[0][1] == results[1][1]
    assert not torch.equal(results[1][0], results[2][0])


def test_labels_need_not_equal_the_tokens(make_model, tokenizer, tmp_path):
    examples = [Example(e.input_ids, [label if label == IGNORED else 9 for label in e.labels]) for e in rows(4)]
    _, (loss,) = train(make_model, tokenizer, tmp_path, with_(steps=1), examples)
    assert loss == pytest.approx(hand_loss(make_model(), examples).item(), abs=1e-5)


@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
def test_a_few_steps_learn_a_toy_task(make_model, tokenizer, tmp_path, optimizer):
    params = with_(steps=25, optimizer=optimizer, learning_rate=0.03, checkpoint_every=100)
    _, losses = train(make_model, tokenizer, tmp_path, params)
    assert len(losses) == 25
    assert losses[0] > 4 and losses[-1] < 1.5


def test_rows_are_taken_in_the_order_given(make_model, tokenizer, tmp_path):
    examples = rows(8)
    params = with_(steps=2, learning_rate=1e-9)
    _, losses = train(make_model, tokenizer, tmp_path, params, examples)
    expected = [hand_loss(make_model(), examples[i : i + 4]).item() for i in (0, 4)]
    assert abs(expected[0] - expected[1]) > 1e-3
    assert losses == pytest.approx(expected, abs=1e-5)


@pytest.fixture(scope="module")
def undisturbed(make_model, tokenizer, tmp_path_factory):
    """(folder, weights, losses) of a run of PARAMS that nothing interrupted."""
    folder = tmp_path_factory.mktemp("undisturbed")
    return folder, *train(make_model, tokenizer, folder)


@pytest.mark.parametrize("stops", [(7,), (3, 6, 12)])
def test_an_interrupted_run_ends_as_an_undisturbed_one(make_model, tokenizer, tmp_path, undisturbed, stops, monkeypatch):
    monkeypatch.setattr(sft, "LOSSES", 3)  # means over 4 steps, while checkpoints come every 5
    _, weights, fine = undisturbed
    for stop in stops:
        assert train(make_model, tokenizer, tmp_path, stop=stop)[1] is None
    steps = []
    resumed, losses = train(make_model, tokenizer, tmp_path, steps=steps)
    assert steps == list(range((stops[-1] - 1) // 5 * 5 + 1, 13))  # from the last checkpoint on, not from the start
    assert torch.equal(resumed, weights)
    assert len(fine) == 12
    assert losses == [statistics.fmean(fine[i : i + 4]) for i in (0, 4, 8)]


def test_resuming_is_exact_with_adamw_too(make_model, tokenizer, tmp_path):
    params = with_(optimizer="adamw", steps=4, checkpoint_every=2)
    weights, losses = train(make_model, tokenizer, tmp_path / "whole", params)
    train(make_model, tokenizer, tmp_path / "cut", params, stop=3)
    resumed, resumed_losses = train(make_model, tokenizer, tmp_path / "cut", params)
    assert torch.equal(resumed, weights) and resumed_losses == losses


def test_a_finished_run_is_not_trained_again(make_model, tokenizer, undisturbed):
    folder, weights, losses = undisturbed
    steps = []
    again, losses_again = train(make_model, tokenizer, folder, steps=steps)
    assert (steps, losses_again) == ([], losses)
    assert torch.equal(again, weights)


@pytest.mark.parametrize("left", [None, '{"global_step": 10, "log_h'])
def test_a_checkpoint_that_was_cut_off_is_passed_over(make_model, tokenizer, tmp_path, undisturbed, left):
    _, weights, losses = undisturbed
    train(make_model, tokenizer, tmp_path, stop=6)
    shutil.copytree(tmp_path / "checkpoint-5", tmp_path / "checkpoint-10")
    state = tmp_path / "checkpoint-10" / "trainer_state.json"
    state.unlink() if left is None else state.write_text(left)
    steps = []
    resumed, resumed_losses = train(make_model, tokenizer, tmp_path, steps=steps)
    assert steps[0] == 6
    assert torch.equal(resumed, weights) and resumed_losses == losses


def test_the_rate_warms_up_stays_and_falls_for_every_group(make_model, tokenizer, tmp_path, monkeypatch):
    rates, step = [], MuonWithAdamW.step

    def watched(self, closure=None):
        rates.append([group["lr"] for group in self.param_groups])
        assert [group["lr"] for group in self.adamw.param_groups] == rates[-1][1:]
        step(self, closure)

    monkeypatch.setattr(MuonWithAdamW, "step", watched)
    train(make_model, tokenizer, tmp_path, stop=11)
    train(make_model, tokenizer, tmp_path)
    scale = [1 / 3, 2 / 3, *[1] * 7, *[(1 - i / 12) / 0.3 for i in range(9, 12)]]
    expected = [0.01 * factor for factor in [*scale[:11], *scale[10:]]]  # the second run goes on after step 10
    assert rates == [pytest.approx([rate, rate]) for rate in expected]


def test_the_number_of_rows_must_fit_the_steps(make_model, tokenizer, tmp_path):
    with pytest.raises(ValueError, match="47 examples for 12 steps of 4 rows"):
        train(make_model, tokenizer, tmp_path, examples=rows(47))
    with pytest.raises(ValueError, match="batch_size 4 is no multiple of micro_batch_size 3"):
        SftParams(**PARAMS.model_dump() | {"micro_batch_size": 3})


def test_no_steps_leave_the_model_as_it_is(make_model, tokenizer, tmp_path):
    weights, losses = train(make_model, tokenizer, tmp_path / "work", with_(steps=0), [])
    assert losses == []
    assert torch.equal(weights, torch.cat([p.detach().flatten() for p in make_model().parameters()]))
    assert not (tmp_path / "work").exists()


def test_nothing_is_sent_and_nothing_is_printed(make_model, tokenizer, tmp_path, monkeypatch, capsys):
    sent = []
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setattr(trl.trainer.base_trainer, "send_telemetry", lambda *_, **options: sent.append(options))
    train(make_model, tokenizer, tmp_path, with_(steps=2, checkpoint_every=10))
    assert sent == []
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("shape", [(3, 16, 16), (2, 16, 48), (2, 64, 16)])
def test_orthogonalised_matrices_have_singular_values_near_one(shape):
    matrices = (
        torch.randn(shape, generator=torch.Generator().manual_seed(0)) * torch.tensor([1e-3, 1.0, 1e3])[: shape[0], None, None]
    )
    result = orthogonalise(matrices)
    assert result.shape == shape
    values = torch.linalg.svdvals(result)
    assert values.min() > 0.6 and values.max() < 1.3
    u, _, v = torch.linalg.svd(matrices, full_matrices=False)  # the nearest semi-orthogonal matrix is u v
    assert torch.nn.functional.cosine_similarity(result.flatten(1), (u @ v).flatten(1)).min() > 0.95


def test_a_matrix_of_zeros_stays_zero():
    assert torch.equal(orthogonalise(torch.zeros(1, 4, 6)), torch.zeros(1, 4, 6))


def set_gradients(model, seed: int) -> None:
    draw = torch.Generator().manual_seed(seed)
    for parameter in model.parameters():
        parameter.grad = torch.randn(parameter.shape, generator=draw)


def test_muon_takes_the_layers_matrices_and_adamw_the_rest(make_model):
    model = make_model()
    optimizer = MuonWithAdamW(model, 0.01, weight_decay=0.0)
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    set_gradients(model, 0)
    optimizer.step()
    muon = {id(parameter) for parameter in optimizer.param_groups[0]["params"]}
    for name, parameter in model.named_parameters():
        change = (parameter.detach() - before[name]) / 0.01
        assert (id(parameter) in muon) == ("proj" in name), name
        if "proj" in name:  # scaled to the root mean square of an AdamW update, 0.2
            assert 0.12 < change.square().mean().sqrt() < 0.26, name
            assert (change * parameter.grad).sum() < 0
        else:
            assert torch.allclose(change, -parameter.grad.sign(), atol=1e-3), name  # AdamW's first step
    optimizer.zero_grad()
    assert all(parameter.grad is None for parameter in model.parameters())


def test_weight_decay_shrinks_matrices_only(make_model):
    models = [make_model(), make_model()]
    for model, decay in zip(models, (0.0, 0.5), strict=True):
        set_gradients(model, 0)
        MuonWithAdamW(model, 0.1, weight_decay=decay).step()
    for (name, free), shrunk, start in zip(
        models[0].named_parameters(), models[1].parameters(), make_model().parameters(), strict=True
    ):
        expected = start * -0.05 if "proj" in name else torch.zeros_like(start)
        assert torch.allclose(shrunk - free, expected, atol=1e-6), name


def test_parameters_without_a_gradient_are_left_alone(make_model):
    model = make_model()
    optimizer = MuonWithAdamW(model, 0.01)
    set_gradients(model, 0)
    still = model.model.layers[0].mlp.up_proj.weight
    still.grad, before = None, still.detach().clone()
    optimizer.step()
    assert torch.equal(still, before)
    assert optimizer.state_dict()["momenta"].count(None) == 1


def test_the_optimizer_state_survives_the_disk(make_model, tmp_path):
    model = make_model()
    optimizer = MuonWithAdamW(model, 0.01)
    for seed in range(3):
        set_gradients(model, seed)
        optimizer.step()
    torch.save(optimizer.state_dict(), tmp_path / "state.pt")
    other = copy.deepcopy(model)
    resumed = MuonWithAdamW(other, 0.5)
    resumed.load_state_dict(torch.load(tmp_path / "state.pt", weights_only=True))
    assert [group["lr"] for group in resumed.param_groups] == [0.01, 0.01]
    for seed in range(3, 6):
        for each, steps in ((model, optimizer), (other, resumed)):
            set_gradients(each, seed)
            steps.step()
    fresh = copy.deepcopy(model)
    for name, parameter in model.named_parameters():
        assert torch.equal(parameter, other.get_parameter(name)), name
    set_gradients(model, 9), set_gradients(fresh, 9)
    optimizer.step(), MuonWithAdamW(fresh, 0.01).step()
    for name, parameter in model.named_parameters():  # a state that is not carried over would show
        assert not torch.equal(parameter, fresh.get_parameter(name)), name


@pytest.mark.parametrize("change", [{"steps": -1}, {"optimizer": "sgd"}, {"learning_rate": 0.0}, {"momentum": 0.9}])
def test_settings_out_of_range_or_unknown_are_refused(change):
    with pytest.raises(ValidationError, match=next(iter(change))):
        SftParams(**{**PARAMS.model_dump(), **change})
