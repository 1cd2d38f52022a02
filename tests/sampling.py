"""Clusters in the middle of a stream, and the invariants that every move must keep."""

from dataclasses import fields, replace

import numpy as np
import reference
from numpy.testing import assert_allclose, assert_array_equal
from problems import dense

from scstream.engines import CpuEngine, Sums
from scstream.families import Family, Gaussian, Multinomial
from scstream.sampler.clusters import State
from scstream.sampler.context import Context, Outliers
from scstream.sampler.sweep import restricted_sweep
from scstream.sampler.window import Forgetting

FORGETTINGS = {
    "half-life": Forgetting(half_life=2.0),
    "for-ever": Forgetting(half_life=None),
    "kernel": Forgetting(kernel=lambda age: 1.0 / (1.0 + age), max_records=3),
}


def random_state(k: int, p: int, forgetting: Forgetting, batches: int = 4, seed: int = 0) -> State:
    """Return k clusters with a past of some batches and a present, of made-up statistics."""
    rng = np.random.default_rng(seed)
    state = State.start(forgetting, rng.random((k, p)), 0.0, 10)
    for time in range(batches):
        between = rng.random((k, k))
        now = Sums(
            10.0 * rng.random((k, 2, p)),
            rng.integers(1, 9, (k, 2)),
            rng.integers(0, 9, (k, k)) * (1 - np.eye(k, dtype=np.int64)),
            between + between.T,
        )
        state = replace(state.advance(float(time)) if time else state, now=now)
        if time < batches - 1:
            state = state.settle(float(time))
    return replace(state, attempt=rng.integers(5, size=k), born=rng.random(k))


def arrays(state: State) -> dict[str, np.ndarray]:
    """Return copies of all arrays in the state, by name."""
    parts = {"": state, "now.": state.now, "window.": state.window}
    return {
        prefix + field.name: np.copy(getattr(part, field.name))
        for prefix, part in parts.items()
        for field in fields(part)
        if isinstance(getattr(part, field.name), np.ndarray)
    }


def check_state(state: State) -> None:
    """Check what holds of clusters at any time, wherever their points are."""
    k, p = state.totals.shape
    assert len(set(state.ids.tolist())) == k
    assert state.next_id > state.ids.max()
    for own in (state.born, state.lived, state.attempt):
        assert own.shape == (k,)
    assert state.now.current.shape == state.past.shape == (k, 2, p)
    assert state.now.rows.shape == (k, 2)
    assert state.now.rows.dtype == state.now.rivals.dtype == np.int64
    assert state.now.rivals.shape == state.now.entropy.shape == state.past_entropy.shape == (k, k)
    past, entropy = state.window.past()
    assert_allclose(state.past, past, rtol=1e-12, atol=1e-12)
    assert_allclose(state.past_entropy, entropy, rtol=1e-12, atol=1e-12)
    for entropy in (state.now.entropy, state.past_entropy):
        assert_allclose(entropy, entropy.T, rtol=1e-12, atol=1e-12)
        assert np.all(entropy >= 0)
    assert np.all(state.parts[..., 0] >= -1e-9)
    assert_allclose(state.totals, state.parts.sum(axis=1), rtol=1e-12, atol=1e-12)


def blobs(n: int, seed: int) -> np.ndarray:
    """Return points of four clusters, two of which overlap."""
    rng = np.random.default_rng(seed)
    centres = np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0], [2.0, 9.0]])
    return centres[rng.integers(4, size=n)] + rng.normal(size=(n, 2))


def counts(n: int, seed: int) -> np.ndarray:
    """Return rows of counts of three kinds."""
    p = np.array([[6, 1, 1, 1, 1], [1, 6, 1, 1, 1], [1, 1, 2, 3, 3]]) / 10.0
    rng = np.random.default_rng(seed)
    return rng.multinomial(25, p[rng.integers(3, size=n)]).astype(float)


class Stream:
    """A context with a batch loaded, and the clusters that are being moved about."""

    def __init__(self, name="gaussian", forgetting="half-life", *, n=150, seed=0, outliers=False):
        self.make = {"gaussian": blobs, "multinomial": counts}[name]
        family: Family = {"gaussian": Gaussian, "multinomial": Multinomial}[name]()
        self.n, self.seed = n, seed
        X = family.check(self.make(n, seed))
        family = family.prepare(X)
        T = dense(family.statistics(X))
        start = np.stack([T[i::5].sum(axis=0) for i in range(5)])
        family = family.adapt(start)
        everything = Outliers(0.05, T.sum(axis=0)[None]) if outliers else None
        rng = np.random.default_rng(seed)
        self.ctx = Context(family, CpuEngine(), rng, 1.0, seed, 0, everything)
        self.load(0)
        self.state = State.start(FORGETTINGS[forgetting], start, 0.0, 0)
        self.state = restricted_sweep(self.ctx, self.state)

    def load(self, batch: int) -> None:
        family = self.ctx.family
        X = family.check(self.make(self.n, 1000 * self.seed + batch))
        rng = np.random.default_rng(batch)
        self.weight = np.where(rng.random(self.n) < 0.1, 0.0, rng.uniform(0.2, 1.5, self.n))
        self.T = dense(family.statistics(X))
        self.ctx.engine.load(family, X, self.weight)

    def next_batch(self, time: float) -> None:
        """Let the present batch become the past, and sweep over the next one."""
        self.state = self.state.settle(time - 1.0).advance(time)
        self.load(int(time))
        self.ctx.batch = int(time)
        self.state = restricted_sweep(self.ctx, self.state)

    def check(self, *, shared: bool = False) -> None:
        """Check the state, and that it agrees with the labels that the engine holds.

        Sub-clusters may have shared points, as after a deterministic sweep.
        """
        check_state(self.state)
        engine, now, k = self.ctx.engine, self.state.now, self.state.k
        z, sub = engine.labels, engine.sublabels
        assert z.min() >= -1
        assert z.max() < k
        assert_array_equal(now.rows, reference.row_counts(z, sub, k))
        sums = reference.statistics(self.T, self.weight, z, sub, k)
        assert_allclose(now.current.sum(axis=1), sums.sum(axis=1), rtol=1e-9, atol=1e-9)
        if not shared:
            assert_allclose(now.current, sums, rtol=1e-9, atol=1e-9)

    def everything(self) -> np.ndarray:
        """Return the sum of all statistics, past and present, outliers' included."""
        out = self.ctx.engine.labels < 0
        return self.state.totals.sum(axis=0) + self.weight[out] @ self.T[out]
