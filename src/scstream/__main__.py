"""``python -m scstream``, and the command ``scstream``: the command line."""

import sys


def run() -> int:
    """Run the command line; Ctrl-C while it is still being loaded ends it quietly, too."""
    try:
        from scstream.cli import main

        return main()
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(run())
