"""What a report of a fault should say: versions, and which core runs."""

from __future__ import annotations

import platform
from importlib import metadata

from scstream import __version__

_PACKAGES = ("numpy", "scipy", "scikit-learn", "pandas", "polars", "pyarrow", "torch")


def version_line() -> str:
    """Return the version and the core in one line.

    Examples
    --------
    >>> version_line().split()[0]
    'scstream'
    """
    from scstream import core

    return f"scstream {__version__} ({core.name()} core)"


def show_versions() -> None:
    """Print the versions of scstream, of Python and of the packages that matter to it."""
    print(version_line())
    print(f"Python {platform.python_version()}, {platform.platform()}, {platform.machine()}")
    for package in _PACKAGES:
        try:
            print(f"{package} {metadata.version(package)}")
        except metadata.PackageNotFoundError:
            continue
