"""Images of whole numbers: what "auto" makes of them."""

import pytest
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score

from scstream import Gaussian, ScStream


@pytest.mark.first
def test_digits_are_gaussian_beside_rare_flags() -> None:
    # by what each column looks like alone: ARI .5, 35 clusters
    X, y = load_digits(return_X_y=True)
    model = ScStream("auto", random_state=0)
    for start in range(0, 1_200, 300):
        model.partial_fit(X[start : start + 300])
    assert adjusted_rand_score(y[1_200:], model.predict(X[1_200:])) > 0.62
    blocks = model.family_.independent_blocks(64)
    wide = [len(block.columns) for block in blocks if isinstance(block.family, Gaussian)]
    assert max(wide, default=0) > 45
