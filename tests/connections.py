"""Tables like those of network connections: durations, counts, flags and words of four kinds."""

import numpy as np
import pandas as pd


def connections(n, seed):
    """Return a data frame of n connections, and of which kind each is.

    A rate is constant and a column of notes empty; failed logins are 0 or 1 here, as in the
    first rows of many such tables.
    """
    rng = np.random.default_rng(seed)
    y = rng.integers(4, size=n)

    def by_kind(*values):
        return np.array(values)[y]

    table = {
        "duration": rng.normal(by_kind(0.0, 3.0, 5.0, 1.0), 0.5),
        "bytes": rng.normal(by_kind(4.0, 6.0, 5.0, 8.0), 0.4),
        "count": rng.poisson(by_kind(2.0, 30.0, 10.0, 60.0)),
        "protocol": by_kind("tcp", "udp", "icmp", "tcp"),
        "logged_in": (rng.random(n) < by_kind(0.1, 0.9, 0.5, 0.1)).astype(int),
        "failed": (rng.random(n) < by_kind(0.02, 0.0, 0.3, 0.1)).astype(int),
        "rate": np.full(n, 1.5),
        "note": np.full(n, np.nan),
    }
    return pd.DataFrame(table), y
