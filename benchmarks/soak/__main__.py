"""``python -m benchmarks.soak``: run the soak and print its figures."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from benchmarks.soak.conductor import Figures, Soak


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__)
    parser.add_argument("--seconds", type=float, default=3600.0, help="default: an hour")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--pause", type=float, default=5.0, help="seconds between disturbances, about; default: 5"
    )
    parser.add_argument(
        "--tick", type=float, default=0.5, help="seconds between bursts of rows; default: 0.5"
    )
    parser.add_argument("--folder", type=Path, help="an empty folder to keep what was written")
    args = parser.parse_args(argv)
    if not sys.platform.startswith("linux"):
        sys.exit("The soak needs Linux: it fills the disk of a single process, and reads /proc.")
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        soak = Soak(folder, args.seconds, args.seed, args.pause, args.tick)
        try:
            figures = soak.run()
        finally:
            soak.close()
    print(in_words(figures))
    return 1 if figures.wrong else 0


def in_words(figures: Figures) -> str:
    """Return the figures as rows of a table, and what was wrong below it."""
    rows = {
        "seconds": f"{figures.seconds:,.0f}",
        **{f"rows labelled, {name}": f"{n:,}" for name, n in figures.rows.items()},
        **{f"rows rejected, {name}": f"{n:,}" for name, n in figures.rejected.items()},
        "clusters that came back": f"{figures.returns:,}",
        **{what: f"{n:,} times" for what, n in sorted(figures.events.items())},
        **{
            f"memory of the last life, {name}": f"{before:.0f} MB, later {after:.0f} MB"
            for name, (before, after) in figures.memory.items()
        },
    }
    lines = ["| what | how much |", "| --- | ---: |"]
    lines += [f"| {name} | {value} |" for name, value in rows.items()]
    lines += ["", *(f"WRONG: {text}" for text in figures.wrong)]
    if not figures.wrong:
        lines.append("Every row is labelled once; outputs and models equal the unbroken runs'.")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
