"""How pytest collects: no doctests of extras that are not installed, the longest tests first."""

import gc
from importlib.util import find_spec

import pytest

collect_ignore_glob = [] if find_spec("torch") else ["src/scstream/engines/torch/*.py"]


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
