"""What is tuned: ranges of settings, and the models that settings describe."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from scstream.families import Family, Gaussian, Multinomial
from scstream.model import ScStream

if TYPE_CHECKING:
    import optuna

Settings = dict[str, float | int | str | None]
Space = Callable[["optuna.Trial", str, Any], Settings]

# Ranges about what the paper's authors found best on streams of 2 to 128 dimensions.
_ALPHA = (1e-2, 1e3)
_HALF_LIFE = (0.5, 50.0)  # batches
_COV_SCALE = (0.005, 1.5)  # of the first batch's variances
_COV_EXCESS = (0.5, 100.0)  # degrees of freedom beyond the number of columns, in their number
_MEAN_STRENGTH = (0.05, 2.0)
_CONCENTRATION = (0.1, 10.0)


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
    """Return the model that settings describe.

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
    """Leave the prior to the data, or choose it."""
    if trial.suggest_categorical("prior", ["adapted", "given"]) == "adapted":
        return dict.fromkeys(_PRIORS["gaussian"].keys)
    excess = trial.suggest_float("cov_excess", *_COV_EXCESS, log=True)
    return {
        "cov_scale": trial.suggest_float("cov_scale", *_COV_SCALE, log=True),
        "cov_strength": (1.0 + excess) * np.shape(X)[1],
        "mean_strength": trial.suggest_float("mean_strength", *_MEAN_STRENGTH, log=True),
    }


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
