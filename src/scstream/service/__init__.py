"""A model behind HTTP: the live page, metrics, and predictions over the network.

Needs the extra ``serve``. `serve` starts it beside a program of one's own; ``scstream run
--serve``, ``scstream watch`` and ``scstream serve`` start it from the command line.
"""

from scstream.service.live import Live, serve
from scstream.service.settings import Settings

__all__ = ["Live", "Settings", "serve"]
