"""What `scstream fit` makes of labelled tables, beside a Gaussian mixture chosen by BIC.

Run ``python benchmarks/tables.py`` with the packages of the ``bench`` group. ``--seeds 3`` chooses
how many seeds, ``--only iris wine`` some of the tables. *default* is what the command line makes
of the table as a CSV file; the others get its rows standardised, with words as columns of 0 and 1.
Cells are the ARI and, in brackets, how many clusters or groups there are. A mixture has at most 20
components, and ten rows for each.
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from labelled import NAMES, labelled, one_hot
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

from scstream import ScStream
from scstream.cli import main as scstream

HEADER = (
    "| table | rows | classes | default's clusters | default's groups | ScStream() | its groups "
    "| student | its groups | mixture by BIC |\n|" + " --- |" * 10
)
_MOST = 20  # components of the mixture


def by_default(X: pd.DataFrame, seed: int) -> list[np.ndarray]:
    """Return the clusters and the groups that the command line writes for the rows of a file."""
    with tempfile.TemporaryDirectory() as folder:
        table, out = Path(folder) / "table.csv", Path(folder) / "labels.csv"
        X.to_csv(table, index=False)
        options = ["-o", str(out), "--random-state", str(seed), "--quiet"]
        if scstream(["fit", str(table), *options]):
            raise RuntimeError("scstream fit failed")
        found = pd.read_csv(out)
    return [found["label"].to_numpy(), found["group"].to_numpy()]


def by_family(Z: np.ndarray, family: str, seed: int) -> list[np.ndarray]:
    """Return the clusters and the groups of a model of this family."""
    model = ScStream(family, random_state=seed).fit(Z)
    group = {cluster: group.id for group in model.groups_ for cluster in group.members}
    return [model.labels_, np.array([group.get(label, label) for label in model.labels_.tolist()])]


def by_bic(Z: np.ndarray, seed: int) -> np.ndarray:
    """Return the labels of the Gaussian mixture with full covariances that has the least BIC."""
    best, least = np.zeros(len(Z), dtype=int), np.inf
    for k in range(1, min(_MOST, len(Z) // 10) + 1):
        mixture = GaussianMixture(k, random_state=seed).fit(Z)
        if (bic := mixture.bic(Z)) < least:
            best, least = mixture.predict(Z), bic
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3, help="how many seeds")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--only", nargs="+", choices=NAMES, metavar="NAME", help="some tables")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    print(HEADER)
    aris, ratios = [], []
    for name in args.only or NAMES:
        X, y = labelled(name)
        Z = one_hot(X)
        runs = []
        for seed in range(args.first, args.first + args.seeds):
            found = [*by_default(X, seed), *by_family(Z, "gaussian", seed)]
            found += [*by_family(Z, "student", seed), by_bic(Z, seed)]
            runs.append([(adjusted_rand_score(y, one), len(set(one[one >= 0]))) for one in found])
        mean = np.array(runs, dtype=float).mean(axis=0)
        cells = " | ".join(f"{ari:.2f} ({k:.1f})" for ari, k in mean)
        print(f"| {name} | {len(X)} | {y.nunique()} | {cells} |", flush=True)
        aris.append(mean[:, 0])
        ratios.append(mean[:, 1] / y.nunique())
    means = " | ".join(f"{ari:.3f}" for ari in np.mean(aris, axis=0))
    medians = " | ".join(f"{ratio:.2f}" for ratio in np.median(ratios, axis=0))
    print(f"| mean of ARI | | | {means} |\n| median of found / classes | | | {medians} |")


if __name__ == "__main__":
    main()
