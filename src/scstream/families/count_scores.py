"""Scores of rows of counts under Dirichlet-multinomial predictives, term by term."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import gammaln

from scstream.families.count_rows import CountRows, Numbers
from scstream.families.left_out import Members
from scstream.families.scores import (
    Array,
    Labels,
    Opaque,
    Points,
    SomeRows,
)
from scstream.kernels import count_scores
from scstream.kernels.count_scores import Dirichlets
from scstream.support.threads import over_slices

_SHARED = 2**18  # terms of the predictive that are work for threads
_TABLE_CELLS = 2**22  # terms of the predictive that are held at a time


@dataclass(frozen=True)
class CountScore:
    """Log weights plus Dirichlet-multinomial predictives, coefficients aside.

    A row's score is a sum over its terms, which are computed once for all rows that have them.

    Attributes
    ----------
    prior : ndarray (1 + d,)
        The Dirichlet's parameters, behind a number that is not read.
    sums : ndarray (k, 1 + d)
        What the components' rows add to them, behind the numbers of rows.
    log_weight : ndarray (k,)
    """

    prior: Array
    sums: Array
    log_weight: Array

    @cached_property
    def _own(self) -> Dirichlets:
        """The components' parameters: these are added up where they are needed, not before."""
        whole = np.empty(len(self.sums))
        count_scores.wholes(self.prior, self.sums, whole)
        return Dirichlets(self.prior, self.sums, whole)

    @cached_property
    def _level(self) -> Array:
        """The log weights (k,) plus the log gammas of the components' sums."""
        out: Array = self.log_weight + gammaln(self._own.whole)
        return out

    @property
    def form(self) -> Opaque:
        """The form: scores are sums over a table, which is made once for all rows."""
        return Opaque(self.ready)

    def ready(self, some: SomeRows) -> None:
        """Make the table of the terms of all rows, of which these are some."""
        whole, _ = CountRows.of(some()).whole
        if self._width(whole.numbers) == len(self.sums):
            self.__dict__["_held"] = whole.numbers, self._table(whole.numbers, slice(None))

    def _width(self, numbers: Numbers) -> int:
        """Return for how many components a table is made at a time."""
        return min(len(self.sums), max(_TABLE_CELLS // (len(numbers.terms) + 1), 1))

    def _table(self, numbers: Numbers, part: slice) -> Array:
        """Return the terms (m + 1, .) under some components, the last one nothing."""
        own, terms = self._own, numbers.terms
        own = Dirichlets(own.prior, own.sums[part], own.whole[part])
        out = np.empty((len(terms) + 1, len(own.whole)))
        out[-1] = 0.0
        factors = count_scores.FACTORS if own.whole.max() < 1e18 else count_scores.FACTORS // 2
        log_weight = self.log_weight[part]

        def fill(cut: slice) -> None:
            count_scores.fill_terms(terms[cut], own, log_weight, factors, out[:-1][cut])

        if out.size < _SHARED:
            fill(slice(None))
        else:
            over_slices(fill, len(terms))
        return out

    def block(self, T: Points) -> Array:
        """Return the scores (n, k) of rows ``(1, x)``."""
        T = CountRows.of(T)
        n, k = T.shape[0], len(self.sums)
        out, (whole, start) = np.empty((n, k)), T.whole
        numbers, table = self.__dict__.get("_held", (None, None))
        if numbers is not None and whole.__dict__.get("numbers") is numbers:
            first = numbers.first[start : start + n + 1]
            count_scores.add_terms(numbers.which, first, table, out)
            return out
        numbers = T.numbers
        width = self._width(numbers)
        for a in range(0, k, width):
            part = slice(a, min(a + width, k))
            some = np.empty((n, part.stop - a))
            table = self._table(numbers, part)
            count_scores.add_terms(numbers.which, numbers.first, table, some)
            out[:, part] = some
        return out

    def left_out(self, rows: Members, inside: Array) -> Array:
        """Return the scores (n,) of rows under their own components without them."""
        T, out = CountRows.of(rows.T), np.empty(len(rows.z))
        mine, own = (T.data, T.indices, T.indptr), (self._own, self.log_weight)
        count_scores.counts_left_out(*mine, T.total, rows.weight, *own, rows.z, out)
        return out

    def pairs(self, T: Points, z: Labels) -> Array:
        """Return the scores (n, 2) under each row's own pair."""
        T, out = CountRows.of(T), np.empty((len(z), 2))
        whole, first = T.whole
        total = whole.total[first : first + len(z)]
        rows, own = (T.data, T.indices, T.indptr), (self._own, self._level)
        count_scores.counts_pairs(*rows, total, *own, z, out)
        return out
