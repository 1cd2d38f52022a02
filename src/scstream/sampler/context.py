"""What the steps of a batch work with: the family, the engine with its rows, and randomness."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from scstream import core
from scstream.engines import CpuEngine, Engine, Key
from scstream.families.contract import Array, Family, GaussianPrior
from scstream.families.scale_mixture import row_score
from scstream.families.scores import JoinedScore, Points, Score
from scstream.sampler.clusters import State
from scstream.sampler.rules import RULES, Rules
from scstream.support.threads import threads_allowed


@dataclass(frozen=True)
class Outliers:
    """A component for points that no cluster should take: the background.

    If its weight is learned, so is its shape, from the rows that it holds. At first, and where it
    holds few, that of all rows together stands in. While it holds less than a row there is none.

    Attributes
    ----------
    weight : float
        Its share of the mixture, in (0, 1).
    sums : ndarray (1, p)
        The statistics of the whole first batch; if the weight is learned, of all rows that are
        remembered, those of each batch stretched about their middle: a background as wide as the
        rows themselves would be the same as a cluster where there is but one.
    held : ndarray (1, p) or None
        The statistics of the rows that it held before this batch. None if the weight is fixed.
    batch : ndarray (1, p) or None
        The statistics of all rows of a batch that is being learned.
    pseudo : float
        Rows that the shape of all rows together counts in that of the background.
    most : float
        The greatest weight that is learned.
    """

    weight: float
    sums: Array
    held: Array | None = None
    batch: Array | None = None
    pseudo: float = 0.0
    most: float = 1.0

    @staticmethod
    def beginning(wide: Array, past: float) -> Outliers:
        """Return a background before the first batch that shows noise.

        ``wide`` (1, p) are the statistics of its rows stretched about their middle. Of the rows
        before it, which count ``past``, only these are known to be no noise: they are taken to be
        as wide.
        """
        before = wide * (past / wide[0, 0])
        return Outliers(1.0 / (2.0 + past + wide[0, 0]), before, 0.0 * wide)

    def during(
        self, batch: Array, wide: Array, kept: float, pseudo: float, rules: Rules
    ) -> Outliers:
        """Return the background during a batch, given the statistics (1, p) of all its rows.

        ``wide`` are those of its rows stretched about their middle, and ``kept`` is the share of
        the past that is left. The shape of all rows together counts ``pseudo`` rows at least.
        """
        assert self.held is not None
        sums = kept * self.sums + wide
        pseudo = max(pseudo, rules.background_width * float(sums[0, 0]))
        held = kept * self.held
        return Outliers(self.weight, sums, held, batch, pseudo, rules.background_most)

    def carried(self, carry: Callable[[Array], Array]) -> Outliers:
        """Return it with statistics (1, p) in other coordinates."""
        held = None if self.held is None else carry(self.held)
        return replace(self, sums=carry(self.sums), held=held)

    def beside_clusters(self, state: State) -> Outliers:
        """Return it as it is while clusters own what they own; before a sweep, as it was."""
        if self.held is None:
            return self
        if self.batch is None or not state.now.rows.any():
            return replace(self, batch=None)
        held = self.held + self.batch - state.current.sum(axis=0)
        if held[0, 0] < 1e-9 * self.sums[0, 0]:
            held = np.zeros_like(held)  # but for rounding
        weight = min(float((1.0 + held[0, 0]) / (2.0 + self.sums[0, 0])), self.most)
        return replace(self, weight=weight, held=held, batch=None)

    def shape(self, rows: Array) -> Array:
        """Return statistics (..., p) whose predictive is the background's if it holds such rows."""
        out: Array = rows + self.pseudo / self.sums[0, 0] * self.sums
        return out

    def beside(self, score: Score, family: Family) -> Score:
        """Return the clusters' score with this component's behind it, as odds."""
        odds = np.log(self.weight) - np.log1p(-self.weight)
        sums = self.sums if self.held is None else self.shape(self.held)
        return JoinedScore([score, row_score(family, sums, np.array([odds]))])


@dataclass
class Context:
    """What sweeps and moves work with.

    Attributes
    ----------
    family : Family
        Prepared, with its prior; replaced while a first batch adapts it.
    engine : Engine
        Holds the batch.
    rng : numpy.random.Generator
        Draws parameters, weights and decisions.
    alpha : float
        Concentration of the Dirichlet process.
    seed, batch : int
        Key the draws of labels, together with the number of the sweep.
    outliers : Outliers or None
        The component for points that no cluster should take.
    rules : Rules
    """

    family: Family
    engine: Engine
    rng: np.random.Generator
    alpha: float
    seed: int
    batch: int
    outliers: Outliers | None = None
    rules: Rules = RULES
    _sweeps: int = field(default=0, init=False)

    def go_on_from(self, other: Context) -> None:
        """Take over the randomness, and how far it was used, of what was done with other rows."""
        self.rng, self._sweeps = other.rng, other._sweeps

    def beside(
        self, X: Points, weight: Array, *, outliers: Outliers | None = None,
        rules: Rules | None = None,
    ) -> Context:  # fmt: skip
        """Return the context of other rows, held on this machine, that goes on from here.

        It takes the threads that the model may take: an engine of a device or of a cluster waits.
        Whoever goes on with this one afterwards calls `go_on_from`: no uniform is used twice.
        """
        engine = CpuEngine(threads_allowed())
        engine.load(self.family, X, weight)
        rules = self.rules if rules is None else rules
        new = Context(
            self.family, engine, self.rng, self.alpha, self.seed, self.batch, outliers, rules
        )
        new.go_on_from(self)
        return new

    @property
    def few_gaussians(self) -> GaussianPrior | None:
        """The prior of Gaussian clusters of few columns, if the core takes steps with these."""
        prior = self.family.small_gaussian()
        return prior if prior is not None and core.takes_steps(prior.columns) else None

    def next_key(self) -> Key:
        """Return the key of the next draw of labels."""
        self._sweeps += 1
        return Key(self.seed, self.batch, self._sweeps)

    def all_components(self, score: Score, state: State) -> Score:
        """Return the clusters' score, with the outlier component behind it if there is one."""
        if self.outliers is None:
            return score
        return self.outliers.beside_clusters(state).beside(score, self.family)

    def log_uniforms(self, size: int, *, greedy: bool = False) -> Array:
        """Return logs of uniforms, which log ratios must exceed; greedy ones must exceed 0."""
        return np.zeros(size) if greedy else np.log(self.rng.random(size))
