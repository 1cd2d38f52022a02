"""Put small faults into a copy of the package, one at a time, and see whether tests catch them.

``make mutants`` runs all of ``tests/mutants.toml``; ``make mutants ARGS="families sinks"`` those of
files whose paths contain one of the words, and ``--jobs 4`` tries four at a time. Each fault is a
text that stands exactly once in a file, and what stands there instead; the tests that belong to it
must fail. A text that is not there, or there twice, is an error: the list is to be mended then.
"""

import argparse
import os
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
FAULTS = ROOT / "tests" / "mutants.toml"
SECONDS = 900.0  # for the tests of one fault, some of which compile anew
LEAST = 0.9  # the share of faults to be caught
FAILED = 1  # what pytest returns if a test failed


@dataclass(frozen=True)
class Fault:
    """A text of a file below ``src/scstream``, its replacement, and the tests that catch it."""

    file: str
    text: str
    fault: str
    tests: list[str]

    def place(self, source: Path) -> Path:
        return source / "scstream" / self.file

    def problem(self, source: Path) -> str | None:
        """Return why the fault cannot be put in, None if it can."""
        path = self.place(source)
        if not path.exists():
            return "there is no such file"
        times = path.read_text().count(self.text)
        if times != 1:
            return f"the text stands there {times} times, not once: {self.text!r}"
        missing = [test for test in self.tests if not (ROOT / test.split("::")[0]).exists()]
        return f"there is no {missing[0]}" if missing else None


def read_faults(words: list[str]) -> list[Fault]:
    """Return the faults of files whose paths contain one of the words, if there are any."""
    listed = [Fault(**entry) for entry in tomllib.loads(FAULTS.read_text())["fault"]]
    return [f for f in listed if not words or any(word in f.file for word in words)]


def tried(fault: Fault, source: Path) -> str:
    """Return what comes of a fault in a copy of the package, which is mended afterwards."""
    path = fault.place(source)
    sound, times = path.read_text(), path.stat()
    path.write_text(sound.replace(fault.text, fault.fault))
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *fault.tests]
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
    if done.returncode == FAILED:
        return "caught"
    return "NOT CAUGHT" if done.returncode == 0 else f"ERROR: pytest returned {done.returncode}"


def all_tried(faults: list[Fault], jobs: int) -> Iterator[tuple[Fault, str, float]]:
    """Yield faults, what comes of them and the seconds that took, in order; each job has a copy."""
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
    """Try the faults; returns what the process is to return."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*", help="parts of the files' paths")
    parser.add_argument("--list", action="store_true", help="only check that faults can be put in")
    parser.add_argument("--jobs", type=int, default=1, help="faults tried at the same time")
    options = parser.parse_args()
    if options.jobs < 1:
        parser.error(f"--jobs must be at least 1, not {options.jobs}")
    faults = read_faults(options.words)
    problems = [(f, why) for f in faults if (why := f.problem(ROOT / "src")) is not None]
    for fault, why in problems:
        print(f"ERROR {fault.file}: {why}")
    if options.list:
        print(f"{len(faults)} faults, {len(problems)} of which cannot be put in")
        return int(bool(problems))
    possible = [fault for fault in faults if fault.problem(ROOT / "src") is None]
    results = []
    for i, (fault, result, spent) in enumerate(all_tried(possible, options.jobs)):
        results.append(result)
        said = fault.text.strip().splitlines()[0][:60]
        print(f"{i + 1:3d} {result:12s} {spent:5.0f} s  {fault.file}: {said}", flush=True)
    caught = results.count("caught")
    print(f"{caught} of {len(faults)} faults were caught")
    broken = problems or any(result.startswith("ERROR") for result in results)
    return int(bool(broken) or caught < LEAST * len(faults))


if __name__ == "__main__":
    sys.exit(main())
