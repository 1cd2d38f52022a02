"""``python -m benchmarks.service [predict] [run] [page]``: what the service and its page cost.

- predict: requests a second with 100 rows each, against uvicorn that echoes the same body
- run: ``scstream run`` with two pages open against the same run without
- page: a run of 20,000 batches and 200 clusters in Chromium (needs Playwright and a browser)

What is compared takes turns, and medians are shown: run it on a machine that is not too busy.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.service import page, requests, watched

PARTS = ("predict", "run", "page")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("parts", nargs="*", choices=(*PARTS, []), help="default: all")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each; default: 5")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the run for the page")
    parser.add_argument("--read", type=Path, metavar="FILE", help="show a run that was written")
    args = parser.parse_args()
    if args.write is not None:
        page.write_run(args.write)
        return
    for part in args.parts or PARTS:
        print(f"\n{part}\n")
        if part == "predict":
            print(requests.measure(args.rounds))
        elif part == "run":
            print(watched.measure(args.rounds))
        else:
            print(page.measure(args.rounds, args.read))


if __name__ == "__main__":
    main()
