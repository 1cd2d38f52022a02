"""Segments that persist: how well the clusters that mark the surfer of a video keep marking him.

Run ``python -m benchmarks.video --data FOLDER``. The folder, or that of SCSTREAM_DATA, holds
``davis/kite-surf`` with JPEGImages and Annotations of the same names.

In the first frame, a cluster marks the surfer if more than half of its pixels lie inside his mask.
In each later frame the pixels of these clusters, by their ids, are compared with that frame's mask:
intersection over union. Nobody sees a mask after the first frame. Where a cluster that marks him
splits, its new part has an id of its own and does not count, unless the column says that parts are
followed: then the events of the stream are read, and the part counts from there on.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import MiniBatchKMeans

from benchmarks.machine import circumstances, now
from benchmarks.store import Store
from scstream import ScStream
from scstream.video import HALF_LIFE, Segmenter, pixel_rows, read_frames

Labels = NDArray[np.int64]
Mask = NDArray[np.bool_]

_INSIDE = 0.5  # share of a cluster's pixels inside the mask, beyond which it marks him
_K = (30, 80, 500)  # of Mini-Batch K-Means, as in the paper


class Contestant(Protocol):
    """Segments frame after frame."""

    def segment(self, pixels: NDArray[np.uint8]) -> Labels:
        """Learn a frame and return its labels (height, width)."""
        ...

    def splits(self) -> Iterable[tuple[int, int]]:
        """Return the clusters that split in the last frame, each with its new part."""
        ...

    def n_clusters(self) -> int:
        """Return the number of clusters after the last frame."""
        ...


class Ours:
    """ScStream through the package's own segmenter."""

    def __init__(self, seed: int, n_jobs: int | None, **options: Any) -> None:
        model = ScStream(half_life=HALF_LIFE, random_state=seed, n_jobs=n_jobs)
        self.segmenter = Segmenter(model, random_state=seed, **options)

    def segment(self, pixels: NDArray[np.uint8]) -> Labels:
        return self.segmenter.segment(pixels)

    def splits(self) -> Iterable[tuple[int, int]]:
        return self.segmenter.model.history_[-1].splits

    def n_clusters(self) -> int:
        return self.segmenter.model.n_clusters_


class KMeans:
    """Mini-Batch K-Means, taught one frame after the other.

    It takes the columns' units as they are: colours from 0 to 1 and places in heights of the
    frame, or Lab with places in hundredths of it, so that both reach about as far.
    """

    def __init__(self, seed: int, k: int, color: str) -> None:
        self.model = MiniBatchKMeans(k, n_init=3, random_state=seed)
        self.color: Any = color
        self.units = np.array([1.0, 1.0, 1.0, 100.0, 100.0] if color == "lab" else [1.0] * 5)

    def segment(self, pixels: NDArray[np.uint8]) -> Labels:
        rows = pixel_rows(pixels, self.color) * self.units
        self.model.partial_fit(rows)
        labels = self.model.predict(rows).astype(np.int64)
        return labels.reshape(pixels.shape[:2])

    def splits(self) -> Iterable[tuple[int, int]]:
        return ()  # it has no events

    def n_clusters(self) -> int:
        return self.model.n_clusters


def contestants(n_jobs: int | None) -> dict[str, Callable[[int], Contestant]]:
    """Return who takes part, by name, as a function of the seed."""
    entries: dict[str, Callable[[int], Contestant]] = {
        "ScStream": lambda seed: Ours(seed, n_jobs),
        "ScStream, track": lambda seed: Ours(seed, n_jobs, track=True),
        "ScStream, RGB": lambda seed: Ours(seed, n_jobs, color="rgb"),
        "ScStream, RGB, track": lambda seed: Ours(seed, n_jobs, color="rgb", track=True),
    }
    for color in ("rgb", "lab"):
        for k in _K:
            entries[
                f"Mini-Batch K-Means, K = {k}, {color.title() if color == 'lab' else 'RGB'}"
            ] = lambda seed, k=k, color=color: KMeans(seed, k, color)
    return entries


@dataclass
class Course:
    """What came of a contestant's way through the video, a number for each frame."""

    seconds: list[float] = field(default_factory=list)
    cpu_seconds: list[float] = field(default_factory=list)  # of all threads together
    n_clusters: list[int] = field(default_factory=list)
    iou: list[float] = field(default_factory=list)
    followed_iou: list[float] = field(default_factory=list)
    n_marks: int = 0


def run(contestant: Contestant, frames: Iterable[tuple[NDArray[np.uint8], Mask]]) -> Course:
    """Let a contestant see the frames and compare its marks with the masks."""
    course = Course()
    marks: set[int] = set()
    followed: set[int] = set()
    for number, (pixels, mask) in enumerate(frames):
        start, cpu_start = time.perf_counter(), time.process_time()
        labels = contestant.segment(pixels)
        course.seconds.append(time.perf_counter() - start)
        course.cpu_seconds.append(time.process_time() - cpu_start)
        if number == 0:
            marks = marking(labels, mask)
            followed, course.n_marks = set(marks), len(marks)
        else:
            for old, new in contestant.splits():  # in order: a part may split in turn
                followed |= {new} if old in followed else set()
        course.n_clusters.append(contestant.n_clusters())
        course.iou.append(overlap(labels, marks, mask))
        course.followed_iou.append(overlap(labels, followed, mask))
    return course


def marking(labels: Labels, mask: Mask) -> set[int]:
    """Return the clusters most of whose pixels lie inside a mask."""
    ids, place = np.unique(labels, return_inverse=True)
    inside = np.bincount(place.ravel(), weights=mask.ravel()) / np.bincount(place.ravel())
    return set(ids[inside > _INSIDE].tolist())


def overlap(labels: Labels, marks: set[int], mask: Mask) -> float:
    """Return the intersection over union of some clusters' pixels with a mask."""
    marked = np.isin(labels, list(marks))
    union = int((marked | mask).sum())
    return float((marked & mask).sum() / union) if union else 1.0


def read_video(folder: Path, scale: float, n_frames: int | None) -> list[tuple[Any, Mask]]:
    """Return the frames and masks of a video of the data's folder."""
    from PIL import Image
    from PIL.Image import Resampling

    frames = []
    for frame in read_frames(folder / "JPEGImages", scale=scale):
        height, width = frame.pixels.shape[:2]
        with Image.open(folder / "Annotations" / f"{frame.name}.png") as picture:
            small = picture.convert("L").resize((width, height), Resampling.NEAREST)
        frames.append((frame.pixels, np.asarray(small) > 127))
        if len(frames) == n_frames:
            break
    return frames


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Return the results as a Markdown table, a line a contestant, means over its seeds."""
    lines = [
        "| | mean IoU, later frames | lowest to highest seed | IoU, first frame "
        "| mean IoU, parts followed | K | seconds, first frame | seconds, a later frame "
        "| CPU seconds, a later frame |",
        "| --- |" + 8 * " ---: |",
    ]
    for name in dict.fromkeys(row["contestant"] for row in rows):
        own = [row for row in rows if row["contestant"] == name]
        later = [statistics.fmean(row["iou"][1:]) for row in own]
        followed = statistics.fmean(statistics.fmean(row["followed_iou"][1:]) for row in own)
        cells = [
            f"{statistics.fmean(later):.3f}",
            f"{min(later):.3f} to {max(later):.3f}",
            f"{statistics.fmean(row['iou'][0] for row in own):.3f}",
            f"{followed:.3f}" if name.startswith("ScStream") and "track" not in name else "",
            f"{statistics.fmean(row['n_clusters'][-1] for row in own):.0f}",
            f"{statistics.fmean(row['seconds'][0] for row in own):.2f}",
            f"{statistics.fmean(statistics.fmean(row['seconds'][1:]) for row in own):.2f}",
            f"{statistics.fmean(statistics.fmean(row['cpu_seconds'][1:]) for row in own):.2f}",
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def results(args: argparse.Namespace, video: list[Any]) -> Iterator[dict[str, Any]]:
    """Run every contestant with every seed; return a row for each."""
    chosen = contestants(args.n_jobs)
    for name in args.only or chosen:
        for seed in range(args.seeds):
            course = run(chosen[name](seed), video)
            print(f"{name}, seed {seed}: {np.mean(course.iou[1:]):.3f}", file=sys.stderr)
            yield {
                "what": "video",
                "dataset": "kite-surf",
                "contestant": name,
                "seed": seed,
                "mode": f"scale {args.scale}, {len(video)} frames",
                "n_pixels": int(video[0][1].size),
                "time": now(),
                **circumstances(),
                **vars(course),
            }


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.video", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--data", type=Path, default=os.environ.get("SCSTREAM_DATA"))
    parser.add_argument("--scale", type=float, default=0.5, help="default: %(default)s")
    parser.add_argument("--frames", type=int, help="at least 2 (default: all)")
    parser.add_argument("--seeds", type=int, default=3, help="default: %(default)s")
    parser.add_argument("--n-jobs", type=int)
    parser.add_argument("--only", nargs="+", choices=list(contestants(None)), metavar="NAME")
    parser.add_argument(
        "--results", type=Path, default=Path("benchmarks/results/video.jsonl"), metavar="FILE"
    )
    args = parser.parse_args(argv)
    if args.data is None:
        parser.error("the video is in a local folder: name it with --data or SCSTREAM_DATA")
    if args.frames is not None and args.frames < 2:
        parser.error(
            f"--frames must be at least 2: one to mark in, one to compare; not {args.frames}"
        )
    return args


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark; return the exit status."""
    args = parse(argv)
    folder = Path(args.data) / "davis" / "kite-surf"
    if not folder.is_dir():
        print(f"davis/kite-surf is not in {args.data}", file=sys.stderr)
        return 1
    video = read_video(folder, args.scale, args.frames)
    # Kernels are compiled on the first use, which is not what is measured.
    Segmenter(first_sample=100).segment(video[0][0][:20, :20])
    store = Store(args.results)
    rows = []
    for row in results(args, video):
        store.add(row)
        rows.append(row)
    height, width = video[0][1].shape
    print(f"{len(video)} frames of {width} x {height} pixels, {args.seeds} seeds.\n")
    print(table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
