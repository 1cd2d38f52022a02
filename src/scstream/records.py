"""What the estimator returns: clusters, groups, and what happened in a batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from scstream.families.contract import Array
from scstream.families.widening import Widening
from scstream.support.markup import html_table
from scstream.support.times import Moment, as_length
from scstream.support.words import in_number, in_shares

HISTORY = 1000  # batches of which a record is kept
_LISTED = 50  # columns of a cluster that are shown


@dataclass(frozen=True)
class Cluster:
    """A cluster as it stands after the last batch.

    The family's parameters are attributes too: ``mean`` and ``covariance`` of a Gaussian,
    ``probabilities`` of a multinomial.

    Attributes
    ----------
    id : int
        Its label, the same from batch to batch.
    weight : float
        Its share of the latest rows, by their labels: what the next row is expected to be.
    count : float
        The points that it remembers; older ones count less. A cluster that changes forgets most of
        them.
    age : float
        Time since its birth.
    born : float
        The time of its birth.
    parameters : dict
        The family's parameters in the user's units.
    columns : dict
        The same by column, in the data's order: for each one, by its name or number, what is
        known about it, such as ``cluster.columns["clicks"]["rate"]``.
    rows : float
        How many of the latest rows it labelled, from which ``weight`` is computed. The latest are
        about 1,000, older ones counting less, or all of the last batch if that has more.
    """

    id: int
    weight: float
    count: float
    age: float
    born: float
    parameters: dict[str, Array]
    columns: dict[Any, Any] = field(default_factory=dict)
    rows: float = 0.0

    def _repr_html_(self) -> str:
        """Return the cluster as a table for notebooks, a row for each column."""
        listed = list(self.columns.items())[:_LISTED]
        keys = list(dict.fromkeys(key for _, about in listed for key in about))
        if all([*about] == keys for _, about in listed):
            rows = [[str(name), *map(_shown, about.values())] for name, about in listed]
        else:  # columns of several kinds
            rows = [[str(name), _in_words(about)] for name, about in listed]
            keys = ["values"]
        left = len(self.columns) - _LISTED
        age = as_length(self.age) if isinstance(self.born, Moment) else f"{self.age:g}"
        title = f"Cluster {self.id}: {self.weight:.1%} of the latest rows, age {age}"
        note = f"{left} columns not shown" if left > 0 else ""
        return html_table(title, ["column", *keys], rows, note)

    def __getattr__(self, name: str) -> Any:
        # copy and pickle ask for attributes before there are any
        parameters = self.__dict__.get("parameters", {})
        if name in parameters:
            return parameters[name]
        raise AttributeError(f"a cluster has no attribute {name!r}")


def named(clusters: Sequence[Cluster], names: Mapping[Any, str]) -> list[Cluster]:
    """Return clusters whose columns go by these names in place of the model's."""
    return [
        replace(c, columns={names[key]: about for key, about in c.columns.items()})
        for c in clusters
    ]


def _shown(value: Any) -> str:
    """Return what is known of a column, in a cell."""
    if value is None:
        return ""
    return in_shares(value, most=5) if isinstance(value, dict) else in_number(float(value))


def _in_words(about: dict[str, Any]) -> str:
    """Return all that is known of a column, in one cell; categories need no word before them."""
    return ", ".join(
        _shown(value) if isinstance(value, dict) else f"{key} {_shown(value)}"
        for key, value in about.items()
    )


@dataclass(frozen=True)
class Group:
    """Clusters that are parts of one whole, as they stand after the last batch.

    Attributes
    ----------
    id : int
        The same from batch to batch; it stays with the heaviest members.
    members : tuple of int
        The ids of its clusters.
    weight : float
        Its share of the latest rows, by their labels.
    count : float
        The points that it remembers; older points count less.
    mean : ndarray (d,) or None
        The mean of its points; None if its clusters have no mean.
    """

    id: int
    members: tuple[int, ...]
    weight: float
    count: float
    mean: Array | None = field(default=None, compare=False)


@dataclass(frozen=True)
class BatchRecord:
    """What a batch did to the model.

    Attributes
    ----------
    batch : int
        Its number, from 0.
    time : float
    n_points : int
    n_clusters : int
    log_posterior : float
        Joint log density of the partition and the weighted data, without the base measure.
    births, deaths : tuple of int
        Ids that are new, and that are gone, since the batch before.
    splits : tuple of (int, int)
        The cluster that split and the new part.
    merges : tuple of (int, int)
        The cluster that survived and the one that is gone.
    returns : tuple of int
        Ids of clusters that had been forgotten, and came back.
    widened : tuple of Widening
        Columns that ``family="auto"`` treats as a wider kind from this batch on; and whether the
        model has begun anew, or got another prior.
    """

    batch: int
    time: float
    n_points: int
    n_clusters: int
    log_posterior: float
    births: tuple[int, ...]
    deaths: tuple[int, ...]
    splits: tuple[tuple[int, int], ...]
    merges: tuple[tuple[int, int], ...]
    returns: tuple[int, ...] = ()
    widened: tuple[Widening, ...] = ()
