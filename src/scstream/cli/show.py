"""``scstream show``: what is in a checkpoint."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

import numpy as np

from scstream.cli.outputs import add_groups, level_asked
from scstream.cli.values import add_command
from scstream.records import Cluster
from scstream.summary.differences import differences
from scstream.summary.table import FIXED, group_rows, groups_of, headline, joined, summary_rows
from scstream.support.printable import padded, printable, printable_name, width_of
from scstream.support.times import as_date
from scstream.support.words import counted, in_number

if TYPE_CHECKING:
    from scstream.model import ScStream
    from scstream.pipeline.folder import Kept
    from scstream.pipeline.resume import RunState

_EPILOG = """\
examples:
  scstream show state                      # a checkpoint folder of a run
  scstream show clusters.scstream --json
"""
COARSER = "coarser or finer: --clusters N"
_SHOWN = ("share", "rows", "born", "age")
_WIDE = 6  # columns of which the location is shown in the table
_LARGEST = 100  # rows of matrices that JSON has whole: each of 1,000 rows takes 30 MB


def add_parser(subparsers: Any) -> None:
    """Add the command."""
    parser = add_command(
        subparsers,
        "show",
        main,
        "Show what is in a checkpoint: the clusters and their columns, the clock.",
        _EPILOG,
    )
    parser.add_argument(
        "checkpoint", help="a file, or the folder of a run: shows its newest valid checkpoint"
    )
    add_groups(parser)
    parser.add_argument(
        "--json",
        action="store_true",
        help="everything, as one JSON object; of matrices of more than 100 rows the diagonals",
    )


def main(args: argparse.Namespace) -> int:
    """Run the command."""
    from scstream.pipeline import find_checkpoint

    kept = find_checkpoint(args.checkpoint)
    level = level_asked(args)
    if level is not None:
        kept.model.set_params(group_level=level)
    if args.json:
        print(json.dumps(describe(kept), indent=2, allow_nan=False))
    else:
        print(printable(in_words(kept)))
    return 0


def describe(kept: Kept) -> dict[str, Any]:
    """Return all that there is to say of a checkpoint, in plain JSON."""
    model = kept.model
    out: dict[str, Any] = {
        "file": str(kept.path),
        "parameters": {k: _plain(v) for k, v in model.get_params(deep=False).items()},
        "n_batches": model.n_batches_,
    }
    if model.n_batches_:
        groups = groups_of(model)
        clusters, wholes = model._listed, model._wholes(groups)
        out |= {
            "time": model.time_,
            "family": model.family_.name,
            "columns": [str(name) for name in model._columns()],
            "dates": model.dates_,
            "prior": {str(k): _plain(v) for k, v in model.prior_.items()},
            "n_clusters": len(clusters),
            "n_groups": len(wholes),
            "clusters": [
                {**_about(c, said), "group": groups[c.id], "born": c.born, "age": c.age}
                | {"parameters": {k: _plain(v) for k, v in c.parameters.items()}}
                for c, said in zip(clusters, differences(clusters), strict=True)
            ],
            "groups": [
                {**_about(g, said), "clusters": [i for i in groups if groups[i] == g.id]}
                for g, said in zip(wholes, differences(wholes), strict=True)
            ],
        }
    return out | {"run": _plain(kept.extra)}


def _about(cluster: Cluster, different: str) -> dict[str, Any]:
    """Return what there is to say of a cluster or a group, in plain JSON."""
    return {
        "id": cluster.id,
        "weight": cluster.weight,
        "rows": cluster.rows,
        "count": cluster.count,
        "different": different,
        "columns": {str(k): _plain(v) for k, v in cluster.columns.items()},
    }


def in_words(kept: Kept) -> str:
    """Return a checkpoint as a page of text."""
    model = kept.model
    lines = [f"checkpoint  {kept.path}"]
    if not model.n_batches_:
        return "\n".join([*lines, "model       has learned nothing yet"])
    run = _run_of(kept)
    lines += [
        f"family      {model.family_.name}, {model.n_features_in_} columns",
        f"clock       {counted(model.n_batches_, 'batch', 'batches')}{_when(model, model.time_)}",
        f"forgetting  {_forgetting(model)}",
    ]
    if run is not None:
        totals = run.totals
        lines.append(
            f"run         {totals.rows:,} rows, {totals.rejected:,} rejected; "
            f"{counted(totals.births, 'birth')}, {counted(totals.deaths, 'death')}, "
            f"{counted(totals.splits, 'split')}, {counted(totals.merges, 'merge')}, "
            f"{counted(totals.returns, 'return')}"
        )
    lines += [
        f"clusters    {headline(model)}; shares are of the latest {model._latest:,.0f} rows",
        *[f"            {COARSER}"] * (len(model._listed) > 1),
        "",
        _table(model),
    ]
    return "\n".join(lines)


def _when(model: ScStream, time: float) -> str:
    """Return what to say of a clock, nothing of one that counts batches."""
    if _counts_batches(model):
        return ""
    return f", time {as_date(time) if model.dates_ else in_number(time, 6)}"


def _run_of(kept: Kept) -> RunState | None:
    """Return what a run saved with the model, None if the model was saved otherwise."""
    from scstream.checkpoint import CheckpointError
    from scstream.pipeline.resume import RunState

    try:
        return RunState.of(kept.extra, kept.path)
    except CheckpointError:
        return None


def _forgetting(model: ScStream) -> str:
    if model.kernel is not None:
        return "by a kernel"
    if model.half_life is None:
        return "never"
    given = model.half_life
    return f"half-life {given}" if isinstance(given, str) else f"half-life {given:g}"


def _table(model: ScStream) -> str:
    """Return the clusters, the largest first, with their columns and what is different.

    Where some are parts of one whole, each group is a line above those of its clusters.
    """
    rows = summary_rows(model, text=True)
    known = [name for name in rows[0] if name not in FIXED]
    shown = known[:_WIDE]
    fixed = [name for name in _SHOWN if name in rows[0]]
    units = {"age": "age, batches"} if _counts_batches(model) else {}
    first, grouped = ["id"], joined(groups_of(model))
    lines = [([str(row["id"])], row) for row in rows]
    if grouped:
        first, lines = ["group", "cluster"], _unfolded(rows, group_rows(model, text=True))
    cells = [[*first, *(units.get(n, n) for n in fixed), *map(printable_name, shown)]]
    cells[0] += ["what is different"]
    for before, row in lines:
        told = row | {"share": f"{row['share']:.1%}", "rows": f"{row['rows']:,.0f}"}
        cells.append([*before, *(_cell(told[n]) for n in [*fixed, *shown]), row["different"]])
    width = [max(width_of(row[j]) for row in cells) for j in range(len(cells[0]) - 1)]
    out = [
        "  ".join(padded(v, w, right=True) for v, w in zip(r, width, strict=False)) + f"  {r[-1]}"
        for r in cells
    ]
    if len(known) > _WIDE:
        out.append(f"{counted(len(known) - _WIDE, 'more column')}: --json has them all")
    return "\n".join(out)


def _unfolded(
    rows: list[dict[str, Any]], groups: list[dict[str, Any]]
) -> list[tuple[list[str], dict[str, Any]]]:
    """Return the groups, and below each of several clusters these, with the first two cells."""
    by_id = {row["id"]: row for row in rows}
    lines: list[tuple[list[str], dict[str, Any]]] = []
    for group in groups:
        own = group["clusters"]
        many = len(own) > 1
        lines.append(([str(group["id"]), f"{len(own)} clusters" if many else str(own[0])], group))
        lines += [(["", str(i)], by_id[i]) for i in own if many]
    return lines


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return in_number(value, 4) if isinstance(value, float) else printable_name(value)


def _counts_batches(model: ScStream) -> bool:
    """Whether the clock counts batches."""
    return not model.dates_ and model.time_ == model.n_batches_ - 1


def _plain(value: Any) -> Any:
    """Return a value as plain JSON."""
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, np.ndarray):
        if value.ndim == 2 and value.shape[0] == value.shape[1] > _LARGEST:
            return {"shape": list(value.shape), "diagonal": _plain(value.diagonal())}
        return _plain(value.tolist())
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool | None) else repr(value)
