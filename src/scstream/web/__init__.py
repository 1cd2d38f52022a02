"""The page that shows a run: its files, and what it reads.

Its sources are in the folder ``web`` of the repository; ``make page`` builds them.
"""

from scstream.web.data import PageData
from scstream.web.files import asset, standalone

__all__ = ["PageData", "asset", "standalone"]
