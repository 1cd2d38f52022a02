"""Some of the spoiled calls of the compiled core, see `fuzz_core`."""

import subprocess
import sys
from pathlib import Path

import pytest

from scstream import core

ROOT = Path(__file__).parents[1]


@pytest.mark.skipif(core.name() == "plain", reason="spoiled calls are those of the compiled core")
def test_spoiled_calls_neither_crash_nor_write_elsewhere():
    command = [sys.executable, "-m", "tests.fuzz_core", "--cases", "300", "--trace"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    last = [line for line in done.stdout.splitlines() if line.startswith("case ")][-1:]
    assert done.returncode == 0, f"{last} {done.stdout[-2000:]} {done.stderr[-2000:]}"
