"""Jobs shared among threads: results in order, errors passed on, the caller at work too."""

import _thread
import signal
import threading
import time

import pytest

from scstream.support.threads import (
    beside,
    together,
)


@pytest.mark.parametrize("n_threads", [1, 2, 5])
@pytest.mark.parametrize("n", [0, 1, 2, 17])
def test_results_come_in_order(n_threads, n):
    assert together(n_threads, lambda i: i * i, range(n)) == [i * i for i in range(n)]


@pytest.mark.parametrize("bad", [0, 1])
def test_an_error_is_the_callers(bad):
    both = threading.Barrier(2, timeout=60)

    def job(i):
        both.wait()
        if i == bad:
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        together(2, job, [0, 1])


def test_an_interrupt_waits_for_the_others():
    both, ended = threading.Barrier(2, timeout=60), []

    def job(_):
        mine = threading.current_thread() is threading.main_thread()
        both.wait()
        if not mine:
            _thread.interrupt_main()
            time.sleep(0.2)
            ended.append(True)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            together(2, job, [0, 1])
    finally:
        signal.signal(signal.SIGINT, before)
    assert ended == [True]


def test_an_interrupt_that_comes_with_the_last_job_leaves_nobody_waiting():
    """Such an interrupt is noticed when the wait is over, which must not be waited for again."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    def job():
        time.sleep(0.2)  # until the caller waits
        _thread.interrupt_main()

    try:
        with pytest.raises(KeyboardInterrupt):
            beside(job)()
    finally:
        signal.signal(signal.SIGINT, before)
