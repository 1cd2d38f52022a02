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

# data set -> prior of the Gaussian components on standardised columns: strength and place of the
# mean, degrees of freedom, and the factor of the identity in the scale matrix.
SETTINGS: dict[str, dict[str, Any]] = {
    "gauss2d": {"kappa": 1.0, "mean": 0.0, "nu": 4.0, "psi": 1.02},
    "covtype": {"kappa": 1.0, "mean": 0.0, "nu": 25.0, "psi": 0.78},
    "imagenet": {"kappa": 1.0, "mean": 0.0, "nu": 562.0, "psi": 0.51},
    "imagenet50_moco": {"kappa": 1.0, "mean": 0.0, "nu": 834.0, "psi": 0.18},
}
