"""Pictures of stored results: one sheet for each data set, and quality against time for all."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.results import OURS, Entry, best_first
from benchmarks.streams import DATASETS
from scstream.plot import PALETTE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_OURS = ("#D1001C", "#FF7A6B", "#8C0013", "#FFB3A7")  # shades of red: nobody else is red
_OTHERS = tuple(color for color in PALETTE if color not in ("#CC6677", "#882255"))
_DASHES = ("-", "--", ":", "-.")
_BACKGROUND = "#DDDDDD"
_NAMED_OTHERS = 4  # lines of a panel, besides ours, that have a colour and a name
_LINE, _LETTER = 0.034, 0.0145  # height and width of a letter, as shares of a panel
_STYLE = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.grid": True,
    "grid.color": "#E5E5E5",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
}


def draw(entries: Sequence[Entry], folder: Path) -> dict[tuple[str, str], Path]:
    """Draw all pictures into a folder.

    Returns
    -------
    dict
        Files by mode and data set; the one of all data sets has the name ``""``.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    shown = [entry for entry in entries if entry.values("ari").size]
    if not shown:
        return {}
    folder.mkdir(parents=True, exist_ok=True)
    colors = colors_of(shown)
    files = {}
    with mpl.rc_context(_STYLE):
        for mode in dict.fromkeys(entry.mode for entry in shown):
            of_mode = [entry for entry in shown if entry.mode == mode]
            names = list(dict.fromkeys(entry.dataset for entry in of_mode))
            for name in names:
                here = chosen([entry for entry in of_mode if entry.dataset == name])
                figure = Figure(figsize=(13, 9.5), layout="constrained")
                _sheet(figure, here, colors, _title(name))
                files[mode, name] = folder / f"{name}-{mode}.png"
                figure.savefig(files[mode, name], dpi=110)
            figure = _overview(of_mode, names, colors)
            files[mode, ""] = folder / f"quality-against-time-{mode}.png"
            figure.savefig(files[mode, ""], dpi=110)
    return files


def chosen(entries: Sequence[Entry]) -> list[Entry]:
    """Leave out what a picture has no room for: defaults of others that were also tuned."""
    tuned = {entry.contestant for entry in entries if entry.settings_kind == "tuned"}
    return [
        entry
        for entry in entries
        if entry.is_ours or entry.settings_kind == "tuned" or entry.contestant not in tuned
    ]


def colors_of(entries: Sequence[Entry]) -> dict[str, tuple[str, str]]:
    """Return a colour and a dash for each label, the same in all pictures of a report."""
    ours = sorted({entry.label for entry in entries if entry.is_ours}, key=_main_first)
    others = sorted({entry.contestant for entry in entries if not entry.is_ours})
    looks = {
        label: (_OURS[i % len(_OURS)], _DASHES[i // len(_OURS) % len(_DASHES)])
        for i, label in enumerate(ours)
    }
    for entry in entries:
        if not entry.is_ours:
            i = others.index(entry.contestant)
            dash = _DASHES[i // len(_OTHERS) % len(_DASHES)]
            looks[entry.label] = (_OTHERS[i % len(_OTHERS)], dash)
    return looks


def _main_first(label: str) -> tuple[int, str]:
    order = (f"{OURS}, tuned", OURS)
    return (order.index(label) if label in order else len(order), label)


def _title(name: str) -> str:
    return DATASETS[name].title if name in DATASETS else name


def _sheet(
    figure: Any, entries: list[Entry], colors: dict[str, tuple[str, str]], title: str
) -> None:
    """Draw the four panels of a data set."""
    figure.suptitle(title, fontsize=13, fontweight="bold", x=0.01, ha="left")
    (boxes, scatter), (clusters, seconds) = figure.subplots(2, 2)
    _boxes(boxes, entries, colors)
    _quality(scatter, entries, colors)
    scatter.set_title("Quality against time")
    _true_k(clusters, entries)
    _lines(clusters, entries, colors, "n_clusters", "Clusters found in each batch")
    _lines(seconds, entries, colors, "milliseconds", "Time of each batch (ms, learn and predict)")


def _boxes(ax: Axes, entries: list[Entry], colors: dict[str, tuple[str, str]]) -> None:
    """Draw the ARI of the batches of each method, the best on top, the unfinished below."""
    ordered = best_first(entries)[::-1]
    parts = ax.boxplot(
        [entry.values("ari") for entry in ordered],
        orientation="horizontal",
        widths=0.62,
        patch_artist=True,
        flierprops={"marker": ".", "markersize": 2.5, "markeredgecolor": "#AAAAAA"},
        medianprops={"color": "#222222"},
        whiskerprops={"color": "#888888"},
        capprops={"color": "#888888"},
    )
    for box, entry in zip(parts["boxes"], ordered, strict=True):
        box.set(facecolor=colors[entry.label][0], alpha=0.9 if entry.is_ours else 0.45, lw=0.6)
    names = [entry.label + ("" if entry.is_complete else " (unfinished)") for entry in ordered]
    ax.set_yticks(range(1, len(ordered) + 1), names, fontsize=8)
    _embolden(ax.get_yticklabels(), ordered)
    ax.grid(visible=False, axis="y")
    ax.set_title("ARI of each batch")


def _embolden(texts: Sequence[Any], entries: Sequence[Entry]) -> None:
    for text, entry in zip(texts, entries, strict=True):
        if entry.is_ours:
            text.set_fontweight("bold")


def _quality(ax: Axes, entries: list[Entry], colors: dict[str, tuple[str, str]]) -> None:
    """Draw the mean ARI of each method against the median time of a batch."""
    points = []
    for entry in entries:
        x, y = float(np.median(entry.milliseconds)), entry.mean("ari")
        ax.scatter(
            x,
            y,
            s=70 if entry.is_ours else 32,
            color=colors[entry.label][0],
            marker="o" if entry.is_complete else "x",
            zorder=4 if entry.is_ours else 3,
        )
        points.append((x, y, entry))
    ax.set_xscale("log")
    ax.margins(x=0.18, y=0.08)
    ax.set_xlabel("ms a batch (median; a cross: not finished)")
    ax.set_ylabel("mean ARI")
    _write_names(ax, points, colors, sides=(1, -1))


def _lines(
    ax: Axes, entries: list[Entry], colors: dict[str, tuple[str, str]], column: str, title: str
) -> None:
    """Draw a column over the batches of the first seed; name our lines and the best others'."""
    others = [e for e in best_first(entries) if not e.is_ours and e.is_complete]
    ours = [entry for entry in entries if entry.is_ours]
    named = [*ours, *others[:_NAMED_OTHERS]]
    ends = []
    for entry in entries:
        row = next(row for row in entry.rows if row.get("batch"))
        one = Entry(entry.dataset, entry.contestant, entry.settings_kind, entry.mode, (row,))
        values = one.milliseconds if column == "milliseconds" else one.values(column)
        color, dash = colors[entry.label] if entry in named else (_BACKGROUND, "-")
        ax.plot(
            row["batch"],
            values,
            color=color,
            linestyle=dash,
            lw=2.2 if entry.is_ours else 1.0,
            zorder=4 if entry.is_ours else 3 if entry in named else 2,
        )
        if entry in named:
            ends.append((float(row["batch"][-1]), float(values[-1]), entry))
    ax.set_xlabel("batch")
    ax.set_title(title)
    _count_in_tens(ax)
    _write_names(ax, ends, colors)


def _count_in_tens(ax: Axes) -> None:
    """Give the panel a logarithmic scale with plain numbers."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    ax.set_yscale("log")
    ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    ax.yaxis.set_minor_formatter(NullFormatter())


def _write_names(
    ax: Axes,
    points: list[tuple[float, float, Entry]],
    colors: dict[str, tuple[str, str]],
    *,
    sides: Sequence[int] = (1,),
) -> None:
    """Write names beside points, moved up or down so that none covers another.

    The sides are 1 for right and -1 for left, the better one first. A name that had to move far
    gets a line to its point.
    """
    ax.autoscale_view()  # now, since names are placed by the limits
    to_panel = ax.transScale + ax.transLimits
    spots = [to_panel.transform((x, y)) for x, y, _ in points]
    taken = [(u - _LETTER, v, u + _LETTER) for u, v in spots]  # the points themselves
    ordered = sorted(zip(spots, points, strict=True), key=lambda pair: not pair[1][2].is_ours)
    for (u, v), (_, _, entry) in ordered:
        box, side = _free_place(u, v, _LETTER * len(entry.label), sides, taken)
        taken.append(box)
        color = _darker(colors[entry.label][0])
        line = {"arrowstyle": "-", "color": color, "lw": 0.4, "relpos": ((1 - side) / 2, 0.5)}
        ax.annotate(
            entry.label,
            (u, v),
            xytext=(box[0] if side > 0 else box[2], box[1]),
            xycoords="axes fraction",
            textcoords="axes fraction",
            ha="left" if side > 0 else "right",
            va="center",
            fontsize=7.5,
            fontweight="bold" if entry.is_ours else "normal",
            color=color,
            arrowprops=line if abs(box[1] - v) > 1.2 * _LINE else None,
            annotation_clip=False,
        )


def _free_place(
    u: float, v: float, width: float, sides: Sequence[int], taken: list[tuple[float, float, float]]
) -> tuple[tuple[float, float, float], int]:
    """Return the nearest free strip (left, height, right) beside a point, and its side."""
    for step in range(80):  # above and below in turn
        place = v + 0.25 * _LINE * ((step + 1) // 2) * (1 if step % 2 else -1)
        for side in sides:
            near = u + 1.2 * side * _LETTER
            left, right = min(near, near + side * width), max(near, near + side * width)
            free = all(abs(place - b) >= _LINE or left > c or right < a for a, b, c in taken)
            if free and left >= 0.0:  # nor on the axis
                return (left, place, right), side
    return (u, v, u + width), 1  # no room at all: on top of another


def _darker(color: str) -> Any:
    """Return a colour that can be read as text."""
    from matplotlib.colors import to_rgb

    return tuple(0.6 * part for part in to_rgb(color))


def _true_k(ax: Axes, entries: list[Entry]) -> None:
    """Draw how many clusters there truly are, from the entry that went farthest."""
    entry = max(entries, key=lambda entry: len(entry.rows[0].get("batch") or []))
    row = entry.rows[0]
    ax.plot(row["batch"], row["n_true"], color="#000000", lw=1.2, ls=(0, (1, 1)), zorder=5)
    ax.annotate(
        "true",
        (row["batch"][0], row["n_true"][0]),
        xytext=(0, 4),
        textcoords="offset points",
        fontsize=7,
        fontweight="bold",
    )


def _overview(entries: list[Entry], names: list[str], colors: dict[str, tuple[str, str]]) -> Any:
    """Draw quality against time, one panel for each data set."""
    from matplotlib.figure import Figure

    columns = min(3, len(names))
    lines = -(-len(names) // columns)
    figure = Figure(figsize=(5.6 * columns, 4.6 * lines), layout="constrained")
    panels = figure.subplots(lines, columns, squeeze=False).ravel()
    for ax, name in zip(panels, names, strict=False):
        _quality(ax, chosen([entry for entry in entries if entry.dataset == name]), colors)
        ax.set_title(_title(name))
    for ax in panels[len(names) :]:
        ax.set_visible(False)
    return figure
