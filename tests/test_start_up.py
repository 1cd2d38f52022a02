"""Starting up: what an import loads, and what the first use compiles, and says about it."""

import os
import re
import subprocess
import sys


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
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
from scstream.kernels import ahead
ahead._cores = lambda: 2
rng = np.random.default_rng(0)
model = ScStream(random_state=0)
for batch in range(2):
    model.partial_fit(rng.normal(size=(200, 2)))
    model.predict(rng.normal(size=(10, 2)))
print(model.n_batches_)
"""
OTHER_USES = """
model.predict_proba(rng.normal(size=(10, 2)))
model.score_samples(rng.normal(size=(10, 2)))
from importlib import import_module
here = {name for helper in ahead._HELPERS.values() for name in helper.meanwhile}
for name in ahead.signatures():
    module, _, kernel = name.partition(".")
    kernel = getattr(import_module(f"scstream.kernels.{module}"), kernel)
    if len(kernel.stats.cache_misses) > (name in here):
        print(name, "was compiled for", *kernel.stats.cache_misses)
"""
FIXED = """
X = rng.normal(size=(200, 2))
X.flags.writeable = False
model.partial_fit(X, sample_weight=X[:, 0] ** 2)
model.predict(X)
"""


def test_compiling_is_announced_once_and_what_is_on_disk_is_not_compiled_again(tmp_path) -> None:
    """Whatever the second process has in hand is loaded, and of the types that are asked for."""
    first = run(FIRST_USE + OTHER_USES, NUMBA_CACHE_DIR=str(tmp_path))
    assert first.stdout == "2\n"
    assert first.stderr.count("\n") == 1
    assert re.match(
        r"scstream: compiling its kernels, about \d+ s once on this machine", first.stderr
    )
    second = run(FIRST_USE + FIXED, NUMBA_CACHE_DIR=str(tmp_path))
    assert second.stdout == "2\n"
    assert second.stderr == ""  # nor are arrays that must not be written a reason to compile


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
