"""BLAS on one thread: the limit holds as long as anybody needs it, and is lifted after."""

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from scstream.support.blas import single_threaded


def blas_threads():
    np.ones((2, 2)) @ np.ones((2, 2))
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_the_limit_holds_until_the_last_one_leaves():
    # broken on purpose (each limit restores what it found): it fails where there are two cores
    before = blas_threads()
    one, other = single_threaded(), single_threaded()
    one.__enter__()
    other.__enter__()
    one.__exit__(None, None, None)
    assert blas_threads() == {1}
    other.__exit__(None, None, None)
    assert blas_threads() == before


def test_an_error_lifts_it_too():
    before = blas_threads()
    with pytest.raises(KeyError), single_threaded():
        raise KeyError
    assert blas_threads() == before
