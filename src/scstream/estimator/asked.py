"""What the estimator's parameters ask for: checked, and as the sampler and the engines take it."""

from __future__ import annotations

import copy
from collections.abc import Callable
from datetime import timedelta
from operator import is_, itemgetter
from typing import Any, Literal

import numpy as np

from scstream import validation as check
from scstream.engines import CpuEngine, Engine, make_engine
from scstream.events import Event
from scstream.families import Family
from scstream.inputs import TakesRows
from scstream.sampler.recipe import Plan, Recipe
from scstream.sampler.rules import RULES, Rules
from scstream.sampler.window import Forgetting
from scstream.support.progress import Bar, bars_wanted, say

_parameters = itemgetter(*check.CONSTRAINTS)


class Asked(TakesRows):
    """The parameters, and what follows from them."""

    family: str | Family
    alpha: float
    half_life: float | str | timedelta | np.timedelta64 | None
    kernel: Callable[[float], float] | None
    epsilon: float
    sweeps: int
    max_sweeps: int
    max_clusters: int | None
    splits: bool
    merges: bool
    outlier_weight: float | Literal["auto"]
    random_state: int | np.random.Generator | np.random.RandomState | None
    n_jobs: int | None
    engine: Any
    device: str | None
    group_level: float | None
    verbose: bool
    on_event: Callable[[Event], object] | None
    rules: Rules | None

    _asked: tuple[Forgetting, Plan]  # as they were when they were last checked

    def _check_parameters(self) -> None:
        """Raise for a parameter that cannot be; those of the last batch need no second look."""
        values = _parameters(self.__dict__)
        checked = self.__dict__.get("_checked")
        if checked is None or not all(map(is_, values, checked)):
            check.check_parameters(dict(zip(check.CONSTRAINTS, values, strict=True)))
            self._checked = values
            self._asked = (
                Forgetting(self._half_life(), self.kernel, self.epsilon),
                Plan(
                    sweeps=self.sweeps,
                    max_sweeps=self.max_sweeps,
                    max_clusters=self.max_clusters,
                    splits=bool(self.splits),
                    merges=bool(self.merges),
                ),
            )

    def _half_life(self) -> float | None:
        if isinstance(self.half_life, str) and self.half_life == "auto":
            return self._rules.half_life
        return None if self.half_life is None else check.half_life_of(self.half_life)

    def _engine(self, X: Any) -> Engine:
        n_threads = check.resolve_threads(self.n_jobs)
        if type(X) is np.ndarray and self.engine == "cpu":
            return CpuEngine(n_threads)
        return make_engine(self.engine, self.device, n_threads, X)

    def _recipe(self, family: Family) -> Recipe:
        shown = self.verbose or bars_wanted()
        progress = _SweepBar(self.max_sweeps, verbose=bool(self.verbose)) if shown else None
        weight, auto = self.outlier_weight, self.half_life == "auto"
        weight = "auto" if weight == "auto" else float(weight)
        asked = (family, float(self.alpha), *self._asked)
        return Recipe(*asked, weight, progress, auto, self._rules)

    @property
    def _rules(self) -> Rules:
        return RULES if self.rules is None else self.rules

    def _make_rng(self) -> np.random.Generator:
        """Return the randomness of a new model; a generator of the user's stays where it is."""
        return check.make_rng(copy.deepcopy(self.random_state))


class _SweepBar(Bar):
    """Shows the sweeps of a first batch, which converges before `most` sweeps as a rule."""

    def __init__(self, most: int, *, verbose: bool) -> None:
        super().__init__("first batch", shown=verbose)
        self._most = most
        self._verbose = verbose

    def __call__(self, sweep: int, k: int, log_posterior: float) -> None:
        """Say how a sweep went; with ``verbose`` a line each where there is no terminal."""
        said = f"sweep {sweep}, {k} clusters, log posterior {log_posterior:.1f}"
        if self.live:
            self.show(text=f"{said}, at most {self._most} sweeps")
        elif self._verbose:
            say(f"scstream: {said}")
