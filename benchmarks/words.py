"""Streams of rows of words: messages, texts, lines of logs, baskets."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from scipy.sparse import csr_array

from scstream.datasets import multinomial_stream


def short_rows(seed: int, n_topics: int, n_words: int) -> Iterable:
    """Rows of a few words out of 2,000, as of messages."""
    return multinomial_stream(
        8, n_clusters=n_topics, n_features=2000, n_trials=n_words, concentration=0.2,
        drift="none", sparse=True, random_state=seed,
    )  # fmt: skip


def with_bursts(seed: int, n_topics: int = 20, d: int = 1000) -> list:
    """Rows of about 60 words, of which each row repeats some; common words and rare ones."""
    rng = np.random.default_rng(seed)
    common = d / np.arange(1, d + 1) / np.sum(1.0 / np.arange(1, d + 1))
    topics = rng.gamma(np.tile(0.5 * common, (n_topics, 1)))
    topics /= topics.sum(axis=1, keepdims=True)
    batches = []
    for _ in range(8):
        y = rng.integers(n_topics, size=1000)
        p = np.maximum(rng.gamma(100.0 * topics[y]), 1e-300)
        X = rng.multinomial(rng.poisson(60, 1000), p / p.sum(axis=1, keepdims=True))
        batches.append((csr_array(X), y))
    return batches


def lines_of_a_log(seed: int, n_kinds: int = 15, d: int = 4096) -> list:
    """Rows of 8 to 14 hashed words, none twice: those of a kind of line, and numbers and names.

    Some words, as "user" and "port", are in the lines of several kinds.
    """
    rng = np.random.default_rng(seed)
    known = rng.permutation(d)[: 6 * n_kinds]
    often = 1.0 / np.arange(1, len(known) + 1)
    kinds = [
        rng.choice(known, size, replace=False, p=often / often.sum())
        for size in rng.integers(4, 9, n_kinds)
    ]
    others = rng.integers(3, 7, n_kinds)
    batches = []
    for _ in range(8):
        y = rng.integers(n_kinds, size=1000)
        rows = [np.union1d(kinds[kind], rng.integers(d, size=others[kind])) for kind in y]
        batches.append((_rows_of_sets(rows, d), y))
    return batches


def baskets(seed: int, n_kinds: int = 20, d: int = 5000) -> list:
    """Rows of about 12 different things out of 5,000: those of a kind of customer, and of all."""
    rng = np.random.default_rng(seed)
    popular = rng.dirichlet(np.full(d, 0.3))
    kinds = 0.7 * rng.dirichlet(np.full(d, 0.03), n_kinds) + 0.3 * popular + 1e-9
    batches = []
    for _ in range(8):
        y = rng.integers(n_kinds, size=1000)
        chance = np.log(kinds[y]) + rng.gumbel(size=(1000, d))  # the largest are drawn one by one
        size = 1 + rng.poisson(11, 1000)
        rows = [np.argpartition(-row, n)[:n] for row, n in zip(chance, size, strict=True)]
        batches.append((_rows_of_sets(rows, d), y))
    return batches


def _rows_of_sets(rows: list[np.ndarray], d: int) -> csr_array:
    """Return rows (n, d) that have a 1 at the places of each set."""
    first = np.cumsum([0, *map(len, rows)])
    out = csr_array((np.ones(first[-1]), np.concatenate(rows), first), shape=(len(rows), d))
    out.sort_indices()
    return out
