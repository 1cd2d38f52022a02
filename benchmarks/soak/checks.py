"""What must hold at the end: every row once, the same model, flat memory."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from benchmarks.soak.servers import Runner

_GROWTH = 1.05  # the memory that a run may have in the end, of what it had before
_SLACK = 8.0  # MB: what a short run may still be loading


def run_unbroken(*commands: list[str]) -> None:
    """Run commands that nothing disturbs, side by side."""
    runs = [
        subprocess.Popen([sys.executable, "-m", "scstream", *words], stderr=subprocess.PIPE)
        for words in commands
    ]
    said = [run.communicate()[1].decode() for run in runs]
    for run, text in zip(runs, said, strict=True):
        if run.returncode != 0:
            raise RuntimeError(f"an unbroken run failed: {text}")


def each_row_once(output: Path, ids: Sequence[object]) -> list[str]:
    """Return what is wrong with the rows of an output: missing ones, those there twice."""
    with output.open(newline="") as file:
        found = [row[0] for row in list(csv.reader(file))[1:]]
    wanted = [str(one) for one in ids]
    if found == wanted:
        return []
    missing, twice = len(set(wanted) - set(found)), len(found) - len(set(found))
    return [f"{output.name}: of {len(wanted)} rows {missing} are missing, {twice} are there twice"]


def same_files(one: Path, other: Path) -> list[str]:
    """Return what is wrong if two files are not equal byte for byte."""
    return [] if one.read_bytes() == other.read_bytes() else [f"{one.name} is not {other.name}"]


def same_rejects(one: Path, other: Path) -> list[str]:
    """Return what is wrong if two runs did not reject the same rows for the same reasons."""
    texts = [
        [json.loads(line)["text"] for line in path.read_text().splitlines()]
        for path in (one, other)
    ]
    return [] if texts[0] == texts[1] else [f"{one.name}: other rows were rejected"]


def same_model(one: Path, other: Path) -> list[str]:
    """Return what is wrong if two folders of checkpoints do not end with the same model."""
    from scstream.pipeline import find_checkpoint

    saved = []
    for folder in (one, other):
        path = folder.with_suffix(".model")
        find_checkpoint(folder).model.save(path)
        saved.append(path.read_bytes())
    return [] if saved[0] == saved[1] else [f"{one.name}: not the model of the unbroken run"]


def flat_memory(runner: Runner) -> tuple[list[str], float, float]:
    """Return what is wrong with the memory of a run's last life, and its size before and after.

    The first third of that life is loading; the middle of the second third is compared with the
    middle of the last.
    """
    seen = runner.memory[-1]
    third = len(seen) // 3
    if third < 3:  # it was killed a moment ago: nothing can be said of so short a life
        return [], 0.0, 0.0
    before, after = median(seen[third : 2 * third]), median(seen[2 * third :])
    wrong = []
    if after > _GROWTH * before + _SLACK:
        wrong = [f"{runner.name}: memory grew from {before:.0f} to {after:.0f} MB"]
    return wrong, before, after
