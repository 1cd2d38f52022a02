"""Labels of some streams are those of before, but for clusters that rounding decides."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

SAVED = Path(__file__).parents[1] / "benchmarks" / "published" / "golden_labels.npz"
NAMES = [
    "births", "one column", "few rows", "jump", "short memory", "sizes", "gaps", "clutter",
    "background", "alike rows", "diagonal", "tails", "directions", "words", "counts", "truths",
    "mixed",
]  # fmt: skip
pytestmark = pytest.mark.skipif(not SAVED.exists(), reason="the benchmarks are not here")


@pytest.mark.parametrize("name", NAMES)
def test_labels_are_those_of_before(name):
    from benchmarks import golden

    with np.load(SAVED, allow_pickle=False) as saved:
        assert adjusted_rand_score(saved[name], golden.labels_of(name)) > 0.95
