"""A row for each cluster: what it is, how large, and what its columns are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from scstream.records import named
from scstream.summary.differences import column_name, differences, location, shares
from scstream.support.arithmetic import numpy_defaults
from scstream.support.times import as_date, as_length
from scstream.support.words import in_shares

if TYPE_CHECKING:
    from scstream.model import ScStream

FIXED = ("id", "group", "share", "rows", "born", "age", "speed", "different")


def summary_rows(model: ScStream, names: Mapping[Any, str] | None = None) -> list[dict[str, Any]]:
    """Return a row for each cluster, the largest first.

    The keys are `FIXED`, and then the columns by name. A column of numbers has its mean, rate or
    probability, one of words its likeliest categories. The group is included if the model was
    asked for groups, or if some clusters are parts of one whole. ``names`` are those of columns,
    by what the model calls them.
    """
    clusters = model.clusters_ if names is None else named(model.clusters_, names)
    words = differences(clusters)
    speeds = {event.cluster: event.speed for event in model.events_ if event.kind == "drift"}
    groups = groups_of(model)
    rows = [
        {
            "id": cluster.id,
            **({"group": groups[cluster.id]} if groups else {}),
            "share": cluster.weight,
            "rows": cluster.count,
            "born": as_date(cluster.born) if model.dates_ else cluster.born,
            "age": as_length(cluster.age) if model.dates_ else cluster.age,
            "speed": speeds.get(cluster.id),
            "different": said,
            **{_key(name): _cell(about) for name, about in cluster.columns.items()},
        }
        for cluster, said in zip(clusters, words, strict=True)
    ]
    return sorted(rows, key=lambda row: -row["share"])


@numpy_defaults
def groups_of(model: ScStream) -> dict[int, int]:
    """Return the group of each cluster; nothing where every cluster is a group of its own."""
    found = model._groups_kept().preview(model._learner, model._rules, model._level).group
    joined = len(set(found.values())) < len(found)
    return dict(found) if joined or model.group_level is not None else {}


def _key(name: Any) -> str:
    """Return what a column is called, so that it hides none of the fixed ones."""
    text = column_name(name)
    return f"{text} (column)" if text in FIXED else text


def _cell(about: Any) -> Any:
    words = shares(about)
    return in_shares(words) if words is not None else location(about)


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
