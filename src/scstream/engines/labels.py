"""Labels of blocks of rows by any score: the score's form is matched once, for a whole pass."""

from __future__ import annotations

import numpy as np

from scstream import core
from scstream.families.contract import Array
from scstream.families.left_out import LeftOutScore, Members
from scstream.families.scores import Labels, Points, Products, Score, fast_scores, form_of

_LONG = 600  # statistics of which float32 would leave too much open
_NO_LABELS, _NONE = np.zeros(0, dtype=np.int64), np.zeros(0)


class Labeller:
    """Labels rows, whose statistics are dense or not, by a score.

    Attributes
    ----------
    fused : bool
        Whether scores and labels are found at once, by the core.
    """

    def __init__(self, score: Score, *, dense: bool) -> None:
        form = form_of(score)
        self._score, self._form = score, form if isinstance(form, Products) else None
        self.fused = False
        if isinstance(form, Products) and form.triangular is None and dense:
            self._by = form.parts
            self.fused = self._by.eta.shape[1] <= _LONG

    def draw(self, T: Points, u: Array, z: Labels, second: Labels, entropy: Array) -> None:
        """Draw labels (n,) by uniforms, or take the best if there are none.

        Also finds the best others and the entropies, unless these are empty.
        """
        if self.fused:
            core.label_rows(np.ascontiguousarray(T), self._by, u, z, second, entropy)
            return
        form = self._form
        scores = self._score.block(T) if form is None else fast_scores(form, T)
        core.label_scores(np.ascontiguousarray(scores), u, z, second, entropy)

    def best(self, T: Points, z: Labels, second: Labels, entropy: Array) -> None:
        """Take the best labels (n,), and find the best others and the entropies."""
        self.draw(T, _NONE, z, second, entropy)

    def best_alone(self, T: Points) -> Labels:
        """Return the best labels (n,), and mind nothing else."""
        z = np.empty(T.shape[0], dtype=np.int64)
        self.best(T, z, _NO_LABELS, _NONE)
        return z


def label_members(
    score: LeftOutScore, rows: Members, u: Array, second: Labels, entropy: Array
) -> None:
    """Label rows that are in clusters, whose labels become the new ones.

    A block is always to be cut at the same rows.
    """
    scores = np.ascontiguousarray(score.of_members(*rows))
    core.label_scores(scores, u, rows.z, second, entropy)
