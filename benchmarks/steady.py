"""Whether another seed is another answer: the spread of ARI over seeds of the model, on real rows.

Run ``python benchmarks/steady.py``. The rows and their order are the same for every seed, in
batches of 500 that are learned one after the other; the ARI is that of all learned labels.
``--seeds 12 --first 0`` chooses the seeds, ``--only digits wine`` some of the sets. Files (npz with
``X`` and ``y``) are taken from the folder that ``--data`` or the variable SCSTREAM_DATA names; what
is not found there or among packages is left out with a line that says so.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
from labelled import labelled
from sklearn.metrics import adjusted_rand_score

from scstream import ScStream

Rows = tuple[np.ndarray, np.ndarray]
_MOST = 6000  # rows of a set

HEADER = (
    "| set | rows | columns | classes | mean ARI | sd | least | greatest | clusters | sd of groups "
    "|\n|" + " --- |" * 10
)


def spectra(folder: Path | None) -> Rows:
    """Return rows like those of a satellite's image: 36 columns, 9 pixels in 4 bands each.

    Six kinds of ground, three of which are shades of one another; a pixel's brightness is shared
    by its bands, and neighbours resemble each other.
    """
    rng = np.random.default_rng(7)
    kind = np.array(
        [[65, 95, 115, 90], [48, 38, 115, 118], [88, 105, 112, 88], [76, 90, 95, 74],
         [60, 62, 83, 65], [68, 77, 81, 62]], dtype=float,
    )  # fmt: skip
    y = rng.choice(6, size=4000, p=[0.24, 0.11, 0.21, 0.1, 0.11, 0.23])
    shade = rng.normal(size=(len(y), 1, 1)) * np.array([6, 5, 4, 7, 10, 7])[y][:, None, None]
    other = rng.choice(6, size=len(y))
    share = np.where(rng.random(len(y)) < 0.25, rng.beta(1.0, 3.0, len(y)), 0.0)[:, None, None]
    edge = (rng.random((len(y), 9, 1)) < 0.5) * share  # the field beside this one
    band = kind[y][:, None] * (1.0 - edge) + kind[other][:, None] * edge
    pixels = band + shade + 3.0 * rng.normal(size=(len(y), 9, 4))
    return np.round(pixels.reshape(len(y), 36)), y


def of_file(name: str, size: int = _MOST) -> Callable[[Path | None], Rows | None]:
    """Return a reader of the first rows of a file, in one random order."""

    def read(folder: Path | None) -> Rows | None:
        found = sorted(folder.rglob(f"{name}.npz")) if folder else []
        if not found:
            return None
        with np.load(found[0]) as data:
            X, y = np.asarray(data["X"], dtype=float), data["y"]
        order = np.random.default_rng(0).permutation(len(X))[:size]
        return X[order], y[order]

    return read


def of_package(name: str) -> Callable[[Path | None], Rows]:
    """Return a reader of a labelled table of numbers, in one random order."""

    def read(folder: Path | None) -> Rows:
        X, y = labelled(name)
        order = np.random.default_rng(0).permutation(len(X))
        return X.to_numpy(dtype=float)[order], y.to_numpy()[order]

    return read


SETS: dict[str, Callable[[Path | None], Rows | None]] = {
    "digits": of_package("digits"),
    "letters": of_file("letter"),
    "CoverType": of_file("covtype"),
    "spectra": spectra,
    "image segments": of_package("image segments"),
    "outdoor objects": of_file("outdoor"),
    "pictures, 128 features": of_file("imagenet50_moco_val"),
    "handwriting, 10-D": of_file("deepdpm_umap10_mnist"),
    "breast cancer": of_package("breast cancer"),
    "bananas": of_package("bananas"),
}


def learned(X: np.ndarray, family: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the labels of clusters and of groups that each batch of 500 rows was given."""
    model = ScStream(family, random_state=seed)
    labels, groups = [], []
    for batch in np.array_split(X, max(round(len(X) / 500), 1)):
        model.partial_fit(batch)
        group = {cluster: one.id for one in model.groups_ for cluster in one.members}
        labels.append(model.labels_)
        groups.append(np.array([group.get(label, label) for label in model.labels_.tolist()]))
    return np.concatenate(labels), np.concatenate(groups)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=12, help="how many seeds")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--only", nargs="+", choices=SETS, metavar="NAME", help="names of sets")
    parser.add_argument("--family", default="gaussian")
    parser.add_argument("--data", type=Path, default=os.environ.get("SCSTREAM_DATA"))
    args = parser.parse_args()
    print(HEADER)
    for name in args.only or SETS:
        rows = SETS[name](args.data and Path(args.data))
        if rows is None:
            print(f"| {name} | no such file |")
            continue
        X, y = rows
        runs = []
        for seed in range(args.first, args.first + args.seeds):
            labels, groups = learned(X, args.family, seed)
            both = [adjusted_rand_score(y, found) for found in (labels, groups)]
            runs.append([*both, len(np.unique(labels))])
        r = np.array(runs)
        spread = r.std(axis=0, ddof=min(len(r) - 1, 1))
        print(
            f"| {name} | {len(X)} | {X.shape[1]} | {len(np.unique(y))} | {r[:, 0].mean():.3f} "
            f"| {spread[0]:.3f} | {r[:, 0].min():.3f} | {r[:, 0].max():.3f} "
            f"| {r[:, 2].mean():.1f} | {spread[1]:.3f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
