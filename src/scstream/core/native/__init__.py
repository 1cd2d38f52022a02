"""The compiled core, built from the C++ beside this file."""

from scstream.core.native._compiled import (
    approach,
    best_labels,
    choose_nearest,
    label_rows,
    label_scores,
    lay_out,
    scan,
    sweep,
    try_sublabels,
)

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
