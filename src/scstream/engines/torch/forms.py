"""Scores as quadratic forms, which kernels on a GPU take about a centre, see `kernels.packing`.

In float32 a score that is summed up from statistics about 0 loses what distinguishes narrow
clusters far from there. About the centre of the component nothing cancels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scstream.families.contract import Array
from scstream.families.scores import Products, Score, form_of


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
    match form_of(score):
        case Products() as form:
            if form.student:
                return Forms(form.eta, form.power, form.const, student=True)
            eta = form.eta
            return Forms(eta, np.zeros(len(eta)), np.zeros(len(eta)), student=False)
    return None
