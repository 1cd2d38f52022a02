"""``scstream run``: follow a stream, label its rows, save checkpoints."""

from __future__ import annotations

import argparse
import contextlib
import shlex
import signal
import sys
from collections.abc import Iterator
from functools import partial
from typing import Any

from scstream.cli.config import add_config, write_config
from scstream.cli.errors import UsageError
from scstream.cli.files import check_apart, reads_of
from scstream.cli.model_options import add_model, make_model, model_settings
from scstream.cli.outputs import add_outputs, make_outputs
from scstream.cli.serving import add_serving, say_where, settings_of, stay
from scstream.cli.source_options import add_source, source_options, source_settings
from scstream.cli.values import add_command, add_quiet, duration, whole
from scstream.support.printable import printable_name
from scstream.support.secrets import hidden_url

_DESCRIPTION = """\
Learn a stream batch by batch. For each row, write its label (the cluster), its group (clusters that
belong together), the probability of the label, from the model that has learned the batch, and a
score from the model before that: the log density of the row, low where a row is unusual."""

_EPILOG = """\
examples:
  scstream run data.csv -o labels.csv
  scstream run data.csv --columns 2-5 --batch-size 500 --half-life 10 -o labels.parquet
  scstream run log.jsonl --time-column when --period 5m --half-life 3600 --append -o out.jsonl
  scstream run log.csv --follow --checkpoint state -o labels.csv --events events.jsonl
  scstream run 'day*.csv' -o kafka://server/labels
  scstream run data.csv --clusters 5 --write-config run.toml
  scstream run --config run.toml

With --checkpoint, give the same command again to resume after a stop or a kill: every row counts
once in the model and is once in every output. Ctrl-C and SIGTERM finish the current batch, save a
checkpoint and stop.
"""


def add_parser(subparsers: Any) -> None:
    """Add the command."""
    parser = add_command(subparsers, "run", main, _DESCRIPTION, _EPILOG, many=True)
    add_source(parser)
    add_config(parser)
    _add_endless(parser)
    _add_written(parser)
    _add_page(parser)
    _add_checkpoints(parser)
    add_model(parser)


def _add_endless(parser: argparse.ArgumentParser) -> None:
    """Add how to read a stream that has no end."""
    group = parser.add_argument_group("endless streams")
    group.add_argument(
        "--follow",
        action="store_true",
        help="wait at the end of the file for more (CSV, TSV, JSON)",
    )
    group.add_argument(
        "--wait",
        type=duration,
        metavar="T",
        help="with --follow, standard input or a broker: close a batch early when its first row "
        "has waited for this long. Otherwise all batches but the last are full",
    )
    group.add_argument(
        "--live",
        action="store_true",
        help="when resuming from standard input: read on from here. Otherwise the input is "
        "expected to start from the beginning again, and rows read before are skipped",
    )


def _add_written(parser: argparse.ArgumentParser) -> None:
    """Add what is written, of each row and besides."""
    group = add_outputs(parser)
    group.add_argument(
        "--score-by",
        choices=("before", "after"),
        default="before",
        help="compute scores and anomalies with the model before or after it learned the batch; "
        "after is faster. default: before",
    )
    group.add_argument(
        "--events",
        metavar="FILE",
        help="JSON lines: births, deaths, splits, merges and drift of clusters and groups",
    )
    group.add_argument(
        "--chronicle", metavar="FILE", help="the clusters after each batch, for scstream report"
    )
    add_quiet(group)


def _add_page(parser: argparse.ArgumentParser) -> None:
    """Add the page that shows the run."""
    group = parser.add_argument_group("the page")
    group.add_argument(
        "--serve",
        nargs="?",
        const="127.0.0.1:0",
        metavar="HOST:PORT",
        help="show the run in the browser while it is active; by default for this machine only, on "
        "a free port. At a terminal the page stays until Ctrl-C",
    )
    add_serving(group)


def _add_checkpoints(parser: argparse.ArgumentParser) -> None:
    """Add where the run is saved, and how often."""
    group = parser.add_argument_group("checkpoints")
    group.add_argument(
        "--checkpoint",
        metavar="DIR",
        help="a folder for checkpoints; if it holds one, the run resumes from there",
    )
    group.add_argument(
        "--every",
        type=whole(1),
        metavar="N",
        help="save a checkpoint every N batches, and at the end; default: 100",
    )


def main(args: argparse.Namespace) -> int:
    """Run the command."""
    _check(args)
    options = source_options(
        args, follow=args.follow, wait=args.wait, live=args.live, keep_rows=args.append
    )
    model = make_model(args)
    if args.write_config is not None:
        return write_config(args)
    outputs = make_outputs(args, parts=args.checkpoint is not None)
    _add_journals(args, outputs)
    from scstream.cli.progress import Progress, summary
    from scstream.pipeline import Interrupt, run
    from scstream.sources import open_source

    progress = None if args.quiet else Progress()
    with (
        open_source(args.source, options) as source,
        Interrupt() as interrupt,
        _page(args, model, outputs) as live,
    ):
        try:
            result = run(
                source,
                model,
                outputs,
                checkpoint=args.checkpoint,
                every=args.every or 100,
                settings=_settings(args, options),
                score_by=args.score_by,
                progress=_watched(progress, live, source),
                interrupt=interrupt,
            )
        finally:
            if progress is not None:
                progress.end()
        if live is not None and result.interrupted is None and sys.stderr.isatty():
            print("scstream: the stream has ended; Ctrl-C closes the page", file=sys.stderr)
            stay(interrupt)
    with contextlib.suppress(BrokenPipeError):
        if not args.quiet:
            print(summary(result), file=sys.stderr)
        if result.interrupted is not None:
            _say_how_to_go_on(args, result)
    return 0 if result.interrupted is None else 128 + signal.Signals[result.interrupted]


@contextlib.contextmanager
def _page(args: argparse.Namespace, model: Any, outputs: dict[str, Any]) -> Iterator[Any]:
    """Open the page, if one is asked for, as one more of the run's outputs."""
    if args.serve is None:
        yield None
        return
    settings = settings_of(args, args.serve)
    from scstream.service import Live
    from scstream.service.recorder import PageRecorder
    from scstream.service.served import Served

    served = Served(model)
    outputs["page"] = PageRecorder(served)
    with Live(served, settings) as live:
        say_where(live)
        yield live


def _watched(progress: Any, live: Any, source: Any) -> Any:
    """Return what is called after each batch: the progress, and what the page says of the run."""
    if live is None:
        return progress
    figures = live.served.metrics

    def after(result: Any) -> None:
        if progress is not None:
            progress(result)
        if result.checkpoint is not None:
            figures.saved(result.checkpoint)
        figures.look = partial(source.unread, result.place)

    return after


def _check(args: argparse.Namespace) -> None:
    if args.every is not None and args.checkpoint is None:
        raise UsageError("--every needs --checkpoint DIR.")
    if args.live and args.source != ["-"]:
        raise UsageError("--live works with standard input only: give - as the source.")
    if args.wait is not None and not (
        args.follow or args.source == ["-"] or "source" in args.logins
    ):
        raise UsageError(
            "--wait needs a stream without an end: --follow, standard input or a broker."
        )
    if args.checkpoint is not None and args.output == "-":
        raise UsageError(
            "--checkpoint needs an output that can be truncated after a crash, and standard output "
            "cannot be: give --output FILE, or --output none."
        )
    written = ("output", "events", "chronicle", "rejects", "checkpoint")
    check_apart(reads_of(args), {f"--{name}": getattr(args, name) for name in written})


def _add_journals(args: argparse.Namespace, outputs: dict[str, Any]) -> None:
    from scstream.sinks.journals import ChronicleJournal, EventJournal

    if args.events is not None:
        outputs["events"] = EventJournal(args.events, overwrite=args.overwrite)
    if args.chronicle is not None:
        outputs["chronicle"] = ChronicleJournal(args.chronicle, overwrite=args.overwrite)


def _settings(args: argparse.Namespace, options: Any) -> dict[str, Any]:
    """Return what the results depend on: a checkpoint made with other settings is refused."""
    from scstream.sources.message_urls import identity

    names = ("output", "append", "fields", "score_by", "events", "chronicle", "rejects")
    written = {name: getattr(args, name) for name in names} | {"output": identity(args.output)}
    return {**source_settings(args, options), **model_settings(args), **written}


def _say_how_to_go_on(args: argparse.Namespace, result: Any) -> None:
    print(f"scstream: stopped by {result.interrupted}", file=sys.stderr)
    if args.checkpoint is None:
        print("scstream: no checkpoint was saved; use --checkpoint DIR", file=sys.stderr)
    elif result.checkpoint is None:
        print("scstream: no batch was learned yet, so nothing was saved", file=sys.stderr)
    else:
        again = shlex.join(["scstream", *map(_public, sys.argv[1:])])
        told = printable_name(f"scstream: saved {result.checkpoint}; to resume: {again}")
        print(told, file=sys.stderr)
        if any(login.password is not None for login in args.logins.values()):
            print("scstream: add the password, which is not shown here", file=sys.stderr)


def _public(word: str) -> str:
    """Return a word of the command line without the password it may hold."""
    from scstream.sources.message_urls import take_login

    try:
        return take_login(word)[0] if "://" in word else word
    except ValueError:
        return hidden_url(word)
