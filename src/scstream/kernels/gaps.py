"""Compiled kernels for rows with missing entries under components with full covariances.

A component has a centre (d,) and a matrix C (d, d). Of a row the observed entries x have the
squared distance ``(x - m)' C^-1 (x - m)``, centre and matrix being those of the observed columns
alone. Rows with the same gaps share the factors of these matrices.
"""

from __future__ import annotations

from math import log, sqrt
from typing import Any

import numpy as np

from scstream.kernels.compiling import kernel, part

_LEAST = 1e-12  # of a variance that rounding may leave of it


@part
def _factor(C: Any, at: Any, q: int, L: Any) -> Any:
    """Fill the Cholesky factor of the first q of the columns ``at``; returns the log determinant.

    Rounding that cost positive definiteness is mended.
    """
    log_det = 0.0
    for i in range(q):
        for j in range(i):
            t = C[at[i], at[j]]
            for m in range(j):
                t -= L[i, m] * L[j, m]
            L[i, j] = t / L[j, j]
        t = C[at[i], at[i]]
        for m in range(i):
            t -= L[i, m] * L[i, m]
        t = max(t, _LEAST * C[at[i], at[i]])
        L[i, i] = sqrt(t)
        log_det += log(t)
    return log_det


@kernel
def marginals(Z: Any, order: Any, starts: Any, centre: Any, C: Any, level: Any, power: Any,
              out: Any) -> None:  # fmt: skip
    """Fill the scores (n, k) of what is observed of rows ``Z`` (n, d), NaN being missing.

    The rows ``order[starts[g]:starts[g + 1]]`` have the same gaps. With q columns observed a
    component scores ``level[q] - log det / 2 - power[q] log(1 + distance)``, and less half of the
    distance where the power is 0.
    """
    d, k = Z.shape[1], len(centre)
    L, y, at = np.empty((d, d)), np.empty(d), np.empty(d, np.int64)
    for g in range(len(starts) - 1):
        some = order[starts[g] : starts[g + 1]]
        q = 0
        for j in range(d):
            if Z[some[0], j] == Z[some[0], j]:
                at[q] = j
                q += 1
        for c in range(k):
            base = level[q, c] - 0.5 * _factor(C[c], at, q, L)
            for r in some:
                far = 0.0
                for i in range(q):
                    t = Z[r, at[i]] - centre[c, at[i]]
                    for j in range(i):
                        t -= L[i, j] * y[j]
                    y[i] = t / L[i, i]
                    far += y[i] * y[i]
                fall = 0.5 * far if power[q, c] == 0.0 else power[q, c] * log(1.0 + far)
                out[r, c] = base - fall


@kernel
def complete(Z: Any, label: Any, centre: Any, C: Any, dof: Any, normal: Any, chi: Any,
             out: Any) -> None:  # fmt: skip
    """Fill statistics (n, p) of rows ``Z`` (n, d), whose gaps are filled given their components.

    With normals (n, d) an entry is drawn from its conditional distribution; without them, (0, d),
    statistics are the expected ones. A component is Student-t with ``dof`` degrees of freedom,
    C being that many times its scale, or normal where these are 0. A draw divides by ``chi`` (n,),
    chi-squared with as many degrees of freedom as the conditional distribution has.
    """
    n, d = Z.shape
    L, y, at, z = np.empty((d, d)), np.empty(d), np.empty(d, np.int64), np.empty(d)
    S, drawn = np.empty((d, d)), len(normal) > 0
    for r in range(n):
        c, q, last = label[r], 0, d
        for j in range(d):
            z[j] = Z[r, j]
            if z[j] == z[j]:
                at[q] = j
                q += 1
            else:
                last -= 1
                at[last] = j
        # of all columns, the observed ones first, L is the factor: its last rows are what the
        # missing ones need, the conditional covariance being the product of its last block
        _factor(C[c], at, d, L)
        far = 0.0
        for i in range(q):
            t = z[at[i]] - centre[c, at[i]]
            for j in range(i):
                t -= L[i, j] * y[j]
            y[i] = t / L[i, i]
            far += y[i] * y[i]
        spread = 1.0
        if dof[c] > 0.0:
            spread = (1.0 + far) / (chi[r] if drawn else max(dof[c] + q - 2.0, 1.0))
        for i in range(q, d):
            t = centre[c, at[i]]
            for j in range(q):
                t += L[i, j] * y[j]
            if drawn:
                for j in range(q, i + 1):
                    t += sqrt(spread) * L[i, j] * normal[r, j]
            z[at[i]] = t
        S[:] = 0.0
        if not drawn:
            for i in range(q, d):
                for j in range(q, i + 1):
                    t = 0.0
                    for m in range(q, j + 1):
                        t += L[i, m] * L[j, m]
                    S[at[i], at[j]] = S[at[j], at[i]] = spread * t
        out[r, 0] = 1.0
        e = 1 + d
        for i in range(d):
            out[r, 1 + i] = z[i]
            for j in range(i, d):
                out[r, e] = z[i] * z[j] + S[i, j]
                e += 1
