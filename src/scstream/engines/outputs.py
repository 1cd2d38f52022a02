"""What is read off the scores of rows: on the CPU, or where the scores are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from scstream.families.contract import Array
from scstream.support.threads import over_rows

_NO_CLUSTER = np.array([-1])


class Best:
    """The best component of each row (n,)."""

    def __call__(self, scores: Array) -> NDArray[np.int64]:
        """Return it for scores (n, k)."""
        best: NDArray[np.int64] = np.argmax(scores, axis=1)
        return best

    def on_device(self, scores: Any) -> Any:
        """Return the same for a tensor of scores."""
        return scores.argmax(dim=1)


class LogTotal:
    """The log of the sum over components (n,)."""

    def __call__(self, scores: Array) -> Array:
        """Return it for scores (n, k)."""
        total: Array = logsumexp(scores, axis=1)
        return total

    def on_device(self, scores: Any) -> Any:
        """Return the same for a tensor of scores."""
        return scores.logsumexp(dim=1)


@dataclass(frozen=True)
class Probabilities:
    """The probabilities (n, k) of the first k components."""

    k: int

    def __call__(self, scores: Array) -> Array:
        """Return them for scores (n, k or more)."""
        out: Array = np.exp(scores - logsumexp(scores, axis=1, keepdims=True))[:, : self.k]
        return out

    def on_device(self, scores: Any) -> Any:
        """Return the same for a tensor of scores."""
        return scores.softmax(dim=1)[:, : self.k]


def named_labels(
    ids: NDArray[np.int64], labels: NDArray[np.int64], n_threads: int = 1
) -> NDArray[np.int64]:
    """Return the ids (n,) of components; a label of -1 stays that."""
    names, out = np.concatenate((ids, _NO_CLUSTER)), np.empty(len(labels), np.int64)
    over_rows(lambda at: names.take(labels[at], out=out[at], mode="wrap"), len(labels), n_threads)
    return out
