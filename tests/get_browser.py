"""Get what the tests of the page need, where that may be: Playwright, and a Chromium.

``make test`` runs it once for an environment. It takes less than a minute, never fails, and says
in a line what is missing; the tests are then skipped. BROWSER=no leaves it out.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

from browser import find_chromium

_SECONDS = 55.0  # for everything
_ROOT = Path(__file__).parents[1]


def main() -> None:
    """Get what is missing, and say what is still missing then."""
    if os.environ.get("BROWSER", "").lower() == "no":
        return
    end = time.monotonic() + _SECONDS
    if find_spec("playwright") is None:
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        reason = tried([*pip, "--retries", "0", "--timeout", "10", "--group", "browser"], end)
        if reason is not None:
            say(f"Playwright cannot be installed ({reason})")
            return
    if find_chromium() is not None:
        return
    reason = tried([sys.executable, "-m", "playwright", "install", "--only-shell", "chromium"], end)
    if reason is not None and may_install_packages():
        get = ["apt-get", "install", "--yes", "--quiet", "--no-install-recommends", "chromium"]
        reason = tried([*get, "--download-only"], end)  # which may be broken off at any moment
        if reason is None:
            reason = tried(get, None)
    if reason is not None:
        say(f"there is no Chromium, and none can be installed ({reason})")


def may_install_packages() -> bool:
    """Whether Debian's packages can be installed by this user."""
    return shutil.which("apt-get") is not None and hasattr(os, "getuid") and os.getuid() == 0


def tried(words: list[str], end: float | None) -> str | None:
    """Run a command until a time; return why it failed, None if it did not."""
    left = None if end is None else end - time.monotonic()
    if left is not None and left <= 1.0:
        return "it takes too long"
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        done = subprocess.run(
            words, cwd=_ROOT, env=quiet, timeout=left, capture_output=True, text=True, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return "it takes too long"
    except OSError as error:
        return str(error.strerror)
    lines = [line.strip() for line in (done.stderr or done.stdout).splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower()] + lines[-1:]
    return None if done.returncode == 0 else (errors or ["no reason given"])[0][:120]


def say(reason: str) -> None:
    """Say that tests will be skipped."""
    print(f"Tests of the page will be skipped: {reason}.", file=sys.stderr)


if __name__ == "__main__":
    main()
