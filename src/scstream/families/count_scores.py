"""Scores of rows of counts under Dirichlet-multinomial predictives, term by term."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from scstream.families.count_rows import CountRows, Numbers
from scstream.families.left_out import Members
from scstream.families.scores import (
    Array,
    Labels,
    Points,
    SomeRows,
    SumsOfTable,
    Terms,
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
    def form(self) -> SumsOfTable:
        """The form."""
        return SumsOfTable(self.ready, self.terms)

    def ready(self, some: SomeRows) -> None:
        """Make the table of the terms of all rows, of which these are some."""
        whole, _ = CountRows.of(some()).whole
        if self._width(whole.numbers) == len(self.sums):
            tables = self._tables(whole.numbers, slice(None), narrow=True)
            self.__dict__["_held"] = whole.numbers, (*tables, self._lengths(whole.total))

    def _width(self, numbers: Numbers) -> int:
        """Return for how many components a table is made at a time."""
        return min(len(self.sums), max(_TABLE_CELLS // (len(numbers.terms) + 1), 1))

    def _tables(
        self, numbers: Numbers, part: slice, *, narrow: bool = False
    ) -> tuple[Array, NDArray[np.float32]]:
        """Return the terms (m + 1, .) under some components, the last one nothing.

        And the same in single precision if that is wanted.
        """
        own, terms = self._own, numbers.terms
        own = Dirichlets(own.prior, own.sums[part], own.whole[part])
        out = np.empty((len(terms) + 1, len(own.whole)))
        single = np.empty(out.shape if narrow else (0, 0), dtype=np.float32)
        out[-1], single[-1:] = 0.0, 0.0
        factors = count_scores.FACTORS if own.whole.max() < 1e18 else count_scores.FACTORS // 2
        log_weight = self.log_weight[part]

        def fill(cut: slice) -> None:
            to = out[:-1][cut], single[:-1][cut]
            count_scores.fill_terms(terms[cut], own, log_weight, factors, *to)

        if out.size < _SHARED:
            fill(slice(None))
        else:
            over_slices(fill, len(terms))
        return out, single

    def _lengths(self, total: Array) -> Array:
        """Return what the terms (n,) of rows with such totals add up to at most, signs aside.

        A term is a sum of logarithms, one for each count, and the total's is one of as many.
        """
        least = max(self.prior[1:].min() + min(self.sums.min(), 0.0), 1e-300)
        most = self._own.whole.max() + total.max(initial=0.0)
        size = max(abs(np.log(least)), abs(np.log(most)))
        out: Array = 2.0 * size * total + np.abs(self.log_weight).max()
        return out

    def terms(self, T: Points) -> Terms | None:
        """Return what the scores of rows are sums of, if the table was made for them."""
        T = CountRows.of(T)
        whole, start = T.whole
        numbers, tables = self.__dict__.get("_held", (None, ()))
        if numbers is None or whole.__dict__.get("numbers") is not numbers:
            return None
        (table, narrow, length), stop = tables, start + T.shape[0]
        first = numbers.first[start : stop + 1]
        return Terms(numbers.which, first, table, narrow, length[start:stop])

    def block(self, T: Points) -> Array:
        """Return the scores (n, k) of rows ``(1, x)``."""
        T = CountRows.of(T)
        n, k = T.shape[0], len(self.sums)
        out, held = np.empty((n, k)), self.terms(T)
        if held is not None:
            count_scores.add_terms(held.which, held.first, held.table, out)
            return out
        numbers = T.numbers
        width = self._width(numbers)
        for a in range(0, k, width):
            part = slice(a, min(a + width, k))
            some = np.empty((n, part.stop - a))
            table, _ = self._tables(numbers, part)
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
