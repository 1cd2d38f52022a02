"""Where modules are imported from: not from the folder that a process happens to run in."""

import os
import sys


def safe_path() -> list[str]:
    """Return `sys.path` without the working folder, which comes last if this package lies there."""
    try:
        here = os.path.realpath(os.getcwd())
    except OSError:  # the folder was removed
        here = ""
    path = [entry for entry in sys.path if entry and os.path.realpath(entry) != here]
    home = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
    return path if home in path else [*path, home]
