"""What each departure from the paper brings: the quality benchmark with one of them taken out.

Run ``python benchmarks/ablation.py --seeds 10``; rows are as in ``benchmarks/quality.py``.
"""

from __future__ import annotations

import argparse

from quality import HEADER, SYNTHETIC, run

from scstream import Rules

ABLATIONS: dict[str, Rules] = {
    "as it is": Rules(),
    "ratio without the entropy": Rules(entropy=0.0),
    "no adaptive forgetting": Rules(keep_shares=(1.0,)),
    "past halved, not cut": Rules(cut_past=False),
    "no reluctance to merge": Rules(merge_reluctance=0.0),
    "no restarts of sub-clusters": Rules(restarts=False),
    "expected covariance stays": Rules(follow=False),
    "start from one cluster": Rules(seeds=1),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", nargs="+", default=["drift", "births", "slow", "fast"])
    args = parser.parse_args()
    for name in args.only:
        print(f"\n{name}\n\n{HEADER}")
        for ablation, rules in ABLATIONS.items():
            seeds = range(args.first, args.first + args.seeds)
            run(name, SYNTHETIC[name], seeds, {"rules": rules}, title=ablation)


if __name__ == "__main__":
    main()
