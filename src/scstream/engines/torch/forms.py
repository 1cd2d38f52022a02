"""Scores as quadratic forms, which kernels on a GPU take about a centre, see `kernels.packing`.

In float32 a score that is summed up from statistics about 0 loses what distinguishes narrow
clusters far from there. About the centre of the component nothing cancels.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from scstream.families.contract import Array
from scstream.families.scores import LinearScore, Products, Score, form_of
from scstream.support.frozen import frozen


@frozen
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
    if isinstance(score, LinearScore):  # as most are: there is no more to ask
        eta = score.eta
    else:
        form = form_of(score)
        if not isinstance(form, Products):
            return None
        eta = form.eta
        if form.student:
            return Forms(eta, form.power, form.const, student=True)
    nothing = _zeros(len(eta))
    return Forms(eta, nothing, nothing, student=False)


@lru_cache
def _zeros(k: int) -> Array:
    """Return zeros (k,), which nobody changes."""
    return np.zeros(k)
