"""What the paper states: its figures for each data set, and its hyper-parameters.

Figures are means over the batches; where a cell is missing here, it was not at hand.
"""

from __future__ import annotations

from typing import Any

# data set -> method -> score. The paper's 2-D stream has 10^7 points.
FIGURES: dict[str, dict[str, dict[str, float]]] = {
    "gauss2d": {"ScStream": {"ari": 0.93, "nmi": 0.95, "full_nmi": 0.68}},
    "mult100d": {"ScStream": {"ari": 0.78, "nmi": 0.89, "full_nmi": 0.72}},
    "covtype": {"ScStream": {"ari": 0.15, "nmi": 0.21, "f": 0.47, "full_nmi": 0.13}},
    "20news": {"ScStream": {"ari": 0.13, "nmi": 0.36, "purity": 0.28, "f": 0.20, "full_nmi": 0.32}},
}

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
