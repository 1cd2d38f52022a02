"""The search for settings, by Optuna, and what it found."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from sklearn.base import clone

from scstream.model import ScStream
from scstream.support.extras import need_package
from scstream.support.printable import printable_name
from scstream.support.progress import Bar
from scstream.tuning import objective as judge
from scstream.tuning.objective import Rows
from scstream.validation import AUTO, make_rng, resolve_family

if TYPE_CHECKING:
    import optuna

Settings = dict[str, Any]
Space = Callable[["optuna.Trial", str, Any], Settings]

_ALPHA = (1e-2, 1e3)
_HALF_LIFE = (0.5, 50.0)  # batches
_DEFAULTS = {"alpha": 1.0, "half_life": 5.0}
_FAILURES = (ValueError, ArithmeticError, MemoryError)  # of settings that the model refuses


@dataclass(frozen=True)
class Trial:
    """One set of settings that was tried; empty for the model as it was given.

    The score is NaN if it failed, and `error` says why.
    """

    number: int
    settings: Settings
    score: float
    n_clusters: int
    seconds: float
    error: str | None = None


@dataclass(frozen=True)
class TuningResult:
    """What tuning found.

    Attributes
    ----------
    objective : {"ari", "log density"}
        What the scores are.
    settings, score : dict and float
        The best settings as plain numbers, empty if nothing beat the model as it was given.
    default_score : float
        The score of the model as it was given; NaN if it failed.
    trials : list of Trial
        Everything that was tried, in order.
    """

    objective: str
    settings: Settings
    score: float
    default_score: float
    trials: list[Trial] = field(repr=False)
    _model: ScStream = field(repr=False)

    def best_model(self) -> ScStream:
        """Return a new, unfitted model with the best settings."""
        return cast("ScStream", clone(self._model))

    def table(self, top: int = 10) -> str:
        """Return a Markdown table of the best trials, the best first; failed ones last."""
        ranked = sorted(self.trials, key=lambda t: (math.isnan(t.score), -t.score))[:top]
        names = list(dict.fromkeys(name for trial in ranked for name in trial.settings))
        rows = [("trial", self.objective, "clusters", *names, "seconds")]
        rows.append(("---:",) * len(rows[0]))
        for trial in ranked:
            values = (f"{x:.3g}" if isinstance(x, float) else str(x)
                      for x in (trial.settings.get(n, "") for n in names))  # fmt: skip
            score = "failed" if trial.error else f"{trial.score:.4g}"
            middle = (str(trial.number), score, str(trial.n_clusters), *values)
            rows.append((*middle, f"{trial.seconds:.1f}"))
        return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def tune(
    batches: Iterable[Any],
    *,
    model: ScStream | None = None,
    n_batches: int = 10,
    n_trials: int = 30,
    timeout: float | None = None,
    space: Space | None = None,
    random_state: int | np.random.Generator | np.random.RandomState | None = None,
    verbose: bool = False,
) -> TuningResult:
    """Find settings of `ScStream` that suit the first batches of a stream.

    With true labels the score is the mean ARI of predictions made before each batch is learned.
    Without, it is the mean log predictive density of each batch before it is learned: how well
    the model predicts the stream. The first batch is not scored.

    Parameters
    ----------
    batches : iterable of X, of (X, y), of (X, y, time) or of Batch
        The stream, of which the first `n_batches` are used and stay in memory. Labels `y` may be
        None; what is no tuple is data alone.
    model : ScStream, optional
        Where to start from: its family and whatever is not tuned stay as they are. The first
        trial is the model itself, so that the result is never worse on these batches.
    n_batches, n_trials : int, default=10 and 30
    timeout : float, optional
        Seconds after which no further trial is begun.
    space : callable (trial, family, X) -> dict, optional
        What to tune, instead of `alpha` and `half_life`: takes an Optuna trial, the family's
        name and the first batch, and returns keywords of `ScStream`.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the search, and of every model tried unless `model` has an integer of its own.
    verbose : bool, default=False
        Whether to report each trial on standard error.

    Returns
    -------
    TuningResult

    Notes
    -----
    Log densities have no lower bound, and one outlier could outweigh everything else. So a row is
    scored by ``log(0.99 p + 0.01 q)``: p is the model's density and q the prior predictive of an
    untuned family, wide, with heavy tails, the same in all trials.

    Examples
    --------
    >>> from scstream import ScStream, tune
    >>> from scstream.datasets import gaussian_stream
    >>> stream = gaussian_stream(n_batches=50, n_clusters=3, batch_size=200, random_state=0)
    >>> found = tune(stream, n_batches=4, n_trials=3, random_state=0)
    >>> found.score >= found.default_score
    True
    >>> model = found.best_model()
    """
    optuna = need_package("optuna", "tune", "tuning needs Optuna")
    counts: Any = (("n_batches", n_batches, 2), ("n_trials", n_trials, 1))
    for name, value, least in counts:
        if not isinstance(value, int | np.integer) or value < least:
            raise ValueError(f"{name} must be a whole number of at least {least}; got {value!r}.")
    base = clone(ScStream() if model is None else model)
    rows = judge.take(batches, n_batches)
    seed = int(make_rng(random_state).integers(2**31))
    if not isinstance(base.random_state, int | np.integer):
        base.set_params(random_state=seed)
    noise, step = base.outlier_weight == "auto", judge.step_between(rows)
    family = resolve_family(base.family, rows[0].X, None, noise=noise)
    if base.family == AUTO:
        base.set_params(family=family)
    labelled = rows[0].y is not None
    score: Any = judge.score_labels
    if not labelled:
        score = partial(judge.score_density, judge.reference_of(family, rows))
    study = _new_study(optuna, seed)
    if space is None:
        space = partial(_suggest, step=step)
        study.enqueue_trial(_DEFAULTS)
    trials: list[Trial] = []
    start = perf_counter()
    with Bar("trials", n_trials, shown=verbose) as bar:
        while len(trials) < n_trials and (timeout is None or perf_counter() - start < timeout):
            if trials:
                asked = study.ask()
                settings = space(asked, family.name, rows[0].X)
                trial = _attempt(len(trials), settings, _changed(base, settings), score, rows)
                failed = {"state": optuna.trial.TrialState.FAIL}
                study.tell(asked, **(failed if trial.error else {"values": trial.score}))
            else:
                trial = _attempt(0, {}, clone(base), score, rows)
            trials.append(trial)
            if verbose:
                bar.write(_report(trial, trials, n_trials))
            bar.show(len(trials), _best(trials))
    return _result(trials, base, "ari" if labelled else "log density")


def _suggest(trial: optuna.Trial, family: str, X: Any, *, step: float) -> Settings:
    """Choose alpha, and the half-life in units of the time between batches."""
    return {
        "alpha": trial.suggest_float("alpha", *_ALPHA, log=True),
        "half_life": step * trial.suggest_float("half_life", *_HALF_LIFE, log=True),
    }


def _changed(base: ScStream, settings: Settings) -> ScStream:
    """Return a new model like the base but for the settings; a half-life replaces a kernel."""
    kernel = {"kernel": None} if "half_life" in settings else {}
    return cast("ScStream", clone(base).set_params(**kernel, **settings))


def _attempt(
    number: int,
    settings: Settings,
    model: ScStream,
    score: Callable[[ScStream, Sequence[Rows]], float],
    rows: Sequence[Rows],
) -> Trial:
    """Score a model; one that cannot be is a failed trial."""
    start = perf_counter()
    try:
        value = score(model, rows)
        if not math.isfinite(value):
            raise ValueError(f"the score is {value}")
    except _FAILURES as error:
        why = f"{type(error).__name__}: {error}"
        return Trial(number, settings, math.nan, 0, perf_counter() - start, why)
    return Trial(number, settings, value, model.n_clusters_, perf_counter() - start)


def _result(trials: list[Trial], base: ScStream, objective: str) -> TuningResult:
    """Return the best of the trials, the first of them if several are."""
    done = [trial for trial in trials if trial.error is None]
    if not done:
        raise ValueError(f"Every trial failed. The first, with {trials[0].error}")
    best = max(done, key=lambda trial: trial.score)
    model = _changed(base, best.settings)
    return TuningResult(objective, best.settings, best.score, trials[0].score, trials, model)


def _new_study(optuna: Any, seed: int) -> Any:
    """Return a seeded study, without Optuna's message about it."""
    level = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        return optuna.create_study(
            direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed)
        )
    finally:
        optuna.logging.set_verbosity(level)


def _report(trial: Trial, trials: Sequence[Trial], n_trials: int) -> str:
    """Return how a trial went and the best score so far."""
    went = trial.error or f"score {trial.score:.4g}, {trial.n_clusters} clusters"
    return printable_name(
        f"scstream: trial {trial.number + 1} of {n_trials}: {went}; {_best(trials)}"
    )


def _best(trials: Sequence[Trial]) -> str:
    """Return the best score so far, in words."""
    return f"best {max((t.score for t in trials if t.error is None), default=math.nan):.4g}"
