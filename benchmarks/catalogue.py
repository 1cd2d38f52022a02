"""All data sets of the comparison by name, in the order of the tables."""

from __future__ import annotations

from benchmarks import streams
from benchmarks.more_streams import MORE
from benchmarks.streams import Dataset

DATASETS: dict[str, Dataset] = {
    **streams.DATASETS,
    **{dataset.name: dataset for dataset in MORE},
}

# What the short version runs: one of each kind.
SHORT = (
    "gauss2d",
    "mult100d",
    "covtype",
    "20news",
    "letter",
    "penbased",
    "texture",
    "shapes-bent",
    "moving-learned",
)
