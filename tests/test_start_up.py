"""Starting up: what an import loads, and that compiling is announced when it happens."""

import os
import subprocess
import sys


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )


def test_the_import_loads_nothing_that_only_some_need() -> None:
    code = "import sys, scstream; print(*sys.modules)"
    loaded = set(run(code).stdout.split())
    assert "scstream" in loaded
    assert not loaded & {"matplotlib", "pandas", "polars", "dask", "distributed", "torch"}


def test_neither_the_estimator_nor_its_use_loads_them() -> None:
    code = """
import sys, numpy as np
from scstream import ScStream
ScStream(random_state=0, max_sweeps=2).fit(np.random.default_rng(0).normal(size=(30, 2)))
print(*sys.modules)
"""
    assert not set(run(code).stdout.split()) & {"matplotlib", "distributed", "torch"}


FIRST_USE = """
import numpy as np
from scstream import ScStream
rng = np.random.default_rng(0)
model = ScStream(random_state=0)
for batch in range(2):
    model.partial_fit(rng.normal(size=(200, 2)))
    model.predict(rng.normal(size=(10, 2)))
print(model.n_batches_)
"""


def test_compiling_is_announced_once_and_what_is_on_disk_is_not_compiled_again(tmp_path) -> None:
    first = run(FIRST_USE, NUMBA_CACHE_DIR=str(tmp_path))
    assert first.stdout == "2\n"
    assert first.stderr.count("\n") == 1
    assert first.stderr.startswith("scstream: compiling its kernels; this happens once")
    second = run(FIRST_USE, NUMBA_CACHE_DIR=str(tmp_path))
    assert second.stdout == "2\n"
    assert second.stderr == ""
