"""``scstream predict``: label rows with a saved model, without learning from them."""

from __future__ import annotations

import argparse
from time import perf_counter
from typing import TYPE_CHECKING, Any

from scstream.cli.errors import UsageError
from scstream.cli.files import add_model_file, check_apart, reads_of
from scstream.cli.outputs import add_outputs, begin_outputs, level_asked, whole_outputs
from scstream.cli.source_options import add_source, source_options
from scstream.cli.values import add_command, add_quiet, whole
from scstream.support.messages import detail, note
from scstream.support.progress import Bar

if TYPE_CHECKING:
    from scstream.model import ScStream

_EPILOG = """\
examples:
  scstream predict clusters.scstream new.csv -o labels.csv
  scstream predict state new.jsonl --append -o labelled.jsonl    # a checkpoint folder of a run

Columns are found by the names that the model learned them by, in any order; other columns do not
matter. If the file calls them otherwise, or the model knows no names, --columns lists them in the
order in which the model learned them.
"""


def add_parser(subparsers: Any) -> None:
    """Add the command."""
    parser = add_command(
        subparsers,
        "predict",
        main,
        "Label rows with a saved model, without learning from them.",
        _EPILOG,
        many=True,
    )
    add_model_file(parser)
    add_source(parser, batches=False)
    parser.add_argument(
        "--batch-size", type=whole(1), default=10000, metavar="N", help="rows at once; results do "
        "not depend on it; default: 10000",
    )  # fmt: skip
    add_outputs(parser)
    parser.add_argument(
        "--json", dest="output_format", action="store_const", const="jsonl",
        help="write JSON lines, the same as --output-format jsonl",
    )  # fmt: skip
    add_quiet(parser)


def main(args: argparse.Namespace) -> int:
    """Run the command."""
    from scstream.groups.reading import renamed
    from scstream.pipeline import assess, find_checkpoint, learner_of, needed
    from scstream.sinks import Sink
    from scstream.sinks.journals import RejectJournal
    from scstream.sources import open_source

    kept = find_checkpoint(args.model)
    check_apart(
        {**reads_of(args), "the model": kept.path},
        {f"--{name}": getattr(args, name) for name in ("output", "rejects")},
    )
    model = kept.model
    learner = learner_of(model)
    if learner is None:
        raise ValueError(f"{args.model} holds a model that has learned nothing yet.")
    groups = model._grouped(level_asked(args)).group
    options = source_options(args, keep_rows=args.append, **_columns(args, model))
    rows, begun, start = 0, False, perf_counter()
    with (
        whole_outputs(args) as outputs,
        open_source(args.source, options) as source,
        Bar("", 1.0) as bar,
    ):
        source.require(needed(model.family_, model.n_features_in_))
        for batch in source:
            if batch.n:
                _check_width(batch.X.shape[1], model.n_features_in_)
                found = assess(model._fitted_to(learner, batch.X), batch.X)
            if not begun:
                begin_outputs(outputs)
                begun = True
            for output in outputs.values():
                if isinstance(output, Sink) and batch.n:
                    output.write(batch, found.found() | {"group": renamed(found.labels, groups)})
                elif isinstance(output, RejectJournal):
                    output.note(batch)
            rows += batch.n
            detail(f"{rows:,} rows after {perf_counter() - start:.3f} s")
            bar.show(source.share_before(batch.place), f"{rows:,} rows")
        if not begun:  # there was no row at all
            begin_outputs(outputs)
    note(f"{rows:,} rows, {perf_counter() - start:.1f} s")
    return 0


def _columns(args: argparse.Namespace, model: ScStream) -> dict[str, Any]:
    """Return how to find the columns that a model has learned from."""
    from scstream.families.columns import quoted

    names = getattr(model, "feature_names_in_", None)
    out = {
        "time_column": "none",
        "keep": True,
        "on_columns": None,
        "numeric": not model.family_.text,
    }
    if names is None:
        return out
    if missed := sorted(set(names) & set(args.exclude)):
        raise UsageError(
            f"--exclude: the model learned from {quoted(missed)} and cannot do without."
        )
    if args.columns is not None and not set(names) <= set(args.columns):
        return out  # the file calls them otherwise: they are taken in the order of the list
    kinds = dict.fromkeys(names.tolist(), "number")
    for block in model.family_.independent_blocks(model.n_features_in_):
        if block.family.text:
            kinds |= {names[j]: "text" for j in block.columns}
    return out | {"kinds": kinds, "columns": None}


def _check_width(width: int, learned: int) -> None:
    if width != learned:
        raise ValueError(
            f"The model learned from {learned} columns, but the table has {width}. Choose them "
            "with --columns or --exclude."
        )
