"""Tuning: settings for a stream of one's own, found on its first batches (``scstream[tune]``)."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from scstream._validation import AUTO, make_rng, resolve_family
from scstream.datasets import Batch
from scstream.evaluate import prequential
from scstream.families import BY_NAME, Family, Gaussian, Multinomial
from scstream.families.base import Array
from scstream.families.scores import Points
from scstream.model import ScStream

if TYPE_CHECKING:
    import optuna

__all__ = ["Trial", "TuningResult", "build", "default_point", "suggest", "tune"]

Settings = dict[str, float | int | str | None]
Space = Callable[["optuna.Trial", str, Any], Settings]

# Ranges about what the paper's authors found best on streams of 2 to 128 dimensions.
_ALPHA = (1e-2, 1e3)
_HALF_LIFE = (0.5, 50.0)  # batches
_COV_SCALE = (0.005, 1.5)  # of the first batch's variances
_COV_EXCESS = (0.5, 100.0)  # degrees of freedom beyond the number of columns, in their number
_MEAN_STRENGTH = (0.05, 2.0)
_CONCENTRATION = (0.1, 10.0)
_DEFENCE = 0.01  # weight of the reference in the density that is scored
_FAILURES = (ValueError, ArithmeticError, MemoryError)  # of a model that cannot be


# -- the space ----------------------------------------------------------------------------------


def suggest(trial: optuna.Trial, family: str, X: Any, *, step: float = 1.0) -> Settings:
    """Choose settings for a family.

    Parameters
    ----------
    trial : optuna.Trial
    family : str
        The family's name. One that is not known here has its alpha and half-life tuned.
    X : array-like or sparse matrix (n, d)
        The first batch.
    step : float
        The time between batches, in which half-lives are measured.

    Returns
    -------
    dict of plain numbers and None
        For `build`. None means that this part of the prior is set from the data.
    """
    settings: Settings = {
        "alpha": trial.suggest_float("alpha", *_ALPHA, log=True),
        "half_life": step * trial.suggest_float("half_life", *_HALF_LIFE, log=True),
    }
    if family in _PRIORS:
        settings |= _PRIORS[family].suggest(trial, X)
    return settings


def default_point(family: str) -> dict[str, Any]:
    """Return the parameters of an Optuna trial in which `suggest` gives the defaults."""
    point: dict[str, Any] = {"alpha": 1.0, "half_life": 5.0}
    return point | (_PRIORS[family].default if family in _PRIORS else {})


def build(settings: Mapping[str, Any], family: str | Family, X: Any, **params: Any) -> ScStream:
    """Return the model that settings stand for.

    Parameters
    ----------
    settings : dict
        What `suggest` gave, or keywords of `ScStream`.
    family : str or Family
        The family to use where the settings say nothing of its prior.
    X : array-like or sparse matrix (n, d)
        The first batch: priors are given in proportion to its spread or its frequencies.
    **params
        Other keywords of `ScStream`.

    Returns
    -------
    ScStream
    """
    name = family if isinstance(family, str) else family.name
    keywords = dict(settings)
    if name in _PRIORS:
        own = {key: keywords.pop(key) for key in _PRIORS[name].keys if key in keywords}
        if own:
            adapted = all(value is None for value in own.values())
            family = name if adapted else _PRIORS[name].make(X, **own)
    return ScStream(**{"family": family, **params, **keywords})


@dataclass(frozen=True)
class _Prior:
    """How the prior of a family is tuned: its settings, where to start, the family they make."""

    keys: tuple[str, ...]
    suggest: Callable[[optuna.Trial, Any], Settings]
    default: dict[str, Any]
    make: Callable[..., Family]


def _suggest_gaussian(trial: optuna.Trial, X: Any) -> Settings:
    """Leave the prior to the data, or all but how alike the covariances are, or choose it."""
    settings: Settings = dict.fromkeys(_PRIORS["gaussian"].keys)
    prior = trial.suggest_categorical("prior", ["adapted", "strength", "given"])
    if prior != "adapted":
        excess = trial.suggest_float("cov_excess", *_COV_EXCESS, log=True)
        settings["cov_strength"] = (1.0 + excess) * np.shape(X)[1]
    if prior == "given":
        settings["cov_scale"] = trial.suggest_float("cov_scale", *_COV_SCALE, log=True)
        settings["mean_strength"] = trial.suggest_float("mean_strength", *_MEAN_STRENGTH, log=True)
    return settings


def _make_gaussian(
    X: Any, cov_scale: float | None, cov_strength: float, mean_strength: float | None
) -> Gaussian:
    """Return the family that expects `cov_scale` times the first batch's variances."""
    cov = None
    if cov_scale is not None:
        variances = np.var(np.asarray(X, dtype=np.float64), axis=0)
        variances[variances == 0.0] = 1.0  # a constant column tells nothing, in whatever unit
        cov = cov_scale * variances
    return Gaussian(mean_strength=mean_strength, cov=cov, cov_strength=cov_strength)


def _suggest_multinomial(trial: optuna.Trial, X: Any) -> Settings:
    """Leave the prior to the data, or choose one parameter for all categories."""
    if trial.suggest_categorical("prior", ["adapted", "given"]) == "adapted":
        return {"concentration": None}
    return {"concentration": trial.suggest_float("concentration", *_CONCENTRATION, log=True)}


def _make_multinomial(X: Any, concentration: float) -> Multinomial:
    return Multinomial(concentration)


_PRIORS = {
    "gaussian": _Prior(
        ("cov_scale", "cov_strength", "mean_strength"),
        _suggest_gaussian,
        {"prior": "adapted"},
        _make_gaussian,
    ),
    "multinomial": _Prior(
        ("concentration",), _suggest_multinomial, {"prior": "adapted"}, _make_multinomial
    ),
}


# -- the result ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Trial:
    """One set of settings that was tried.

    Attributes
    ----------
    number : int
        Its place in the order of trials, from 0.
    settings : dict
        Plain numbers; empty for the model as it was given.
    score : float
        NaN if it failed.
    n_clusters : int
        How many clusters there were at the end; 0 if it failed.
    seconds : float
    error : str or None
        Why it failed.
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
    settings : dict
        The best settings, as plain numbers; empty if nothing beat the model as it was given.
    score : float
        Their score.
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
        fresh: ScStream = clone(self._model)
        return fresh

    def table(self, top: int = 10) -> str:
        """Return a Markdown table of the best trials, the best first; failed ones last."""
        ranked = sorted(self.trials, key=lambda t: (math.isnan(t.score), -t.score))[:top]
        names = list(dict.fromkeys(name for trial in ranked for name in trial.settings))
        rows = [("trial", self.objective, "clusters", *names, "seconds")]
        rows.append(("---:",) * len(rows[0]))
        for trial in ranked:
            values = (_cell(trial.settings[n]) if n in trial.settings else "" for n in names)
            score = "failed" if trial.error else f"{trial.score:.4g}"
            middle = (str(trial.number), score, str(trial.n_clusters), *values)
            rows.append((*middle, f"{trial.seconds:.1f}"))
        return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _cell(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


# -- tuning -------------------------------------------------------------------------------------


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
    the model foresees the stream. The first batch is not scored.

    Parameters
    ----------
    batches : iterable of X, of (X, y), of (X, y, time) or of Batch
        The stream. Only its first `n_batches` are taken; they are kept while this runs. A tuple
        is a batch with labels `y`, which may be None; anything else is data alone.
    model : ScStream, optional
        Where to start from: its family and whatever is not tuned stay as they are. The first
        trial is the model itself, so that the result is never worse on these batches.
    n_batches : int, default=10
    n_trials : int, default=30
    timeout : float, optional
        Seconds after which no further trial is begun.
    space : callable (trial, family, X) -> dict, optional
        What to tune, in place of `suggest`: takes an Optuna trial, the family's name and the
        first batch, and returns keywords of `ScStream` or settings that `build` knows.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the search, and of every model tried unless `model` has an integer of its own.
    verbose : bool, default=False
        Whether to report each trial on standard error.

    Returns
    -------
    TuningResult

    Notes
    -----
    Log densities can be as low as one likes, and a single outlier could outweigh everything
    else. So each row is scored by ``log(0.99 p + 0.01 q)``, where p is the model's density and q
    the prior predictive of an untuned family: wide, with heavy tails, the same in all trials.
    Unlike a median or a trimmed mean this is the score of a density, so nothing is gained by
    giving up small clusters.

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
    optuna = _require_optuna()
    _check_count(n_batches, "n_batches", 2)
    _check_count(n_trials, "n_trials", 1)
    base = clone(ScStream() if model is None else model)
    rows = _take(batches, n_batches)
    seed = int(make_rng(random_state).integers(2**31))
    if not isinstance(base.random_state, int | np.integer):
        base.set_params(random_state=seed)
    family, step = resolve_family(base.family, rows[0].X, None), _step(rows)
    if base.family == AUTO:
        base.set_params(family=family)
    labelled = rows[0].y is not None
    score = _score_labels if labelled else partial(_score_density, _reference(family, rows))
    study = _new_study(optuna, seed)
    in_space = space is None and step == 1.0 and _is_untouched(base)
    if space is None:
        space = partial(suggest, step=step)
        study.enqueue_trial(default_point(family.name))
    trials: list[Trial] = []
    start = perf_counter()
    while len(trials) < n_trials and (timeout is None or perf_counter() - start < timeout):
        if trials or in_space:
            asked = study.ask()
            settings = space(asked, family.name, rows[0].X)
            trial = _attempt(len(trials), settings, _changed(base, settings, rows), score, rows)
            study.tell(asked, **_outcome(optuna, trial))
        else:
            trial = _attempt(0, {}, clone(base), score, rows)
        trials.append(trial)
        if verbose:
            _report(trial, trials, n_trials)
    return _result(trials, base, rows, "ari" if labelled else "log density")


@dataclass(frozen=True)
class _Rows:
    """A batch as it was given; labels and time may be missing."""

    X: Any
    y: Any
    time: float | None

    @property
    def when(self) -> dict[str, float]:
        return {} if self.time is None else {"time": self.time}


def _take(batches: Iterable[Any], n: int) -> list[_Rows]:
    """Return the first n batches, or raise `ValueError` if nothing can be learned from them."""
    rows = [_unpack(item, i) for i, item in enumerate(islice(batches, n))]
    if len(rows) < 2:
        raise ValueError(
            f"Tuning needs at least 2 batches, the first of which is not scored; got {len(rows)}."
        )
    if len({batch.y is None for batch in rows}) > 1:
        raise ValueError("Some batches have labels and some have none; give all or none.")
    return rows


def _unpack(item: Any, position: int) -> _Rows:
    """Return the points, labels and time of whatever stands for a batch."""
    if isinstance(item, Batch):
        return _Rows(item.X, item.y, item.time)
    parts = item if isinstance(item, tuple) else (item,)
    if not 1 <= len(parts) <= 3:
        raise ValueError(
            f"Batch {position} is a tuple of {len(parts)}; a batch is X, (X, y) or (X, y, time)."
        )
    X, y, time = (*parts, None, None)[:3]
    X = X if hasattr(X, "shape") else np.asarray(X)
    if len(X.shape) != 2:
        raise ValueError(
            f"Batch {position} must have rows and columns; its data have shape {tuple(X.shape)}."
        )
    return _Rows(X, None if y is None else np.asarray(y), time)


def _step(rows: Sequence[_Rows]) -> float:
    """Return the mean time from one batch to the next."""
    first, last = rows[0].time, rows[-1].time
    if first is None or last is None or not last > first:
        return 1.0
    return (last - first) / (len(rows) - 1)


def _is_untouched(model: ScStream) -> bool:
    """Whether all that bears on results is as it comes: the point that the search starts from."""
    aside = {"random_state", "n_jobs", "verbose"}
    mine, fresh = model.get_params(), ScStream(model.family).get_params()
    same = all(mine[name] == fresh[name] for name in set(fresh) - aside)
    return isinstance(model.family, str) and same


def _changed(base: ScStream, settings: Settings, rows: Sequence[_Rows]) -> ScStream:
    """Return a new model like the base but for the settings; a half-life replaces a kernel."""
    params = base.get_params(deep=False)
    if "half_life" in settings:
        params["kernel"] = None
    return build(settings, params.pop("family"), rows[0].X, **params)


def _attempt(
    number: int,
    settings: Settings,
    model: ScStream,
    score: Callable[[ScStream, Sequence[_Rows]], float],
    rows: Sequence[_Rows],
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


def _score_labels(model: ScStream, rows: Sequence[_Rows]) -> float:
    """Return the mean ARI of predictions made before learning."""
    stream = [(batch.X, batch.y, batch.time) for batch in rows]
    return prequential(model, stream).mean()["ari"]


def _score_density(reference: Sequence[Array], model: ScStream, rows: Sequence[_Rows]) -> float:
    """Return the mean over batches of the log density before learning, kept from falling."""
    means = []
    for batch, wide in zip(rows, reference, strict=True):
        if model.n_batches_:
            density = model.score_samples(batch.X)
            both = np.logaddexp(np.log1p(-_DEFENCE) + density, np.log(_DEFENCE) + wide)
            means.append(both.mean())
        model.partial_fit(batch.X, **batch.when)
    return float(np.mean(means))


def _reference(family: Family, rows: Sequence[_Rows]) -> list[Array]:
    """Return log densities of all rows under what a family expects before it knows clusters."""
    fresh = BY_NAME[family.name]() if family.name in BY_NAME else family

    def table(X: Any) -> Any:
        return X if sparse.issparse(X) or fresh.tabular else np.asarray(X)

    met = fresh.meet(table(rows[0].X), None)

    def points(X: Any) -> Points:
        return met.check(table(X))

    wide = met.prepare(points(rows[0].X))
    nothing = np.zeros((1, len(wide.prior)))
    return [wide.log_predictive(points(batch.X), nothing)[:, 0] for batch in rows]


def _result(
    trials: list[Trial], base: ScStream, rows: Sequence[_Rows], objective: str
) -> TuningResult:
    """Return the best of the trials, the first of them if several are."""
    done = [trial for trial in trials if trial.error is None]
    if not done:
        raise ValueError(f"Every trial failed. The first, with {trials[0].error}")
    best = max(done, key=lambda trial: trial.score)
    model = _changed(base, best.settings, rows)
    return TuningResult(objective, best.settings, best.score, trials[0].score, trials, model)


# -- Optuna -------------------------------------------------------------------------------------


def _require_optuna() -> Any:
    try:
        import optuna
    except ImportError as error:
        raise ImportError(
            'Tuning needs Optuna. Install it with: pip install "scstream[tune]"'
        ) from error
    return optuna


def _new_study(optuna: Any, seed: int) -> Any:
    """Return a study that is seeded, without Optuna's message about it."""
    level = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        return optuna.create_study(
            direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed)
        )
    finally:
        optuna.logging.set_verbosity(level)


def _outcome(optuna: Any, trial: Trial) -> dict[str, Any]:
    """Return what Optuna is told of a trial."""
    if trial.error is None:
        return {"values": trial.score}
    return {"state": optuna.trial.TrialState.FAIL}


def _report(trial: Trial, trials: Sequence[Trial], n_trials: int) -> None:
    """Print how a trial went and the best score so far."""
    went = trial.error or f"score {trial.score:.4g}, {trial.n_clusters} clusters"
    best = max((t.score for t in trials if t.error is None), default=math.nan)
    line = f"scstream: trial {trial.number + 1} of {n_trials}: {went}; best {best:.4g}"
    print(line, file=sys.stderr, flush=True)


def _check_count(value: Any, name: str, least: int) -> None:
    if not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}; got {value!r}.")
