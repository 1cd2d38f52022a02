"""How pytest collects: no doctests of extras that are not installed, the longest tests first."""

import gc
import sys
from importlib.util import find_spec

import pytest

collect_ignore_glob = [] if find_spec("torch") else ["src/scstream/engines/torch/*.py"]
collect_ignore_glob += [] if find_spec("pyspark") else ["src/scstream/spark/*.py"]
if sys.platform == "win32":  # forks, kills by signals, pipes with names, files renamed while open
    collect_ignore_glob += [
        "tests/benchmarks/test_soak*.py",
        "tests/checkpoint/test_hostile.py",
        "tests/cli/test_bad_input.py",
        "tests/cli/test_full_disk.py",
        "tests/cli/test_kill.py",
        "tests/cli/test_outputs.py",
        "tests/cli/test_rotated.py",
        "tests/cli/test_slips.py",
        "tests/service/test_hostile.py",
        "tests/sources/test_brokers*.py",
        "tests/sources/test_rotation.py",
        "tests/support/test_progress.py",
    ]


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Look for tests without the garbage collector, a fifth of the time: most objects stay."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_modifyitems(items):
    """Start with the longest tests, so that at the end no worker is alone with one."""
    items.sort(key=lambda item: item.get_closest_marker("first") is None)
