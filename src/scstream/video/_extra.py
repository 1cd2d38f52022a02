"""The packages that video needs, and errors that say how to get them."""

from __future__ import annotations


def require_pillow() -> None:
    """Raise an ``ImportError`` that names the extra if Pillow is not installed."""
    try:
        import PIL  # noqa: F401 - only asked whether it is there
    except ImportError as error:
        raise ImportError(
            "reading and writing images needs Pillow, which is not installed: "
            "pip install 'scstream[video]'"
        ) from error


def require_av() -> None:
    """Raise an ``ImportError`` that names the extra if PyAV is not installed."""
    try:
        import av  # noqa: F401 - only asked whether it is there
    except ImportError as error:
        raise ImportError(
            "video files need PyAV, which is not installed: pip install 'scstream[video]'; "
            "a folder of images or a GIF does not need it"
        ) from error
