"""The uniforms that draw labels: Philox, keyed by (seed, batch, sweep, row)."""

import numpy as np


def philox(counter, key):
    """Philox 4x32 with ten rounds (Salmon et al. 2011): four words from four and two."""
    c, k = list(counter), list(key)
    for _ in range(10):
        high0, low0 = divmod(0xD2511F53 * c[0], 2**32)
        high1, low1 = divmod(0xCD9E8D57 * c[2], 2**32)
        c = [high1 ^ c[1] ^ k[0], low1, high0 ^ c[3] ^ k[1], low0]
        k = [(k[0] + 0x9E3779B9) % 2**32, (k[1] + 0xBB67AE85) % 2**32]
    return c


def uniforms(seed, batch, sweep, first, n):
    """Two uniforms (2, n) a row, keyed by (seed, batch, sweep, row)."""
    out = np.zeros((2, n))
    for i in range(n):
        high, low = divmod(first + i, 2**32)
        words = philox([low, high, sweep, batch], [seed % 2**32, seed // 2**32])
        out[0, i] = ((words[0] * 2**32 + words[1]) >> 11) / 2**53
        out[1, i] = ((words[2] * 2**32 + words[3]) >> 11) / 2**53
    return out
