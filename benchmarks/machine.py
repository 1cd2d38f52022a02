"""What a result depends on besides its settings: the machine, the versions, the revision."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

_PACKAGES = (
    "scstream",
    "numpy",
    "scipy",
    "scikit-learn",
    "river",
    "capymoa",
    "optuna",
)
_ROOT = Path(__file__).parents[1]


@cache
def circumstances() -> dict[str, Any]:
    """Return the machine, the versions and the revision, as every stored line holds them."""
    return {"machine": _machine(), "versions": _versions(), "revision": _revision()}


def at_present() -> dict[str, Any]:
    """Return the same with the date and how busy the machine is."""
    return {**circumstances(), "date": now(), "load": os.getloadavg()}


def now() -> str:
    """Return the date and time, in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _machine() -> dict[str, Any]:
    memory = None
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        memory = round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30, 1)
    return {
        "system": platform.system(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gib": memory,
    }


def _processor() -> str:
    """Return the processor's name, its architecture where it has no name."""
    listed = Path("/proc/cpuinfo")
    if listed.exists():
        for line in listed.read_text().splitlines():
            if line.lower().startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def _versions() -> dict[str, str | None]:
    versions: dict[str, str | None] = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            versions[package] = None
    return versions


def _revision() -> str | None:
    """Return the revision of the code, marked if files differ from it; None outside git."""

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(_ROOT), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        changed = " with changes" if git("status", "--porcelain", "--", "src", "benchmarks") else ""
        return git("rev-parse", "--short", "HEAD") + changed
    except (OSError, subprocess.CalledProcessError):
        return None
