"""The picture of the comparison: the ARI of every method on every data set."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.catalogue import DATASETS
from benchmarks.paper import figures
from benchmarks.results import OURS, Entry

_RED, _PINK, _GREY, _BLUE = "#D1001C", "#FF9D92", "#9A9A9A", "#332288"
_HEIGHT = 0.3  # inches of a line


def draw(entries: Sequence[Entry], file: Path) -> Path | None:
    """Draw a line for each data set, with a mark for each method; None if nothing was scored."""
    from matplotlib.figure import Figure

    shown = [entry for entry in entries if entry.values("ari").size and entry.is_complete]
    names = list(dict.fromkeys(entry.dataset for entry in shown))[::-1]
    if not names:
        return None
    figure = Figure(figsize=(9.0, 1.6 + _HEIGHT * len(names)), layout="constrained")
    ax = figure.subplots()
    for entry in shown:
        line, ari = names.index(entry.dataset), entry.seeds("ari")
        tuned = entry.settings_kind == "tuned"
        if not entry.is_ours:
            face = "none" if entry.told_k else _GREY
            ax.plot(ari.mean(), line, "d" if tuned else "o", ms=5, mec=_GREY, mfc=face, zorder=2)
        elif entry.contestant == OURS:
            ax.plot([ari.min(), ari.max()], [line, line], color=_RED, lw=2.5, alpha=0.5, zorder=3)
            ax.plot(ari.mean(), line, "d" if tuned else "o", ms=8, color=_RED, zorder=5)
        elif entry.contestant == f"{OURS}, groups":
            ax.plot(ari.mean(), line, "s", ms=6, color=_PINK, zorder=4)
    for line, name in enumerate(names):
        stated = figures().get(name, {}).get(OURS)
        if stated is not None:
            ax.plot(stated["ari"], line, "|", ms=14, mew=2.5, color=_BLUE, zorder=4)
    titles = [DATASETS[name].title if name in DATASETS else name for name in names]
    ax.set_yticks(range(len(names)), titles, fontsize=8)
    ax.set(xlim=(-0.05, 1.02), ylim=(-0.7, len(names) - 0.3), xlabel="mean ARI of a batch")
    ax.grid(axis="y", color="#E5E5E5", lw=0.6)
    ax.spines[["top", "right", "left"]].set_visible(False)
    for marker, color, face, text in (
        ("o", _RED, _RED, "ScStream, untuned (line: seeds)"),
        ("s", _PINK, _PINK, "its groups"),
        ("o", _GREY, _GREY, "another method, untuned"),
        ("o", _GREY, "none", "one that is told K"),
        ("d", _GREY, _GREY, "diamonds: tuned"),
        ("|", _BLUE, _BLUE, "the paper's ScStream"),
    ):
        ax.plot([], [], marker, mec=color, mfc=face, color=color, label=text)
    figure.legend(loc="outside upper center", ncols=3, fontsize=8, frameon=False)
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=120)
    return file
