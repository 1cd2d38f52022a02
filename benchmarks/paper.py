"""What the paper states: the scores of every method on its data sets, and its hyper-parameters."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path
from typing import Any

_ROWS = Path(__file__).parent / "published" / "paper.csv"


@cache
def figures() -> dict[str, dict[str, dict[str, float]]]:
    """Return data set -> method -> score, as ``ari``, or its deviation over batches, ``ari_sd``.

    All methods of the paper were tuned. Its 2-D stream has 10^7 points. Its features of images,
    imagenet100, come from another network than those here, which have another name.
    """
    found: dict[str, dict[str, dict[str, float]]] = {}
    with _ROWS.open(newline="") as file:
        for row in csv.DictReader(file):
            dataset, method = row.pop("dataset"), row.pop("method")
            stated = {key: float(cell) for key, cell in row.items() if cell}
            found.setdefault(dataset, {})[method] = stated
    return found


# data set -> settings: of the Gaussian prior the mean's strength kappa, degrees of freedom nu and
# the factor psi of the identity in the scale matrix, on standardised columns (where they are not,
# the first batch's means and variances take the place of 0 and 1); of the Dirichlet prior its
# parameter; the concentration alpha; the rate lambda of forgetting. What was not at hand is 1.
SETTINGS: dict[str, dict[str, Any]] = {
    "gauss2d": {"kappa": 1, "nu": 4, "psi": 1.02, "standard": True, "alpha": 1, "lambda": 1},
    "gauss2d_1e7": {"kappa": 1, "nu": 4, "psi": 1.02, "standard": True, "alpha": 1, "lambda": 1},
    "mult100d": {"concentration": 1, "alpha": 1, "lambda": 0.2},
    "covtype": {"kappa": 1, "nu": 25, "psi": 0.78, "standard": True, "alpha": 1, "lambda": 1},
    "20news": {"concentration": 1, "alpha": 1, "lambda": 1},
    "imagenet": {"kappa": 1, "nu": 562, "psi": 0.51, "standard": False, "alpha": 1, "lambda": 0.2},
    "imagenet50_moco": {
        "kappa": 1, "nu": 834, "psi": 0.18, "standard": False, "alpha": 1, "lambda": 1
    },
}  # fmt: skip
