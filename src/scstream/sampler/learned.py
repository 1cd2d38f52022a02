"""What the model keeps between batches, and what a batch came to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scstream.engines import Engine
from scstream.families import Family
from scstream.families.contract import Array
from scstream.families.scores import Score
from scstream.records import BatchRecord
from scstream.sampler.alike import Alike
from scstream.sampler.clusters import Ints, State
from scstream.sampler.context import Context, Outliers
from scstream.sampler.dormant import Dormant
from scstream.sampler.log_marginals import log_posterior
from scstream.sampler.recipe import Batch, Events, Recipe
from scstream.sampler.repeats import Repeats
from scstream.sampler.rows import as_given
from scstream.sampler.scores import Sketch
from scstream.sampler.sweep import deterministic_sweep, next_point, predictive
from scstream.sampler.warmup import KeptBatch
from scstream.support.frozen import changed, frozen, made

_LABELLING = 0.5  # of the latest rows, that a cluster labelled at least to be listed


@frozen
class Learner:
    """A model between two batches. Immutable: a batch makes a new one.

    Attributes
    ----------
    family : Family
        Prepared; once enough rows were seen its prior only follows the clusters, see
        `Family.follow`, until all is forgotten.
    state : State
    rng : ndarray (6,)
        Never advanced in place, see `scstream.support.generators`.
    seed : int
        Keys the draws of labels.
    alpha : float
        That of the last batch.
    outliers : Outliers or None
    time : float
    spacing : float
        The usual time between batches; 0 before the second.
    n_batches : int
    dormant : Dormant
    scores : Sketch
        How expected recent rows were.
    warmup : tuple of KeptBatch
        The first rows, until there are enough of them; then empty.
    suspicion : float
        Nats by which recent batches would have been more probable beside a background, where one
        may arise, see `scstream.sampler.background`.
    repeats : Repeats
        Rows of recent batches, which are known if they come again.
    alike : Alike
        How much rows resemble the row before, and what they count for that.
    latest : ndarray (k + 1,)
        Of the latest rows, those that each cluster labelled, and those that none did. Shares are
        computed from them, see `scstream.sampler.recent`.
    """

    family: Family
    state: State
    rng: np.random.Generator
    seed: int
    alpha: float
    outliers: Outliers | None
    time: float
    spacing: float
    n_batches: int
    dormant: Dormant
    scores: Sketch
    warmup: tuple[KeptBatch, ...]
    suspicion: float = 0.0
    repeats: Repeats = Repeats()
    alike: Alike = Alike()
    latest: Array = field(default_factory=lambda: np.zeros(1))

    def drawing_by(self, seed: int, rng: np.random.Generator) -> Learner:
        """Return the model with other draws of labels and of parameters."""
        return changed(self, seed=seed, rng=rng)

    @property
    def shares(self) -> Array:
        """The share of the latest rows that each cluster labelled (k,): what the next row is."""
        out: Array = self.latest[:-1] / max(float(self.latest.sum()), 1e-300)
        return out

    @property
    def labelling(self) -> NDArray[np.bool_]:
        """Which clusters labelled some of the latest rows (k,): those that are listed; or all."""
        some = self.latest[:-1] >= _LABELLING
        return some if some.any() else np.ones(len(some), dtype=np.bool_)

    def next_point(self) -> tuple[Score, float]:
        """Return how the next point is scored, and what to add for its log density."""
        return next_point(self.family, self.state, self.alpha, self.outliers)

    def predictive(self) -> Score:
        """Return how clusters score rows, by their weights in the mixture."""
        return predictive(self.family, self.state.totals, self.state.recent, self.alpha)


@frozen
class Outcome:
    """What a batch came to: its labels (ids), sub-labels, and a record of events.

    The labels of rows that are elsewhere may be there too. ``rows`` (k + 1,) is how many rows got
    the label of each cluster, and of none.
    """

    labels: Any
    sublabels: Any
    record: BatchRecord
    rows: Array


@frozen
class Labelled:
    """The labels of the engine's rows as they are handed out.

    Attributes
    ----------
    ids : ndarray (k,)
        Of the clusters then.
    rows : ndarray (k + 1,)
        How many rows, or how much weight of them, got each label, and none.
    bring : callable
        Gives the ids, and the sub-labels, of the last rows. They may still be on their way.
    """

    ids: Ints
    rows: Array
    bring: Callable[[], tuple[Any, Any]]

    def among(self, ids: Ints) -> Array:
        """Return how many rows got the label of each of these clusters (k + 1,), and of none."""
        if ids is self.ids:
            return self.rows
        known = dict(zip(self.ids.tolist(), self.rows.tolist(), strict=False))
        return np.array([*(known.get(i, 0.0) for i in ids.tolist()), self.rows[-1]])


def labelled(ctx: Context, state: State, batch: Batch) -> Labelled:
    """Return the labels that the rows of a batch, the engine's last ones, have now."""
    rows, now = np.zeros(state.k + 1), state.now.rows
    np.add(now[:, 0], now[:, 1], out=rows[:-1])
    n = float(rows.sum())
    if not (batch.even or _equal(batch.weight)):
        counted = state.now.current[:, :, 0].sum(axis=1)
        rows[:-1] = n * counted / max(float(counted.sum()), 1e-300)
    rows[-1] = max(ctx.engine.n_rows - n, 0.0)
    bring = ctx.engine.bring_labels(state.ids, ctx.engine.n_rows - batch.X.shape[0])
    return Labelled(state.ids, rows, bring)


def _equal(weight: Any) -> bool:
    """Whether weights are known to be equal."""
    return isinstance(weight, np.ndarray) and bool(len(weight) and weight.min() == weight.max())


def outcome_of(
    ctx: Context, before: Learner | None, after: Learner, batch: Batch, events: Events,
    state: State, labels: Labelled, recipe: Recipe,
) -> Outcome:  # fmt: skip
    """Return what happened to clusters, seen from outside the batch, and the labels, as ids.

    ``state`` holds the clusters before they were settled.
    """
    known = None if state.known is None else state.known.whole
    n = batch.X.shape[0]
    level = log_posterior(ctx.family, ctx.alpha, after.state.totals, known)
    births, deaths, splits, merges, returns = changes(before, after, events)
    record = made(
        BatchRecord, batch=after.n_batches - 1, time=batch.time, n_points=n,
        n_clusters=after.state.k, log_posterior=level, births=births, deaths=deaths, splits=splits,
        merges=merges, returns=returns, widened=batch.widened,
    )  # fmt: skip
    if after.family.rounding is not None and n > 0:
        labels = _labels_as_given(ctx.engine, after, batch, recipe)
    return Outcome(*labels.bring(), record, labels.among(after.state.ids))


def _labels_as_given(engine: Engine, after: Learner, batch: Batch, recipe: Recipe) -> Labelled:
    """Return the labels of rows with coarse numbers as they are.

    Clusters learn them at places within their cells. By these a row would get a label by chance,
    where numbers are cells as wide as clusters, as those of flags are.
    """
    family = after.family
    engine.load(family, as_given(family, batch.X), batch.weight)
    steps = Context(
        family, engine, after.rng, recipe.alpha, after.seed, after.n_batches, after.outliers,
        recipe.rules,
    )  # fmt: skip
    return labelled(steps, deterministic_sweep(steps, after.state), batch)


def changes(before: Learner | None, after: Learner, events: Events) -> tuple[Any, ...]:
    """Return the births, deaths, splits, merges and returns of a batch."""
    if before is not None and before.state.ids is after.state.ids:
        return (), (), (), (), ()
    old = [] if before is None else before.state.ids.tolist()
    new = after.state.ids.tolist()
    return (
        tuple(sorted(set(new) - set(old) - set(events.returns))),
        tuple(sorted(set(old) - set(new))),
        tuple(pair for pair in events.splits if pair[1] in new),
        tuple(pair for pair in events.merges if pair[1] in old),
        tuple(sorted(events.returns)),
    )
