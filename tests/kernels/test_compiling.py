"""Machine code on disk is that of the sources as they are."""

import os
import pickle
import subprocess
import sys
import textwrap
from importlib import import_module
from threading import Thread, Timer
from time import sleep

import numba
import numpy as np
import pytest
from numba.core import config

from scstream import ScStream
from scstream.kernels import (
    ahead,
    compiling,
    machine_code,
    needed,
    screened_blocks,
    small_divisions,
)


def test_kernels_are_stamped_with_all_files_they_are_made_from():
    for kernel in (small_divisions.divide, screened_blocks.label_block):
        stamp = kernel._cache.files._cache_file._source_stamp
        assert stamp[1] == machine_code.sources()
        pickle.dumps(stamp)


def test_another_stamp_compiles_anew(tmp_path):
    """What was kept is used again, unless some file changed since."""
    (tmp_path / "some_kernel.py").write_text(
        textwrap.dedent(
            """
            from scstream.kernels import compiling, machine_code

            def twice(x):
                return 2.0 * x

            for stamp in "aabb":
                machine_code.sources = lambda: stamp
                anew = compiling.kernel(twice)  # which looks at its files, as in another process
                anew(1.0)
                print(sum(anew.stats.cache_hits.values()))
            """
        )
    )
    command = [sys.executable, "some_kernel.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0", "1", "0", "1"]


def test_the_garbage_collector_waits_for_kernels_and_for_nobody_else(tmp_path):
    (tmp_path / "collected.py").write_text(
        textwrap.dedent(
            """
            import gc
            import numba
            from numba.core import event
            from scstream.kernels import compiling

            seen = []

            class Watch(event.Listener):
                def on_start(self, event):
                    seen.append(gc.isenabled())

                def on_end(self, event):
                    pass

            event.register("numba:compile", Watch())

            def shortened(x):
                return max(x, 1.0)

            compiling.kernel(shortened)(2.0)
            assert seen and not any(seen), seen
            assert gc.isenabled()
            seen.clear()
            numba.njit(lambda x: min(x, 1.0))(2.0)
            assert seen and all(seen), seen
            gc.disable()
            compiling.kernel(shortened)(2)
            assert not gc.isenabled()
            """
        )
    )
    subprocess.run([sys.executable, "collected.py"], cwd=tmp_path, check=True)


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


def test_what_compiles_after_a_pause_is_announced_again(tmp_path):
    script = (
        KERNEL
        + """
import time
from scstream.kernels import announcing
announcing._WORK = 0.5
end = time.process_time() + 0.6
while time.process_time() < end:
    pass
times(2, 3)
"""
    )
    (tmp_path / "later.py").write_text(script)
    done = subprocess.run(
        [sys.executable, "later.py"],
        cwd=tmp_path,
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "kept")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr.count("scstream: compiling its kernels for this kind of work, about ") == 2


@pytest.mark.parametrize("name", list(needed.signatures()))
def test_the_second_process_compiles_what_is_called(name):
    """Its kernels exist; that they are called with these types `test_start_up` shows."""
    module, _, kernel = name.partition(".")
    assert hasattr(import_module(f"scstream.kernels.{module}"), kernel)


def test_a_second_process_is_started_only_where_there_is_python_and_a_core(monkeypatch):
    monkeypatch.setattr(ahead, "_cores", lambda: 2)
    assert ahead.can_help()
    monkeypatch.setattr(sys, "executable", "/usr/bin/uwsgi")
    assert not ahead.can_help()
    monkeypatch.undo()
    monkeypatch.setattr(ahead, "_cores", lambda: 1)
    assert not ahead.can_help()


def test_two_processes_share_what_there_is_to_compile(monkeypatch, tmp_path):
    compiled, (reads, writes) = [], os.pipe()
    said, says = os.fdopen(reads), os.fdopen(writes, "w")
    monkeypatch.setattr(ahead, "compile_for", lambda name, arguments: compiled.append(name))
    helper, other = ahead._Helper(dict), ahead.Claims(str(tmp_path))
    helper._kernels, helper._claims = dict.fromkeys("abcdef"), ahead.Claims(str(tmp_path))
    listening = Thread(target=helper._listen, args=(said,), daemon=True)
    listening.start()
    assert not helper.wait_for("z")  # which is not for the second process
    assert not helper.wait_for("b")  # nobody has claimed it: this process compiles it
    assert not other.take("b")
    assert not helper.wait_for("b")  # which it does now
    assert other.take("a")
    print("a", file=says, flush=True)
    while "a" not in helper._done:
        sleep(0.001)
    assert helper.wait_for("a")
    assert compiled == []  # nobody had to wait
    assert other.take("e")
    Timer(0.05, lambda: print("e", file=says, flush=True)).start()
    assert helper.wait_for("e")
    assert compiled == ["c", "d", "f"]  # what nobody had claimed, meanwhile
    helper._kernels["g"], helper._later["later"] = None, None
    assert other.take("g")
    assert helper.at_work() is False  # nothing was started here
    Timer(0.05, says.close).start()
    assert not helper.wait_for("g")  # the second process ended before
    listening.join()
    assert compiled == ["c", "d", "f"]  # and nothing that can wait


def test_kernels_that_a_batch_can_do_without_are_waited_for_by_nobody(monkeypatch):
    names = ["small_batch.drawn", "gaussian_moves.judge"]
    started, at_work = [], [True, True, False]
    helper = ahead._KINDS["large_batches"]
    monkeypatch.setattr(ahead, "_READY", set())
    monkeypatch.setattr(ahead, "_is_kept", lambda name, arguments: name == names[1])
    monkeypatch.setattr(helper, "start", lambda: started.append(True))
    monkeypatch.setattr(helper, "at_work", lambda: at_work[len(started) - 1])
    monkeypatch.setattr(ahead, "can_help", lambda: True)
    assert ahead.are_ready(names[1:])
    assert not started  # they are on disk
    assert not ahead.are_ready(names)
    assert not ahead.are_ready(names[:1])
    assert ahead.are_ready(names)  # the second process is done: who needs one compiles it
    assert len(started) == 3
    assert ahead.are_ready(names)
    assert len(started) == 3  # nobody looks again
    monkeypatch.setattr(ahead, "_READY", set())
    monkeypatch.setattr(ahead, "can_help", lambda: False)
    assert ahead.are_ready(names)  # nobody else would compile them
    assert len(started) == 3


def test_kernels_are_looked_for_on_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))

    def twice(x):
        return 2.0 * x

    kept, arguments = compiling.kernel(twice), (numba.float64,)
    assert not kept._cache.holds(arguments, kept.targetctx)
    kept.compile(arguments)
    assert kept._cache.holds(arguments, kept.targetctx)
    assert not kept._cache.holds((numba.int64,), kept.targetctx)
    for path in tmp_path.rglob("*.nbi"):
        path.write_bytes(b"damaged")
    assert not kept._cache.holds(arguments, kept.targetctx)


def test_without_a_folder_everyone_compiles_for_himself(tmp_path):
    assert ahead.Claims(str(tmp_path / "gone")).take("a")


def test_what_is_compiled_ahead_is_for_the_rows_of_the_first_batch():
    X = np.random.default_rng(0).normal(size=(4097, 2))
    kinds = []
    for n in (4096, 4097, 50):
        ScStream(random_state=0).partial_fit(X[:n])
        kinds.append(ahead.expected())
    assert kinds == ["small_batches", "large_batches", "small_batches"]
