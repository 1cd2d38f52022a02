"""The packages that video needs, and errors that say how to get them."""

from __future__ import annotations

from scstream.support.extras import need_package


def require_pillow() -> None:
    """Raise an ``ImportError`` that names the extra if Pillow is not installed."""
    need_package("PIL", "video", "reading and writing images needs Pillow")


def require_av() -> None:
    """Raise an ``ImportError`` that names the extra if PyAV is not installed."""
    more = "; a folder of images or a GIF does not need it"
    need_package("av", "video", "video files need PyAV", more)
