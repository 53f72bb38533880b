"""The measured edges of the toy, and the drawing of them."""

import polars as pl
import pytest
import toy

from selfevolve.gradus import graph, graph_figure


@pytest.fixture
def library(tmp_path):
    return toy.library(tmp_path)


@pytest.fixture
def edges(library):
    return graph.edges(library, toy.Toy())


def relations(edges, source, target):
    rows = edges.filter(source=source, target=target).select("policy_id", "outcome", "relation")
    return set(rows.rows())


def test_releasing_enables_its_own_refusal(edges):
    assert relations(edges, "release", "release") == {
        ("release.once", "first", "disables"),
        ("release.once", "again", "enables"),
    }


def test_paying_establishes_what_release_asks_for(edges):
    assert relations(edges, "pay", "release") >= {
        ("release.fee", "clear", "enables"),
        ("release.fee", "owed", "disables"),
    }
    row = edges.filter(source="pay", policy_id="release.fee", outcome="clear").row(0, named=True)
    assert (row["path"], row["verdict"], row["relation"]) == ("parcels.*.fee", "allow", "enables")
    assert row["count"] >= 1


def test_a_new_record_enables_every_action_on_it(edges):
    enabled = {target: relations(edges, "register", target) for target in ("look", "pay", "release")}
    assert ("look.exists", "known", "enables") in enabled["look"]
    assert ("look.exists", "unknown", "disables") in enabled["look"]
    assert ("pay.amount", "fits", "enables") in enabled["pay"]
    assert ("release.asked", "asked", "enables") in enabled["release"]


def test_what_no_condition_reads_has_no_edge(edges):
    assert "ring" not in edges["source"].to_list() and "ring" not in edges["target"].to_list()
    assert relations(edges, "pay", "look") == set()


def test_the_same_seed_gives_the_same_edges_and_the_base_state_is_restored(library, edges):
    env = toy.Toy()
    before = env.state_hash()
    assert graph.edges(library, env).equals(edges)
    assert env.state_hash() == before
    assert edges.schema == pl.Schema(graph.SCHEMA)


def test_a_wrong_condition_changes_the_edges(tmp_path):
    """The edges are measured: a condition that ignores the fee has no edge from paying, though the path still overlaps."""

    def edit(record):
        release = next(operator for operator in record["operators"] if operator["action"] == "release")
        for guard in release["guards"]:
            if guard["policy_id"] == "release.fee":
                guard["when"] = "parcel.fee >= 0" if guard["outcome"] == "clear" else "parcel.fee < 0"

    library = toy.library(tmp_path, edit)
    fee = ("pay", "parcels.*.fee", "release", ("release.fee", "clear"))
    assert fee in graph.static(library)
    assert ("release.fee", "clear", "enables") not in relations(graph.edges(library, toy.Toy()), "pay", "release")


def test_the_figure_names_sources_targets_and_branches(edges):
    drawn = graph_figure.figure(edges)
    texts = {text.get_text() for text in drawn.axes[0].texts}
    assert {"pay", "register", "release.fee: clear", "look.exists: known"} <= texts
    assert not any("again" in text for text in texts), "branches that deny are not drawn"
    drawn.canvas.draw()
    widest = max(text.get_window_extent().x1 for text in drawn.axes[0].texts)
    assert widest <= drawn.bbox.width


def test_the_figure_of_nothing():
    graph_figure.figure(pl.DataFrame(schema=graph.SCHEMA)).canvas.draw()
