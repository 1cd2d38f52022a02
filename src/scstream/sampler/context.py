"""What the steps of a batch work with: the family, the engine with its rows, and randomness."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from scstream.engines import Engine, Key
from scstream.families.contract import Array, Family
from scstream.families.scores import JoinedScore, Score
from scstream.kernels.draws import Draws
from scstream.sampler.rules import RULES, Rules


@dataclass(frozen=True)
class Outliers:
    """A fixed component for points that no cluster should take.

    Attributes
    ----------
    weight : float
        Its share of the mixture, in (0, 1).
    sums : ndarray (1, p)
        The statistics whose predictive it is: those of the whole first batch.
    """

    weight: float
    sums: Array

    def beside(self, score: Score, family: Family) -> Score:
        """Return the clusters' score with this component's behind it, as odds."""
        odds = np.log(self.weight) - np.log1p(-self.weight)
        return JoinedScore([score, family.predictive_score(self.sums, np.array([odds]))])


@dataclass
class Context:
    """What sweeps and moves work with.

    Attributes
    ----------
    family : Family
        Prepared, with its prior; replaced while a first batch adapts it.
    engine : Engine
        Holds the batch.
    rng : Draws
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
    rng: Draws
    alpha: float
    seed: int
    batch: int
    outliers: Outliers | None = None
    rules: Rules = RULES
    _sweeps: int = field(default=0, init=False)

    def next_key(self) -> Key:
        """Return the key of the next draw of labels."""
        self._sweeps += 1
        return Key(self.seed, self.batch, self._sweeps)

    def all_components(self, score: Score) -> Score:
        """Return the clusters' score, with the outlier component behind it if there is one."""
        return score if self.outliers is None else self.outliers.beside(score, self.family)

    def log_uniforms(self, size: int, *, greedy: bool = False) -> Array:
        """Return logs of uniforms, which log ratios must exceed; greedy ones must exceed 0."""
        return np.zeros(size) if greedy else self.rng.log_uniforms(size)
