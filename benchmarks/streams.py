"""The data sets: synthetic streams, files of a local folder, public fetchers.

A file is looked for in the folder that is named, or in that of the variable SCSTREAM_DATA. Where
it is not there, CoverType and 20 newsgroups are fetched through scikit-learn, and the features of
ImageNet are replaced by a synthetic stand-in; what was taken is part of every result.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from benchmarks.paper import SETTINGS
from scstream.datasets import gaussian_stream, multinomial_stream

Mode = Literal["short", "full"]

_SHUFFLE_SEED = 0  # of the files that come sorted by class
_VIDEO_STRIDE = 4  # every fourth pixel of every fourth line


class NoData(Exception):
    """A data set that is neither in the folder nor to be had otherwise."""


@dataclass(frozen=True)
class Table:
    """Rows (n, d) in stream order, their labels (n,), and where they come from."""

    X: Any
    y: NDArray[np.int64]
    source: str


@dataclass(frozen=True)
class Opened:
    """A stream that is ready: its batches, how many at most, their width, where it comes from."""

    batches: Iterable[Any]
    n_batches: int
    n_features: int
    source: str


@dataclass(frozen=True)
class Dataset:
    """A data set of the comparison.

    Attributes
    ----------
    name, title : str
        As on the command line, and as in the report.
    kind : {"real", "counts"}
        Counts come as compressed sparse rows.
    n_clusters : int
        The true number of clusters; where clusters are parts, how many a method is told.
    opener : callable (seed, n_batches, folder) -> Opened
    short, full : int or None
        How many batches are taken in each mode; None takes all there are.
    batch_size : int
    group : {"paper", "further", "blind", "shapes", "offline", "long"}
        The six of the headline; more real streams; those of `more_streams`; streams that run only
        if they are named.
    random : bool
        Whether another seed gives another stream.
    parts : bool
        Whether clusters are parts of classes, and scored as the class of most of their points.
    learned : bool
        Whether a batch is learned first and labelled then, and not predicted first.
    note : str
        What a reader of the tables must know.
    """

    name: str
    title: str
    kind: str
    n_clusters: int
    opener: Callable[[int, int | None, Path | None], Opened] = field(repr=False)
    short: int | None = None
    full: int | None = None
    batch_size: int = 1000
    group: str = "paper"
    random: bool = False
    parts: bool = False
    learned: bool = False
    note: str = ""

    @property
    def paper(self) -> Mapping[str, Any]:
        """The hyper-parameters that the paper states, empty if it states none."""
        return SETTINGS.get(self.name, {})

    def open(self, seed: int = 0, mode: Mode = "short", folder: Path | None = None) -> Opened:
        """Return the stream of a seed; raise `NoData` if it cannot be had."""
        n_batches = self.short if mode == "short" else self.full
        return self.opener(seed, n_batches, folder or default_folder())

    def batches(
        self, seed: int = 0, mode: Mode = "short", folder: Path | None = None
    ) -> Iterator[Any]:
        """Return the batches, as pairs (X, y) or as `scstream.datasets.Batch`."""
        return iter(self.open(seed, mode, folder).batches)


def default_folder() -> Path | None:
    """Return the folder that SCSTREAM_DATA names, None if it names none."""
    named = os.environ.get("SCSTREAM_DATA")
    return Path(named) if named else None


# How each kind of source is opened.


def _synthetic(make: Callable[..., Any], **options: Any) -> Callable[..., Opened]:
    """Open a generator of `scstream.datasets`; the seed is that of the stream."""

    def opener(seed: int, n_batches: int | None, folder: Path | None) -> Opened:
        stream = make(n_batches, random_state=seed, **options)
        source = f"synthetic: {make.__name__}, seed {seed}"
        return Opened(stream, len(stream), stream.n_features, source)

    return opener


def _table(
    read: Callable[[Path | None], Table], batch_size: int = 1000
) -> Callable[[int, int | None, Path | None], Opened]:
    """Open a table whose order is that of the stream, whatever the seed."""

    def opener(seed: int, n_batches: int | None, folder: Path | None) -> Opened:
        return _cut(read(folder), batch_size, n_batches)

    return opener


def _cut(table: Table, batch_size: int, n_batches: int | None) -> Opened:
    """Cut a table into batches; a rest of less than half a batch is left out."""
    starts = range(0, len(table.y) - batch_size // 2, batch_size)[:n_batches]
    batches = [
        (table.X[start : start + batch_size], table.y[start : start + batch_size])
        for start in starts
    ]
    return Opened(batches, len(batches), table.X.shape[1], table.source)


def _file(name: str, *, standardise: bool = False, shuffle: bool = False) -> Callable[..., Table]:
    """Read X and y from a file of the folder."""

    def read(folder: Path | None) -> Table:
        path = _find(folder, f"{name}.npz")
        if path is None:
            raise NoData(f"{name}.npz is not in {_where(folder)}")
        X, y = _load(path)
        if shuffle:
            order = np.random.default_rng(_SHUFFLE_SEED).permutation(len(y))
            X, y = X[order], y[order]
        return Table(_standardised(X) if standardise else X, y, f"file {path.name}")

    return read


@cache
def _load(path: Path) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    with np.load(path) as data:
        return data["X"].astype(np.float64), data["y"].astype(np.int64)


def _find(folder: Path | None, name: str) -> Path | None:
    """Return a file of the folder, None if it is not there."""
    path = folder / name if folder is not None else None
    return path if path is not None and path.exists() else None


def _where(folder: Path | None) -> str:
    if folder is None:
        return "a local folder: name one with --data or SCSTREAM_DATA"
    return f"the folder {folder.name}"


def _standardised(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Bring each column to mean 0 and deviation 1; a constant one to 0."""
    scale = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(scale > 0.0, scale, 1.0)


# The data sets that are more than a file.


def _covtype(folder: Path | None) -> Table:
    """Return ten quantitative columns, standardised over the whole file, in the original order."""
    path = _find(folder, "covtype.npz")
    if path is not None:
        X, y = _load(path)
        return Table(_standardised(X), y, f"file {path.name}")
    from sklearn.datasets import fetch_covtype

    data = _fetched("CoverType", lambda: fetch_covtype())
    X = np.asarray(data.data[:, :10], dtype=np.float64)
    y = np.asarray(data.target, dtype=np.int64) - 1
    return Table(_standardised(X), y, "scikit-learn's fetch_covtype")


def _newsgroups(folder: Path | None) -> Table:
    """Return counts of the 1,000 most frequent words outside the stop list, shuffled once."""
    path = _find(folder, "20news.npz")
    if path is not None:
        with np.load(path) as data:
            parts = (data["data"].astype(np.int64), data["indices"], data["indptr"])
            X = csr_array(parts, shape=tuple(data["shape"]))
            return Table(X, data["y"].astype(np.int64), f"file {path.name}")
    from sklearn.datasets import fetch_20newsgroups
    from sklearn.feature_extraction.text import CountVectorizer

    news = _fetched(
        "20 newsgroups",
        lambda: fetch_20newsgroups(subset="all", shuffle=True, random_state=_SHUFFLE_SEED),
    )
    words = CountVectorizer(max_features=1000, stop_words="english", token_pattern="[A-Za-z]{2,}")
    X = csr_array(words.fit_transform(news.data))
    return Table(X, np.asarray(news.target, dtype=np.int64), "scikit-learn's fetch_20newsgroups")


def _fetched(title: str, fetch: Callable[[], Any]) -> Any:
    """Call one of scikit-learn's fetchers; whatever goes wrong, the data cannot be had."""
    try:
        return fetch()
    except Exception as error:  # no network, a changed address, a full disk
        raise NoData(f"{title} could not be fetched: {error}") from error


def _imagenet(seed: int, n_batches: int | None, folder: Path | None) -> Opened:
    """Open 64 features of images of 100 classes that come and go."""
    path = _find(folder, "imagenet100_features.npz")
    if path is None:
        stream = gaussian_stream(
            50, n_clusters=100, n_features=64, drift="recurring", box=6.0, random_state=seed
        )[:n_batches]
        source = f"synthetic stand-in: gaussian_stream with recurring drift, seed {seed}"
        return Opened(stream, len(stream), 64, source)
    X, y = _load(path)
    order = recurring_order(y, np.random.default_rng(seed))
    table = Table(X[order, :64], y[order], f"file {path.name}, first 64 columns, classes recur")
    return _cut(table, 1000, n_batches)


def recurring_order(
    y: NDArray[np.int64],
    rng: np.random.Generator,
    *,
    visits: int = 3,
    share: float = 0.4,
) -> NDArray[np.int64]:
    """Return an order (n,) of the rows in which classes come and go, each row once.

    The classes stand on a circle, in random order, and a window over a share of it moves round
    so many times: at any time that share of the classes occurs, and each comes back.
    """
    classes, codes = np.unique(y, return_inverse=True)
    places = rng.permutation(len(classes)) / len(classes)
    inside = rng.integers(visits, size=len(y)) + share * rng.uniform(size=len(y))
    return np.argsort((inside - places[codes]) % visits, kind="stable")


def _video(seed: int, n_batches: int | None, folder: Path | None) -> Opened:
    """Open the pixels of each frame: three colours and the place, all in [0, 1]; y is the mask."""
    video = _find(folder, "davis/kite-surf")
    if video is None:
        raise NoData(f"davis/kite-surf is not in {_where(folder)}")
    names = sorted(path.stem for path in (video / "JPEGImages").glob("*.jpg"))[:n_batches]
    if not names:
        raise NoData("davis/kite-surf/JPEGImages holds no frames")
    frames = (_frame(video, name) for name in names)
    source = f"frames of davis/kite-surf, one pixel in {_VIDEO_STRIDE**2}"
    return Opened(frames, len(names), 5, source)


def _frame(video: Path, name: str) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    from PIL import Image

    with Image.open(video / "JPEGImages" / f"{name}.jpg") as picture:
        colours = np.asarray(picture.convert("RGB"))[::_VIDEO_STRIDE, ::_VIDEO_STRIDE] / 255.0
    with Image.open(video / "Annotations" / f"{name}.png") as picture:
        mask = np.asarray(picture.convert("L"))[::_VIDEO_STRIDE, ::_VIDEO_STRIDE] > 127
    height, width = mask.shape
    down, right = np.mgrid[0:height, 0:width]
    place = np.stack([right / width, down / height], axis=-1)
    X = np.concatenate([colours, place], axis=-1).reshape(-1, 5)
    return X, mask.ravel().astype(np.int64)


_ALL = (
    Dataset(
        "gauss2d",
        "2-D Gaussians, incremental drift",
        "real",
        20,
        _synthetic(gaussian_stream),
        short=60,
        full=200,
        random=True,
    ),
    Dataset(
        "mult100d",
        "100-D multinomials, gradual drift",
        "counts",
        100,
        _synthetic(multinomial_stream, drift="gradual", sparse=True),
        short=30,
        full=100,
        random=True,
    ),
    Dataset("covtype", "CoverType", "real", 7, _table(_covtype), short=60),
    Dataset("20news", "20 newsgroups", "counts", 20, _table(_newsgroups)),
    Dataset(
        "imagenet",
        "ImageNet features, recurring drift",
        "real",
        100,
        _imagenet,
        short=30,
        random=True,
        note="Not the features of the paper: where the source is the file, a supervised network "
        "on small images.",
    ),
    Dataset(
        "kite-surf",
        "Video: kite-surf",
        "real",
        80,
        _video,
        short=15,
        batch_size=25_680,
        parts=True,
        note="Clusters are parts of a frame, and only the surfer's mask is known: each cluster is "
        "taken for surfer or not by most of its pixels, and the two classes that come out are "
        "scored against the mask. Methods that are told a number of clusters are told 80, one of "
        "those of the paper.",
    ),
    Dataset(
        "letter",
        "Letter recognition",
        "real",
        26,
        _table(_file("letter", standardise=True)),
        group="further",
    ),
    Dataset(
        "elec2",
        "Electricity market",
        "real",
        2,
        _table(_file("elec2", standardise=True)),
        short=30,
        group="further",
    ),
    Dataset(
        "powersupply",
        "Power supply",
        "real",
        24,
        _table(_file("powersupply", standardise=True)),
        group="further",
    ),
    Dataset(
        "outdoor",
        "Outdoor objects",
        "real",
        40,
        _table(_file("outdoor", standardise=True), 200),
        batch_size=200,
        group="further",
    ),
    Dataset(
        "interchanging_rbf",
        "Gaussians that swap places",
        "real",
        15,
        _table(_file("interchanging_rbf_artificial")),
        short=60,
        group="further",
    ),
    Dataset(
        "umap_mnist",
        "UMAP of MNIST",
        "real",
        10,
        _table(_file("deepdpm_umap10_mnist", shuffle=True)),
        short=30,
        group="further",
    ),
    Dataset(
        "imagenet50_moco",
        "MoCo features of ImageNet-50",
        "real",
        50,
        _table(_file("imagenet50_moco_val", shuffle=True), 250),
        batch_size=250,
        group="further",
    ),
    Dataset(
        "gauss2d_1e7",
        "2-D Gaussians, 10^7 points",
        "real",
        20,
        _synthetic(gaussian_stream),
        short=10_000,
        full=10_000,
        group="long",
        random=True,
    ),
)

DATASETS: dict[str, Dataset] = {dataset.name: dataset for dataset in _ALL}
