"""Kernels are data: adding one is adding an entry."""

import pytest

from selfevolve.gradus import kernels

SHOUTING = '- {name: shouting, kind: interaction, surface: "{request}!", instruction: Let the user shout.}\n'


def test_the_kernels_of_the_paper_are_there():
    found = kernels.load()
    assert {k.name: k.relation for k in found if k.kind == "structural"} == {
        "causal": "enables",
        "parallel": "independent",
        "repetition": "repeat",
    }
    assert [k.name for k in found if k.kind == "interaction"] == ["indirect_reference", "ambiguity", "pressure", "reasoning"]


def test_adding_a_kernel_is_adding_an_entry(tmp_path):
    path = tmp_path / "more.yaml"
    path.write_text(kernels.PATH.read_text() + SHOUTING)
    assert kernels.load(path)[-1].name == "shouting" and len(kernels.load(path)) == len(kernels.load()) + 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{a: 1}", "the file is a list of kernels"),
        ("- [", "not YAML"),
        ("- {name: x, kind: structural, instruction: y}", r"x\.relation: a structural kernel has one"),
        ("- {name: x, kind: interaction, instruction: y}", r"x\.surface: an interaction kernel has one"),
        ("- {name: x, kind: interaction, surface: s, relation: repeat, instruction: y}", r"x\.relation"),
        ("- {name: x, kind: magic, instruction: y}", r"x\.kind"),
        ("- {name: x, kind: interaction, surface: s, instruction: y, weight: 2}", r"x\.weight"),
        ("- {kind: interaction, surface: s, instruction: y}", r"entry 0\.name"),
        (SHOUTING + SHOUTING, "shouting: there are two kernels of this name"),
        (SHOUTING, "no structural kernel"),
    ],
)
def test_errors_name_the_file_the_entry_and_the_field(tmp_path, text, said):
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    with pytest.raises(kernels.KernelError, match=said) as error:
        kernels.load(path)
    assert str(path) in str(error.value)
