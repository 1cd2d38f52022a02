"""The uniforms that draw labels: Philox, keyed by (seed, batch, sweep, row)."""

import numpy as np


def philox(counter, key):
    """Philox 4x32 with ten rounds (Salmon et al. 2011): four words from four and two.

    Words of counters may be arrays.
    """
    c, k = list(counter), list(key)
    for _ in range(10):
        one, two = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        high1, low0, low1 = two >> 32, one & 0xFFFFFFFF, two & 0xFFFFFFFF
        c = [high1 ^ c[1] ^ k[0], low1, (one >> 32) ^ c[3] ^ k[1], low0]
        k = [(k[0] + 0x9E3779B9) % 2**32, (k[1] + 0xBB67AE85) % 2**32]
    return c


def uniforms(seed, batch, sweep, first, n):
    """Two uniforms (2, n) a row, keyed by (seed, batch, sweep, row)."""
    row = first + np.arange(n, dtype=np.uint64)
    counter = row & 0xFFFFFFFF, row >> 32, np.full_like(row, sweep), np.full_like(row, batch)
    words = philox(counter, [seed % 2**32, seed // 2**32])
    return np.array([((words[i] << 32) + words[i + 1]) >> 11 for i in (0, 2)]) / 2**53
