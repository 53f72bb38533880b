"""The graph of what enables what, drawn: actions on the left, the branches they make possible on the right.

Paper: Gradus section 2.2 and A.7 (upgrade -> business -> cancel).
"""

from __future__ import annotations

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch

from selfevolve.analysis import style

ROW = 0.21  # inches per line of text
LONGEST = 62  # characters of a line
_LEFT, _RIGHT = 0.27, 0.46  # where arrows begin and end, as shares of the width


def figure(edges: pl.DataFrame) -> Figure:
    """Draw the allow branches that an action enables, of `graph.edges`: who may act after whom.

    One arrow per source and target, wider the more branches it stands for; under each target its policies with the outcomes
    that become possible, marked with the colours of the sources that do it. Branches that deny, and what is disabled, are in
    the table only.
    """
    shown = edges.filter(pl.col("relation") == "enables", pl.col("verdict") == "allow")
    sources = sorted(shown["source"].unique())
    colours = {source: style.SERIES[index % len(style.SERIES)] for index, source in enumerate(sources)}
    boxes = _boxes(shown)
    lines = sum(2 + len(policies) for policies in boxes.values())
    with style.theme():
        drawn, axes = style.figure(height=max(1.5, ROW * (lines + 2)))
        ax = axes[0, 0]
        drawn.set_layout_engine("none")
        ax.set_position((0.01, 0.0, 0.99, 1.0))
        ax.set(xlim=(0, 1), ylim=(lines + 0.5, -1.5))
        ax.axis("off")
        ax.text(_LEFT - 0.01, -1, "executing ...", ha="right", va="center", color=style.FAINT)
        ax.text(_RIGHT + 0.02, -1, "... makes possible", va="center", color=style.FAINT)
        heights = _sources(ax, sources, colours, lines)
        top = 0
        for target, policies in boxes.items():
            _target(ax, target, policies, colours, top)
            for source in sources:
                branches = sum(source in by for outcomes in policies.values() for by in outcomes.values())
                if branches:
                    _arrow(ax, heights[source], top, colours[source], branches)
            top += 2 + len(policies)
    return drawn


def _boxes(shown: pl.DataFrame) -> dict[str, dict[str, dict[str, set[str]]]]:
    """target -> policy -> outcome -> sources, each in alphabetical order."""
    boxes: dict[str, dict[str, dict[str, set[str]]]] = {}
    for row in shown.sort("target", "policy_id", "outcome").iter_rows(named=True):
        outcomes = boxes.setdefault(row["target"], {}).setdefault(row["policy_id"], {})
        outcomes.setdefault(row["outcome"], set()).add(row["source"])
    return boxes


def _sources(ax: Axes, sources: list[str], colours: dict[str, str], lines: int) -> dict[str, float]:
    heights = {source: lines * (index + 0.5) / len(sources) - 0.5 for index, source in enumerate(sources)}
    for source, height in heights.items():
        ax.text(_LEFT - 0.01, height, source, ha="right", va="center", color=colours[source], weight="bold")
    return heights


def _target(ax: Axes, target: str, policies: dict[str, dict[str, set[str]]], colours: dict[str, str], top: float) -> None:
    ax.text(_RIGHT + 0.02, top, target, va="center", weight="bold")
    indent = 0.035 + 0.012 * max(len(set().union(*outcomes.values())) for outcomes in policies.values())
    for line, (policy, outcomes) in enumerate(policies.items(), 1):
        by = sorted(set().union(*outcomes.values()))
        for position, source in enumerate(by):
            ax.plot(_RIGHT + 0.03 + 0.012 * position, top + line, "o", markersize=5, color=colours[source])
        ax.text(_RIGHT + indent, top + line, _line(policy, list(outcomes)), va="center", fontsize=9)


def _line(policy: str, outcomes: list[str]) -> str:
    """A policy and its outcomes, as many as fit."""
    text = f"{policy}: {', '.join(outcomes)}"
    shown = len(outcomes)
    while len(text) > LONGEST and shown > 1:
        shown -= 1
        text = f"{policy}: {', '.join(outcomes[:shown])} and {len(outcomes) - shown} more"
    return text


def _arrow(ax: Axes, start: float, end: float, colour: str, branches: int) -> None:
    ax.add_patch(
        FancyArrowPatch(
            (_LEFT, start),
            (_RIGHT + 0.01, end),
            connectionstyle="arc3,rad=0.0",
            arrowstyle="-|>",
            mutation_scale=10,
            linewidth=0.8 + 0.5 * branches**0.5,
            color=colour,
            alpha=0.75,
        )
    )
