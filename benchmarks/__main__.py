"""The command line: ``python -m benchmarks run``, ``report`` or ``list``."""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.catalogue import DATASETS, SHORT
from benchmarks.contestants import named
from benchmarks.protocol import missing_modules
from benchmarks.report import summary, write
from benchmarks.results import entries_of
from benchmarks.runner import Plan, run_all
from benchmarks.store import Store, read
from benchmarks.streams import default_folder
from benchmarks.tuning import Budget

_RESULTS = Path(__file__).parent / "results"
_PAGE = Path("docs/comparison.md")
_TABLES = Path("benchmarks/published/tables.md")
_PUBLISHED = Path("benchmarks/published/results.jsonl.gz")
# mode: seeds, seconds of a run, trials and seconds of a tuning. The short version tunes nothing:
# a quarter of an hour for all methods leaves no time for it.
_DEFAULTS = {"short": (1, 10.0, 0, 40.0), "full": (5, 300.0, 30, 120.0)}


def main(arguments: Sequence[str] | None = None) -> None:
    """Do what the command line says."""
    args = _parser().parse_args(arguments)
    args.command(args)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="scstream against other methods."
    )
    commands = parser.add_subparsers(required=True)
    run = commands.add_parser("run", help="run what is not stored yet")
    run.set_defaults(command=_run)
    mode = run.add_mutually_exclusive_group()
    mode.add_argument("--short", dest="mode", action="store_const", const="short", default="short")
    mode.add_argument("--full", dest="mode", action="store_const", const="full")
    run.add_argument("--only-data", nargs="+", metavar="NAME", help="these data sets alone")
    run.add_argument("--only-contestants", nargs="+", metavar="NAME", help="these methods alone")
    run.add_argument("--seeds", type=int, help="how many (short: 1, full: 5)")
    run.add_argument("--limit", type=float, help="seconds of a run (short: 10, full: 300)")
    run.add_argument("--trials", type=int, help="of a tuning (short: 0, full: 30); 0 tunes none")
    run.add_argument(
        "--tuning-limit", type=float, help="seconds of a tuning (short: 40, full: 120)"
    )
    run.add_argument("--threads", type=int, default=1, help="of each method (default: 1)")
    run.add_argument(
        "--jobs", type=int, default=1, help="runs at the same time (default: 1, for fair times)"
    )
    run.add_argument("--again", action="store_true", help="run again what failed")
    run.add_argument("--results", type=Path, help="file (default: benchmarks/results/MODE.jsonl)")
    run.add_argument("--data", type=Path, help="folder of files (default: SCSTREAM_DATA)")
    _add_modules(run)
    report = commands.add_parser("report", help="tables and pictures from stored results")
    report.set_defaults(command=_report)
    report.add_argument("--results", type=Path, nargs="+", default=[_PUBLISHED], metavar="FILE")
    report.add_argument("--publish", action="store_true", help=f"store the rows in {_PUBLISHED}")
    report.add_argument("--page", type=Path, default=_PAGE, metavar="FILE", help="with one table")
    report.add_argument("--to", type=Path, default=_TABLES, metavar="FILE", help="all tables")
    listing = commands.add_parser("list", help="data sets and methods")
    listing.set_defaults(command=_list)
    _add_modules(listing)
    return parser


def _add_modules(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--with",
        dest="modules",
        nargs="+",
        default=(),
        metavar="MODULE",
        help="modules with further methods, in a tuple CONTESTANTS",
    )


def _run(args: argparse.Namespace) -> None:
    seeds, limit, trials, tuning_limit = _DEFAULTS[args.mode]
    contestants = named(tuple(args.modules))
    usual = [name for name, dataset in DATASETS.items() if dataset.group != "long"]
    usual = list(SHORT) if args.mode == "short" else usual
    chosen = _choice("data set", args.only_data or usual, DATASETS)
    methods = _choice("method", args.only_contestants or list(contestants), contestants)
    plan = Plan(
        args.mode,
        range(seeds if args.seeds is None else args.seeds),
        limit if args.limit is None else args.limit,
        Budget(
            trials if args.trials is None else args.trials,
            tuning_limit if args.tuning_limit is None else args.tuning_limit,
        ),
        folder=args.data or default_folder(),
        modules=tuple(args.modules),
        threads=args.threads,
        jobs=args.jobs,
        again=args.again,
    )
    if len(plan.seeds) < 1 or plan.jobs < 1 or plan.threads < 1:
        sys.exit("--seeds, --jobs and --threads must be at least 1")
    store = Store(args.results or _RESULTS / f"{args.mode}.jsonl")
    try:
        run_all(plan, chosen, methods, store)
    except KeyboardInterrupt:
        sys.exit("\nInterrupted; the same command goes on from here.")
    print(summary([entry for entry in entries_of(store.rows()) if entry.mode == args.mode]))


def _choice(what: str, names: Sequence[str], known: dict) -> list:
    unknown = [name for name in names if name not in known]
    if unknown:
        sys.exit(f"no {what} is called {', '.join(unknown)}; there are: {', '.join(known)}")
    return [known[name] for name in known if name in names]


def _report(args: argparse.Namespace) -> None:
    absent = [str(path) for path in args.results if not path.exists()]
    if absent:
        sys.exit(f"no such results: {', '.join(absent)}; python -m benchmarks run makes them")
    rows = read(*args.results)
    if args.publish:
        lines = "".join(f"{json.dumps(row)}\n" for row in rows)
        _PUBLISHED.write_bytes(gzip.compress(lines.encode(), mtime=0))
    for path in write(rows, args.page, args.to):
        print(path)


def _list(args: argparse.Namespace) -> None:
    print("Data sets")
    for dataset in DATASETS.values():
        facts = f"{dataset.kind}, {dataset.n_clusters} clusters, {dataset.group}"
        print(f"  {dataset.name:18} {dataset.title} ({facts})")
    print("Methods (* is told the true number of clusters)")
    for contestant in named(tuple(args.modules)).values():
        missing = missing_modules(contestant)
        tuned = "tuned" if contestant.space else "not tuned"
        state = f"not installed: {', '.join(missing)}" if missing else tuned
        print(f"  {contestant.name + '*' * contestant.told_k:36} {state}")


if __name__ == "__main__":
    main()
