import pytest

from selfevolve.synco.labels import DIFFICULTIES, difficulty, skill


@pytest.mark.parametrize(
    ("estimate", "label"),
    [
        ("learnable", "learnable"),
        ("Easy", "learnable"),
        ("mid-band", "mid-band"),
        ("Medium", "mid-band"),
        ("hard", "hard"),
        ("too hard for now", "too hard"),
        ("Challenging", "hard"),
        ("0.2", "learnable"),
        ("0.4", "mid-band"),
        ("0.7", "hard"),
        ("0.9", "too hard"),
        ("1", "too hard"),
        ("7", "other"),
        ("nan", "other"),
        ("unsure", "other"),
    ],
)
def test_difficulty_labels(estimate, label):
    assert difficulty(estimate) == label
    assert label in DIFFICULTIES


def test_a_skill_is_one_normalised_short_phrase():
    assert skill("  Case\n Analysis ") == "case analysis"
    assert len(skill("x " * 200)) <= 60
