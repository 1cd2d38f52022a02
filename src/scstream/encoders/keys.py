"""Whether a column's values name its rows, as keys do, by how seldom they come again."""

from __future__ import annotations

import math

import numpy as np

from scstream.core import Floats as Array

_DISTINCT = 0.5  # words that are new in more than this share of the rows name rows, not kinds
FEW_WORDS = 20  # different ones, that are kinds whatever they look like
_WORDS = 1.5  # different words for each square root of the rows, above which these are too few
_EVEN = 0.25  # variance of the words' counts over their mean, at most, where rows repeat by design
_SURE = 12.0  # nats by which whole numbers come again more seldom than by chance
_SELDOM = 0.25  # of the repetitions that chance would give, at most, in a key


def names_rows(distinct: int, n: int) -> bool:
    """Whether so many different words in n rows name the rows, rather than kinds of them."""
    return distinct > max(_DISTINCT * n, FEW_WORDS)


def too_many_words(counts: Array, n: int) -> bool:
    """Whether words are too many for groups of rows to be seen besides them.

    So are countries, each in twelve of 1,704 rows: clusters become countries. Words that all come
    equally often are the units of a panel.

    Parameters
    ----------
    counts : ndarray (k,)
        How often each word came in the rows looked at.
    n : int
        How many rows there are.

    Examples
    --------
    >>> too_many_words(np.full(142, 7), 1704), too_many_words(np.full(5, 7), 1704)
    (True, False)
    """
    if len(counts) <= FEW_WORDS:
        return False
    return len(counts) > _WORDS * math.sqrt(n) or np.var(counts) < _EVEN * np.mean(counts)


def never_repeats(numbers: Array) -> bool:
    """Whether whole numbers come again more seldom than measures or counts of their range would.

    Of n numbers drawn evenly from R, some n - R (1 - (1 - 1/R)^n) come again. All other
    distributions give more, so that numbers that hardly do were given out one by one.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> never_repeats(rng.permutation(3000)[:500]), never_repeats(rng.integers(3000, size=500))
    (True, False)
    """
    n, distinct = len(numbers), len(np.unique(numbers))
    if n < 2:
        return False
    span = float(np.ptp(numbers)) + 1.0
    expected = n + span * math.expm1(n * math.log1p(-1.0 / span)) if span > 1.0 else n - 1.0
    seen = n - distinct
    if seen > _SELDOM * expected:
        return False
    return expected - seen + (seen * math.log(seen / expected) if seen else 0.0) > _SURE
