"""``python -m scstream``, and the command ``scstream``: the command line."""

import os
import sys
from io import TextIOWrapper

from scstream.support.modules import safe_path

if __name__ == "__main__":  # the folder that this was called in holds other modules
    sys.path[:] = safe_path()

from scstream.support.progress import UNHEARD


class Unheard(TextIOWrapper):
    """A stream of messages that goes on where it is not read any more: what is written is lost."""

    def write(self, text: str) -> int:
        """Write some text if that is possible."""
        with UNHEARD:
            return super().write(text)
        return len(text)

    def flush(self) -> None:
        """Hand on what is written if that is possible."""
        with UNHEARD:
            super().flush()


def run() -> int:
    """Run the command line; Ctrl-C while it is still being loaded ends it quietly, too."""
    try:
        sys.path[:] = safe_path()
        _prepare_streams()
        from scstream.cli import main

        return main()
    except KeyboardInterrupt:
        return 130


def _prepare_streams() -> None:
    """Make the standard streams safe to use: closed ones, and those that cannot show a name.

    A file that is opened gets the lowest free number. Without something at the numbers of closed
    streams an output could be what libraries take for standard error. Python would print messages
    for a closed standard error to standard output, among the labels. If messages are not read any
    more the work does not end.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free number is this one
    if sys.stderr is None:
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115  # for as long as the process lasts
    sys.stderr = Unheard(
        sys.stderr.buffer, sys.stderr.encoding, "backslashreplace", line_buffering=True
    )
    if sys.stdout is not None:
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]


if __name__ == "__main__":
    sys.exit(run())
