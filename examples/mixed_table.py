"""
Clusters of orders
==================

A table of orders with amounts, numbers of items, words and truth values.

::

    python examples/mixed_table.py

With ``family="auto"`` each column gets a suitable distribution. Entries may be missing.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from scstream import ScStream
from scstream.metrics import adjusted_rand_index
from scstream.plot import overview

KINDS = {  # amount, items, channel, whether there was a voucher
    "weekly shop": (4.2, 25, ["store", "store", "app"], 0.3),
    "small thing": (2.0, 2, ["app", "app", "web"], 0.05),
    "big thing": (6.5, 1, ["web", "web", "store"], 0.6),
}


def orders(rng, n=300):
    """Return a table of orders, and the kind of each."""
    kinds = rng.integers(len(KINDS), size=n)
    rows = []
    for kind in kinds:
        amount, items, channels, voucher = list(KINDS.values())[kind]
        rows.append(
            {
                "amount": np.exp(rng.normal(amount, 0.3)),
                "items": rng.poisson(items),
                "channel": rng.choice(channels),
                "voucher": bool(rng.random() < voucher),
            }
        )
    table = pd.DataFrame(rows)
    table.loc[rng.random(n) < 0.05, "channel"] = None  # not every order says where it came from
    return table, kinds


def in_words(about):
    """Return a column's parameters, those of single categories included, in a line."""
    values = about.get("probabilities", about)
    return ", ".join(f"{name} {value:.3g}" for name, value in values.items())


def main(days=10, seed=0):
    rng = np.random.default_rng(seed)
    model = ScStream("auto", random_state=seed)
    for _ in range(days):
        table, kinds = orders(rng)
        model.partial_fit(table)
    for cluster in model.clusters_:
        print(f"cluster {cluster.id}, {cluster.weight:.0%} of the orders")
        for column, about in cluster.columns.items():
            print(f"    {column}: {in_words(about)}")
    agreement = adjusted_rand_index(kinds, model.labels_)
    print(f"agreement with the true kinds: {agreement:.2f}")
    return model, agreement


if __name__ == "__main__":
    last = main()[0]
    overview(last, orders(np.random.default_rng(1))[0])
    plt.show()
