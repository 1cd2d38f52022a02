"""Killed at random moments and resumed, a run gives the same bytes as one that was not."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from scstream.cli import main

HERE = Path(__file__).parent
SIZE, EVERY = 40, 3


def write_rows(folder, name, batches):
    """Write a drifting stream; in the CSV some rows cannot be read."""
    rng = np.random.default_rng(3)
    n = batches * SIZE
    y = rng.integers(4, size=n)
    centres = np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0], [9.0, 9.0]])
    X = centres[y] + rng.normal(size=(n, 2)) + np.linspace(0, 6, n)[:, None]
    path = folder / name
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps({"x": a, "y": b}) + "\n" for a, b in X.tolist()))
    else:
        lines = [f"{a:.5f},{b!r}" for a, b in X.tolist()]
        for i in range(50, n, 211):
            lines.insert(i, "one,2" if i % 2 else "1")
        path = folder / name.replace("?*", "")
        path.write_text("x,y\n" + "\n".join(lines) + "\n")
        if "*" in name:
            return in_parts(path, folder / name)
    return path


def in_parts(path, pattern):
    """Write the rows of a CSV into several files; return the pattern of their names."""
    head, *lines = path.read_text().splitlines()
    for number, part in enumerate(np.array_split(lines, 11)):
        part_path = Path(str(pattern).replace("?*", str(number)))
        if pattern.suffix == ".csv":
            part_path.write_text("\n".join([head, *part, ""]))
        else:
            rows = [line.split(",") for line in part if line.count(",") == 1 and "one" not in line]
            columns = np.array(rows, dtype=float).T
            pandas = pytest.importorskip("pandas", reason="pandas is not installed")
            table = pandas.DataFrame({"x": columns[0], "y": columns[1]})
            table.to_parquet(part_path, row_group_size=57)
    return pattern


CASES = {
    "csv": ("rows.csv", "labels.csv", [], False),
    "json lines behind the input": ("rows.jsonl", "labels.jsonl", ["--append"], False),
    "behind the input's columns": ("rows.csv", "labels.csv", ["--append"], False),
    "standard input": ("rows.csv", "labels.csv", [], True),
    "a file that is followed": ("rows.csv", "labels.csv", ["--follow"], False),
    "parquet": ("rows.csv", "labels.parquet", [], False),
    "several files": ("rows?*.csv", "labels.csv", ["--append"], False),
    "parquet files": ("rows?*.parquet", "labels.csv", [], False),
}


def command(folder, case, rows):
    _, output, more, through = CASES[case]
    folder.mkdir()
    argv = ["run", "-" if through else str(rows), "-o", str(folder / output), *more]
    argv += [
        "--checkpoint",
        str(folder / "state"),
        "--every",
        str(EVERY),
        "--batch-size",
        str(SIZE),
    ]
    argv += ["--random-state", "1", "--quiet", "--n-jobs", "1", "--family", "gaussian"]
    if rows.suffix == ".csv":
        argv += ["--on-error", "reject", "--rejects", str(folder / "rejects.jsonl")]
    argv += ["--events", str(folder / "events.jsonl")]
    argv += ["--chronicle", str(folder / "chronicle.jsonl")]
    return argv


def run(folder, case, rows, batches, kills, seed):
    follow = "--follow" in CASES[case][2]
    job = {
        "argv": command(folder, case, rows),
        "stdin": str(rows) if CASES[case][3] else None,
        "kills": kills,
        "seed": seed,
        "state": str(folder / "state"),
        "last": f"checkpoint-{batches // EVERY:012d}.scstream" if follow else None,
    }
    done = subprocess.run(
        [sys.executable, str(HERE / "killing.py"), json.dumps(job)],
        capture_output=True, text=True, timeout=1200,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return tuple(map(int, done.stdout.split()))


def contents(folder):
    """Return the bytes of all that a run leaves; settings hold the folder's own name."""
    own = str(folder).encode()
    return {
        str(path.relative_to(folder)): path.read_bytes().replace(own, b"*" * len(own))
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix != ".scstream"
    }


def models(folder):
    """Return what is in the newest checkpoint but for the names of files."""
    from scstream.pipeline import find_checkpoint

    kept = find_checkpoint(folder / "state")
    extra = {k: v for k, v in kept.extra.items() if k != "settings"}
    plain = folder.parent / f"{folder.name}.scstream"
    kept.model.save(plain)
    return kept.path.name, extra, plain.read_bytes()


def check(tmp_path, case, *, batches, kills, seed, places):
    if "parquet" in case:
        pytest.importorskip("pyarrow", reason="PyArrow is not installed")
    rows = write_rows(tmp_path, CASES[case][0], batches)
    if case in ("standard input", "a file that is followed"):
        assert run(tmp_path / "whole", case, rows, batches, 0, 0) == (0, 0)
    else:
        assert main(command(tmp_path / "whole", case, rows)) == 0
    done, stood = run(tmp_path / "killed", case, rows, batches, kills, seed)
    assert done == kills
    assert stood >= places, "the kills came too early to show anything"
    whole, killed = contents(tmp_path / "whole"), contents(tmp_path / "killed")
    assert list(whole) == list(killed)
    for name in whole:
        assert whole[name] == killed[name], name
    assert models(tmp_path / "whole") == models(tmp_path / "killed")
    assert models(tmp_path / "whole")[1]["totals"]["rows"] == batches * SIZE


@pytest.mark.parametrize(
    "case",
    [
        "csv",
        *(
            pytest.param(case, marks=pytest.mark.slow)
            for case in ("several files", "parquet files")
        ),
    ],
)
def test_six_kills(tmp_path, case):
    check(tmp_path, case, batches=60, kills=6, seed=0, places=3)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_fifty_kills(tmp_path, case):
    check(tmp_path, case, batches=600, kills=50, seed=1, places=20)
