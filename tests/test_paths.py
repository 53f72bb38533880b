"""The root is found from anywhere inside a repository."""

import pytest

from selfevolve import paths
from selfevolve.paths import keyed


def test_the_nearest_folder_with_both_markers_is_the_root(tmp_path):
    for name in paths.MARKERS:
        (tmp_path / name).touch()
    inner = tmp_path / "notebooks" / "deep"
    inner.mkdir(parents=True)
    (inner.parent / "dvc.yaml").touch()  # one marker alone does not make a root
    assert paths.find_root(inner) == tmp_path


def test_elsewhere_it_is_the_checkout_of_the_package(tmp_path):
    root = paths.find_root(tmp_path)
    assert (root / "src" / "selfevolve" / "paths.py").is_file()


def test_every_path_lies_under_the_root():
    places = [value for name, value in vars(paths).items() if name.isupper() and name not in ("MARKERS", "ROOT")]
    assert len(places) >= 8
    assert all(place.parent == paths.ROOT for place in places)


def test_work_is_keyed_by_settings_and_inputs(tmp_path):
    given = tmp_path / "input.csv"
    given.write_text("a")
    one = keyed(tmp_path, "synco", "settings", given)
    assert one.parent == tmp_path and one == keyed(tmp_path, "synco", "settings", given)
    assert one != keyed(tmp_path, "frozen", "settings", given)
    assert keyed(tmp_path, "ab", "c") != keyed(tmp_path, "a", "bc")
    given.write_text("b")
    assert one != keyed(tmp_path, "synco", "settings", given)
    with pytest.raises(FileNotFoundError, match="dvc repro"):
        keyed(tmp_path, tmp_path / "missing")
