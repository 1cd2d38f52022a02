"""Machine code on disk is that of the sources as they are."""

import pickle
import subprocess
import sys
import textwrap

from scstream.kernels import machine_code, screened_blocks, small_batch


def test_kernels_are_stamped_with_all_files_they_are_made_from():
    for kernel in (small_batch.restart, screened_blocks.sweep_block):
        stamp = kernel._cache._cache_file._source_stamp
        assert stamp[1] == machine_code.sources()
        pickle.dumps(stamp)


def test_another_stamp_compiles_anew(tmp_path):
    """What was kept is used again, unless some file changed since."""
    (tmp_path / "some_kernel.py").write_text(
        textwrap.dedent(
            """
            import sys
            from scstream.kernels import compiling, machine_code
            machine_code.sources = lambda: sys.argv[1]

            @compiling.kernel
            def twice(x):
                return 2.0 * x

            twice(1.0)
            print(sum(twice.stats.cache_hits.values()))
            """
        )
    )

    def hits(stamp):
        command = [sys.executable, "some_kernel.py", stamp]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        return int(done.stdout)

    assert [hits("a"), hits("a"), hits("b"), hits("b")] == [0, 1, 0, 1]


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

            shortened.__module__ = "scstream.some"
            numba.njit(shortened)(2.0)
            assert seen and not any(seen), seen
            assert gc.isenabled()
            seen.clear()
            numba.njit(lambda x: min(x, 1.0))(2.0)
            assert seen and all(seen), seen
            gc.disable()
            numba.njit(shortened)(2)
            assert not gc.isenabled()
            """
        )
    )
    subprocess.run([sys.executable, "collected.py"], cwd=tmp_path, check=True)
