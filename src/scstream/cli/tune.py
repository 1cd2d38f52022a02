"""``scstream tune``: settings that suit the first batches of a stream (``scstream[tune]``)."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np

from scstream.cli.errors import UsageError
from scstream.cli.model_options import add_model, make_model
from scstream.cli.source_options import add_source, source_options
from scstream.cli.values import add_command, add_quiet, real, whole
from scstream.support.printable import printable

_EPILOG = """\
examples:
  scstream tune data.csv
  scstream tune data.csv --truth class --n-trials 60 --json

Settings are tried on the first batches. With --truth the score is the mean ARI of predictions
made before each batch is learned; without it, how well the model predicts the stream (mean log
density). The search starts from the options given for the model.
"""


def add_parser(subparsers: Any) -> None:
    """Add the command."""
    parser = add_command(
        subparsers,
        "tune",
        main,
        "Find settings that suit the first batches of a stream.",
        _EPILOG,
        many=True,
    )
    add_source(parser)
    group = parser.add_argument_group("the search")
    group.add_argument("--truth", metavar="COLUMN", help="the column with true labels, if any")
    group.add_argument("--n-batches", type=whole(2), default=10, metavar="N", help="default: 10")
    group.add_argument("--n-trials", type=whole(1), default=30, metavar="N", help="default: 30")
    group.add_argument(
        "--timeout", type=real, metavar="S", help="start no trial after this many seconds"
    )
    group.add_argument("--json", action="store_true", help="the result as one JSON object")
    add_quiet(group)
    add_model(parser)


def main(args: argparse.Namespace) -> int:
    """Run the command."""
    if args.truth is not None:
        args.exclude = [*args.exclude, args.truth]
    options = source_options(args, keep_rows=args.truth is not None)
    if options.on_error == "reject":
        raise UsageError("tune does not reject rows: correct them first.")
    model = make_model(args)
    from scstream.sources import open_source
    from scstream.tuning import tune

    with open_source(args.source, options) as source:
        first = list(islice(_batches(source, args.truth), args.n_batches))
        found = tune(
            first,
            model=model,
            n_batches=args.n_batches,
            n_trials=args.n_trials,
            timeout=args.timeout,
            random_state=model.random_state,
            verbose=not (args.json or args.quiet),
        )
    if args.json:
        result = {
            "objective": found.objective,
            "score": found.score,
            "default_score": None if np.isnan(found.default_score) else found.default_score,
            "settings": found.settings,
        }
        print(json.dumps(result, indent=2))
        return 0
    print(printable(found.table()))
    print(f"\nbest: {found.score:.4g} ({found.objective}); as given: {found.default_score:.4g}")
    print(f"settings: {json.dumps(found.settings)}")
    if found.settings:
        words = " ".join(f"--{k.replace('_', '-')} {v:.4g}" for k, v in found.settings.items())
        print(f"for scstream run: {words}")
    sys.stdout.flush()
    return 0


def _batches(source: Any, truth: str | None) -> Iterator[Any]:
    """Give batches as tuning takes them: data, labels, time."""
    for batch in source:
        y = None
        if truth is not None:
            words = [str(row.get(truth)) for row in batch.rows.dicts()]
            y = np.unique(words, return_inverse=True)[1]
        yield batch.X, y, batch.time
