"""Speed: ratios to Mini-Batch K-Means, to the bare matrix product, to what others measured.

Run ``python -m benchmarks.speed`` (or ``make bench-speed``) on a quiet machine. Contestants take
turns in one process, and what is reported are medians and their ratios; no absolute time is
judged. ``--only small high`` runs some of the sections, ``--docs`` writes their tables into
``benchmarks/published/speed.md`` and what is judged of them into ``docs/performance.md``,
``--json FILE`` writes every figure into a file. A frame of a video and 20 newsgroups are taken
from the folder that ``--data`` or the variable SCSTREAM_DATA names, the figures of another
implementation from ``--anchors FILE.json`` (default: ``anchors.json`` in that folder or beside it).
A section that fails says so, and the others go on.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from benchmarks import machine
from benchmarks.speed import (
    anchors,
    counts,
    first,
    growth,
    high,
    large,
    plain,
    river,
    small,
    stream,
    summary,
)  # fmt: skip
from benchmarks.speed.tables import Result, told
from benchmarks.speed.timing import Options, say

SECTIONS: dict[str, tuple[str, Callable[[Options], Result]]] = {
    "small": ("1,000 points, 2-D, 20 clusters, against Mini-Batch K-Means", small.small),
    "river": ("the same stream against river's clusterers", river.river),
    "high": ("1,000 points in many dimensions", high.high),
    "large": ("409,600 points, 5-D, 80 clusters", large.large),
    "plain": ("the plain core against the native one", plain.plain),
    "counts": ("rows of counts", counts.counts),
    "growth": ("time against n, D, K and T, and memory against n", growth.growth),
    "first": ("the first batch, to convergence", first.first),
    "anchors": ("the files that the authors' Julia package was measured on", anchors.anchors),
    "stream": ("one long stream from an array", stream.stream),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line says; 1 if a section failed."""
    args = _arguments(arguments)
    options = _options(args)
    where = machine.at_present()
    if where["load"][0] > 0.7:
        say(f"The machine is busy (load {where['load'][0]:.1f}): ratios will be unreliable.")
    results, failed = {}, []
    for name in args.only or SECTIONS:
        title, run = SECTIONS[name]
        say(f"{name}: {title}")
        try:
            results[name] = run(options)
        except Exception as error:
            failed.append(name)
            say("".join(traceback.format_exception(error)))
            print(f"\n## {name}\n\nfailed: {type(error).__name__}: {error}", flush=True)
            continue
        text = "\n\n".join(map(str, results[name].tables))
        print(f"\n## {name}: {title}\n\n{text}", flush=True)
        if args.docs:
            summary.publish(name, f"{text}\n\n*{told(where)}*")
    print(f"\n{told(where)}")
    if args.json is not None:
        held = {"where": where, "failed": failed,
                "sections": {name: asdict(result) for name, result in results.items()}}  # fmt: skip
        args.json.write_text(json.dumps(held, indent=1, default=float))
    if failed:
        say(f"Failed: {', '.join(failed)}.")
    return 1 if failed else 0


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.speed", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--only", nargs="+", choices=list(SECTIONS), metavar="SECTION",
                        help=f"some of {', '.join(SECTIONS)}")  # fmt: skip
    parser.add_argument("--data", type=Path, help="folder of files (default: SCSTREAM_DATA)")
    parser.add_argument("--anchors", type=Path, help="file of another implementation's figures")
    parser.add_argument("--repeat", type=int, help="turns of every measurement, medians of which")
    parser.add_argument("--points", type=int, default=Options.points, help="of the long stream")
    parser.add_argument("--quick", action="store_true", help="small sizes: does everything run?")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure there")
    parser.add_argument("--docs", action="store_true", help="write tables into the pages")
    args = parser.parse_args(arguments)
    if args.repeat is not None and args.repeat < 1:
        parser.error(f"--repeat must be at least 1, not {args.repeat}")
    if args.quick and args.docs:
        parser.error("--quick measures nothing worth publishing: leave out --docs")
    return args


def _options(args: argparse.Namespace) -> Options:
    data = args.data
    if data is None and os.environ.get("SCSTREAM_DATA"):
        data = Path(os.environ["SCSTREAM_DATA"])
    options = Options(args.repeat, data, args.anchors, args.points, args.quick)
    if args.anchors is None and data is not None:
        places = (folder / "anchors.json" for folder in (data, data.parent))
        options = replace(options, anchors=next((p for p in places if p.exists()), None))
    return options


if __name__ == "__main__":
    sys.exit(main())
