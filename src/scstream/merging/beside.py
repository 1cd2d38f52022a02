"""What models know beside their clusters: background, scores, first rows, repeats, shares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from scstream.families.contract import Array, Family
from scstream.families.scores import Points
from scstream.merging.parts import Part, reframed
from scstream.sampler.context import Outliers
from scstream.sampler.recent import LATEST
from scstream.sampler.repeats import Repeats
from scstream.sampler.scores import Sketch
from scstream.sampler.warmup import KeptBatch

Ints = NDArray[np.int64]


def background_of(parts: Sequence[Part], family: Family) -> Outliers | None:
    """Return the background of all: rows and what it holds add up.

    A model without one takes its rows to be as wide as those of the others.
    """
    some = [part for part in parts if part.learner.outliers is not None]
    if not some:
        return None
    given = [part.learner.outliers for part in some]
    first = given[0]
    assert first is not None
    sums, held = np.zeros_like(first.sums), np.zeros_like(first.sums)
    for part, one in zip(some, given, strict=True):
        assert one is not None
        learned = one.held is not None
        left = part.left if learned else 1.0  # a fixed one is that of the first batch
        sums = sums + left * reframed(one.sums, part.learner.family, family)
        if one.held is not None:
            held = held + left * reframed(one.held, part.learner.family, family)
    if first.held is None:
        return replace(first, sums=sums)
    others = sum(p.state.count for p in parts if p.learner.outliers is None)
    sums = sums * (1.0 + others / sums[0, 0])
    weight = float((1.0 + held[0, 0]) / (2.0 + sums[0, 0]))
    pseudo = max(one.pseudo for one in given if one is not None)
    return replace(first, weight=min(weight, first.most), sums=sums, held=held, pseudo=pseudo)


def scores_of(parts: Sequence[Part], places: Sequence[Ints], recent: Array) -> Sketch:
    """Return the sketch of the scores of all, as their rows are expected by the whole.

    A cluster, with so many recent points (k,) in all, has another share of the whole than of its
    model, and its rows are so much more or less expected.
    """
    out, shares = Sketch.nothing(), recent / recent.sum()
    for part, place in zip(parts, places, strict=True):
        own, mine = (
            part.learner.scores,
            part.state.recent / max(float(part.state.recent.sum()), 1e-300),
        )
        if len(own.values):
            mine = mine / max(float(mine.sum()), 1e-300)
            change = np.log(np.maximum(shares[place], 1e-300) / np.maximum(mine, 1e-300))
            out = out.merged(own.values + float(mine @ change), part.left * own.weights)
    return replace(out, seen=sum(part.learner.scores.seen for part in parts))


def warmup_of(
    parts: Sequence[Part], maps: Sequence[dict[int, int]], family: Family
) -> tuple[KeptBatch, ...]:
    """Return the first rows of all, under their new ids; none once a model needs them no more.

    Rows that several models share, as those that were divided do, are there once.
    """
    if not all(part.learner.warmup for part in parts):
        return ()
    found: dict[tuple[float, bytes], KeptBatch] = {}
    for part, own in zip(parts, maps, strict=True):
        for one in part.learner.warmup:
            batch = replace(one.batch, X=family.recoded(one.batch.X, part.learner.family))
            key = batch.time, _bytes(batch.X)
            if key in found:
                batch = replace(batch, weight=found[key].batch.weight + batch.weight)
            found[key] = KeptBatch(batch, np.array([own.get(i, -1) for i in one.ids.tolist()]))
    return tuple(sorted(found.values(), key=lambda one: one.batch.time))


def _bytes(X: Points) -> bytes:
    return X.toarray().tobytes() if sparse.issparse(X) else np.asarray(X).tobytes()


def repeats_of(parts: Sequence[Part]) -> Repeats:
    """Return the rows that any has seen, each once, while these are looked for."""
    known = [part.learner.repeats for part in parts]
    hashes = np.concatenate([one.hashes for one in known])
    batches = np.concatenate([one.batches for one in known])
    batches, hashes = np.unique(np.stack([batches.astype(np.uint64), hashes]), axis=1)
    return Repeats(
        hashes,
        batches.astype(np.int64),
        number=max(one.number for one in known),
        time=max(one.time for one in known),
        watched=min(one.watched for one in known),
        told=any(one.told for one in known),
    )


def shares_of(parts: Sequence[Part], places: Sequence[Ints], k: int) -> Array:
    """Return how many of the latest rows each cluster labelled, and none (k + 1,).

    Each model has a say by the points that its clusters got. Together they count no more than
    shares are computed from, however many models are merged.
    """
    out, total = np.zeros(k + 1), 0.0
    for part, place in zip(parts, places, strict=True):
        weight = float(part.state.recent.sum()) / max(float(part.shown.sum()), 1e-300)
        np.add.at(out, place, weight * part.shown)
        out[-1] += weight * float(part.learner.latest[-1])
        total = max(total, float(part.learner.latest.sum()), part.left * float(LATEST))
    return out * (total / max(float(out.sum()), 1e-300))
