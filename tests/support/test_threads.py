"""Jobs shared among threads: results in order, errors passed on, the caller at work too."""

import threading

import pytest

from scstream.support.threads import allowed, over_slices, together


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
