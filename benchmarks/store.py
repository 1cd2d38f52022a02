"""Stored results: a file of JSON lines that is only ever added to.

A line is found again by its key; where a key occurs twice, the later line holds.
"""

from __future__ import annotations

import gzip
import json
import math
from os import SEEK_END
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

Row = dict[str, Any]
Key = tuple[Any, ...]

_KEY = ("what", "dataset", "contestant", "settings_kind", "seed", "mode")
_DIGITS = 6  # of the numbers of each batch


def key_of(row: Row) -> Key:
    """Return what a row is found by."""
    return tuple(row.get(name) for name in _KEY)


class Store:
    """The results of a file, and the way to add to them.

    Parameters
    ----------
    path : Path
        Made on the first addition if it is not there.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = Lock()
        self._rows = {key_of(row): row for row in read(path)} if path.exists() else {}

    def get(self, **key: Any) -> Row | None:
        """Return the row of a key, None if there is none."""
        return self._rows.get(key_of(key))

    def rows(self) -> list[Row]:
        """Return all rows."""
        return list(self._rows.values())

    def add(self, row: Row) -> None:
        """Write a row at the end of the file, at once."""
        row = plain(row)
        line = json.dumps(row, allow_nan=False).encode()
        with self._lock:
            self._rows[key_of(row)] = row
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab") as file:
                file.write((b"\n" if _is_cut_short(self.path) else b"") + line + b"\n")


def _is_cut_short(path: Path) -> bool:
    """Whether the last line of a file was not written to its end."""
    with path.open("rb") as file:
        if file.seek(0, SEEK_END) == 0:
            return False
        file.seek(-1, SEEK_END)
        return file.read() != b"\n"


def read(*paths: Path) -> list[Row]:
    """Return the rows of files in order, the last of each key; a line cut short is left out."""
    rows: dict[Key, Row] = {}
    for path in paths:
        for number, line in enumerate(_text(path).splitlines()):
            try:
                row = json.loads(line)
            except json.JSONDecodeError:
                continue
            key = key_of(row) if "dataset" in row else (path, number)
            rows[key] = row
    return list(rows.values())


def _text(path: Path) -> str:
    """Return the text of a file, which may be packed."""
    if path.suffix == ".gz":
        return gzip.decompress(path.read_bytes()).decode()
    return path.read_text()


def plain(value: Any) -> Any:
    """Return what JSON can hold: NumPy's types as Python's, NaN and infinities as null."""
    if isinstance(value, dict):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else None
    if value is None or isinstance(value, (bool, int, str)):
        return value
    return str(value)
