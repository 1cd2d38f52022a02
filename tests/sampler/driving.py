"""The one place through which the tests here that need it reach the sampler's inner names."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
from sampling import FORGETTINGS, random_state

from scstream.engines import CpuEngine, Sums
from scstream.families import Gaussian
from scstream.sampler.clusters import State
from scstream.sampler.context import Context
from scstream.sampler.dormant import Dormant
from scstream.sampler.initialise import _is_sparse
from scstream.sampler.recipe import Events
from scstream.sampler.rules import RULES
from scstream.sampler.split_merge import keep_names


def clusters_with_a_past(k: int):
    """Return k clusters with a past of one record and a present, all statistics made up."""
    return random_state(k, 4, FORGETTINGS["half-life"])


def merged(state, one: int, other: int):
    """Return the clusters with two of them merged."""
    return state.merge(np.array([one]), np.array([other]))[0]


def entropies(state) -> dict[str, np.ndarray]:
    """Return the entropies (k, k) of the present and of the past."""
    return {"present": state.now.entropy, "past": state.past_entropy}


def ids_of_parts(family, past, old, new) -> list[int]:
    """Return the ids of a cluster's two parts at the end of a batch in which it was split.

    Its id was 0 and that of its new part 1; ``past`` are its rows of earlier batches, ``old`` and
    ``new`` those that the parts have now.
    """

    def total(X: np.ndarray) -> np.ndarray:
        return family.statistics(X).sum(axis=0)

    state = State.start(FORGETTINGS["for-ever"], total(past)[None], 0.0, 0).settle(0.0)
    nobody = np.zeros((1, 1))
    parts = np.stack([total(old), total(new)])[None]
    now = Sums(parts, np.array([[len(old), len(new)]]), nobody.astype(np.int64), nobody)
    before = state.advance(1.0)
    state, _ = replace(before, now=now).split(np.array([0]), 1.0)
    ctx = Context(family, CpuEngine(), np.random.default_rng(0), 1.0, 0, 0)
    return keep_names(ctx, before, state, [(0, 1)])[0].ids.tolist()


def remembered(leaving: list[int], merged: set[int], most: int) -> list[int]:
    """Return who is remembered of the clusters 0 to 5 after some have left, one a batch.

    Those ``merged`` live on in another. At most so many are remembered.
    """
    state = clusters_with_a_past(6)
    memory, first = Dormant.none(state), int(state.ids[0])
    rules = replace(RULES, dormant=most, dormant_points=0.0)
    for i in leaving:
        left = state.select(np.flatnonzero(state.ids != first + i))
        events = Events(merges=[(-1, first + j) for j in merged])
        memory, state = memory.after(state, left, events, rules), left
    return (memory.ids - first).tolist()


def is_remembered(counted: float) -> bool:
    """Return whether a cluster that counted so many points is remembered; ten are enough."""
    state = State.start(FORGETTINGS["half-life"], np.array([[counted, 0.0], [50.0, 0.0]]), 0.0, 0)
    left = state.select(np.array([1]))
    memory = Dormant.none(state).after(state, left, Events(), RULES)
    return memory.ids.tolist() == [0]


def is_sparse(counts: list[float], enough: int) -> bool:
    """Return whether most points are in clusters that count less than enough for a shape."""
    clusters = np.column_stack([counts, np.zeros(len(counts))])
    steps = SimpleNamespace(family=SimpleNamespace(points_for_a_shape=lambda: enough))
    return _is_sparse(steps, State.start(FORGETTINGS["half-life"], clusters, 0.0, 0))


def came_back(centres) -> list[bool]:
    """Return which of some new clusters, of 200 rows each, get the id of an old one about 0."""
    rng, rows = np.random.default_rng(0), np.random.default_rng(1).normal(size=(200, 2))
    family = Gaussian(np.zeros(2), 0.01, np.eye(2), 10.0).prepare(rows)
    old = family.statistics(rows).sum(axis=0)
    new = [family.statistics(rng.normal(size=(200, 2)) + c).sum(axis=0) for c in centres]
    state = State.start(FORGETTINGS["half-life"], np.array(new), 0.0, 8)
    nobody = np.zeros(0, dtype=np.int64)
    memory = Dormant(np.array([3]), np.zeros(1), old[None], nobody, np.zeros(0))
    ctx = Context(family, CpuEngine(), rng, 1.0, 0, 0)
    state, _ = memory.reunite(ctx, state)
    return (state.ids == 3).tolist()


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
