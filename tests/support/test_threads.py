"""Jobs shared among threads: results in order, errors passed on, the caller at work too."""

import _thread
import signal
import threading
import time

import numpy as np
import pytest

from scstream.support.threads import (
    allowed,
    beside,
    over_rows,
    over_slices,
    taken,
    together,
)


@pytest.mark.parametrize("n_threads", [1, 2, 5])
@pytest.mark.parametrize("n", [0, 1, 2, 17])
def test_results_come_in_order(n_threads, n):
    assert together(n_threads, lambda i: i * i, range(n)) == [i * i for i in range(n)]


def test_the_caller_takes_part():
    both = threading.Barrier(2, timeout=60)

    def job(_):
        both.wait()
        return threading.get_ident()

    assert threading.get_ident() in together(2, job, [0, 1])


@pytest.mark.parametrize("bad", [0, 1])
def test_an_error_is_the_callers(bad):
    both = threading.Barrier(2, timeout=60)

    def job(i):
        both.wait()
        if i == bad:
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        together(2, job, [0, 1])


def test_slices_cover_all_rows():
    with allowed(3):
        cuts = over_slices(lambda cut: list(range(10))[cut], 10)
    assert [i for cut in cuts for i in cut] == list(range(10))
    assert len(cuts) == 3


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


def test_jobs_share_nothing_further():
    with allowed(3):
        counts = together(2, lambda _: len(over_slices(lambda cut: cut, 100)), [0, 1])
    assert counts == [1, 1]


@pytest.mark.parametrize(
    ("n", "width", "parts"), [(10, 1, 1), (2**19, 1, 3), (2**11, 2**6, 2), (2, 2**20, 2)]
)
def test_rows_are_cut_for_as_many_threads_as_pay(n, width, parts):
    cuts = over_rows(lambda cut: (cut.start, cut.stop), n, 3, width)
    assert len(cuts) == parts
    assert (cuts[0][0], cuts[-1][1]) == (0, n)
    assert [b for _, b in cuts[:-1]] == [a for a, _ in cuts[1:]]


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(40_000,), (40_000, 7)])
def test_rows_are_taken_as_numpy_takes_them(shape, order):
    X = np.asarray(np.random.default_rng(0).normal(size=shape), np.float32, order=order)
    rows = np.sort(np.random.default_rng(1).integers(len(X), size=50_000))
    with allowed(3):
        got = taken(X, rows)
    assert got.dtype == X.dtype
    np.testing.assert_array_equal(got, X[rows])


def test_a_job_beside_runs_while_the_caller_goes_on():
    begun, go_on = threading.Event(), threading.Event()

    def job():
        begun.set()
        assert go_on.wait(10.0)
        return threading.current_thread().name

    result = beside(job)
    assert begun.wait(10.0)
    go_on.set()
    assert result() != threading.current_thread().name


def test_an_error_of_a_job_beside_is_raised_where_its_result_is_asked_for():
    def job():
        raise ValueError("of the job")

    result = beside(job)
    for _ in range(2):  # whoever asks
        with pytest.raises(ValueError, match="of the job"):
            result()
    assert beside(lambda: 3)() == 3  # the thread lives on
