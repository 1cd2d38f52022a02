"""Scores as quadratic forms about a centre, as the GPU's kernels take them.

In float32 a score that is summed up from statistics about 0 loses what distinguishes narrow
clusters far from there. About the centre of the component nothing cancels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scstream._compile import kernel
from scstream.families.base import Array
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

    def pairs(self, which: NDArray[np.int64]) -> Forms:
        """Return the pairs of some clusters, in the order of the clusters."""
        if 2 * len(which) == len(self.eta):
            return self
        rows = np.stack([2 * which, 2 * which + 1], axis=1).ravel()
        return Forms(self.eta[rows], self.power[rows], self.const[rows], self.student)


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


def centre_all(
    forms: Forms, d: int, numbers: NDArray[np.float32], centre: NDArray[np.float32] | None
) -> None:
    """Fill numbers (k, 3 + 2 d + d (d + 1) / 2) and centres (k, d) of forms in d columns.

    The numbers are: centre, value there, power, const, slopes, coefficients. A form without a
    centre, as it is not curved or not the same way in all directions, is taken about 0.
    """
    if centre is None:
        centre = np.empty((len(forms.eta), d), dtype=np.float32)
    _centre_all(np.ascontiguousarray(forms.eta), forms.power, forms.const, d, centre, numbers)


@kernel
def _centre_all(eta: Any, power: Any, const: Any, d: Any, centre: Any, numbers: Any) -> None:
    """Fill numbers and centres; the centres are float32, all else is about these very numbers."""
    A = np.empty((d, d))
    x = np.empty(d)
    slope = np.empty(d)
    for c in range(len(eta)):
        sign = 1.0 if power[c] > 0 else -1.0
        q = 1 + d
        for i in range(d):
            x[i] = -0.5 * sign * eta[c, 1 + i]
            for j in range(i, d):
                A[i, j] = A[j, i] = sign * eta[c, q] * (1.0 if i == j else 0.5)
                q += 1
        definite = True
        for i in range(d):  # elimination, whose pivots are positive if there is a centre
            if not A[i, i] > 1e-12 * abs(eta[c, 1 + d + i * d - i * (i - 1) // 2]):
                definite = False
                break
            for r in range(i + 1, d):
                factor = A[r, i] / A[i, i]
                x[r] -= factor * x[i]
                for j in range(i, d):
                    A[r, j] -= factor * A[i, j]
        for i in range(d - 1, -1, -1):
            if not definite:
                x[i] = 0.0
                continue
            for j in range(i + 1, d):
                x[i] -= A[i, j] * x[j]
            x[i] /= A[i, i]
        for i in range(d):
            centre[c, i] = x[i]
            x[i] = centre[c, i]
            slope[i] = eta[c, 1 + i]
        value = eta[c, 0] - (1.0 if power[c] > 0 else 0.0)
        q = 1 + d
        for i in range(d):
            value += eta[c, 1 + i] * x[i]
            for j in range(i, d):
                value += eta[c, q] * x[i] * x[j]
                slope[i] += eta[c, q] * x[j]
                slope[j] += eta[c, q] * x[i]
                numbers[c, d + 2 + q] = eta[c, q]
                q += 1
        for i in range(d):
            numbers[c, i] = x[i]
            numbers[c, d + 3 + i] = slope[i]
        numbers[c, d] = value
        numbers[c, d + 1] = power[c]
        numbers[c, d + 2] = const[c]
