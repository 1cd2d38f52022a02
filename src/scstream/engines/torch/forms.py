"""Scores as quadratic forms, which the GPU's kernels take about a centre, see `_parcels`.

In float32 a score that is summed up from statistics about 0 loses what distinguishes narrow
clusters far from there. About the centre of the component nothing cancels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scstream.families.contract import Array
from scstream.families.scores import JoinedScore, LinearScore, Score, StudentScore


@dataclass(frozen=True)
class Forms:
    """Components whose score is a form ``T(z) @ eta``, or a Student-t density by such a form.

    Attributes
    ----------
    eta : ndarray (k, p)
    power : ndarray (k,)
        0 for those that are the form itself; the others are ``const - power * log(form)``.
    const : ndarray (k,)
    student : bool
        Whether any is a Student-t density.
    """

    eta: Array
    power: Array
    const: Array
    student: bool


def forms_of(score: Score) -> Forms | None:
    """Return a score's components as forms, None if they are something else."""
    if isinstance(score, LinearScore):
        nothing = np.zeros(len(score.eta))
        return Forms(score.eta, nothing, nothing, student=False)
    if isinstance(score, StudentScore):
        return Forms(score.quad, score.power, score.const, student=True)
    if isinstance(score, JoinedScore):
        parts = [forms_of(part) for part in score.parts]
        known = [part for part in parts if part is not None]
        if len(known) < len(parts):
            return None
        return Forms(
            np.concatenate([part.eta for part in known]),
            np.concatenate([part.power for part in known]),
            np.concatenate([part.const for part in known]),
            any(part.student for part in known),
        )
    return None
