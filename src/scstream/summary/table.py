"""A row for each cluster: what it is, how large, and what its columns are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from scstream.records import Cluster
from scstream.summary.differences import (
    column_name,
    differences,
    location,
    location_key,
    shares,
)
from scstream.support.arithmetic import numpy_defaults
from scstream.support.times import as_date, as_length
from scstream.support.words import counted, in_number, in_shares

if TYPE_CHECKING:
    from scstream.model import ScStream

FIXED = ("id", "group", "share", "rows", "born", "age", "speed", "different")
_COMMON = 0.05  # a share of rows with the same value that is worth a word


def summary_rows(model: ScStream, *, text: bool = False) -> list[dict[str, Any]]:
    """Return a row for each cluster that labels rows, the largest first.

    The keys are `FIXED`, and then the columns by name. A column of numbers has its median, mean,
    rate or probability, one of words its likeliest categories; all in words where ``text`` is
    asked for. Times come with the second batch: ``born``, ``age`` and ``speed``. The group is
    included if some clusters are parts of one whole, or the model was asked for groups.
    """
    groups = groups_of(model)
    speeds = {event.cluster: event.speed for event in model.events_ if event.kind == "drift"}
    rows = _rows(model, model._listed, speeds, text=text)
    if not joined(groups) and model.group_level is None:
        return rows
    return [{"id": row["id"], "group": groups[row["id"]], **row} for row in rows]


def group_rows(model: ScStream, *, text: bool = False) -> list[dict[str, Any]]:
    """Return the same row for each group, and its ``clusters``: the largest first in both."""
    groups = groups_of(model)
    size = {cluster.id: cluster.weight for cluster in model._listed}
    largest = sorted(groups, key=lambda i: -size[i])
    return [
        {**row, "clusters": [i for i in largest if groups[i] == row["id"]]}
        for row in _rows(model, model._wholes(groups), {}, text=text)
    ]


def _rows(
    model: ScStream, clusters: list[Cluster], speeds: Mapping[Any, Any], *, text: bool
) -> list[dict[str, Any]]:
    """Return a row for each of some clusters or groups, the largest first."""
    rows = [
        {
            "id": cluster.id,
            "share": cluster.weight,
            "rows": cluster.rows,
            **(_times(model, cluster, speeds) if model.n_batches_ > 1 else {}),
            "different": said,
            **{
                _key(name): (in_words if text else _cell)(about)
                for name, about in cluster.columns.items()
            },
        }
        for cluster, said in zip(clusters, differences(clusters), strict=True)
    ]
    return sorted(rows, key=lambda row: -row["share"])


def headline(model: ScStream) -> str:
    """Return how many clusters label rows, in how many groups, and how many others there are."""
    groups = groups_of(model)
    within = f" in {counted(len(set(groups.values())), 'group')}" if joined(groups) else ""
    more = model.n_clusters_ - len(groups)
    rest = f" ({more} more without recent rows)" if more else ""
    return f"{counted(len(groups), 'cluster')}{rest}{within}"


@numpy_defaults
def groups_of(model: ScStream) -> dict[int, int]:
    """Return the group of each cluster that labels rows."""
    found = model._groups_kept().preview(model._fitted(), model._rules, model._level).group
    learner = model._learner
    return {i: found[i] for i in learner.state.ids[learner.labelling].tolist()}


def joined(groups: Mapping[int, int]) -> bool:
    """Whether some clusters are parts of one whole."""
    return len(set(groups.values())) < len(groups)


def _key(name: Any) -> str:
    """Return what a column is called, so that it hides none of the fixed ones."""
    text = column_name(name)
    return f"{text} (column)" if text in FIXED else text


def _times(model: ScStream, cluster: Cluster, speeds: Mapping[Any, Any]) -> dict[str, Any]:
    """Return when a cluster was born, how old it is and how fast it moves."""
    dates = model.dates_
    return {
        "born": as_date(cluster.born) if dates else cluster.born,
        "age": as_length(cluster.age) if dates else cluster.age,
        "speed": speeds.get(cluster.id),
    }


def _cell(about: Any) -> Any:
    words = shares(about)
    return in_shares(words) if words is not None else location(about)


def in_words(about: Any) -> str:
    """Return what a column is in a cluster, as people write it."""
    words, place = shares(about), location(about)
    if words is not None or place is None:
        return in_shares(words or {})
    if location_key(about) in ("probability", "probabilities"):
        return f"{place:.0%}" if 0.01 <= place <= 0.99 else f"{in_number(100.0 * place)}%"
    share = about.get("common_share", 0.0)
    if share >= _COMMON:
        others = {key[6:]: value for key, value in about.items() if key.startswith("other_")}
        value = in_number(about["common_value"])
        rest = f", else {in_number(location(others) or 0.0, 4)}" * (share <= 1.0 - _COMMON)
        return f"{value} in {share:.0%}{rest}"
    return in_number(place, 4)


def summary_frame(model: ScStream) -> Any:
    """Return the rows as a pandas data frame, or a polars one if pandas is not installed."""
    rows = summary_rows(model)
    try:
        import pandas as pd
    except ImportError:
        pass
    else:
        return pd.DataFrame(rows).set_index("id")
    try:
        import polars as pl
    except ImportError:
        raise ImportError(
            "summary() returns a data frame, which needs pandas or polars: pip install pandas"
        ) from None
    return pl.DataFrame(rows)
