"""The soak itself: rows come, things go wrong, and in the end all is compared."""

from __future__ import annotations

import contextlib
import random
import time
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from benchmarks.soak import checks
from benchmarks.soak.servers import RedisServer, Runner
from benchmarks.soak.world import LogFile, RedisStream

_BATCH, _EVERY = 100, 3
_BEHIND = 20_000  # rows; a run that is further behind gets no more until it has caught up
_SETTLE = 300.0  # seconds within which a run that has rows to read must come on


@dataclass
class Figures:
    """What happened, and what was wrong in the end."""

    seconds: float = 0.0
    rows: dict[str, int] = field(default_factory=dict)
    rejected: dict[str, int] = field(default_factory=dict)
    returns: int = 0
    events: dict[str, int] = field(default_factory=dict)
    memory: dict[str, tuple[float, float]] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)


class Soak:
    """Two runs, one of a followed file and one of a broker's stream.

    For two thirds of the time the runs are killed, too. In the last third they live through
    what else happens, so that their memory can be watched.
    """

    def __init__(self, folder: Path, seconds: float, seed: int, pause: float, tick: float) -> None:
        self.folder = folder
        self.seconds = seconds
        self.pause = pause
        self.tick = tick
        self._chance = random.Random(seed)
        self.log = LogFile(folder / "log.csv", seed)
        self.server = RedisServer(folder / "redis")
        self.server.start()
        self.stream = RedisStream(self.server.client(), "rows", seed + 1)
        self.stream.burst(1)  # the stream must be there before it is read
        self.file_run = Runner(
            "file", self._file_words("file", self.log.path, True), folder / "file.csv", folder
        )
        self.broker_run = Runner(
            "broker", self._broker_words("broker", True), folder / "broker.csv", folder
        )
        self.figures = Figures()

    # -- the runs ---------------------------------------------------------------------------------

    def _words(self, name: str) -> list[str]:
        return [
            "-o", str(self.folder / f"{name}.csv"),
            "--checkpoint", str(self.folder / f"{name}.state"), "--every", str(_EVERY),
            "--on-error", "reject", "--rejects", str(self.folder / f"{name}.rejects"),
            "--batch-size", str(_BATCH), "--family", "gaussian", "--random-state", "1",
            "--n-jobs", "1", "--quiet",
        ]  # fmt: skip

    def _file_words(self, name: str, path: Path, follow: bool) -> list[str]:
        more = ["--follow"] if follow else []
        reading = ["--time-column", "t", "--exclude", "id", "--half-life", "3600", "--append"]
        return ["run", str(path), *reading, *more, *self._words(name)]

    def _broker_words(self, name: str, follow: bool) -> list[str]:
        more = ["--follow"] if follow else []
        url = f"redis://127.0.0.1:{self.server.port}/rows?timed=yes&group={name}"
        return ["run", url, "--half-life", "3600", *more, *self._words(name)]

    # -- what happens -----------------------------------------------------------------------------

    def run(self) -> Figures:
        """Run it all, and return what happened."""
        # Kernels are compiled once, which may take minutes on a busy machine.
        first = LogFile(self.folder / "rows-to-compile-for.csv", 0)
        first.burst(2 * _BATCH)
        checks.run_unbroken(self._file_words("first", first.path, False))
        # What is rotated away before the first checkpoint is not read: no run knew of it.
        for writer in (self.log, self.stream):
            writer.burst(2 * _BATCH * _EVERY)
        self.file_run.start()
        self.broker_run.start()
        self._wait({self.file_run: 1, self.broker_run: 1})
        begin = time.monotonic()
        self._disturb(begin, begin + self.seconds)
        self._settle()
        self.figures.seconds = time.monotonic() - begin
        self._judge()
        return self.figures

    def _disturb(self, begin: float, end: float) -> None:
        """Write rows and cause trouble until the time is over and all has happened once."""
        due, plan = begin + self.pause, list[str]()
        while (now := time.monotonic()) < end or not self._all_happened():
            if now > end + _SETTLE:
                raise RuntimeError(f"not all that was planned could be done: {self._events()}")
            for writer, run in ((self.log, self.file_run), (self.stream, self.broker_run)):
                if len(writer.good) - run.rows_written() < _BEHIND:
                    writer.burst()
                run.look()
            if now >= due:
                calm = self._all_happened() and now - begin > 2 / 3 * self.seconds
                plan = plan or self._kinds(calm)
                if self._cause(plan[-1]):
                    plan.pop()
                    due = time.monotonic() + self._chance.uniform(0.5, 1.5) * self.pause
            time.sleep(self.tick)

    def _kinds(self, calm: bool) -> list[str]:
        """Return what may happen next, in any order."""
        kinds = ["broker killed"]
        if find_spec("scstream.sources.files") is not None:
            kinds.append("file rotated")
        if not calm:
            kinds += ["file run killed", "broker run killed", "disk full"]
        self._chance.shuffle(kinds)
        return kinds

    def _events(self) -> dict[str, int]:
        found = {
            "broker killed": self.server.deaths,
            "file rotated": self.log.rotations,
            "file run killed": self.file_run.deaths,
            "broker run killed": self.broker_run.deaths,
            "disk full": self.file_run.full_disks + self.broker_run.full_disks,
        }
        return {what: found[what] for what in sorted(self._kinds(calm=False))}

    def _all_happened(self) -> bool:
        return all(self._events().values())

    def _cause(self, what: str) -> bool:
        """Cause something, if it can be caused now."""
        runs = {"file run killed": self.file_run, "broker run killed": self.broker_run}
        if what == "broker killed":
            self.server.kill(self._chance.uniform(0.2, 3.0))
        elif what == "file rotated":
            self.log.rotate()
        elif what in runs:
            runs[what].kill()
        else:
            run = self._chance.choice(list(runs.values()))
            if not run.writes:
                return False
            run.fill_disk()
        return True

    def _settle(self) -> None:
        """Fill the last batches, and wait until both runs have everything in a checkpoint."""
        block = _BATCH * _EVERY
        for writer in (self.log, self.stream):
            writer.burst(block - len(writer.good) % block)
        self._wait({self.file_run: len(self.log.good), self.broker_run: len(self.stream.good)})
        self.file_run.stop()
        self.broker_run.stop()

    def _wait(self, rows: dict[Runner, int]) -> None:
        """Wait until each run has so many rows in its checkpoint."""
        from scstream.pipeline import find_checkpoint

        waiting, seen, since = dict(rows), 0, time.monotonic()
        while waiting:
            total = 0
            for run, least in list(waiting.items()):
                run.look()
                with contextlib.suppress(OSError, ValueError):
                    kept = find_checkpoint(self.folder / f"{run.name}.state")
                    total += kept.extra["totals"]["rows"]
                    if kept.extra["totals"]["rows"] >= least:
                        del waiting[run]
            if total != seen:
                seen, since = total, time.monotonic()
            if time.monotonic() - since > _SETTLE:
                raise RuntimeError(f"rows are not read: {[run.name for run in waiting]}")
            time.sleep(0.5)

    # -- what must hold ---------------------------------------------------------------------------

    def _judge(self) -> None:
        figures, folder = self.figures, self.folder
        self.log.whole(folder / "whole.csv")
        checks.run_unbroken(
            self._file_words("file-unbroken", folder / "whole.csv", False),
            self._broker_words("broker-unbroken", False),
        )
        figures.wrong += checks.each_row_once(folder / "file.csv", self.log.good)
        for name, good, bad in (
            ("file", len(self.log.good), self.log.bad),
            ("broker", len(self.stream.good), self.stream.bad),
        ):
            other = f"{name}-unbroken"
            figures.rows[name], figures.rejected[name] = good, bad
            figures.wrong += checks.same_files(folder / f"{name}.csv", folder / f"{other}.csv")
            one, two = folder / f"{name}.rejects", folder / f"{other}.rejects"
            figures.wrong += checks.same_rejects(one, two)
            figures.wrong += checks.same_model(folder / f"{name}.state", folder / f"{other}.state")
            lines = (folder / f"{name}.csv").read_bytes().count(b"\n") - 1
            if lines != good:
                figures.wrong.append(f"{name}: {lines} labels of {good} rows")
        for run in (self.file_run, self.broker_run):
            wrong, before, after = checks.flat_memory(run)
            figures.wrong += wrong
            figures.memory[run.name] = (before, after)
        figures.events = self._events()
        figures.returns = self.log.returns + self.stream.returns

    def close(self) -> None:
        """End all that was started."""
        self.file_run.close()
        self.broker_run.close()
        self.server.close()
