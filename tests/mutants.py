"""Put small faults into a copy of the package, one at a time, and see whether tests catch them.

``make mutants`` tries the faults of statistics listed in ``tests/mutants.toml``: each is a text
that occurs exactly once in a file, its replacement, and the tests that must fail. ``make mutants
ARGS="--sample 50 --seed 1"`` instead draws faults at random from all files: a comparison, an
operator or a number is changed, and the tests whose names or imports mention the module must fail.
Words choose the files (``ARGS="families"``), ``--jobs 4`` tries four faults at a time.
"""

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from time import perf_counter

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "scstream"
FAULTS = ROOT / "tests" / "mutants.toml"
SECONDS = 900.0  # for the tests of one fault, some of which compile
LEAST = 0.9  # the share of listed faults to be caught
FAILED = 1  # what pytest returns if a test failed
PYTEST = """
import sys
sys.meta_path[:] = [f for f in sys.meta_path if not type(f).__module__.startswith("_editable")]
import pytest
sys.exit(pytest.main(sys.argv[1:]))
"""  # of the copy: an installation that may be edited finds the package before any folder does
SWAPPED = {
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.And: ast.Or,
    ast.Or: ast.And,
}


@dataclass(frozen=True)
class Fault:
    """The text of a file below ``src/scstream``, its replacement, and the tests that catch it."""

    file: str
    text: str
    fault: str
    tests: list[str]
    line: int = 0  # where the replacement differs, 0 if the text says it

    def problem(self) -> str | None:
        """Return why the fault cannot be put in, None if it can."""
        path = PACKAGE / self.file
        if not path.exists():
            return "no such file"
        times = path.read_text().count(self.text)
        if times != 1:
            return f"the text occurs {times} times, not once: {self.text!r}"
        missing = [test for test in self.tests if not (ROOT / test.split("::")[0]).exists()]
        return f"no such test: {missing[0]}" if missing else None

    def __str__(self) -> str:
        if self.line:
            changed = self.fault.splitlines()[self.line - 1].strip()
            return f"{self.file}:{self.line}: {changed[:60]}"
        return f"{self.file}: {self.text.strip().splitlines()[0][:60]}"


def listed_faults(words: list[str]) -> list[Fault]:
    """Return the listed faults of files whose paths contain one of the words, if any are given."""
    listed = [Fault(**entry) for entry in tomllib.loads(FAULTS.read_text())["fault"]]
    return [f for f in listed if not words or any(word in f.file for word in words)]


def sampled_faults(words: list[str], size: int, seed: int) -> list[Fault]:
    """Return faults drawn at random from the files that have tests of their own."""
    rng = random.Random(seed)
    places = []
    for path in sorted(PACKAGE.rglob("*.py")):
        file = str(path.relative_to(PACKAGE))
        if words and not any(word in file for word in words):
            continue
        tests = tests_of(path)
        if tests:
            tree = ast.parse(path.read_text())
            places += [(file, i, tests) for i in range(sum(1 for _ in changeable(tree)))]
    chosen = rng.sample(places, min(size, len(places)))
    return [changed(file, i, tests) for file, i, tests in chosen]


def tests_of(path: Path) -> list[str]:
    """Return the test files that import a module, or are called like it."""
    name = ".".join(("scstream", *path.relative_to(PACKAGE).with_suffix("").parts))
    return sorted(
        str(test.relative_to(ROOT))
        for test in (ROOT / "tests").rglob("test_*.py")
        if test.stem == f"test_{path.stem}" or name in test.read_text()
    )


def changeable(tree: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Yield each node that a fault may change, and its operator or number."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPPED:
            yield node, node.ops[0]
        elif isinstance(node, ast.BinOp | ast.BoolOp) and type(node.op) in SWAPPED:
            yield node, node.op
        elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
            yield node, node


def changed(file: str, index: int, tests: list[str]) -> Fault:
    """Return the fault that changes the node of this number in a file."""
    text = (PACKAGE / file).read_text()
    tree = ast.parse(text)
    node, part = list(changeable(tree))[index]
    if isinstance(node, ast.Constant):
        node.value = node.value + 1
    elif isinstance(node, ast.Compare):
        node.ops[0] = SWAPPED[type(part)]()
    else:
        node.op = SWAPPED[type(part)]()
    lines = text.splitlines(keepends=True)
    start = len("".join(lines[: node.lineno - 1]).encode()) + node.col_offset
    end = len("".join(lines[: node.end_lineno - 1]).encode()) + node.end_col_offset
    raw = text.encode()
    fault = raw[:start] + f"({ast.unparse(node)})".encode() + raw[end:]
    return Fault(file, text, fault.decode(), tests, node.lineno)


def tried(fault: Fault, source: Path) -> str:
    """Return what the tests say of a fault in a copy of the package, which is mended afterwards."""
    path = source / "scstream" / fault.file
    sound, times = path.read_text(), path.stat()
    path.write_text(sound.replace(fault.text, fault.fault))
    command = [sys.executable, "-c", PYTEST, "-x", "-q", "-p", "no:cacheprovider", *fault.tests]
    try:
        done = subprocess.run(
            command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(source)}, timeout=SECONDS,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"NOT CAUGHT in {SECONDS:.0f} s"
    finally:
        path.write_text(sound)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))  # compiled code stays good
    if done.returncode == 0:
        return "NOT CAUGHT"
    # a fault that was drawn may break the import of a module, which is caught, too
    return "caught" if done.returncode == FAILED or fault.line else f"ERROR {done.returncode}"


def all_tried(faults: list[Fault], jobs: int) -> Iterator[tuple[Fault, str, float]]:
    """Yield faults, their results and the seconds that took, in order; each job has a copy."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
        copies: SimpleQueue[Path] = SimpleQueue()
        for job in range(jobs):
            shutil.copytree(ROOT / "src", Path(folder) / str(job))
            copies.put(Path(folder) / str(job))

        def one(fault: Fault) -> tuple[Fault, str, float]:
            source, start = copies.get(), perf_counter()
            try:
                return fault, tried(fault, source), perf_counter() - start
            finally:
                copies.put(source)

        yield from pool.map(one, faults)


def main() -> int:
    """Try the faults; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*", help="parts of the files' paths")
    parser.add_argument("--sample", type=int, default=0, help="draw this many faults instead")
    parser.add_argument("--seed", type=int, default=0, help="of the draw")
    parser.add_argument("--list", action="store_true", help="only check that faults can be put in")
    parser.add_argument("--jobs", type=int, default=1, help="faults tried at the same time")
    options = parser.parse_args()
    if options.jobs < 1:
        parser.error(f"--jobs must be at least 1, not {options.jobs}")
    if options.sample:
        faults = sampled_faults(options.words, options.sample, options.seed)
    else:
        faults = listed_faults(options.words)
    problems = [(f, why) for f in faults if (why := f.problem()) is not None]
    for fault, why in problems:
        print(f"ERROR {fault.file}: {why}")
    if options.list:
        print(*faults, f"{len(faults)} faults, {len(problems)} cannot be put in", sep="\n")
        return int(bool(problems))
    possible = [fault for fault in faults if fault.problem() is None]
    results = []
    for i, (fault, result, spent) in enumerate(all_tried(possible, options.jobs)):
        results.append(result)
        print(f"{i + 1:3d} {result:12s} {spent:5.0f} s  {fault}", flush=True)
    caught = results.count("caught")
    print(f"{caught} of {len(faults)} faults were caught")
    if options.sample:
        return 0  # some faults change nothing that a test could see: to be read, not to be passed
    broken = problems or any(result.startswith("ERROR") for result in results)
    return int(bool(broken) or caught < LEAST * len(faults))


if __name__ == "__main__":
    sys.exit(main())
