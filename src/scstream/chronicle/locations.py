"""Where clusters are, how far they spread and how fast they move, whatever their family."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from scstream.chronicle.moment import Floats
from scstream.events import Sight, speeds_of
from scstream.plot.projection import Projection, bend
from scstream.summary.differences import differences, location_key
from scstream.support.arithmetic import numpy_defaults

if TYPE_CHECKING:
    from scstream.model import ScStream
    from scstream.records import Cluster

_BENT = ("median", "low", "high")
_LIKELIEST = 3  # categories of a column that are kept
_MOST_COLUMNS = 32  # columns of words that are kept
_SAID = 60  # clusters of which it is said what makes them different, the largest,
_LONG = 240  # in so many characters at most


@dataclass(frozen=True)
class Spreads:
    """How far k clusters spread in the columns of their locations.

    Attributes
    ----------
    values : ndarray (k, d, d) or (k, d)
        Covariances; or variances, where columns are independent: there may be thousands.
    """

    values: Floats

    @property
    def variances(self) -> Floats:
        """The variances of the columns, (k, d)."""
        return np.diagonal(self.values, axis1=1, axis2=2) if self.values.ndim == 3 else self.values

    def select(self, columns: Sequence[int]) -> Spreads:
        """Return those of some columns, in this order."""
        if self.values.ndim == 2:
            return Spreads(self.values[:, columns])
        return Spreads(self.values[:, columns][:, :, columns])

    def seen(self, view: Projection, low: Floats, high: Floats) -> Floats:
        """Return the covariances (k, 2, 2) as they are drawn, of columns (k, d) with these ends."""
        if not np.isnan(view.unit).all():
            return view.variances(self.bent(view.unit, low, high))
        return (view.covariances if self.values.ndim == 3 else view.variances)(self.values)

    def bent(self, unit: Floats, low: Floats, high: Floats) -> Floats:
        """Return the variances where columns with a unit go by their logarithms."""
        half = 0.5 * (bend(high, unit) - bend(low, unit))
        return np.where(np.isnan(unit), self.variances, half**2)


def locations(
    records: Sequence[Any], order: Sequence[Any]
) -> tuple[list[Any], Floats | None, Spreads | None]:
    """Return columns' names or numbers, locations (k, d) and spreads of k clusters.

    A column's location is its median, mean, rate or probability. Columns of words have none. There
    are no spreads if those of some column are not known. Covariances are of the columns in the
    family's ``order``, see `family_order`.
    """
    if not records:
        return [], None, None
    keys = {name: location_key(about) for name, about in records[0].columns.items()}
    keys = {name: key for name, key in keys.items() if key}
    if not keys:
        return [], None, None
    means = _columns(records, keys)
    names = list(keys)
    covariance: Any = getattr(records[0], "covariance", None)
    if np.shape(covariance) == (len(keys), len(keys)):
        known = [name for name in order if name in keys]
        turn = [known.index(name) for name in names]
        covariances = np.array([record.covariance for record in records], float)
        return names, means, Spreads(covariances).select(turn)
    if all("variance" in records[0].columns[name] for name in keys):
        return names, means, Spreads(_columns(records, dict.fromkeys(keys, "variance")))
    low, high = ranges(records, names)
    variances = (0.5 * (high - low)) ** 2
    return names, means, None if np.isnan(variances).any() else Spreads(variances)


def first_view(
    records: Sequence[Cluster], names: Sequence[Any], means: Floats, spreads: Spreads | None
) -> Projection:
    """Return the view in which clusters with these locations lie furthest apart.

    Columns with a median go by their logarithms, see `Projection`: the unit is a hundredth of the
    least size among medians and ends of ranges.
    """
    unit = np.full(len(names), np.nan)
    for j, name in enumerate(names):
        if location_key(records[0].columns[name]) == "median":
            sizes = [r.columns[name].get(key, 0.0) for r in records for key in _BENT]
            unit[j] = 0.01 * min((abs(x) for x in sizes if x), default=np.nan)
    within = None if spreads is None else spreads.bent(unit, *ranges(records, names))
    weights = [record.weight for record in records]
    return Projection.between(means, within, weights, names, unit)


def ranges(records: Sequence[Any], names: Sequence[Any]) -> tuple[Floats, Floats]:
    """Return where most values of columns begin and end (k, d), NaN where that is not known."""
    low, high = (
        np.array([[r.columns[name].get(end, np.nan) for name in names] for r in records])
        for end in ("low", "high")
    )
    return low, high


def family_order(model: ScStream) -> list[Any]:
    """Return the columns' names or numbers in the order in which the family has them."""
    names = model._columns()
    return [
        names[j] for block in model.family_.independent_blocks(len(names)) for j in block.columns
    ]


@numpy_defaults
def speeds(model: ScStream, ids: Sequence[int]) -> Floats | None:
    """Return the clusters' speeds (k,) in the last batch, None if there are none."""
    if model._before is None:
        return None
    found = speeds_of(model._before, Sight.of(model._learner), model.n_features_in_)
    return np.array([found.get(i) for i in ids], dtype=float) if found else None


def _columns(records: Sequence[Any], keys: dict[Any, str]) -> Floats:
    """Return one number of each column, by its key, for each cluster: (k, d)."""
    return np.array([[r.columns[name][key] for name, key in keys.items()] for r in records])


def words_of(records: Sequence[Any]) -> tuple[dict[str, dict[str, float]], ...]:
    """Return the likeliest categories of each cluster; nothing where no column holds words."""
    if not records or not any(_has_words(about) for about in records[0].columns.values()):
        return ()
    return tuple(likely_words(record.columns) for record in records)


def said_of(records: Sequence[Cluster]) -> tuple[str, ...]:
    """Return what makes each cluster different in words, nothing of the smallest of very many."""
    largest = sorted(range(len(records)), key=lambda i: -records[i].weight)[:_SAID]
    said = dict(zip(largest, differences([records[i] for i in largest]), strict=True))
    return tuple(said.get(i, "")[:_LONG] for i in range(len(records)))


def _has_words(about: Any) -> bool:
    return isinstance(about, dict) and isinstance(about.get("probabilities"), dict)


def likely_words(columns: Mapping[Any, Any]) -> dict[str, dict[str, float]]:
    """Return the likeliest categories of a cluster's columns of words, with their shares.

    Examples
    --------
    >>> likely_words({"colour": {"probabilities": {"red": 0.9, "blue": 0.1}}, "x": {"mean": 1.0}})
    {'colour': {'red': 0.9, 'blue': 0.1}}
    """
    out = {}
    for name, about in columns.items():
        if _has_words(about):
            top = sorted(about["probabilities"].items(), key=lambda pair: -pair[1])[:_LIKELIEST]
            out[str(name)] = {str(word): round(float(share), 4) for word, share in top}
    return dict(list(out.items())[:_MOST_COLUMNS])
