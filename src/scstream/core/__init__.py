"""The core: arithmetic on arrays, once in NumPy (`plain`) and once in C++ (`native`).

Each function has the same arguments and results in both. The native core runs where it was built;
``SCSTREAM_CORE=plain`` chooses the other one, ``SCSTREAM_CORE=native`` insists.
"""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from scstream.core.chunks import Cut as Cut

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Text = NDArray[np.uint8]

SKIP = -1  # role of a field that is not read; texts have roles of -2 and below


def _chosen() -> ModuleType:
    """Return the core that runs."""
    wanted = os.environ.get("SCSTREAM_CORE", "")
    if wanted not in ("", "plain", "native"):
        raise ImportError(f"SCSTREAM_CORE must be 'plain' or 'native'; got {wanted!r}.")
    if wanted != "plain":
        try:
            return import_module("scstream.core.native._compiled")
        except ImportError as error:
            if wanted:
                raise ImportError(
                    "SCSTREAM_CORE=native, but the native core was not built when scstream was "
                    "installed: that takes a C++ compiler."
                ) from error
    return import_module("scstream.core.plain")


_core = _chosen()


def name() -> str:
    """Return which core runs: ``"native"`` or ``"plain"``."""
    return "plain" if _core.__name__.endswith("plain") else "native"


# -- text ---------------------------------------------------------------------------------------


class Form(NamedTuple):
    """How the fields of separated text are written, and what is read of each."""

    separator: int  # the byte between fields
    point: int  # the byte before decimals
    roles: Ints  # (f,): a column of the numbers, `SKIP`, or ``-2 - t`` for text t
    powers: Floats  # (2, 561): those of `powers_of_ten`


class Found(NamedTuple):
    """Where `scan` writes what it finds, with room for some records."""

    numbers: Floats  # (room, d)
    spans: Ints  # (room, t, 2): where texts begin and end, quotes aside
    # (room, 5): where each record begins and ends, where the next one begins, and how many line
    # ends came before its beginning and before that of the next one
    bounds: Ints
    fields: Ints  # (room,): how many; -1 if something follows a closing quote
    odd: Ints  # (room d, 4): no plain numbers: record, column, beginning and end

    @classmethod
    def room(cls, records: int, numbers: int, texts: int) -> Found:
        """Return room for so many records with so many numbers and texts each."""
        return cls(
            np.empty((records, numbers)),
            np.empty((records, texts, 2), np.int64),
            np.empty((records, 5), np.int64),
            np.empty(records, np.int64),
            np.empty((records * numbers, 4), np.int64),
        )


@cache
def powers_of_ten() -> Floats:
    """Return 10^-280 to 10^280 as pairs of doubles (2, 561) that add up to them, to 106 bits."""
    from fractions import Fraction

    whole = [Fraction(10) ** e for e in range(-280, 281)]
    high = [float(value) for value in whole]
    low = [float(value - Fraction(h)) for value, h in zip(whole, high, strict=True)]
    return np.array([high, low])


def scan(text: Text, final: bool, form: Form, found: Found) -> tuple[int, int, int, int]:
    """Read the records of a block of separated text.

    Numbers are the nearest doubles, as Python's ``float`` gives them. Those that are written in
    another way are NaN and listed as odd.

    Parameters
    ----------
    text : uint8 (size,)
    final : bool
        Whether nothing follows: the last record then needs no line end.
    form : Form
    found : Found, out

    Returns
    -------
    rows, n_odd, at, breaks : int
        Records and odd fields found, where the unread rest begins, and line ends before it.
    """
    return cast("tuple[int, int, int, int]", _core.scan(text, final, form, found))


def lay_out(
    values: Ints, decimals: Ints, glue: Text, glue_at: Ints, data: Text, bounds: Ints, out: Text
) -> int:
    """Write rows of numbers as text, and return how long it is.

    Parameters
    ----------
    values : int64 (n, m)
        Numbers in units of their last decimal.
    decimals : int64 (m,)
        How many decimals each has, at most 17.
    glue, glue_at : uint8 (size,), int64 (m + 2,)
        What comes before each number and behind the last, and where each of these texts begins.
    data, bounds : uint8 (size,), int64 (n, 2)
        What each row begins with: ``data[a:b]``.
    out : uint8 (room,), out
        Room for the text: 21 bytes for each number, and all that stands between.
    """
    return cast("int", _core.lay_out(values, decimals, glue, glue_at, data, bounds, out))


# -- k-means ------------------------------------------------------------------------------------
# Rows (n, d) come with centres (m, d); or their products with these, (n, m), with centres (m, 0).


def approach(
    rows: Floats, centre: Floats, square: Floats, picks: Ints, nearest: Floats, z: Ints,
    cumulated: Floats,
) -> None:  # fmt: skip
    """Give rows to one more centre, the last of the picks, where it is nearer.

    Parameters
    ----------
    rows, centre : float64 (n, d) and (1, d)
    square : float64 (n,)
        Squared lengths of the rows.
    picks : int64 (m,)
        The rows that are centres.
    nearest, z : float64 (n,), int64 (n,), updated
        The squared distance to the nearest centre, and which of the picks it is.
    cumulated : float64 (n,), out
        Sums of ``nearest`` up to each row.
    """
    _core.approach(rows, centre, square, picks, nearest, z, cumulated)


def choose_nearest(
    rows: Floats, centres: Floats, square: Floats, lengths: Floats, apart: Floats, z: Ints
) -> None:
    """Find the nearest centre of each row.

    Parameters
    ----------
    rows, centres : float64 (n, d) and (m, d)
    square, lengths : float64 (n,) and (m,)
        Squared lengths of rows and centres.
    apart : float64 (m, m)
        Squared distances of centres from each other.
    z : int64 (n,), updated
        A centre that may be the nearest, and then the nearest one.
    """
    _core.choose_nearest(rows, centres, square, lengths, apart, z)


# -- the pass over rows -------------------------------------------------------------------------


class Rows(NamedTuple):
    """Rows x of which ``(1, z, upper triangle of z z')`` are statistics: z is x in the frame."""

    X: NDArray[np.floating]  # (n, d), float64 or float32
    shift: Floats  # (d,): z is (x - shift) / scale
    scale: Floats


def fill_statistics(rows: Rows, out: Floats) -> None:
    """Fill the statistics (n, p) of rows."""
    _core.fill_statistics(rows, out)


class Scores(NamedTuple):
    """Scores ``T @ eta``, or ``level - power log(T @ eta)`` of components with a positive power."""

    eta: Floats  # (k, p)
    level: Floats  # (k,), or empty if all are products alone
    power: Floats


def sweep(
    rows: Rows, weight: Floats, scores: Scores, pairs: Scores,
    key: tuple[int, int, int, int] | None, z: Ints, sub: Ints, cut: Cut,
    sums: tuple[NDArray[Any], ...],
) -> None:  # fmt: skip
    """Label rows, divide them among the sub-clusters of their labels, and add them up.

    Components beyond the k clusters take rows, too; these get the label -1.

    Parameters
    ----------
    rows : Rows
    weight : float64 (n,)
    scores, pairs : Scores
        Of k or more components, and of the 2 k sub-clusters.
    key : (seed, batch, sweep, number of the first row) or None
        With a key labels and sub-labels are drawn. Without one they are the best, and a row counts
        in both sub-clusters by their probabilities.
    z, sub : int64 (n,), out
    cut : Cut
    sums : float64 (m, k, 2, p), int64 (m, k, 2), int64 (m, k, k), float64 (m, k, k), out
        For each of the m runs of chunks: statistics and numbers of rows by label and sub-label,
        added up in the order of the rows of a chunk; how many rows of each cluster have each other
        one as second choice; and the entropies: of labels against second choices, on the diagonal
        of sub-labels.
    """
    _core.sweep(rows, weight, scores, pairs, key, z, sub, cut, sums)


def best_labels(rows: Rows, scores: Scores, out: Ints, threads: int) -> None:
    """Find the best component (n,) of each row."""
    _core.best_labels(rows, scores, out, threads)


def label_rows(
    T: Floats, scores: Scores, u: Floats, z: Ints, second: Ints, entropy: Floats
) -> None:
    """Find labels of rows with statistics of any kind.

    Parameters
    ----------
    T : float64 (n, p)
    scores : Scores
    u : float64 (n,)
        Uniforms by which labels are drawn; empty for the best labels.
    z : int64 (n,), out
    second, entropy : int64 (n,), float64 (n,), out
        The best other component, -1 if there is none, and minus the log-probability of the label
        against it. Both empty where they are not wanted.
    """
    _core.label_rows(T, scores, u, z, second, entropy)


def label_scores(scores: Floats, u: Floats, z: Ints, second: Ints, entropy: Floats) -> None:
    """Find labels of rows with scores (n, k), else as `label_rows` does."""
    _core.label_scores(scores, u, z, second, entropy)


def try_sublabels(
    rows: Rows, weight: Floats, pairs: Scores, chosen: NDArray[np.bool_], z: Ints,
    trial: Ints, cut: Cut, sums: tuple[NDArray[Any], ...],
) -> None:  # fmt: skip
    """Find the better sub-labels of the rows of chosen clusters (k,), and add these rows up.

    Parameters are as in `sweep`; ``trial`` (n,) is filled for these rows. Sums are the statistics
    (m, k, 2, p) by label and sub-label, and the entropies (m, k) about the latter.
    """
    _core.try_sublabels(rows, weight, pairs, chosen, z, trial, cut, sums)


# -- Gaussian clusters --------------------------------------------------------------------------
# Statistics (k, p) are those of `Rows`, added up: a count, a vector (d,), and the upper triangle of
# a matrix, row after row. A prior (p,) has those of the rows that it is worth, and ``more`` is what
# its degrees of freedom exceed its count by. Functions that return a number count the clusters
# whose scatter is not positive definite: these have NaN as log determinant, level or offset.


_FEW_STATISTICS = 65 * 66 // 2  # those of 64 columns


def _algebra(p: int) -> Any:
    """Return the core for p statistics: matrices of more columns are left to NumPy."""
    return _core if p <= _FEW_STATISTICS else import_module("scstream.core.plain")


def factor(s: Floats, prior: Floats, vector: Floats, out: Floats, log_det: Floats) -> int:
    """Factor the scatters of posteriors.

    Parameters
    ----------
    s, prior : float64 (k, g, p) and (p,)
        Groups whose scatters about their own means are added up.
    vector : float64 (k, d), or (0, d) for the means of the first groups
    out : float64 (k, p), out
        Rows ``(n, L^-1 vector, L)``: the first group's count, and the lower triangle of a Cholesky
        factor, row after row.
    log_det : float64 (k,), out
    """
    return cast("int", _algebra(len(prior)).factor(s, prior, vector, out, log_det))


def log_normalisers(s: Floats, prior: Floats, more: float, out: Floats) -> int:
    """Find the log-normalisers (k,) of normal-inverse-Wishart densities at ``prior + s`` (k, p)."""
    return cast("int", _algebra(len(prior)).log_normalisers(s, prior, more, out))


def drawn_scores(
    factors: Floats, chi: Floats, low: Floats, noise: Floats, log_weight: Floats, out: Floats
) -> None:
    """Find the natural parameters of Gaussians drawn from posteriors.

    Parameters
    ----------
    factors : float64 (k, p)
        Rows ``(n, L^-1 mean, L)`` of `factor`.
    chi, low : float64 (k, d) and (k, d (d - 1) / 2)
        Diagonals and the rest of Bartlett's factors B, row after row: with ``M = L'^-1 B`` the
        precision is ``M M'``.
    noise : float64 (k, d)
        The drawn mean lies ``M'^-1 noise / sqrt(n)`` from the posterior's.
    log_weight : float64 (k,)
        Is added to the first parameter.
    out : float64 (k, p), out
    """
    _algebra(factors.shape[1]).drawn_scores(factors, chi, low, noise, log_weight, out)


def student_forms(factors: Floats, out: Floats) -> None:
    """Find functionals (k, p) equal to ``1 + n / (n + 1) (z - mean)' (L L')^-1 (z - mean)``."""
    _algebra(factors.shape[1]).student_forms(factors, out)


def predictives(
    s: Floats, prior: Floats, more: float, log_weight: Floats, factors: Floats, level: Floats,
    power: Floats,
) -> int:  # fmt: skip
    """Find the Student-t predictives of clusters (k, p), with log weights (k,).

    These are their rows by `factor` (k, p), and the levels and powers (k,) of their `Scores`.
    """
    core = _algebra(len(prior))
    return cast("int", core.predictives(s, prior, more, log_weight, factors, level, power))


def directions(
    s: Floats, member: Floats, attempt: Ints, axes: int, prior: Floats, out: Floats
) -> None:
    """Find functionals (k, p) whose sign cuts clusters in two through their means.

    Parameters
    ----------
    s, member : float64 (k, p)
        Clusters, and the statistics of some row of each.
    attempt : int64 (k,)
        Even ones cut across a principal axis, odd ones towards the member. The first eight measure
        by the covariance that the prior expects, in whose deviations directions of noise are as
        short as any other; the next eight by columns, and so on.
    axes : int
        How many axes take turns.
    prior, out : float64 (p,) and (k, p), out
        A row at the mean, as one alone is, is on the first side whatever the rounding.
    """
    _algebra(len(prior)).directions(s, member, attempt, axes, prior, out)


def boundaries(both: Floats, prior: Floats, more: float, normal: Floats, offset: Floats) -> int:
    """Find Fisher's discriminants of pairs of clusters.

    Rows are the first one's where ``normal . z < offset``.

    Parameters
    ----------
    both : float64 (k, 2, p)
    prior, more : float64 (p,), float
    normal, offset : float64 (k, d) and (k,), out
    """
    return cast("int", _algebra(len(prior)).boundaries(both, prior, more, normal, offset))


def truncate(past: Floats, normal: Floats, offset: Floats, certain: float, out: Floats) -> None:
    """Find what of pasts (m, p), seen as Gaussians, lies below boundaries.

    Past i is cut by boundary ``i % k`` of the normals (k, d) and offsets (k,), or ``certain``
    deviations from its mean if that is nearer. Too little past, or none to speak of across the
    boundary, is halved.
    """
    _algebra(past.shape[1]).truncate(past, normal, offset, certain, out)


def set_prior(kappa: float, nu: float, mean: Floats, psi: Floats, row: Floats) -> float:
    """Fill a prior's row (p,) by what is expected: a mean (d,), a covariance (d, d).

    ``kappa`` and ``nu`` are the rows that these are worth. Returns the log-normaliser at the prior.
    """
    return cast("float", _algebra(len(row)).set_prior(kappa, nu, mean, psi, row))


def pool(s: Floats, most: float, times: float, out: Floats) -> tuple[float, bool]:
    """Find the covariance (d, d) within clusters (k, p): `scstream.families.pooling`.

    Returns its degrees of freedom, and whether some clusters have so many times the variance, in a
    column, that those of most rows (a share of them) have at most.
    """
    return cast("tuple[float, bool]", _algebra(s.shape[1]).pool(s, most, times, out))


def middle(s: Floats, most: float, times: float, out: Floats) -> bool:
    """Find the mean (d,) of the rows of clusters (k, p), of which there are some.

    Returns whether some clusters are so many times as far from it, squared, as those of most rows.
    """
    return cast("bool", _algebra(s.shape[1]).middle(s, most, times, out))


# -- the mixture --------------------------------------------------------------------------------


def log_gammas(x: Floats, out: Floats) -> None:
    """Find the logarithms (m,) of gamma(x) for positive x (m,)."""
    _core.log_gammas(x, out)


def log_weights(n: Floats, gamma: Floats, u: Floats, out: Floats) -> None:
    """Find log weights of k clusters, then of their sub-clusters, drawn from Dirichlets.

    Parameters
    ----------
    n : float64 (3 k + 1,)
        Parameters: of clusters, of sub-clusters two by two, and of the cluster yet to be born.
    gamma, u : float64 (3 k + 1,)
        Gammas with shapes ``n + 1`` and uniforms. Together they make one with shape n, whose
        logarithm does not run out of digits.
    out : float64 (3 k,), out
    """
    _core.log_weights(n, gamma, u, out)


def split_ratios(
    n: Floats, each: Floats, whole: Floats, entropy: Floats, alpha: float, least: float, out: Floats
) -> None:
    """Find the log ratios (k,) of splits into parts with counts and log marginals (k, 2).

    ``log alpha + sum_j [lgamma(n_j) + each_j] - lgamma(n) - whole``, plus the entropy (k,).
    There is no split into parts that do not both count more than ``least``.
    """
    _core.split_ratios(n, each, whole, entropy, alpha, least, out)


def neighbours(rivals: Ints, top: Ints, pairs: Ints) -> int:
    """Find pairs (a, b), a < b, of which one is among the commonest rivals of the other.

    Parameters
    ----------
    rivals : int64 (k, k)
        How many rows of each cluster have each other one as second choice.
    top : int64 (k, most), out
        The commonest rivals of each, -1 for none. Of equally common ones the first counts.
    pairs : int64 (k most, 2), out

    Returns
    -------
    m : int
        How many pairs there are.
    """
    return cast("int", _core.neighbours(rivals, top, pairs))


# -- steps of a batch ---------------------------------------------------------------------------
# For Gaussian clusters of few columns, where a call for each of their operations would take longer
# than all of them. The text is the sampler's, which takes these steps where there is no native core
# or a function says that a matrix failed. A prior is (row (p,), more, log normaliser, columns).

_MOST_COLUMNS = 15


def takes_steps(columns: int = 1) -> bool:
    """Whether the core has these functions for so many columns: the native one does."""
    return columns <= _MOST_COLUMNS and hasattr(_core, "may_move")


def keep_shares(
    past: Floats, now: Floats, prior: tuple[Any, ...], shares: Floats, limits: tuple[float, ...],
    out: Floats,
) -> bool:  # fmt: skip
    """Find the shares (k,) of pasts worth keeping: `scstream.sampler.forgetting`.

    Parameters
    ----------
    past, now : float64 (k, p)
    prior : tuple
    shares : float64 (s,)
        That are tried, from 1 downwards.
    limits : tuple
        Alpha, reluctance, the points left behind and those kept at least, the points of a place,
        and the margin of moves.
    out : float64 (k,), out

    Returns
    -------
    sound : bool
    """
    return cast("bool", _core.keep_shares(past, now, prior, shares, limits, out))


def refine(
    rows: Rows, weight: Floats, cuts: Scores, chosen: NDArray[np.bool_], prior: tuple[Any, ...],
    how: tuple[float, int], z: Ints, trial: Ints, sums: tuple[Floats, ...],
) -> bool:  # fmt: skip
    """Do as `try_sublabels` does, then again by the predictives of what resulted: `Engine.refine`.

    Parameters
    ----------
    rows, weight, cuts, chosen : Rows, float64 (n,), Scores, bool (k,)
    prior : tuple
    how : tuple
        Alpha, and how many rounds follow the first.
    z, trial, sums : int64 (n,), int64 (n,), out, tuple, out

    Returns
    -------
    sound : bool
    """
    return cast("bool", _core.refine(rows, weight, cuts, chosen, prior, how, z, trial, sums))


def judge_divisions(
    past: Floats, now: Floats, tried: Floats, entropies: tuple[Floats, ...], prior: tuple[Any, ...],
    how: tuple[float, ...], chosen: NDArray[np.bool_], first: Floats, out: tuple[NDArray[Any], ...],
) -> int:  # fmt: skip
    """Judge divisions that were tried: `scstream.sampler.subclusters`.

    Parameters
    ----------
    past, now, tried : float64 (k, 2, p)
        Statistics of sub-clusters, and of those of the present that were tried.
    entropies : float64 (k,), (k, k), (k, k)
        About the divisions that were tried, and those of past and present.
    prior : tuple
    how : tuple
        Alpha, the least part, the weight of entropy, and how many deviations from its mean a past
        is cut at most; it is halved if that is negative.
    chosen : bool (k,)
    first : float64 (k, p), out
        The past of the first parts as tried.
    out : float64 (2, k, 2), float64 (k,), bool (k,), out
        Log marginals of the parts after the better division and as they are, and of the wholes; and
        which of the chosen clusters are better divided as tried.

    Returns
    -------
    apart : int
        Of how many of the chosen clusters past and present are the better parts; -1 if a matrix
        failed.
    """
    return cast(
        "int",
        _core.judge_divisions(past, now, tried, entropies, prior, how, chosen, first, out),
    )


def may_move(
    standing: tuple[NDArray[Any], ...], log_u: Floats, greedy: bool, prior: tuple[Any, ...],
    how: tuple[float, ...], limits: tuple[float, ...],
) -> bool:  # fmt: skip
    """Whether some cluster may be split, merged or dropped: `scstream.sampler.split_merge`.

    Parameters
    ----------
    standing : tuple
        Statistics (3 k, p) of clusters and sub-clusters, numbers of rows (k, 2), rivals (k, k),
        entropies of past and present (k, k), log marginals of sub-clusters (k, 2) and clusters
        (k,), and batches lived (k,).
    log_u : float64 (k + k m,)
        What log ratios must exceed: of splits, then of up to m merges for each cluster.
    greedy : bool
    prior, how : tuple
        As in `judge_divisions`.
    limits : tuple
        The reluctance of merges for each batch, and at most; the share of entropies about edges,
        and what is free; the rows and the entropy from which best labels mislead.
    """
    return cast("bool", _core.may_move(standing, log_u, greedy, prior, how, limits))


# -- counts ---------------------------------------------------------------------------------------


def count_marginals(
    sums: Floats, prior: tuple[Floats, Floats], one: Ints, other: Ints, out: Floats
) -> None:
    """Find log marginals of clusters of counts under a Dirichlet prior, coefficients aside.

    Parameters
    ----------
    sums : float64 (k, 1 + d)
        The clusters' counts, behind a column that is not read.
    prior : two of float64 (1 + d,)
        The parameters, and their log gammas.
    one, other : int64 (m,)
        Clusters, each taken together with another one, or alone where that is -1.
    out : float64 (m,), out
    """
    _core.count_marginals(sums, prior, one, other, out)


def add_rises(counts: tuple[Any, ...], conc: Floats, z: Ints, less: Floats, out: Floats) -> None:
    """Add ``log(gamma(x + c) / gamma(x))`` of each row's counts c to scores.

    Of small counts that is the logarithm of a product: it keeps its digits however large x is.

    Parameters
    ----------
    counts : (float64 (n, d),), or data, indices and indptr of compressed rows
        Whole numbers; what is 0 adds nothing.
    conc : float64 (k, d)
        The numbers x of components.
    z : int64 (n,)
        The row's component, or pair: with two columns of ``out`` these are ``2 z`` and ``2 z + 1``.
        Empty for all.
    less : float64 (n,)
        How many times a row's counts are taken off its component's numbers first; a score is NaN
        where these are fewer. Empty for none.
    out : float64 (n, g), updated
    """
    _core.add_rises(counts, conc, z, less, out)


def add_compressed(rows: tuple[Any, ...], weight: Floats, cell: Ints, out: Floats) -> None:
    """Add rows to sums, in their order.

    Parameters
    ----------
    rows : (float64 (n, d),), or data, indices and indptr of compressed rows
    weight, cell : float64 (n, g), int64 (n, g)
        Each row goes to g cells, with a weight each; cells out of range are left out.
    out : float64 (m, d), updated
    """
    _core.add_compressed(rows, weight, cell, out)


# -- rows one by one ----------------------------------------------------------------------------


def widen_ends(X: NDArray[np.floating], ends: Floats) -> None:
    """Widen the least and the largest number (2, d) of each column by rows (n, d); NaN is none."""
    _core.widen_ends(X, ends)


def uniforms(key: tuple[int, int, int, int], out: Floats) -> None:
    """Fill ``out`` (2, n) with uniforms in [0, 1) keyed by row: Philox 4x32 with ten rounds.

    The key is (seed, batch, sweep, number of the first row).
    """
    _core.uniforms(key, out)


def score_rows(T: Floats, scores: Scores, out: Floats) -> None:
    """Fill scores (n, k) of rows (n, p), the same bits wherever a row stands."""
    _core.score_rows(T, scores, out)


def score_pairs(T: Floats, pairs: Scores, z: Ints, out: Floats) -> None:
    """Fill scores (n, 2) of rows (n, p) under the sub-clusters of their labels, -1 for none."""
    _core.score_pairs(T, pairs, z, out)


def choose_sublabels(scores: Floats, u: Floats, sub: Ints, share: Floats, entropy: Floats) -> None:
    """Choose one of two sub-labels of each row.

    Parameters
    ----------
    scores : float64 (n, 2)
    u : float64 (n,)
        Uniforms by which sub-labels are drawn; empty for the better ones.
    sub, share : int64 (n,), float64 (n,), out
        Without uniforms the share of the second is its probability, else 0 or 1.
    entropy : float64 (n,), out
        Minus the log-probability of sub-labels that are drawn; of others the entropy.
    """
    _core.choose_sublabels(scores, u, sub, share, entropy)


# -- rows of many columns -----------------------------------------------------------------------


def distances(
    Z: Floats, W: Floats, b: Floats, rows: Ints, which: Ints, far: Floats, out: Floats
) -> None:
    """Fill squared distances ``|W z - b|^2`` of some rows under a component each.

    Parameters
    ----------
    Z : float64 (n, d)
    W, b : float64 (k, d, d) and (k, d)
        Lower triangular factors, with zeros above the diagonal.
    rows, which : int64 (m,)
        Rows and components; it is quickest if these are in ascending order.
    far : float64 (m,)
        Beyond these a part of the distance is enough, which is less than all. Empty for none.
    out : float64 (m,), out
    """
    _core.distances(Z, W, b, rows, which, far, out)


def invert_factors(factors: Floats, W: Floats) -> None:
    """Fill the inverses (k, d, d) of the L of rows ``(n, L^-1 mean, L)``, see `factor`."""
    _core.invert_factors(factors, W)


def leading_distances(Z: Floats, W: Floats, b: Floats, m: int, out: Floats) -> None:
    """Fill the parts (n, k) of squared distances that the first m rows of W add."""
    _core.leading_distances(Z, W, b, m, out)


def sum_products(Z: Floats, weight: Floats, share: Floats, z: Ints, out: Floats) -> None:
    """Fill sums (k, 2, p) of ``(1, z, upper triangle of z z')`` of rows (n, d), in their order.

    Each goes to both sides of its label (n,), by its share (n,) of the second; labels out of range
    are left out.
    """
    _core.sum_products(Z, weight, share, z, out)


def subtract_logs(
    T: Floats, forms: tuple[Floats, Floats, Floats, Floats], z: Ints, out: Floats
) -> None:
    """Subtract ``power log(a + b x + c y)`` of each entry that is observed from scores.

    What rounding put below 1 in such a form is 1.

    Parameters
    ----------
    T : float64 (n, 1 + 3 d)
        Rows ``(1, observed, x, y)``.
    forms : four of float64 (k, d)
        The numbers a, b and c, and the powers.
    z : int64 (n,)
        Rows are scored under components ``2 z`` and ``2 z + 1``; empty for all.
    out : float64 (n, k) or (n, 2), updated
    """
    _core.subtract_logs(T, forms, z, out)


# -- missing entries ------------------------------------------------------------------------------
# A component has a centre (d,) and a matrix (d, d). What is observed of a row has the squared
# distance ``(x - m)' C^-1 (x - m)``, centre and matrix being those of the observed columns alone.


def score_observed(
    rows: Floats, patterns: tuple[Ints, Ints], components: tuple[Floats, Floats],
    level: Floats, power: Floats, out: Floats,
) -> None:  # fmt: skip
    """Score rows by what is observed of them.

    Parameters
    ----------
    rows : float64 (n, d)
        NaN is missing.
    patterns : int64 (n,) and int64 (g + 1,)
        Rows in an order in which those with the same gaps follow one another, and where each
        pattern begins, and the end.
    components : float64 (k, d) and (k, d, d)
        Centres and matrices.
    level, power : float64 (d + 1, k)
        With q columns observed a score is ``level[q] - log det / 2 - power[q] log(1 + distance)``,
        and less half of the distance where the power is 0.
    out : float64 (n, k), out
    """
    _core.score_observed(rows, patterns, components, level, power, out)


def complete_rows(
    rows: Floats, z: Ints, components: tuple[Floats, Floats, Floats],
    draws: tuple[Floats, Floats], out: Floats,
) -> None:  # fmt: skip
    """Fill statistics ``(1, x, x x')`` of rows whose gaps are filled given their components.

    Parameters
    ----------
    rows, z : float64 (n, d), int64 (n,)
        NaN is missing. Each row has a component.
    components : float64 (k, d), (k, d, d) and (k,)
        Centres, matrices and degrees of freedom. A component is Student-t with so many, its matrix
        being that many times its scale, or normal where these are 0.
    draws : float64 (n, d) and (n,)
        Normals by which entries are drawn from their conditional distributions, and chi-squared
        numbers with as many degrees of freedom as these have. Empty for the expected statistics.
    out : float64 (n, p), out
    """
    _core.complete_rows(rows, z, components, draws, out)
