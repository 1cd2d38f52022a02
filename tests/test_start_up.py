"""Starting up: what an import loads, and from where."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import scstream


def run(code: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code, *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    )


def test_the_import_loads_nothing_that_only_some_need() -> None:
    code = "import sys, scstream; print(*sys.modules)"
    loaded = set(run(code).stdout.split())
    assert "scstream" in loaded
    assert not loaded & {"matplotlib", "pandas", "polars", "dask", "distributed", "torch"}


def test_neither_the_estimator_nor_its_use_nor_what_draws_and_reads_images_loads_them() -> None:
    code = """
import sys, numpy as np
import scstream.cli.video, scstream.demo, scstream.plot, scstream.video
from scstream import ScStream
ScStream(random_state=0, max_sweeps=2).fit(np.random.default_rng(0).normal(size=(30, 2)))
print(*sys.modules)
"""
    loaded = set(run(code).stdout.split())
    assert not loaded & {"matplotlib", "distributed", "torch", "PIL", "av"}


@pytest.fixture
def traps(tmp_path: Path) -> Path:
    """Return a folder with modules that say so when they are imported.

    All that Python has, but those that it imports by itself to run a module, and some others.
    """
    code = "import runpy, importlib.util, sys; print(*sys.modules)"
    by_itself = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    names = {
        *sys.stdlib_module_names,
        "numpy",
        "scipy",
        "sklearn",
        "pandas",
        "distributed",
    }
    for name in names - {"__future__", *by_itself.stdout.split()}:
        (tmp_path / f"{name}.py").write_text("open('imported', 'a').write(__name__ + '\\n')\n")
    (tmp_path / "rows.csv").write_text("".join(f"{i % 7}.5,{i % 3}.5\n" for i in range(100)))
    return tmp_path


def test_the_command_line_imports_nothing_from_the_working_folder(traps: Path) -> None:
    command = [sys.executable, "-m", "scstream", "run", "rows.csv", "--quiet"]
    done = subprocess.run(command, cwd=traps, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") == 101
    assert not (traps / "imported").exists()


def test_no_other_process_is_ever_started() -> None:
    """Whoever starts one tests it as above."""
    starts = re.compile(
        r"\b(subprocess|multiprocessing|ProcessPoolExecutor|popen|fork|posix_spawn|os\.(exec|spawn|system)\w*)\b"
    )
    package = Path(scstream.__file__).parent
    found = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        for line in path.read_text().splitlines()
        if re.search(rf"(import|from) .*{starts.pattern}|{starts.pattern}\(", line)
    }
    assert not found
