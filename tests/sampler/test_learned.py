"""What a batch came to, seen from outside it."""

from types import SimpleNamespace

import numpy as np

from scstream.sampler.learned import changes
from scstream.sampler.recipe import Events


def model_of(*ids):
    """Return as much of a model as its clusters' ids."""
    return SimpleNamespace(state=SimpleNamespace(ids=np.array(ids)))


def test_clusters_born_and_gone_within_a_batch_are_not_told_of():
    events = Events(splits=[(0, 4), (1, 5)], merges=[(0, 1), (4, 2), (0, 5)], returns=[9])
    births, deaths, splits, merges, returns = changes(model_of(0, 1, 2), model_of(0, 4, 9), events)
    assert (births, deaths, returns) == ((4,), (1, 2), (9,))
    assert splits == ((0, 4),)  # 5 did not last
    assert merges == ((0, 1), (4, 2))  # nor was 5 there before; 2 was, whoever took it


def test_all_clusters_of_a_first_batch_are_born():
    assert changes(None, model_of(0, 1), Events()) == ((0, 1), (), (), (), ())
