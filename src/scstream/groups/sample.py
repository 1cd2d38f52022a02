"""The latest rows of a stream, a bounded number of them: what the valleys are looked for in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from scstream.engines import RemoteRows
from scstream.engines.tensors import to_host
from scstream.families.scores import Points
from scstream.sampler.recipe import Batch
from scstream.sampler.rules import Rules
from scstream.support.frozen import frozen


@frozen
class Recent:
    """Some rows of the latest batches, the latest last; small batches are put together.

    That is done when a chunk is full, or when someone asks: most streams never form groups.

    Attributes
    ----------
    full : tuple of ndarray or sparse matrix
        Chunks of rows, the oldest first.
    latest : tuple of ndarray or sparse matrix
        The parts of the last chunk.
    """

    full: tuple[Any, ...] = ()
    latest: tuple[Any, ...] = ()
    n_full: int = 0  # rows
    n_latest: int = 0

    @staticmethod
    def of(batches: tuple[Any, ...]) -> Recent:
        """Return the rows of some chunks."""
        n = sum(X.shape[0] for X in batches)
        last = batches[-1].shape[0] if batches else 0
        return Recent(batches[:-1], batches[-1:], n - last, last)

    @property
    def batches(self) -> tuple[Any, ...]:
        """The chunks of rows, the latest last."""
        return (*self.full, stacked(self.latest)) if self.latest else ()

    def after(self, batch: Batch, rules: Rules) -> Recent:
        """Return the rows kept after a further batch; those without weight do not count."""
        X, (n, d) = batch.X, batch.X.shape
        here = type(X) is np.ndarray
        remote = not here and isinstance(X, RemoteRows)
        if not (remote or batch.even):
            weight = to_host(batch.weight)
            if not np.all(weight > 0):
                return self.after(batch.rows(weight > 0), rules)
        if n == 0:
            return self
        most = max(min(rules.group_rows, rules.group_numbers // max(d, 1)), rules.group_least)
        if remote:
            new = X.take(np.arange(n) if n <= most else np.arange(most) * n // most)
        else:
            some = X if n <= most else X[np.arange(most) * n // most]
            new = (some if here else to_host(some)).astype(np.float64)
        return self._with(new, most, rules.group_chunk)

    def _with(self, new: Any, most: int, chunk: int) -> Recent:
        """Return the rows with new ones, as many of the latest chunks as make ``most`` rows."""
        n, full, n_full = new.shape[0], self.full, self.n_full
        if self.latest and self.n_latest + n <= chunk:
            latest, n_latest = (*self.latest, new), self.n_latest + n
        else:
            latest, n_latest = (new,), n
            full, n_full = self.batches, n_full + self.n_latest
        first = 0
        while first < len(full) and n_full + n_latest > most:
            n_full -= full[first].shape[0]
            first += 1
        return Recent(full[first:], latest, n_full, n_latest)


def stacked(batches: Sequence[Points]) -> Points:
    """Return the rows of several batches as one."""
    if len(batches) == 1:
        return batches[0]
    if any(sparse.issparse(X) for X in batches):
        return sparse.vstack(batches).tocsr()
    return np.concatenate(batches)
