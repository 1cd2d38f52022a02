"""The core in plain NumPy: what the native one is tested against, and runs where there is none."""

from scstream.core.plain.centres import approach, choose_nearest
from scstream.core.plain.passes import (
    best_labels,
    label_rows,
    label_scores,
    sweep,
    try_sublabels,
)
from scstream.core.plain.text import lay_out, scan

__all__ = [
    "approach",
    "best_labels",
    "choose_nearest",
    "label_rows",
    "label_scores",
    "lay_out",
    "scan",
    "sweep",
    "try_sublabels",
]
