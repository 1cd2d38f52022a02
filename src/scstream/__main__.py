"""``python -m scstream``: the command line."""

import sys

from scstream.cli import main

sys.exit(main())
