import json
import math
import os
import subprocess
import sys
import warnings
from pathlib import Path

import ddp_update
import pytest
import torch
import trl.trainer.base_trainer
from ddp_update import TEMPERATURE, scored_rows, tiny_model, tiny_tokenizer, tiny_trainer
from pydantic import ValidationError
from transformers import AutoModelForCausalLM, AutoTokenizer

from selfevolve.models import grpo
from selfevolve.models.grpo import OptimParams, Row, open_trainer

ROWS = scored_rows(0)[:7]
SCRIPT = Path(ddp_update.__file__)


def parameters(trainer) -> dict[str, torch.Tensor]:
    return {name: parameter.detach().clone() for name, parameter in trainer.model.named_parameters()}


def gradient(model) -> torch.Tensor:
    return torch.cat([parameter.grad.flatten() for _, parameter in sorted(model.named_parameters())])


def optimizer_tensors(trainer) -> list[torch.Tensor]:
    state = trainer.optimizer.state_dict()["state"]
    return [value.clone() for index in sorted(state) for _, value in sorted(state[index].items())]


def assert_same_state(left, right) -> None:
    for name, value in parameters(left).items():
        assert torch.equal(value, parameters(right)[name]), name
    moments = optimizer_tensors(left)
    assert moments
    assert all(torch.equal(a, b) for a, b in zip(moments, optimizer_tensors(right), strict=True))
    assert left.lr_scheduler.state_dict()["last_epoch"] == right.lr_scheduler.state_dict()["last_epoch"]
    assert left.steps_done == right.steps_done


def hand_written(model, rows, loss_type):
    """The GRPO objective from its formula: all rows, one at a time, no padding. Returns (loss, mean token entropy where there is an
    advantage)."""
    losses, counts, entropies, bearing = [], [], [], []
    for row in rows:
        ids = torch.tensor([row.prompt_ids + row.completion_ids], device=model.device)
        n = len(row.completion_ids)
        logits = model(input_ids=ids).logits[0, -n - 1 : -1] / TEMPERATURE
        logps = logits.log_softmax(-1)
        chosen = logps.gather(1, ids[0, -n:, None])[:, 0]
        mask = torch.tensor(row.mask or (1,) * n, device=model.device, dtype=torch.float32)
        ratio = torch.exp(chosen - chosen.detach())
        losses.append(-(ratio * row.advantage * mask).sum())
        counts.append(mask.sum())
        if row.advantage:
            entropies.append((-(logps.exp() * logps).sum(-1) * mask).sum().detach())
            bearing.append(mask.sum())
    losses, counts = torch.stack(losses), torch.stack(counts)
    loss = losses.sum() / counts.sum() if loss_type == "dapo" else (losses / counts.clamp(min=1)).mean()
    return loss, float(sum(entropies) / sum(bearing))


@pytest.mark.parametrize("logits_at_once", [0, grpo.LOGITS_AT_ONCE], ids=["tiled", "whole"])
@pytest.mark.parametrize("loss_type", ["dapo", "grpo"])
def test_loss_and_gradient_equal_the_formula_for_every_micro_batch_size(loss_type, logits_at_once, tmp_path, monkeypatch):
    monkeypatch.setattr(grpo, "LOGITS_AT_ONCE", logits_at_once)
    assert any(row.mask and 0 in row.mask for row in ROWS) and len({len(row.prompt_ids) for row in ROWS}) > 1
    reference = tiny_model()
    loss, entropy = hand_written(reference, ROWS, loss_type)
    loss.backward()
    expected = gradient(reference)
    assert expected.norm() > 1e-2
    for size in range(1, len(ROWS) + 2):
        trainer = tiny_trainer(tmp_path, loss_type=loss_type, micro_batch_size=size)
        got, got_entropy = trainer._accumulate_gradient(ROWS, sum(row.tokens for row in ROWS))
        assert got == pytest.approx(loss.item(), abs=1e-5)
        assert got_entropy == pytest.approx(entropy, abs=1e-5)
        assert (gradient(trainer.model).cpu() - expected).norm() <= 1e-5 * expected.norm(), size


def test_step_reports_the_batch_and_steps_as_adamw_does(tmp_path):
    trainer = tiny_trainer(tmp_path, max_grad_norm=0.0, adam_beta1=0.5, adam_beta2=0.8, weight_decay=0.3)
    reference = tiny_model().to(trainer.model.device)
    matrices = [p for p in reference.parameters() if p.dim() == 2]
    norms = [p for p in reference.parameters() if p.dim() == 1]
    groups = [{"params": matrices, "weight_decay": 0.3}, {"params": norms, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=1e-2, betas=(0.5, 0.8))
    for number in range(3):
        rows = scored_rows(number)
        loss, entropy = hand_written(reference, rows, "dapo")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        metrics = trainer.step(rows)
        assert metrics.loss == pytest.approx(loss.item(), abs=1e-5)
        assert metrics.entropy == pytest.approx(entropy, abs=1e-5)
        assert metrics.grad_norm == pytest.approx(float(gradient(reference).norm()), rel=1e-4)
        assert (metrics.rows, metrics.tokens) == (len(rows), sum(row.tokens for row in rows))
    assert trainer.steps_done == 3
    for (name, got), expected, start in zip(
        trainer.model.named_parameters(), reference.parameters(), tiny_model().parameters(), strict=True
    ):
        assert (got.detach() - start.to(got.device)).abs().max() > 5e-3, name
        assert (got - expected).abs().max() < 1e-4, name


def test_gradient_clipping_scales_to_the_limit(tmp_path):
    free, clipped = tiny_trainer(tmp_path, max_grad_norm=0.0), tiny_trainer(tmp_path, max_grad_norm=1e-3)
    assert free.step(ROWS).grad_norm == pytest.approx(clipped.step(ROWS).grad_norm)
    first = [t.optimizer.state_dict()["state"][0]["exp_avg"] for t in (free, clipped)]
    norm = float(tiny_trainer(tmp_path).step(ROWS).grad_norm)
    assert torch.allclose(first[1], first[0] * 1e-3 / norm, rtol=1e-3)


def test_warm_up_is_linear_from_zero_and_then_constant(tmp_path):
    trainer = tiny_trainer(tmp_path, learning_rate=1e-3, warmup_steps=4)
    before = parameters(trainer)
    rates = [trainer.step(ROWS).learning_rate]
    assert all(torch.equal(value, before[name]) for name, value in parameters(trainer).items())
    rates += [trainer.step(ROWS if i % 2 else []).learning_rate for i in range(20)]
    assert rates == pytest.approx([0.0, 2.5e-4, 5e-4, 7.5e-4] + [1e-3] * 17)


def test_without_rows_only_the_schedule_advances(tmp_path):
    trainer = tiny_trainer(tmp_path, warmup_steps=10)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first = trainer.step([])
    trainer.step(ROWS)
    before, moments = parameters(trainer), optimizer_tensors(trainer)
    metrics = trainer.step([])
    assert (metrics.loss, metrics.grad_norm, metrics.entropy) == (None, None, None)
    assert (metrics.rows, metrics.tokens, trainer.steps_done) == (0, 0, 3)
    assert (first.learning_rate, metrics.learning_rate) == pytest.approx((0.0, 2e-3))
    assert all(torch.equal(value, before[name]) for name, value in parameters(trainer).items())
    assert all(torch.equal(a, b) for a, b in zip(moments, optimizer_tensors(trainer), strict=True))


def test_rows_without_advantage_carry_no_gradient_but_count_in_the_normaliser(tmp_path):
    silent = [row.model_copy(update={"advantage": 0.0}) for row in ROWS]
    metrics = tiny_trainer(tmp_path).step(silent)
    assert (metrics.loss, metrics.grad_norm) == (0.0, 0.0)
    alone = tiny_trainer(tmp_path).step(ROWS)
    joined = tiny_trainer(tmp_path).step([*ROWS, *silent])
    assert joined.grad_norm == pytest.approx(alone.grad_norm / 2, rel=1e-4)


@pytest.mark.parametrize("loss_type", ["dapo", "grpo"])
def test_rows_without_advantage_cost_no_forward_pass_and_change_no_gradient(loss_type, tmp_path, monkeypatch):
    rows = [row.model_copy(update={"advantage": 0.0}) if number % 3 else row for number, row in enumerate(scored_rows(1))]
    reference = tiny_model()
    loss, _ = hand_written(reference, rows, loss_type)
    loss.backward()
    trainer, seen = tiny_trainer(tmp_path, loss_type=loss_type, micro_batch_size=2), []
    real = grpo.collate
    monkeypatch.setattr(grpo, "collate", lambda given, pad: seen.extend(given) or real(given, pad))
    got, _ = trainer._accumulate_gradient(rows, sum(row.tokens for row in rows))
    assert got == pytest.approx(loss.item(), abs=1e-6)
    assert (gradient(trainer.model).cpu() - gradient(reference)).norm() <= 1e-6 * gradient(reference).norm()
    assert len(seen) == sum(bool(row.advantage) for row in rows) < len(rows) / 2


def test_a_step_without_any_advantage_is_adamws_step_on_a_zero_gradient(tmp_path, monkeypatch):
    silent = [row.model_copy(update={"advantage": 0.0}) for row in ROWS]
    trainer, reference = (tiny_trainer(tmp_path / name, weight_decay=0.3) for name in "ab")
    for each in (trainer, reference):
        each.step(ROWS)
    metrics = trainer.step(silent)
    assert (metrics.loss, metrics.grad_norm, metrics.entropy) == (0.0, 0.0, None)
    monkeypatch.setattr(reference, "_accumulate_gradient", lambda *_: full_pass(reference, silent))
    reference.step(silent)
    assert_same_state(trainer, reference)


def full_pass(trainer, rows) -> tuple[float, None]:
    loss, _ = hand_written(trainer.model, [row.model_copy(update={"advantage": 1.0}) for row in rows], "dapo")
    (0.0 * loss).backward()
    return 0.0, None


def test_rows_entirely_outside_the_policy_have_no_entropy(tmp_path):
    outside = [row.model_copy(update={"mask": (0,) * len(row.completion_ids)}) for row in ROWS]
    metrics = tiny_trainer(tmp_path).step(outside)
    assert (metrics.loss, metrics.grad_norm, metrics.entropy, metrics.tokens) == (0.0, 0.0, None, 0)


def test_a_gradient_that_is_not_finite_stops_before_anything_changes(tmp_path):
    trainer = tiny_trainer(tmp_path)
    trainer.step(ROWS)
    with torch.no_grad():
        trainer.model.model.norm.weight[0] = math.inf
    before, moments = parameters(trainer), optimizer_tensors(trainer)
    with pytest.raises(FloatingPointError, match="step 2.*diverged"):
        trainer.step(ROWS)
    assert all(torch.equal(value, before[name]) for name, value in parameters(trainer).items())
    assert all(torch.equal(a, b) for a, b in zip(moments, optimizer_tensors(trainer), strict=True))
    assert trainer.steps_done == 1
    assert all(parameter.grad is None for parameter in trainer.model.parameters())


def test_policy_generates_between_steps_as_a_fresh_copy_would(tmp_path):
    trainer = tiny_trainer(tmp_path / "scratch")
    trainer.step(ROWS)
    assert not trainer.model.training
    assert trainer.model.config.use_cache
    assert all(parameter.grad is None for parameter in trainer.model.parameters())
    trainer.save(tmp_path / "saved")
    copy = AutoModelForCausalLM.from_pretrained(tmp_path / "saved").to(trainer.model.device).eval()
    prompt = torch.tensor([[5, 6, 7], [8, 9, 10]], device=trainer.model.device)
    options = dict(do_sample=False, max_new_tokens=12, return_dict_in_generate=True)
    left, right = trainer.model.generate(prompt, **options), copy.generate(prompt, **options)
    assert torch.equal(left.sequences, right.sequences)
    assert left.past_key_values is not None
    assert AutoTokenizer.from_pretrained(tmp_path / "saved").pad_token_id == 0


def test_resume_is_bitwise_in_the_same_process(tmp_path):
    trainer = tiny_trainer(tmp_path / "a", warmup_steps=3)
    for step in range(2):
        trainer.step(scored_rows(step))
    trainer.save(tmp_path / "saved")
    resumed = tiny_trainer(tmp_path / "b", seed=9, warmup_steps=3, resume_from=tmp_path / "saved")
    assert_same_state(trainer, resumed)
    for step in range(2, 5):
        rows = scored_rows(step) if step != 3 else []
        assert trainer.step(rows) == resumed.step(rows)
    assert_same_state(trainer, resumed)


def test_resume_is_bitwise_in_a_fresh_process(tmp_path):
    trainer = tiny_trainer(tmp_path / "a")
    for step in range(2):
        trainer.step(scored_rows(step))
    trainer.save(tmp_path / "saved")
    launch([sys.executable, SCRIPT, "resume", tmp_path / "saved", tmp_path / "later"])
    metrics = [trainer.step(scored_rows(step)).model_dump() for step in range(2, 4)]
    assert json.loads((tmp_path / "later/metrics.json").read_text())["steps"] == metrics
    assert_same_state(trainer, tiny_trainer(tmp_path / "b", seed=9, resume_from=tmp_path / "later"))


def test_interleaved_policies_equal_separate_runs_bitwise(tmp_path):
    left, right = tiny_trainer(tmp_path, seed=1), tiny_trainer(tmp_path, seed=2, loss_type="grpo", micro_batch_size=2)
    together = [(left.step(scored_rows(step)), right.step(scored_rows(step + 10))) for step in range(3)]
    alone = tiny_trainer(tmp_path, seed=1)
    assert [alone.step(scored_rows(step)) for step in range(3)] == [pair[0] for pair in together]
    assert_same_state(alone, left)
    alone = tiny_trainer(tmp_path, seed=2, loss_type="grpo", micro_batch_size=2)
    assert [alone.step(scored_rows(step + 10)) for step in range(3)] == [pair[1] for pair in together]
    assert_same_state(alone, right)


def test_two_ranks_equal_one(tmp_path):
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    launch([*torchrun, SCRIPT, "update", tmp_path / "two"])
    written = json.loads((tmp_path / "two/metrics.json").read_text())
    assert written["world"] == 2
    trainer = tiny_trainer(tmp_path / "a")
    for step in range(2):
        expected = trainer.step(scored_rows(step)).model_dump()
        assert written["steps"][step] == pytest.approx(expected, rel=1e-5, abs=1e-6)
    resumed = tiny_trainer(tmp_path / "b", seed=9, resume_from=tmp_path / "two")
    start = dict(tiny_model().named_parameters())
    for name, value in parameters(trainer).items():
        assert (value - start[name].to(value.device)).abs().max() > 1e-3, name
        assert (value - parameters(resumed)[name]).abs().max() <= 1e-6, name


def launch(command) -> None:
    """Run on one CPU thread and without a GPU; fail with what it printed."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run([str(part) for part in command], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]


def test_rewards_to_update_follow_the_committed_trajectory():
    expected = json.loads((SCRIPT.parent / "grpo_trajectory.json").read_text())
    got = ddp_update.trajectory()
    assert len(expected["steps"]) == 3
    for mine, reference in zip(got["steps"], expected["steps"], strict=True):
        assert mine == pytest.approx(reference, rel=1e-4, abs=1e-6)
    assert got["checksums"] == pytest.approx(expected["checksums"], rel=1e-4, abs=1e-4)


def test_a_half_written_checkpoint_is_refused(tmp_path):
    trainer = tiny_trainer(tmp_path / "a")
    trainer.save(tmp_path / "saved")
    (tmp_path / "saved" / grpo.STATE_FILE).unlink()
    with pytest.raises(FileNotFoundError, match="not a complete checkpoint"):
        trainer.load(tmp_path / "saved")


def test_saving_over_a_checkpoint_unmarks_it_first(tmp_path, monkeypatch):
    trainer = tiny_trainer(tmp_path / "a")
    trainer.save(tmp_path / "saved")

    def disk_full(*_):
        raise OSError("disk full")

    monkeypatch.setattr(torch, "save", disk_full)
    with pytest.raises(OSError, match="disk full"):
        trainer.save(tmp_path / "saved")
    with pytest.raises(FileNotFoundError):
        trainer.load(tmp_path / "saved")


def test_resuming_under_other_settings_is_refused(tmp_path):
    tiny_trainer(tmp_path / "a", learning_rate=1e-2).save(tmp_path / "saved")
    with pytest.raises(ValueError, match="saved settings"):
        tiny_trainer(tmp_path / "a", learning_rate=1e-3, resume_from=tmp_path / "saved")
    tiny_trainer(tmp_path / "a", micro_batch_size=1, resume_from=tmp_path / "saved")


def test_only_save_writes_files_and_nothing_is_sent(tmp_path, monkeypatch):
    sent = []
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setattr(trl.trainer.base_trainer, "send_telemetry", lambda *_, **options: sent.append(options))
    monkeypatch.chdir(tmp_path)
    trainer = tiny_trainer(tmp_path / "scratch")
    trainer.step(ROWS)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    trainer.save(tmp_path / "saved")
    written = {path.name for path in tmp_path.rglob("*") if path.is_file()}
    assert {grpo.WEIGHTS_FILE, grpo.OPTIMIZER_FILE, grpo.STATE_FILE, "config.json", "tokenizer.json"} <= written
    assert not any(name.endswith(".bin") for name in written)
    assert sent == []


def test_bf16_changes_the_forward_pass_only(tmp_path):
    trainer = open_trainer(tiny_model(), tiny_tokenizer(), OptimParams(), 10, TEMPERATURE, 0, tmp_path, bf16=True)
    exact = open_trainer(tiny_model(), tiny_tokenizer(), OptimParams(), 10, TEMPERATURE, 0, tmp_path)
    rough, fine = trainer.step(ROWS), exact.step(ROWS)
    assert rough.entropy != fine.entropy
    assert rough.entropy == pytest.approx(fine.entropy, rel=0.02)
    assert {parameter.dtype for parameter in trainer.model.parameters()} == {torch.float32}


def test_defaults_are_the_papers_and_unknown_options_are_refused():
    params = OptimParams()
    assert (params.learning_rate, params.warmup_steps, params.weight_decay) == (1e-6, 10, 0.1)
    with pytest.raises(ValidationError, match="kl_beta"):
        OptimParams(kl_beta=0.1)


def test_contract_names_are_importable_from_one_module():
    assert grpo.Row is Row
    assert grpo.group_advantages([[1.0, 1.0]]) == [[0.0, 0.0]]
