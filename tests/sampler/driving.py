"""The one place through which the tests here that need it reach the sampler's inner names."""

import numpy as np
from sampling import FORGETTINGS, random_state

from scstream.engines import CpuEngine


def clusters_with_a_past(k: int):
    """Return k clusters with a past of one record and a present, all statistics made up."""
    return random_state(k, 4, FORGETTINGS["half-life"])


def merged(state, one: int, other: int):
    """Return the clusters with two of them merged."""
    return state.merge(np.array([one]), np.array([other]))[0]


def doubts(state) -> dict[str, np.ndarray]:
    """Return the doubts (k, k) of the present and of the past."""
    return {"present": state.now.doubt, "past": state.past_doubt}


class KeyedEngine(CpuEngine):
    """An engine that takes down which batch and sweep the uniforms of its draws are for."""

    keys: list[tuple[int, int]]

    def __init__(self) -> None:
        super().__init__()
        self.keys = []

    def sweep(self, score, sub, k, key):
        if key is not None:
            self.keys.append((key.batch, key.sweep))
        return super().sweep(score, sub, k, key)
