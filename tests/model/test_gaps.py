"""Missing entries under full-covariance clusters: recovery, single rows, and every door in."""

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference import gaps as reference
from sklearn.metrics import adjusted_rand_score

from scstream import Gaussian, Product, ScStream
from scstream.engines import CpuEngine
from scstream.engines.tensors import MissingEntries


class World:
    """Clusters of correlated columns that stay where they are, and an oracle that knows them."""

    def __init__(self, d, k, apart, seed):
        self.rng = np.random.default_rng(seed)
        self.mean = apart * self.rng.normal(size=(k, d))
        root = self.rng.normal(size=(k, d, d))
        cov = root @ np.swapaxes(root, 1, 2) / d + 0.05 * np.eye(d)
        size = np.sqrt(np.diagonal(cov, axis1=1, axis2=2))
        self.cov = cov / (size[:, :, None] * size[:, None, :])

    def batch(self, n, missing=0.3):
        y = self.rng.integers(len(self.mean), size=n)
        noise = self.rng.normal(size=(n, self.mean.shape[1], 1))
        X = self.mean[y] + (np.linalg.cholesky(self.cov)[y] @ noise)[..., 0]
        X[self.rng.random(X.shape) < missing] = np.nan
        return X, y

    def labels(self, X):
        """Return the most probable clusters, by the normal densities of what is observed."""
        patterns, which = np.unique(~np.isnan(X), axis=0, return_inverse=True)
        out = np.zeros(len(X), dtype=np.int64)
        for number, seen in enumerate(patterns):
            rows = np.flatnonzero(which.ravel() == number)
            cov = self.cov[:, seen][:, :, seen]
            off = X[rows][:, None, seen] - self.mean[:, seen]
            far = np.einsum("nki,kij,nkj->nk", off, np.linalg.inv(cov), off)
            out[rows] = np.argmin(far + np.linalg.slogdet(cov)[1], axis=1)
        return out


@pytest.mark.parametrize(("d", "k", "apart"), [(2, 5, 12.0), (3, 6, 5.0), (5, 6, 3.0), (9, 6, 2.0)])
def test_clusters_are_found_though_a_third_of_the_entries_is_missing(d, k, apart):
    ours, oracles = [], []
    for seed in range(3):
        world = World(d, k, apart, seed)
        model = ScStream(random_state=seed)
        for number in range(4):
            X, y = world.batch(800)
            model.partial_fit(X)
            if number == 3:
                ours.append(adjusted_rand_score(y, model.labels_))
                oracles.append(adjusted_rand_score(y, world.labels(X)))
    assert np.mean(ours) >= 0.95 * np.mean(oracles)


def test_gaps_may_come_late_and_go_again():
    world = World(3, 4, 8.0, 2)
    model = ScStream(random_state=0)
    scores = []
    for number in range(60):
        X, y = world.batch(60, 0.0 if number < 50 or number > 55 else 0.2)
        model.partial_fit(X)
        scores.append(adjusted_rand_score(y, model.labels_))
    assert model.n_clusters_ == 4
    assert min(scores[40:50]) > 0.95
    assert min(scores[50:56]) > 0.7
    assert min(scores[57:]) > 0.95
    assert [r.births for r in model.history_[20:]] == [()] * 40


def test_predictions_are_those_of_what_is_observed():
    world = World(3, 3, 6.0, 4)
    model = ScStream(random_state=0).fit(world.batch(600, 0.0)[0])
    X, _ = world.batch(40, 0.4)
    family, learner = model.family_, model._learner
    post = family.posterior(family.prior + learner.state.totals)
    dof = post.nu - 2.0
    shape = post.scatter * ((post.kappa + 1.0) / (post.kappa * dof))[:, None, None]
    Z = (X - family.frame[0]) / family.frame[1]
    level = np.array(
        [
            [
                reference.log_marginal_density(z, *part)
                for part in zip(post.mean, shape, dof, strict=True)
            ]
            for z in Z
        ]
    )
    count = learner.state.totals[:, 0]
    level += np.log(count / (count.sum() + 1.0))
    expected = np.exp(level - np.logaddexp.reduce(level, axis=1)[:, None])
    assert_allclose(model.predict_proba(X), expected, atol=1e-7)
    assert_array_equal(model.predict(X), learner.state.ids[np.argmax(level, axis=1)])


def test_rows_of_which_nothing_is_observed_teach_nothing():
    world = World(2, 3, 9.0, 5)
    X, _ = world.batch(400, 0.1)
    model = ScStream(random_state=0).partial_fit(X)
    more = copy.deepcopy(model).partial_fit(world.batch(100, 0.0)[0])
    empty = np.full((50, 2), np.nan)
    heaviest = max(model.clusters_, key=lambda c: c.count).id
    assert_array_equal(model.predict(empty), heaviest)
    assert_allclose(model.score_samples(empty), 0.0, atol=1e-9)
    before = sum(c.count for c in more.clusters_)
    later = more.partial_fit(empty)
    assert sum(c.count for c in later.clusters_) < before
    with pytest.raises(ValueError, match="Every entry of the first batch is missing"):
        ScStream().fit(empty)


@pytest.mark.parametrize(
    "options",
    [{"outlier_weight": 0.02}, {"kernel": lambda age: 0.5**age}, {"half_life": None},
     {"family": Gaussian(cov=1.0, cov_strength=8.0)}, {"max_clusters": 3},
     {"family": Product([("gaussian", [0, 1]), ("diagonal", [2])])}],
    ids=["outliers", "kernel", "no forgetting", "given prior", "bounded", "product"],
)  # fmt: skip
def test_gaps_go_with_every_option(options):
    world = World(3, 3, 9.0, 6)
    model = ScStream(random_state=0, **options)
    for number in range(4):
        X, y = world.batch(300)
        X[:2] = np.nan
        model.partial_fit(X, sample_weight=None if number < 2 else np.arange(300) % 3)
    best = adjusted_rand_score(y, world.labels(X))
    assert adjusted_rand_score(y, model.predict(X)) > 0.6 * best
    assert np.isfinite(model.score_samples(X)).all()


def test_a_model_with_gaps_goes_on_from_its_checkpoint(tmp_path):
    world = World(3, 3, 9.0, 9)
    batches = [world.batch(30)[0] for _ in range(8)]
    model = ScStream(random_state=0)
    for X in batches[:4]:  # still warming up: these rows are saved, gaps and all
        model.partial_fit(X)
    model.save(tmp_path / "model")
    again = ScStream.load(tmp_path / "model")
    for X in batches[4:]:
        assert_array_equal(again.partial_fit(X).labels_, model.partial_fit(X).labels_)


class Complete(CpuEngine):
    """An engine that takes no gaps, as that of PyTorch."""

    def load(self, family, X, weight, first_row=0):
        if np.isnan(X).any():
            raise MissingEntries("no gaps")
        super().load(family, X, weight, first_row)


def test_an_engine_that_takes_no_gaps_leaves_them_to_the_cpu(caplog):
    world = World(3, 3, 9.0, 9)
    batches = [world.batch(300, missing)[0] for missing in (0.0, 0.3, 0.0)]
    model, plain = ScStream(random_state=0, engine=Complete), ScStream(random_state=0)
    for X in batches:
        assert_array_equal(model.partial_fit(X).labels_, plain.partial_fit(X).labels_)
    assert caplog.text.count("processed on the CPU") == 1
