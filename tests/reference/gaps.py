"""Rows with missing entries under full-covariance components, one row and component at a time."""

import numpy as np
from scipy.stats import multivariate_normal, multivariate_t


def log_marginal_density(x, centre, matrix, dof):
    """Return the log density of what is observed of a row; ``dof`` 0 is a normal component.

    ``matrix`` is the covariance, or a Student-t's scale.
    """
    seen = ~np.isnan(x)
    if not seen.any():
        return 0.0
    at, scale = centre[seen], matrix[np.ix_(seen, seen)]
    if dof == 0:
        return multivariate_normal.logpdf(x[seen], at, scale)
    return multivariate_t.logpdf(x[seen], at, scale, dof)


def conditional(x, centre, matrix, dof):
    """Return mean and covariance of a whole row given what is observed of it."""
    seen = ~np.isnan(x)
    mean, cov = np.where(seen, x, 0.0), np.zeros((len(x), len(x)))
    if seen.all():
        return mean, cov
    gap = ~seen
    inverse = np.linalg.inv(matrix[np.ix_(seen, seen)])
    slope = matrix[np.ix_(gap, seen)] @ inverse
    off = x[seen] - centre[seen]
    mean[gap] = centre[gap] + slope @ off
    rest = matrix[np.ix_(gap, gap)] - slope @ matrix[np.ix_(seen, gap)]
    if dof > 0:
        rest = rest * (dof + off @ inverse @ off) / (dof + seen.sum() - 2.0)
    cov[np.ix_(gap, gap)] = rest
    return mean, cov


def expected_statistics(x, centre, matrix, dof):
    """Return ``E (1, z, upper triangle of z z')`` given what is observed of a row."""
    mean, cov = conditional(x, centre, matrix, dof)
    square = cov + np.outer(mean, mean)
    return np.concatenate([[1.0], mean, square[np.triu_indices(len(x))]])
