"""``scstream fit``: cluster one data set as a whole and save the model."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from scstream.cli.files import check_apart, reads_of
from scstream.cli.model_options import add_model, make_model
from scstream.cli.outputs import add_outputs, begin_outputs, whole_outputs
from scstream.cli.progress import advice, found
from scstream.cli.source_options import add_source, source_options
from scstream.cli.values import add_command, add_quiet
from scstream.support.messages import note
from scstream.support.paths import check_file

if TYPE_CHECKING:
    from scstream.model import ScStream
    from scstream.sinks import Output
    from scstream.sources.base import Batch
    from scstream.sources.options import SourceOptions

_EPILOG = """\
examples:
  scstream fit data.csv --model clusters.scstream -o labels.csv
  scstream fit table.parquet --family 'gaussian=x,y;categorical=colour' --model m.scstream -o none
  scstream predict clusters.scstream new.csv -o labels.csv

The data set must fit into memory; for one that does not, or that drifts, there is scstream run.
Labels are numbered from 0, the largest cluster first. The fitted model gives probability and
score (the log density: high is normal).
"""


def add_parser(subparsers: Any) -> None:
    """Add the command."""
    parser = add_command(
        subparsers,
        "fit",
        main,
        "Cluster one data set as a whole (batch mode, no stream).",
        _EPILOG,
        many=True,
    )
    add_source(parser, batches=False)
    add_outputs(parser)
    parser.add_argument("--model", metavar="FILE", help="save the model to this file")
    add_quiet(parser)
    add_model(parser)


def main(args: argparse.Namespace) -> int:
    """Run the command."""
    written = {f"--{name}": getattr(args, name) for name in ("output", "rejects", "model")}
    check_apart(reads_of(args), written)
    options = source_options(
        args, batch_size=sys.maxsize, keep_rows=args.append, time_column="none"
    )
    model = make_model(args)
    start = perf_counter()
    with whole_outputs(args) as outputs:
        if args.model is not None:
            check_file(args.model, overwrite=args.overwrite)
        batch = _fit(args, options, model)
        begin_outputs(outputs)
        _write(model, batch, outputs)
        if args.model is not None:
            Path(args.model).parent.mkdir(parents=True, exist_ok=True)
            model.save(args.model)
    seconds = perf_counter() - start
    note(
        f"{batch.n:,} rows, {found(model)}, {seconds:.1f} s"
        + (f"; {len(batch.rejects):,} rows rejected" if batch.rejects else "")
    )
    for line in advice(model):
        note(line)
    return 0


def _fit(args: argparse.Namespace, options: SourceOptions, model: ScStream) -> Batch:
    """Read all rows, fit the model and return them."""
    from scstream.sources import open_source

    with open_source(args.source, options) as source:
        batch = next(iter(source), None)
    if batch is None or batch.n == 0:
        raise ValueError(f"{' '.join(args.source)} has no rows to learn from.")
    model.fit(batch.X)
    return batch


def _write(model: ScStream, batch: Batch, outputs: dict[str, Output]) -> None:
    from scstream.groups.reading import renamed
    from scstream.pipeline import assess, learner_of
    from scstream.sinks import Sink
    from scstream.sinks.journals import RejectJournal

    learner = learner_of(model)
    assert learner is not None
    found = assess(learner, batch.X, model.labels_).found()
    found |= {"label": model.labels_, "group": renamed(model.labels_, model._grouped().group)}
    for output in outputs.values():
        if isinstance(output, Sink):
            output.write(batch, found)
        elif isinstance(output, RejectJournal):
            output.note(batch)
