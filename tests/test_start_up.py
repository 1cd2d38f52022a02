"""Starting up: what an import loads, and what the first use compiles, and says about it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import scstream
from scstream.kernels import ahead, needed


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


FIRST_USE = """
import sys
import numpy as np
from scstream import ScStream
from scstream.kernels import ahead
ahead._cores = lambda: 2
n, d = map(int, sys.argv[1:])
rng = np.random.default_rng(0)
model = ScStream(random_state=0)
for batch in range(2):
    model.partial_fit(rng.normal(size=(n, d)) + 9.0 * rng.integers(2, size=(n, 1)))
    model.predict(rng.normal(size=(10, d)))
print(model.n_batches_)
"""
OTHER_USES = """
model.predict_proba(rng.normal(size=(10, d)))
model.score_samples(rng.normal(size=(10, d)))
from importlib import import_module
from scstream.kernels import needed
for name, types in needed.signatures().items():
    module, _, kernel = name.partition(".")
    kernel = getattr(import_module(f"scstream.kernels.{module}"), kernel)
    for used in set(kernel.signatures) - {tuple(types)}:
        print(name, "was compiled for", used)
"""
AGAIN = """
X = rng.normal(size=(n, d))
X.flags.writeable = {writeable}
model.partial_fit(X, sample_weight=X[:, 0] ** 2)
model.predict(X)
"""


@pytest.mark.first
@pytest.mark.parametrize(
    "shape", [("200", "2"), ("600", "32"), pytest.param(("300", "16"), marks=pytest.mark.slow)]
)  # the kernels of the last are among those of the second
def test_compiling_is_announced_once_and_what_is_on_disk_is_not_compiled_again(
    shape, tmp_path
) -> None:
    """Whatever the second process compiles is of the types that are asked for."""
    written, fixed = (AGAIN.format(writeable=writeable) for writeable in (True, False))
    first = run(FIRST_USE + written + OTHER_USES, *shape, NUMBA_CACHE_DIR=str(tmp_path))
    assert first.stdout == "2\n"
    assert first.stderr.count("\n") == 1
    assert re.match(
        r"scstream: compiling its kernels for this kind of work, about \d+ s, kept", first.stderr
    )
    second = run(FIRST_USE + fixed, *shape, NUMBA_CACHE_DIR=str(tmp_path))
    assert second.stdout == "2\n"
    assert second.stderr == ""  # nor are arrays that must not be written a reason to compile


def test_kernels_of_large_batches_are_compiled_for_the_types_that_are_asked_for() -> None:
    code = """
import numpy as np
from scstream import ScStream
from scstream.kernels import ahead, needed
ahead.can_help = lambda: False
rng = np.random.default_rng(0)
model = ScStream(random_state=0)
for n in (5000, 5000, 300, 5000):
    model.partial_fit(rng.normal(size=(n, 2)) + 9.0 * rng.integers(3, size=(n, 1)))
    model.predict(rng.normal(size=(10, 2)))
for name, types in needed.large_batches().items():
    for used in set(ahead.kernel_of(name).signatures) - {tuple(types)}:
        print(name, "was compiled for", used)
"""
    assert run(code).stdout.split() == []


def test_without_compiling_labels_are_the_same() -> None:
    code = """
import numpy as np
from scstream import ScStream
rng = np.random.default_rng(0)
model = ScStream(random_state=0, max_sweeps=3)
for batch in range(3):
    X = rng.normal(size=(40, 2)) + 9.0 * rng.integers(2, size=(40, 1))
    model.partial_fit(X)
    print(*model.labels_, *model.predict(X[::-1]))
"""
    plain = run(code, NUMBA_DISABLE_JIT="1")
    assert plain.stderr == ""
    assert plain.stdout == run(code).stdout


@pytest.fixture
def traps(tmp_path: Path) -> Path:
    """Return a folder with modules that say so when they are imported.

    All that Python has, but those that it imports by itself to run a module, and some others.
    """
    code = "import runpy, importlib.util, sys; print(*sys.modules)"
    by_itself = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    names = {
        *sys.stdlib_module_names,
        "numba",
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


def test_the_second_process_imports_nothing_from_the_working_folder(
    traps: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in needed.small_batches():  # all are claimed, so there is nothing to compile
        traps.joinpath("claims", name).parent.mkdir(exist_ok=True)
        traps.joinpath("claims", name).touch()
    monkeypatch.chdir(traps)
    monkeypatch.setattr("tempfile.mkdtemp", lambda prefix: str(traps / "claims"))
    monkeypatch.setattr(sys, "path", ["", str(traps), *sys.path])
    monkeypatch.setenv("PYTHONPATH", str(traps))
    helper = ahead._Helper(needed.small_batches)
    helper.start()
    helper.finish()
    assert helper._process is not None
    assert helper._process.wait() == 0
    helper.stop()
    assert not (traps / "imported").exists()


def test_only_the_second_process_is_ever_started() -> None:
    """Whoever starts another process tests it as above."""
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
    assert found == {"kernels/ahead.py"}
