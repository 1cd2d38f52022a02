"""The demonstration, ``scstream demo``: follow a drifting stream, show what was found, draw it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from scstream import ScStream
from scstream.datasets import gaussian_stream
from scstream.evaluate import PrequentialResult, prequential
from scstream.plot import ClusterColors, plot_clusters, plot_paths, require_matplotlib
from scstream.support.atomic import whole_file
from scstream.support.paths import check_file, has_mark
from scstream.support.printable import printable
from scstream.support.progress import Bar

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from scstream.datasets import Batch, GaussianMixture, Stream

__all__ = ["run"]

_PANELS = "ABCD"  # of the picture, in order of time; P holds the paths
_LINES_WITHOUT_TERMINAL = 10
_TITLE = "scstream demo"  # written into the picture


def run(args: argparse.Namespace) -> int:
    """Run the demonstration; return the exit status."""
    if args.picture is not None:
        try:
            check_file(
                args.picture, overwrite=args.overwrite or has_mark(args.picture, _TITLE, 4096)
            )
            require_matplotlib()
        except (ImportError, ValueError) as error:
            print(f"{printable(error)}\nOr leave the picture out: --no-picture", file=sys.stderr)
            return 1
    stream = gaussian_stream(
        n_batches=args.batches,
        batch_size=args.batch_size,
        n_clusters=args.clusters,
        births=1 / 3,
        box=30.0,
        speed=7.0,
        random_state=args.seed,
    )
    print(
        f"A stream of {args.batches} batches of {args.batch_size:,} points in 2-D. Its "
        f"{args.clusters} clusters drift;\na third of them are born or die on the way. "
        "scstream knows none of this.\n"
    )
    model = ScStream(random_state=0)
    picture = None if args.picture is None else _Picture(args.batches)
    result = _follow(stream, model, picture)
    matches = match_clusters(stream[-1], model)
    print(f"\nThe last batch, cluster by cluster:\n\n{format_matches(matches)}\n")
    print(format_scores(result, n_found=model.n_clusters_, n_true=len(matches)))
    print(
        "\nEach batch was predicted before it was learned. The oracle knows the true mixture at\n"
        "every moment; where clusters overlap, even the oracle makes errors."
    )
    if picture is not None:
        picture.save(args.picture)
        print(f"\nPicture: {printable(args.picture)}")
    return 0


@dataclass(frozen=True)
class Match:
    """A true cluster of the last batch and the found cluster that holds most of its points."""

    true_id: int
    size: int
    true_mean: NDArray[np.float64]
    found_id: int
    found_mean: NDArray[np.float64] | None
    held: float  # share of the true cluster's points that the found cluster holds
    purity: float  # share of the found cluster's points that belong to the true one


def match_clusters(batch: Batch, model: ScStream) -> list[Match]:
    """Match each true cluster of the last batch with the found cluster that holds most of it.

    Parameters
    ----------
    batch : Batch
        The last batch given to ``model``, from a Gaussian stream with incremental drift.
    model : ScStream
        The model, whose ``labels_`` are those of ``batch.X``.

    Returns
    -------
    list of Match
        One for each true cluster that gave points to the batch, in order of id.
    """
    truth = cast("GaussianMixture", batch.truth)
    true_means = dict(zip(truth.clusters.tolist(), truth.means, strict=True))
    found_means = {record.id: np.asarray(record.mean) for record in model.clusters_}
    labels = np.asarray(model.labels_)
    matches = []
    for true_id in np.unique(batch.y).tolist():
        mine = batch.y == true_id
        ids, counts = np.unique(labels[mine], return_counts=True)
        found_id, overlap, size = int(ids[counts.argmax()]), int(counts.max()), int(mine.sum())
        matches.append(
            Match(
                true_id=true_id,
                size=size,
                true_mean=true_means[true_id],
                found_id=found_id,
                found_mean=found_means.get(found_id),
                held=overlap / size,
                purity=overlap / int((labels == found_id).sum()),
            )
        )
    return matches


def format_matches(matches: Iterable[Match]) -> str:
    """Lay out the matches as a table."""
    lines = [
        f"{'true':^33}   {'found':^43}",
        f"{'cluster':>7}  {'points':>6}  {'mean':^16}   {'id':>5}  {'mean':^16}  "
        f"{'holds':>6}  {'purity':>6}",
    ]
    lines += [
        f"{match.true_id:7d}  {match.size:6d}  {_point(match.true_mean)}   {match.found_id:5d}  "
        f"{_point(match.found_mean)}  {match.held:6.1%}  {match.purity:6.1%}"
        for match in matches
    ]
    return "\n".join(lines)


def format_scores(result: PrequentialResult, n_found: int, n_true: int) -> str:
    """Lay out the scores of the stream next to those of the oracle."""
    mean = result.mean()
    return "\n".join(
        [
            f"{'':<22} {'scstream':>9} {'oracle':>9}",
            f"{'mean ARI of a batch':<22} {mean['ari']:9.3f} {mean['oracle_ari']:9.3f}",
            f"{'mean NMI of a batch':<22} {mean['nmi']:9.3f} {mean['oracle_nmi']:9.3f}",
            f"{'NMI of all batches':<22} {result.full_nmi:9.3f}",
            f"{'clusters at the end':<22} {n_found:9d} {n_true:9d}",
        ]
    )


def _follow(stream: Stream, model: ScStream, picture: _Picture | None) -> PrequentialResult:
    """Predict, score and learn each batch in turn, and show how that goes."""
    total, bar = len(stream), Bar("", len(stream), shown=True, out=sys.stdout)
    every = max(1, total // _LINES_WITHOUT_TERMINAL)

    def watched() -> Iterator[Batch]:
        for number, batch in enumerate(stream, start=1):
            yield batch
            # Asked for the next batch: the model has learned this one.
            if picture is not None:
                picture.observe(number, batch.X, model)

    def say(number: int, text: str) -> None:
        line = f"batch {number:{len(str(total))}d}/{total}   {text}"
        if bar.live:
            bar.show(number, line)
        else:
            bar.write(line)

    def show(position: int, row: dict[str, float]) -> None:
        rate = stream.batch_size / (row["seconds_predict"] + row["seconds_update"])
        number = position + 1
        if bar.live or number % every == 0 or number == total:
            found = f"{model.n_clusters_:3d} clusters   ARI {row['ari']:.3f}"
            say(number, f"{rate:10,.0f} points/s   {found}")

    with bar:
        say(1, "the first batch settles ...")  # which takes longest
        return prequential(model, watched(), progress=show)


class _Picture:
    """The paths of the means over the whole stream, next to the clusters at a few moments."""

    def __init__(self, n_batches: int) -> None:
        from matplotlib.figure import Figure

        self.n_batches = n_batches
        self.figure = Figure(figsize=(11.0, 5.6), dpi=110, layout="constrained")
        self.axes: dict[str, Axes] = self.figure.subplot_mosaic(
            "PAB;PCD", width_ratios=[2, 1, 1], sharex=True, sharey=True
        )
        moments = np.linspace(1, n_batches, len(_PANELS)).round().astype(int).tolist()
        self.moments: dict[int, str] = dict(zip(moments, _PANELS, strict=True))
        self.colors = ClusterColors()
        self.paths: dict[int, list[NDArray[np.float64]]] = {}
        self.alive: set[int] = set()

    def observe(self, number: int, X: NDArray[np.float64], model: ScStream) -> None:
        """Take note of the model after the batch of this number, and draw it if it is time."""
        for record in model.clusters_:
            self.paths.setdefault(record.id, []).append(record.mean)
        self.alive = {record.id for record in model.clusters_}
        if number in self.moments:
            ax = self.axes[self.moments[number]]
            plot_clusters(model, X, labels=model.labels_, colors=self.colors, ax=ax)
            ax.set_title(f"batch {number}", fontsize=10)

    def save(self, path: Path) -> None:
        """Draw the paths and write the picture."""
        ax = self.axes["P"]
        plot_paths(self.paths, alive=self.alive, colors=self.colors, ax=ax)
        ax.set_title(f"where the clusters went in {self.n_batches} batches", fontsize=10)
        (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()  # shared by all panels
        half = max(right - left, high - low) / 2
        ax.set_xlim((left + right) / 2 - half, (left + right) / 2 + half)
        ax.set_ylim((low + high) / 2 - half, (low + high) / 2 + half)
        for ax in self.axes.values():
            ax.set_aspect("equal")
            ax.tick_params(length=0, labelbottom=False, labelleft=False)
            ax.grid(color="#E6E6E6", linewidth=0.6)
            ax.set_axisbelow(True)
            for spine in ax.spines.values():
                spine.set_color("#BBBBBB")
        with whole_file(path) as part:
            self.figure.savefig(part, metadata={"Title": _TITLE})


def _point(mean: NDArray[np.float64] | None) -> str:
    """Lay out a mean in 2-D, or the lack of one (points that were labelled outliers)."""
    return f"({mean[0]:6.2f}, {mean[1]:6.2f})" if mean is not None else f"{'none':^16}"
