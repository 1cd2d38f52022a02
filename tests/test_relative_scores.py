"""Scores against an oracle that knows some of the batches only."""

from dataclasses import replace

import numpy as np
import pytest

from scstream.datasets import gaussian_stream
from scstream.evaluate import prequential


class Guesser:
    """Labels by the side of 0, which is right for some batches and wrong for others."""

    def partial_fit(self, X):
        return self

    def predict(self, X):
        return (np.asarray(X)[:, 0] > 0).astype(int)


def test_batches_without_an_oracle_are_left_out_of_the_ratio():
    # broken on purpose (all batches against those with an oracle): it fails
    stream = list(gaussian_stream(4, 200, n_clusters=3, random_state=0))
    wrong = replace(stream[3], y=np.arange(200) % 2)
    result = prequential(Guesser(), [*stream[:3], (wrong.X, wrong.y)])
    known = result.ari[:2].mean() / result.oracle_ari[:2].mean()
    assert abs(result.ari[2] - result.ari[:2].mean()) > 0.1
    assert result.relative_ari == pytest.approx(known)
