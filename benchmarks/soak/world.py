"""What the runs read: rows in bursts, to a file that is rotated and to a Redis stream."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

HEADER = "id,t,x,y\n"
_BURSTS = (1, 7, 40, 200, 1500)  # rows of a burst: sizes jump
_JUMPS = (0.0, 0.0, 0.0, 60.0, 3600.0, 3 * 86400.0)  # seconds of silence before one
_BAD_CSV = ("{i},{t},one,2", "{i},{t},1", "{i},{t},1,2,3", "{i},{t},inf,2")
_BAD_JSON = (b"{", b'{"x": "one", "y": 2}', b"17", b'{"x": 1e999, "y": 0}')
_BAD = 0.01  # share of rows that cannot be read
_GAPS = 0.0025  # share of rows that lack a value


class Clusters:
    """Rows of six clusters that drift, of which some are away for a while and come back."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self._centres = 12.0 * self._rng.normal(size=(6, 2))
        self._here = [0, 1, 2]
        self.returns = 0
        self._seen = set(self._here)

    def rows(self, n: int) -> NDArray[np.float64]:
        """Return the next n rows (n, 2)."""
        if self._rng.random() < 0.1:
            self._change()
        self._centres += 0.01 * self._rng.normal(size=self._centres.shape)
        return self._centres[self._rng.choice(self._here, size=n)] + self._rng.normal(size=(n, 2))

    def _change(self) -> None:
        before, chosen = set(self._here), self._rng.choice(6, size=3, replace=False).tolist()
        self._here = sorted(chosen)
        self.returns += len((set(chosen) & self._seen) - before)
        self._seen |= set(chosen)


class LogFile:
    """A CSV file that others write and rotate."""

    def __init__(self, path: Path, seed: int) -> None:
        self.path = path
        self.good: list[int] = []  # ids of rows that can be read
        self.bad = 0
        self.rotations = 0
        self._clusters = Clusters(seed)
        self._chance = random.Random(seed)
        self._id = 0
        self._time = 0.0
        path.write_text(HEADER)

    @property
    def returns(self) -> int:
        return self._clusters.returns

    def burst(self, n: int | None = None) -> None:
        """Append rows; exactly n that can be read, if a number is given."""
        size = n if n is not None else self._chance.choice(_BURSTS)
        self._time += self._chance.choice(_JUMPS)
        lines = []
        for x, y in self._clusters.rows(size).tolist():
            while n is None and self._chance.random() < _BAD:
                lines.append(self._bad())
            self._id += 1
            self._time += 0.01
            late = 5.0 if self._chance.random() < 0.01 else 0.0  # a row may come late
            first = "" if self._chance.random() < _GAPS else f"{x:.6f}"
            lines.append(f"{self._id},{max(self._time - late, 0.0):.2f},{first},{y:.6f}")
            self.good.append(self._id)
        with self.path.open("a") as file:
            file.write("\n".join(lines) + "\n")

    def _bad(self) -> str:
        self._id += 1
        self.bad += 1
        return self._chance.choice(_BAD_CSV).format(i=self._id, t=f"{self._time:.2f}")

    def rotate(self) -> None:
        """Begin a new file; the old one is ``.1``, the one before it ``.2``, as loggers do it."""
        for number in range(self.rotations, 0, -1):
            self._part(number).rename(self._part(number + 1))
        fresh = self.path.with_name("fresh")
        fresh.write_text(HEADER)
        self.path.rename(self._part(1))
        fresh.rename(self.path)
        self.rotations += 1

    def _part(self, number: int) -> Path:
        return self.path.with_name(f"{self.path.name}.{number}") if number else self.path

    def whole(self, path: Path) -> None:
        """Write all that was ever in the file as one file."""
        with path.open("w") as out:
            out.write(HEADER)
            for number in range(self.rotations, -1, -1):
                with self._part(number).open() as file:
                    file.readline()
                    out.writelines(file)


class RedisStream:
    """A stream of a server that may be away: what is sent arrives once."""

    def __init__(self, client: Any, name: str, seed: int) -> None:
        self.client = client
        self.name = name
        self.good: list[str] = []
        self.bad = 0
        self._clusters = Clusters(seed)
        self._chance = random.Random(seed)
        self._milliseconds = 1

    @property
    def returns(self) -> int:
        return self._clusters.returns

    def burst(self, n: int | None = None) -> None:
        """Send rows; exactly n that can be read, if a number is given."""
        size = n if n is not None else min(self._chance.choice(_BURSTS), 200)
        self._milliseconds += int(1000 * self._chance.choice(_JUMPS))
        entries: list[tuple[str, bytes]] = []
        for x, y in self._clusters.rows(size).tolist():
            while n is None and self._chance.random() < _BAD:
                entries.append((self._next(), self._chance.choice(_BAD_JSON)))
                self.bad += 1
            entries.append((self._next(), json.dumps({"x": x, "y": y}).encode()))
            self.good.append(entries[-1][0])
        self._send(entries)

    def _next(self) -> str:
        self._milliseconds += 10
        return f"{self._milliseconds}-0"

    def _send(self, entries: list[tuple[str, bytes]]) -> None:
        import redis

        while True:
            # All or nothing: of a server that is just loading, only the last would be taken.
            together = self.client.pipeline(transaction=True)
            for entry, value in entries:
                together.xadd(self.name, {"data": value}, id=entry)
            try:
                answers = together.execute(raise_on_error=False)
            except (redis.ConnectionError, redis.exceptions.ExecAbortError):
                time.sleep(0.05)
                continue
            failed = [one for one in answers if isinstance(one, Exception)]
            # What had arrived although the answer did not is refused by its id.
            if not failed or all("equal or smaller" in str(one) for one in failed):
                return
            raise failed[0]
