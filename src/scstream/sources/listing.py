"""The files that a source names: one, several, a pattern, a folder; here or in the cloud."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, BinaryIO

from scstream.support.extras import need_package

CLOUDS = ("s3", "gs", "gcs", "abfs", "abfss", "hdfs", "viewfs", "file")  # file systems of pyarrow
_MAGIC = re.compile(r"[*?\[]")


@dataclass(frozen=True)
class Listing:
    """Files in the order in which they are read, and the file system of pyarrow if not here."""

    paths: list[str]
    system: Any = None

    @property
    def name(self) -> str:
        """What they are called in messages."""
        more = len(self.paths) - 1
        return Path(self.paths[0]).name + (f" and {more:,} more" if more else "")

    def open(self, path: str) -> BinaryIO:
        """Open a file to read its bytes."""
        if self.system is None:
            return open(path, "rb")
        file: BinaryIO = self.system.open_input_file(path)
        return file


def listed(specs: Sequence[str], endings: Sequence[str]) -> Listing:
    """Return the files that are meant.

    Those of a pattern or a folder come in the order of their names, in which 2 comes before 10.
    Of a folder all that end in a known format are taken, but for hidden ones.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for day in (10, 2):
    ...     _ = (folder / f"day{day}.csv").write_text("x")
    >>> [pathlib.Path(path).name for path in listed([str(folder / "day*.csv")], [".csv"]).paths]
    ['day2.csv', 'day10.csv']
    """
    clouds = {spec.partition("://")[0] for spec in specs if "://" in spec}
    if clouds and (len(clouds) > 1 or not all("://" in spec for spec in specs)):
        raise ValueError("Files of several file systems cannot be read as one stream.")
    system, paths = None, []
    for spec in specs:
        if clouds:
            system, found = _in_cloud(spec, endings)
        else:
            found = _here(spec, endings)
        if not found:
            raise FileNotFoundError(2, "There is no file of that name to read", spec)
        paths += found
    return Listing(paths, system)


def would_read(spec: str, path: str | Path) -> bool:
    """Whether a folder or a pattern takes in a file, once it is there."""
    if "://" in f"{spec} {path}" or spec == "-" or str(path) in ("-", "none"):
        return False
    mine, there = os.path.realpath(path), os.path.realpath(spec)
    if os.path.isdir(spec):
        return Path(mine).is_relative_to(there)
    folder, name = os.path.split(there)
    return not os.path.exists(spec) and (
        fnmatch(mine, there) if "**" in spec else os.path.dirname(mine) == folder
    ) and fnmatch(os.path.basename(mine), name)  # fmt: skip


def _here(spec: str, endings: Sequence[str]) -> list[str]:
    if os.path.isdir(spec):
        found = [str(path) for path in Path(spec).rglob("*") if path.is_file()]
        return _of_table(found, spec, endings)
    if os.path.exists(spec) or not _MAGIC.search(spec):
        return [spec]
    return sorted(filter(os.path.isfile, glob.glob(spec, recursive=True)), key=_by_number)


def _in_cloud(spec: str, endings: Sequence[str]) -> tuple[Any, list[str]]:
    fs = need_package("pyarrow.fs", "parquet", f"{spec} needs pyarrow")
    magic = _MAGIC.search(spec)
    whole = spec[: spec.rindex("/", 0, magic.start()) + 1] if magic else spec
    try:
        system, base = fs.FileSystem.from_uri(whole)
        kind = system.get_file_info(base).type
    except (OSError, ValueError) as error:
        raise ValueError(f"{spec} cannot be read: {error}") from None
    if kind == fs.FileType.File:
        return system, [base]
    if kind != fs.FileType.Directory:
        return system, []
    files = system.get_file_info(fs.FileSelector(base, recursive=True))
    paths = [info.path for info in files if info.type == fs.FileType.File]
    if magic is None:
        return system, _of_table(paths, base, endings)
    depth, pattern = spec.count("/"), base.rstrip("/") + "/" + spec[len(whole) :]
    slashes = depth - whole.count("/") + base.rstrip("/").count("/") + 1
    deep = "**" in spec
    found = [p for p in paths if fnmatch(p, pattern) and (deep or p.count("/") == slashes)]
    return system, sorted(found, key=_by_number)


def _of_table(paths: list[str], base: str, endings: Sequence[str]) -> list[str]:
    """Return the files of a folder that can be read, in order."""
    taken = []
    for path in paths:
        inside = Path(os.path.relpath(path, base))
        hidden = any(part.startswith((".", "_")) for part in inside.parts)
        if not hidden and set(map(str.lower, inside.suffixes[-2:])) & set(endings):
            taken.append(path)
    return sorted(taken, key=_by_number)


def _by_number(path: str) -> list[tuple[int, str]]:
    """Return a key that puts numbers in names in their order."""
    parts = re.split(r"(\d+)", path)
    return [(int(p), "") if i % 2 else (0, p) for i, p in enumerate(parts)]
