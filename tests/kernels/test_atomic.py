"""A counter that threads share gives each number once."""

import threading

import numpy as np

from scstream.kernels.atomic import claim
from scstream.kernels.compiling import bare


@bare
def take(counters, at, most, mine):
    """Claim numbers until there are enough; returns how many were this thread's."""
    n = 0
    number = claim(counters, at)
    while number < most:
        mine[number] += 1
        n += 1
        number = claim(counters, at)
    return n


def test_no_number_is_given_twice():
    counters, most, threads = np.zeros(2, dtype=np.int64), 200_000, 4
    mine = np.zeros((threads, most), dtype=np.int64)
    take(counters, 0, 0, mine[0])
    others = [
        threading.Thread(target=take, args=(counters, 1, most, mine[i])) for i in range(threads)
    ]
    for other in others:
        other.start()
    for other in others:
        other.join()
    assert (mine.sum(axis=0) == 1).all()
    assert counters.tolist() == [1, most + threads]
