"""How every figure looks: one theme, one colour and marker per system, direct labels where lines end.

Figures are 9 inches wide at 120 dpi, which stays legible when a page scales them to 900 px. Colours are from the
Okabe-Ito set, which readers with the common colour-vision deficiencies can tell apart; markers repeat the distinction
without colour.
"""

import contextlib
from collections.abc import Iterator

import matplotlib.pyplot as plt
import numpy as np
import polars as pl
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

WIDTH = 9.0  # inches
PALETTE = {
    "vanilla": "#767676",
    "metamathqa": "#CC79A7",
    "scalequest": "#E69F00",
    "openmathinstruct2": "#56B4E9",
    "static_pool_sft": "#117733",
    "static_pool": "#009E73",
    "rewriting": "#5B4B8A",
    "r_zero": "#8C6D31",
    "frozen": "#0072B2",
    "synco": "#D55E00",
}
MARKERS = dict(zip(PALETTE, "DvP<Xs>p^o", strict=True))
SERIES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#5B4B8A", "#8C6D31", "#767676")
LADDER = {  # names with a fixed colour in stacked shares: difficulties light to dark, what is left in grey
    "learnable": "#C6DBEF",
    "mid-band": "#6BAED6",
    "hard": "#2171B5",
    "too hard": "#08306B",
    "other": "#BBBBBB",
    "all others": "#BBBBBB",
    "none": "#DDDDDD",
}
OUTCOMES = {"mixed": "#E69F00", "all_correct": "#9CC7E4", "all_incorrect": "#C9C9C9"}
INK = "#222222"
FAINT = "#8A8A8A"

_RC = {
    "figure.dpi": 120,
    "savefig.dpi": 120,
    "font.family": "DejaVu Sans",  # ships with matplotlib, so figures do not depend on installed fonts
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 10,
    "axes.labelcolor": INK,
    "axes.edgecolor": "#555555",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": "#E4E4E4",
    "grid.linewidth": 0.8,
    "text.color": INK,
    "xtick.labelsize": 9.5,
    "ytick.labelsize": 9.5,
    "lines.linewidth": 1.9,
    "figure.constrained_layout.use": True,
    "figure.constrained_layout.h_pad": 0.07,  # inches
    "figure.constrained_layout.w_pad": 0.07,
}


@contextlib.contextmanager
def theme() -> Iterator[None]:
    """The seaborn theme of every figure, left again afterwards so that a notebook's own settings survive."""
    with plt.rc_context():
        sns.set_theme(style="whitegrid", rc=_RC)
        yield


def figure(rows: int = 1, columns: int = 1, height: float = 3.4, **options) -> tuple[Figure, np.ndarray]:
    """A WIDTH x ``height`` inch figure and its rows x columns array of axes. Call inside ``theme()``.

    The figure is closed for pyplot at once: a notebook shows the returned object once, and nothing piles up in memory.
    """
    drawn, axes = plt.subplots(rows, columns, figsize=(WIDTH, height), squeeze=False, **options)
    plt.close(drawn)
    return drawn, axes


def to_pandas_free(frame: pl.DataFrame) -> dict[str, list]:
    """``frame`` as a dict of lists: seaborn 0.13.2 takes that, and rejects polars 2 frames."""
    return frame.to_dict(as_series=False)


def colour(name: str) -> str:
    """Fixed colour of a system; a system outside the palette is drawn in dark grey."""
    return PALETTE.get(name, "#333333")


def ink_on(fill: str) -> str:
    """Text colour that can be read on ``fill``: white on dark, ink on light."""
    red, green, blue = to_rgb(fill)
    return "white" if 0.299 * red + 0.587 * green + 0.114 * blue < 0.55 else INK


def footnote(drawn: Figure, text: str) -> None:
    """A faint line under the figure that says how to read it."""
    drawn.supxlabel(text, fontsize=9, color=FAINT, x=0.01, ha="left")


def percent(ax: Axes, axis: str = "y") -> None:
    """Show an axis of shares in [0, 1] as per cent."""
    (ax.yaxis if axis == "y" else ax.xaxis).set_major_formatter(PercentFormatter(1.0, decimals=0))


def label_ends(ax: Axes, ends: list[tuple[float, float, str, str]], gap: float = 0.075) -> None:
    """Write (x, y, text, colour) at the right of each line's end, moved apart vertically so that none overlap.

    ``gap`` is the least distance as a share of the axis height. Call after the limits are set: they are not changed.
    """
    low, high = ax.get_ylim()
    order = sorted(range(len(ends)), key=lambda i: ends[i][1])
    places = [(ends[i][1] - low) / (high - low) for i in order]
    for _ in range(200):  # relax neighbours symmetrically; a handful of labels settles in a few rounds
        moved = False
        for a in range(len(places) - 1):
            overlap = gap - (places[a + 1] - places[a])
            if overlap > 1e-9:
                places[a] -= overlap / 2
                places[a + 1] += overlap / 2
                moved = True
        if not moved:
            break
    right = max((end[0] for end in ends), default=0.0)
    for place, i in zip(places, order, strict=True):
        _, _, text, ink = ends[i]
        ax.annotate(
            text,
            xy=(right, low + place * (high - low)),
            xytext=(7, 0),
            textcoords="offset points",
            color=ink,
            va="center",
            ha="left",
            fontsize=9.5,
            annotation_clip=False,
        )
