"""Scores as quadratic forms, which kernels on a GPU take about a centre, see `laid_out`.

In float32 a score that is summed up from statistics about 0 loses what distinguishes narrow
clusters far from there. About the centre of the component nothing cancels.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from scstream.families.contract import Array
from scstream.families.packed import unpack, upper
from scstream.families.scores import LinearScore, Products, Score, form_of
from scstream.support.frozen import frozen

Singles = NDArray[np.float32]
_LEAST_PIVOT = 1e-12  # of a form's own curvature along a column


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


def laid_out(forms: Forms, which: NDArray[np.int64], d: int) -> tuple[Singles, Singles]:
    """Return the numbers of some forms (m, 3 + d + p - 1), and their centres (m, d).

    Those of one are: centre (d), value there, power, const, slopes (d), coefficients. Everything is
    about the centre as it is rounded to float32.
    """
    eta, power, const = forms.eta[which], forms.power[which], forms.const[which]
    linear, square = eta[:, 1 : 1 + d], unpack(eta[:, 1 + d :] * _halves(d), d)
    student = power > 0.0
    centre = _centres(np.where(student[:, None, None], square, -square),
                      np.where(student[:, None], linear, -linear))  # fmt: skip
    x = centre.astype(np.float64)
    bent = np.matmul(square, x[..., None])[..., 0]
    value = eta[:, 0] + ((linear + bent) * x).sum(axis=1) - student
    one_each = np.stack([value, power, const], axis=1)
    parts = [centre, one_each, linear + 2.0 * bent, eta[:, 1 + d :]]
    return np.concatenate(parts, axis=1).astype(np.float32), centre


def _centres(square: Array, linear: Array) -> Singles:
    """Return where forms ``x' square x + linear x`` are least (m, d), 0 where that is nowhere.

    It is if a form is not curved, or not the same way in all directions.
    """
    identity = np.eye(square.shape[1])
    try:
        L = np.linalg.cholesky(square)
    except np.linalg.LinAlgError:
        finite = np.nan_to_num(square, posinf=0.0, neginf=0.0)
        definite = np.linalg.eigvalsh(finite)[:, 0] > 0.0
        square = np.where(definite[:, None, None], square, identity)
        linear = np.where(definite[:, None], linear, 0.0)
        L = np.linalg.cholesky(square)
    pivots, own = (np.diagonal(a, axis1=1, axis2=2) for a in (L * L, square))
    steep: NDArray[np.bool_] = np.all(pivots > _LEAST_PIVOT * own, axis=1)
    centre = np.linalg.solve(square, -0.5 * linear[..., None])[..., 0]
    return np.where(steep[:, None], centre, 0.0).astype(np.float32)


@lru_cache
def _halves(d: int) -> Array:
    """Return 1 for squares and a half for products of two columns, in an upper triangle."""
    row, col = upper(d)
    return np.where(row == col, 1.0, 0.5)
