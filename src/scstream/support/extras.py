"""Packages that come with an extra, and errors that say how to get them."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def need_package(package: str, extra: str, why: str = "", more: str = "") -> Any:
    """Return a package, or raise an ``ImportError`` that names the extra that brings it.

    Examples
    --------
    >>> need_package("pillar", "video", "reading images needs Pillar")
    Traceback (most recent call last):
    ...
    ImportError: reading images needs Pillar, which is not installed: pip install 'scstream[video]'
    """
    try:
        return import_module(package)
    except ImportError as error:
        why = why or f"this needs {package}"
        raise ImportError(
            f"{why}, which is not installed: pip install 'scstream[{extra}]'{more}"
        ) from error
