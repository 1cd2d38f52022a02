"""What pytest leaves out, doctests of modules whose extra is not installed; and what comes first."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("torch") else ["src/scstream/engines/torch/*.py"]


def pytest_collection_modifyitems(items):
    """Start with the longest tests, so that at the end no worker is alone with one."""
    items.sort(key=lambda item: item.get_closest_marker("first") is None)
