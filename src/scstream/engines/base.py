"""The contract of an engine: where a batch's points live and what passes over them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from scstream.engines.chunks import Part, Values
from scstream.engines.outputs import Best, named_labels
from scstream.families.contract import Array, Family
from scstream.families.scale_mixture import LocationScale
from scstream.families.scores import Labels, Points, Score
from scstream.support.frozen import frozen


@frozen
class Key:
    """What a random choice about a row is keyed by, together with the row itself."""

    seed: int
    batch: int
    sweep: int


@frozen
class Sums:
    """What a sweep returns about its k clusters.

    Attributes
    ----------
    current : ndarray (k, 2, p)
        Weighted sums of the points' statistics by label and sub-label.
    rows : ndarray (k, 2)
        Numbers of points by label and sub-label, whatever their weights.
    rivals : ndarray (k, k)
        How many points of each cluster have each other cluster as second choice.
    entropy : ndarray (k, k)
        Minus the log-probability of the labels: off the diagonal, summed over the points of
        either cluster whose second choice is the other; on it, that of the sub-labels.
    """

    current: Array
    rows: NDArray[np.int64]
    rivals: NDArray[np.int64]
    entropy: Array

    @staticmethod
    def nothing(k: int, p: int) -> Sums:
        """Return the sums over no points."""
        return Sums(
            np.zeros((k, 2, p)),
            np.zeros((k, 2), dtype=np.int64),
            np.zeros((k, k), dtype=np.int64),
            np.zeros((k, k)),
        )


@frozen
class FewRows:
    """The rows of a small batch, as the engine holds them.

    Attributes
    ----------
    weight : ndarray (n,)
    labels, sublabels : ndarray (n,)
        To be written.
    """

    weight: Array
    labels: Labels
    sublabels: Labels


class EngineLost(RuntimeError):
    """Part of an engine is gone in mid batch. Loading the batch again may find it mended."""


class RemoteRows(ABC):
    """A batch whose rows are elsewhere, for engines that go there. The weights are with them.

    Attributes
    ----------
    shape : tuple of int
        Rows and columns.
    """

    shape: tuple[int, int]

    @abstractmethod
    def order(self, rows: NDArray[np.int64] | slice) -> Callable[[], tuple[Points, Array]]:
        """Ask for the given rows, in ascending order, and their weights; a slice means all.

        Returns what fetches them, whatever happens meanwhile.
        """

    def take(self, rows: NDArray[np.int64] | slice) -> tuple[Points, Array]:
        """Fetch the given rows and their weights."""
        return self.order(rows)()

    @abstractmethod
    def release(self) -> None:
        """Let go of the rows that an engine has loaded: asked for again, they are read again."""

    @abstractmethod
    def here(self, values: Any) -> Any:
        """Fetch an array that is where the rows are; one that is here stays as it is."""

    @abstractmethod
    def after(self, rows: Points, weight: Array) -> RemoteRows:
        """Return the same batch with some local rows, and their weights, put before it."""

    @abstractmethod
    def weighed(self, weight: Any, check: Callable[[Any], Array]) -> RemoteRows:
        """Return the rows with weights (n,), local ones or elsewhere, checked where rows are."""

    @abstractmethod
    def unrounded(self, family: Family, batch: int) -> RemoteRows:
        """Return the rows with coarse numbers at places within their cells, see the family's."""

    @abstractmethod
    def narrowed(self, family: Family) -> RemoteRows:
        """Return the rows by the coordinates in which the family computes, see the family's."""

    def fetch(self) -> tuple[Points, Array]:
        """Fetch everything, rows and weights: for batches of a few rows."""
        return self.take(slice(None))


class Engine(ABC):
    """Holds one batch and its labels. The sampler above never sees a point.

    Labels are positions of clusters, 0 to k - 1, and -1 for points that no cluster takes.

    An engine may hold a part of a batch only, as one of several workers does. It is then told
    where the part begins, and the methods whose names end in ``parts`` return sums that are
    added up with those of the others, see `scstream.engines.chunks`.
    """

    takes_tensors: ClassVar[bool] = False  # whether `load` takes PyTorch tensors where they are
    takes_collections: ClassVar[bool] = False  # whether it has `read`, for Dask collections
    n_threads: int = 1  # of this machine that it may take

    def few_rows(self) -> FewRows | None:
        """Return at most 4,096 rows for moves of one after another, None where they are elsewhere.

        Nor if some have gaps: their statistics depend on their labels.
        """
        return None

    def read(self, X: Any, check: Callable[[Any], Points]) -> RemoteRows:
        """Return the rows of a Dask collection, checked where they are, if it takes such."""
        raise NotImplementedError(f"{type(self).__name__} does not take Dask collections.")

    def sent(self, X: NDArray[Any]) -> Any:
        """Return the rows of an array where this engine likes to have them: here, as they are."""
        return X

    @abstractmethod
    def load(
        self, family: Family, X: Points, weight: Array, first_row: int = 0, of: int | None = None
    ) -> None:
        """Take a batch and its row weights (n,); every label is -1 until a sweep.

        Draws are keyed by the number of the row, which is ``first_row`` for the first: where
        a chunk begins of a batch that has rows ``of`` which others hold the rest.
        """

    @abstractmethod
    def sweep(self, score: Score, sub: Score, k: int, key: Key | None) -> Sums:
        """Label every point by ``score`` and, within its cluster, by its pair of ``sub``.

        With a key labels and sub-labels are drawn. Without one they are the best, a point counts in
        both sub-clusters by their probabilities, and the entropy about its sub-label is the entropy
        of these. ``score`` may have a component more than the k clusters: the points it takes get
        the label -1.
        """

    @abstractmethod
    def resplit(self, sub: Score, chosen: NDArray[np.bool_]) -> tuple[Array, Array]:
        """Try the better sub-label of ``sub`` for every point of the chosen clusters.

        Returns the sums (k, 2, p) that would result and the entropies (k,), zero for clusters not
        chosen. The points keep their sub-labels until `adopt`.
        """

    def refine(
        self, sub: Score, chosen: NDArray[np.bool_], family: Family, alpha: float, rounds: int
    ) -> tuple[Array, Array]:
        """Do as `resplit` does, then, some rounds, again by the predictives of what resulted."""
        before, (current, entropy) = None, self.resplit(sub, chosen)
        for _ in range(rounds):
            if before is not None and _equal(current, before):
                break  # every round from here on is as the one before
            log_sub = np.log(current[..., 0] + 0.5 * alpha)
            by = family.predictive_score(current.reshape(2 * len(chosen), -1), log_sub.ravel())
            before = current
            current, entropy = self.resplit(by, chosen)
        return current, entropy

    @abstractmethod
    def adopt(self, chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Keep the sub-labels last tried for the chosen clusters; returns rows (k, 2)."""

    @abstractmethod
    def relabel(self, label: Labels, sublabel: Labels) -> None:
        """Rename pairs of label and sub-label by the tables (k, 2) each."""

    @abstractmethod
    def start(self, labels: Labels) -> None:
        """Set the labels; every sub-label becomes 0."""

    def has_gaps(self) -> bool:
        """Whether some rows have missing entries that the family completes."""
        return False

    def complete(self, score: Score) -> None:
        """Complete the statistics of such rows by the components of their labels: the expected."""
        return

    def by_groups(self, on: bool) -> None:
        """Let deterministic sweeps complete each such row by any group that it may be in, or not.

        So it is while groups of rows are merged to clusters, see `scstream.engines.gaps`.
        """
        return

    def gap_sums(self, k: int, score: Score | None = None) -> Array:
        """Return the sums (k, p) by label of such rows, as they were last completed.

        With a score they are those expected under the components of their labels, and a row counts
        by the share of its statistics that is observed. The statistics stay as they are.
        """
        raise NotImplementedError(f"{type(self).__name__} does not complete rows.")

    def joined(self, pairs: Labels, places: LocationScale) -> Array:
        """Return the sums (m, 2, p) of pairs (m, 2) of clusters, weighted by a place for each pair.

        For families whose rows have weights, see `scstream.families.scale_mixture`.
        """
        raise NotImplementedError(f"{type(self).__name__} has no weights of rows.")

    @abstractmethod
    def members(self, k: int, key: Key) -> Array:
        """Return the statistics (k, p) of one random point of each cluster, 0 if it has none."""

    @abstractmethod
    def sample(self, rng: np.random.Generator, size: int) -> Points:
        """Return at most ``size`` rows of the batch, drawn without replacement."""

    @property
    @abstractmethod
    def labels(self) -> Labels:
        """The labels (n,)."""

    @property
    @abstractmethod
    def sublabels(self) -> Labels:
        """The sub-labels (n,)."""

    @property
    def n_rows(self) -> int:
        """The number of rows of the batch."""
        return len(self.labels)

    def keep_labels(self) -> None:
        """Remember the labels as they are."""
        self._kept = self.labels.copy()

    def labels_changed(self) -> int:
        """Return how many labels are not those last kept."""
        return int(np.count_nonzero(self._kept != self.labels))

    def restore_labels(self) -> None:
        """Set the labels to those last kept; every sub-label becomes 0."""
        self.start(self._kept)

    def first_labels(self, n: int) -> Labels:
        """Return the labels of the first n rows."""
        return self.labels[:n]

    def named_labels(self, ids: Labels, skip: int) -> tuple[Any, Any]:
        """Return what the user gets: each row's id of ``ids`` (k,), or -1, and its sub-label.

        The first ``skip`` rows are left out. Where the rows came from elsewhere the labels may
        stay there.
        """
        return named_labels(ids, self.labels[skip:]), self.sublabels[skip:].copy()

    def bring_labels(self, ids: Labels, skip: int) -> Callable[[], tuple[Any, Any]]:
        """Start to bring what `named_labels` returns; returns what waits for it and gives it.

        The labels are those of now, whatever happens to them meanwhile.
        """
        labels = self.named_labels(ids, skip)
        return lambda: labels

    def sweep_parts(self, score: Score, sub: Score, k: int, key: Key | None) -> list[Part]:
        """Do as `sweep` does, and return sums that `finished_sweep` makes `Sums` of."""
        sums = self.sweep(score, sub, k, key)
        return [Part(0, 0, (sums.current, sums.rows, sums.rivals, np.triu(sums.entropy)))]

    def resplit_parts(self, sub: Score, chosen: NDArray[np.bool_]) -> list[Part]:
        """Do as `resplit` does, and return sums whose total is what that returns."""
        return [Part(0, 0, self.resplit(sub, chosen))]

    def assign(self, family: Family, X: Points, score: Score) -> Labels:
        """Return the best component (n,) of other rows."""
        return self.evaluate(family, X, score, Best())

    @abstractmethod
    def evaluate(
        self, family: Family, X: Points, score: Score, what: Callable[[Array], Any]
    ) -> NDArray[Any]:
        """Apply ``what`` to the scores of other rows, block by block, and join the results."""


def _equal(current: Array, before: Array) -> bool:
    """Whether sums (k, 2, p) are the same: mostly counts already tell that they are not."""
    counts = np.array_equal(current[..., 0], before[..., 0])
    return counts and np.array_equal(current, before)


def finished_sweep(values: Values) -> Sums:
    """Return the totals of a sweep, whose entropies are still those of the one side, as `Sums`."""
    current, rows, rivals, entropy = values
    own = entropy.diagonal()
    entropy = entropy + entropy.T
    np.fill_diagonal(entropy, own)
    return Sums(current, rows, rivals, entropy)
