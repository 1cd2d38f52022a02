"""Machine code on disk is that of the sources as they are."""

import os
import subprocess
import sys

KERNEL = """
from scstream.kernels import compiling

@compiling.kernel
def times(x, y):
    return x * y

assert times(2.0, 3.0) == 6.0
print(sum(times.stats.cache_hits.values()))
"""


def product(folder, script=KERNEL, **environment):
    """Have a kernel called in a process of its own, whose machine code is in the folder."""
    (folder / "product.py").write_text(script)
    kept = str(folder / "kept")
    return subprocess.run(
        [sys.executable, "-W", "error", "product.py"],
        cwd=folder,
        env={**os.environ, "NUMBA_CACHE_DIR": kept, **environment},
        capture_output=True,
        text=True,
        check=True,
    )


DAMAGED = """
from pathlib import Path
from numba.core import config
from scstream.kernels import compiling

def times(x, y):
    return x * y

def hits():
    anew = compiling.kernel(times)  # which has its files to look at, as in another process
    assert anew(2.0, 3.0) == 6.0
    return sum(anew.stats.cache_hits.values())

assert [hits(), hits()] == [0, 1]
for files, damage in (
    ("*.nbi", lambda b: b""),
    ("*.nbc", lambda b: b[: len(b) // 2]),
    ("*.nbi", lambda b: b"x" * 99),
    ("*.nb?", lambda b: b[: len(b) // 2]),
):
    damaged = list(Path(config.CACHE_DIR).rglob(f"product.times-{files}"))
    assert damaged
    for path in damaged:
        path.write_bytes(damage(path.read_bytes()))
    assert [hits(), hits()] == [0, 1], files
"""


def test_damaged_files_are_made_anew(tmp_path):
    """And nothing is said of it but that kernels compile."""
    done = product(tmp_path, DAMAGED)
    assert done.stderr.startswith("scstream: compiling its kernels")
    assert done.stderr.count("\n") == 1


NOWHERE = {"NUMBA_CACHE_LOCATOR_CLASSES": "UserProvidedCacheLocator"}


def test_without_a_folder_to_write_kernels_are_compiled_in_memory(tmp_path):
    done = product(tmp_path, NUMBA_CACHE_DIR=os.devnull + "/kept", **NOWHERE)
    assert done.stdout == "0\n"
    assert done.stderr.count("cannot be saved to disk (no folder for them can be written)") == 1
    assert "for this process ..." in done.stderr


def test_what_cannot_be_written_is_said_once(tmp_path):
    """A folder that is gone by the time code is to be written, as a full disk is full."""
    script = """
import shutil
from scstream.kernels import compiling

@compiling.kernel
def one(x):
    return x

@compiling.kernel
def two(x):
    return x + x

for kernel in (one, two):
    folder = kernel._cache.cache_path
shutil.rmtree(folder)
open(folder, "w").close()
assert one(1.0) + two(1.0) == 3.0
"""
    (tmp_path / "gone.py").write_text(script)
    done = subprocess.run(
        [sys.executable, "gone.py"],
        cwd=tmp_path,
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "kept")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr.count("cannot be saved to disk") == 1
