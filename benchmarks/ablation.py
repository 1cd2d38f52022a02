"""What each departure from the paper brings: the quality benchmark with one of them taken out.

Run ``python benchmarks/ablation.py --seeds 10``; rows are as in ``benchmarks/quality.py``. Every
step is taken by itself: those that are compiled into one would not miss what is taken out.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
from quality import HEADER, SYNTHETIC, run

from scstream import Gaussian, Multinomial
from scstream.sampler import gaussian_ratios, initialise, split_merge


def _without_doubt(original: Callable) -> Callable:
    return lambda family, alpha, parts, doubt, *known, **how: original(
        family, alpha, parts, 0.0 * doubt, *known, **how
    )


def _staying(original: Callable) -> Callable:
    return lambda family, clusters, latest: original(family, clusters, 0.0 * latest)


@contextmanager
def _nothing() -> Any:
    yield


ABLATIONS: dict[str, Callable[[], Any]] = {
    "as it is": _nothing,
    "ratio without the doubt": lambda: patch.object(
        split_merge, "log_hastings_split", _without_doubt(split_merge.log_hastings_split)
    ),
    "no adaptive forgetting": lambda: patch.object(
        split_merge, "shares_worth_keeping", lambda family, alpha, past, *more: np.ones(len(past))
    ),
    "past halved, not cut": lambda: patch.multiple(
        Gaussian, divide=lambda self, past, boundary: 0.5 * past
    ),
    "counts' past halved": lambda: patch.multiple(
        Multinomial, divide=lambda self, past, boundary: 0.5 * past
    ),
    "no reluctance to merge": lambda: patch.object(
        split_merge, "reluctance", lambda lived: 0.0 * lived
    ),
    "no restarts of sub-clusters": lambda: patch.object(
        split_merge,
        "restart_and_set_apart",
        lambda ctx, state, *key: split_merge.set_present_apart(ctx, state),
    ),
    "expected covariance stays": lambda: patch.multiple(Gaussian, follow=_staying(Gaussian.follow)),
    "start from one cluster": lambda: patch.object(initialise, "_SEEDS", 1),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", nargs="+", default=["drift", "births", "slow", "fast"])
    args = parser.parse_args()
    for name in args.only:
        print(f"\n{name}\n\n{HEADER}")
        for ablation, applied in ABLATIONS.items():
            with applied(), patch.object(gaussian_ratios, "_MOST_COLUMNS", 0):
                seeds = range(args.first, args.first + args.seeds)
                run(name, SYNTHETIC[name], seeds, {}, title=ablation)


if __name__ == "__main__":
    main()
