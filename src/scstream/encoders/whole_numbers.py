"""What small whole numbers are: counts of events, other numbers, or codes without a shape.

Counts vary with their mean. Ages, scores and intensities do not, and answers from 1 to 5 have any
shape: as counts they would be one cluster, or many. So mixtures of counts, of normal distributions
and the plain shares of the values are compared by how well they describe a column.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scstream.core import Floats as Array
from scstream.encoders.column_mixture import log_evidence, log_evidence_of_counts, representatives
from scstream.encoders.frame import OUTLYING
from scstream.encoders.skew import GAIN, log_evidence_on_scale, small_unit

_WITHOUT_ORDER = 0.05  # nats a point, by which codes are better than numbers, to give up order


class Whole(NamedTuple):
    """What a column of whole numbers from 0 is.

    Attributes
    ----------
    codes : bool
        Whether its values are described by their shares better than as counts.
    gain : float
        Nats by which normal distributions, on either scale, describe it better than counts, less
        what they lack of the shares: they do not suit a column of another shape.
    """

    codes: bool = False
    gain: float = -np.inf


def compared(x: Array) -> Whole:
    """Return what whole numbers (n,) from 0 are; one number alone is a count.

    A few numbers far from all others, such as 999 for missing ones, do not decide it.
    """
    low, high = np.percentile(x, (25.0, 75.0))
    x = x[x - high <= OUTLYING * max(high - low, 1.0)]
    if x.min() == x.max():
        return Whole()
    points = representatives(x)
    whole = np.maximum(np.rint(points), 0.0)
    n, (_, times) = len(whole), np.unique(whole, return_counts=True)
    shares, cost = float((times * np.log(times / n)).sum()), 0.5 * float(np.log(n))
    if log_evidence_of_counts(whole, most=1) + GAIN >= shares - cost:
        return Whole()  # nothing describes them better than their shares do
    counts = log_evidence_of_counts(whole)
    numbers = max(log_evidence(points), log_evidence_on_scale(points, small_unit(x)))
    codes = shares - cost * (len(times) - 1)
    lacking = max(codes - numbers, 0.0)
    gain = numbers - counts - lacking if lacking <= _WITHOUT_ORDER * n else -np.inf
    return Whole(codes > counts + GAIN, gain)
