"""What was tried, and what tuning found."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from sklearn.base import clone

from scstream.model import ScStream

Settings = dict[str, Any]


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
