"""The latest rows of a stream, a bounded number of them: what the valleys are looked for in."""

from __future__ import annotations

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
    """Some rows of the latest batches, the latest last; small batches are put together."""

    batches: tuple[Any, ...] = ()

    def after(self, batch: Batch, rules: Rules) -> Recent:
        """Return the rows kept after a further batch; those without weight do not count."""
        X, remote = batch.X, isinstance(batch.X, RemoteRows)
        n, d = X.shape
        most = max(min(rules.group_rows, rules.group_numbers // max(d, 1)), rules.group_least)
        if not (remote or batch.even):
            weight = to_host(batch.weight)
            if not np.all(weight > 0):
                return self.after(batch.rows(weight > 0), rules)
        if n == 0:
            return self
        rows = np.arange(n) if n <= most else np.arange(most) * n // most
        new = X.take(rows) if remote else to_host(X if n <= most else X[rows]).astype(np.float64)
        before = self.batches
        if before and before[-1].shape[0] + len(rows) <= rules.group_chunk:
            before, new = before[:-1], stacked([before[-1], new])
        kept, left = [new], most - new.shape[0]
        for one in reversed(before):
            if one.shape[0] > left:
                break
            kept.append(one)
            left -= one.shape[0]
        return Recent(tuple(reversed(kept)))


def stacked(batches: list[Points]) -> Points:
    """Return the rows of several batches as one."""
    if any(sparse.issparse(X) for X in batches):
        return sparse.vstack(batches).tocsr()
    return np.concatenate(batches)
