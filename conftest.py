"""What pytest leaves out: doctests of modules whose extra is not installed."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("torch") else ["src/scstream/engines/torch/*.py"]
