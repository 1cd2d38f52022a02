"""Rows of many columns: the directions that describe them, and what becomes of statistics."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.metrics import adjusted_rand_score

from scstream import Gaussian, ScStream
from scstream.families.gaussian_columns import turned
from scstream.families.main_directions import main_directions
from scstream.families.subspace import narrowed


def low_rank(n, w, seed, *, classes=6, apart=1.0, loading=1.0, noise=0.5, drift=0.0, batches=1):
    """Return batches of classes with five factors each, of their own, and noise."""
    rng = np.random.default_rng(seed)
    mean = apart * rng.normal(size=(classes, w))
    factors = loading * rng.normal(size=(classes, w, 5))
    out = []
    for _ in range(batches):
        y = rng.integers(classes, size=n)
        X = mean[y] + (factors[y] @ rng.normal(size=(n, 5, 1)))[..., 0]
        out.append((X + noise * rng.normal(size=(n, w)), y))
        mean = mean + drift * rng.normal(size=(classes, w))
    return out


# -- which rows are narrowed ---------------------------------------------------------------------


def alike_in_all_columns(n, seed, classes=40, w=64):
    """Return rows of many classes that differ a little in all columns, none more than another."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(classes, w))[rng.integers(classes, size=n)] + rng.normal(size=(n, w))


@pytest.mark.parametrize("seed", [0, 1])
def test_many_rows_that_differ_everywhere_keep_all_columns(seed):
    assert Gaussian().prepare(alike_in_all_columns(1000, seed)).space is None
    assert (
        Gaussian().prepare(alike_in_all_columns(250, seed)).space is not None
    )  # these afford no more


def test_rows_without_a_level_of_noise_are_described_by_few_directions():
    """As embeddings of sentences are: no number of directions holds most of their variance."""
    rng = np.random.default_rng(0)
    y, scale = rng.integers(20, size=1000), np.arange(1.0, 385.0) ** -0.35
    X = 0.9 * rng.normal(size=(20, 384))[y] * scale + rng.normal(size=(1000, 384)) * scale
    assert main_directions(X).lift.shape == (384, 15)
    assert adjusted_rand_score(y, ScStream(random_state=0).fit(X).labels_) > 0.95


@pytest.mark.parametrize("given", [{"mean": 0.0}, {"cov": 1.0}, {"cov_strength": 200.0}])
def test_a_given_prior_is_for_all_columns(given):
    X, _ = low_rank(250, 64, 0)[0]
    given = {k: np.zeros(64) if k == "mean" else v for k, v in given.items()}
    assert Gaussian(**given).prepare(X).space is None


def apart(n, seed, classes, w=64):
    """Return rows of classes far apart, which differ in one direction less than there are."""
    rng = np.random.default_rng(seed)
    return 9.0 * rng.normal(size=(classes, w))[rng.integers(classes, size=n)] + rng.normal(
        size=(n, w)
    )


# -- the directions ------------------------------------------------------------------------------


def test_coordinates_are_those_of_principal_components():
    X, _ = low_rank(200, 80, 1)[0]
    space = main_directions(X)
    Y = (X - np.median(X, axis=0)) / space.unit
    _, value, axes = np.linalg.svd(Y, full_matrices=False)
    q = space.lift.shape[1]
    expected = Y @ axes[:q].T / (value[:q] / np.sqrt(len(X)))
    got = space.narrowed(X)
    assert_allclose(got, expected * np.sign((got * expected).sum(axis=0)), atol=1e-8)
    left = (Y**2).sum(axis=1) - ((Y @ axes[:q].T) ** 2).sum(axis=1)
    assert space.noise == pytest.approx(left.mean() / (80 - q))


def test_units_of_columns_of_several_kinds_do_not_matter():
    X, _ = low_rank(250, 64, 3)[0]
    unit = 10.0 ** np.linspace(-3, 3, 64)
    first = ScStream(random_state=0, n_jobs=1).fit_predict(X * unit)
    second = ScStream(random_state=0, n_jobs=1).fit_predict(X * unit[::-1])
    assert_array_equal(first, second)


def test_constant_columns_and_copies_do_no_harm():
    (X, y), *_ = low_rank(250, 60, 5, apart=2.0)
    X = np.column_stack([X, np.full((250, 20), 7.0), X[:, :10]])
    model = ScStream(random_state=0, n_jobs=1).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.95
    assert np.isfinite(model.score_samples(X)).all()


@pytest.mark.parametrize("w", [64, 128])
def test_a_background_may_be_learned_beside_clusters_in_few_directions(w):
    rng = np.random.default_rng(17)
    (X, y), *_ = low_rank(1000, w, 17, apart=2.0)
    X[:50], y[:50] = X.mean(axis=0) + 40.0 * rng.normal(size=(50, w)), -1
    model = ScStream(outlier_weight="auto", random_state=0, n_jobs=1).fit(X)
    assert (model.labels_[:50] == -1).mean() > 0.9
    assert adjusted_rand_score(y, model.labels_) > 0.95


# -- densities and descriptions ------------------------------------------------------------------


def test_density_is_that_of_the_directions_times_that_of_the_noise():
    X, _ = low_rank(250, 60, 6)[0]
    family = Gaussian(mean_strength=0.1).prepare(X)
    s = family.statistics(X[:100]).sum(axis=0)[None]
    assert_array_equal(s[0], family.statistics(narrowed(family, X[:100])).sum(axis=0))
    got = family.log_predictive(X[100:], s)[:, 0]
    space = family._space
    basis = space.lift / np.sqrt((space.lift**2).sum(axis=0))
    Y = (X[100:] - space.centre) / space.unit
    rest = np.linalg.svd(basis, full_matrices=True)[0][:, basis.shape[1] :]
    noise = stats.norm(scale=np.sqrt(space.noise)).logpdf(Y @ rest).sum(axis=1)
    # the same Student-t by the coordinates alone, in units of the rows
    alone = Gaussian(mean_strength=0.1).prepare(Y @ basis)
    alone = alone._with(
        family._kappa, family._nu, family._psi * np.outer(family._scale, family._scale)
        * np.outer(np.sqrt((space.lift**2).sum(axis=0)), np.sqrt((space.lift**2).sum(axis=0)))
        / np.outer(alone._scale, alone._scale),
        (((family._m * family._scale + family._shift) * np.sqrt((space.lift**2).sum(axis=0)))
         - alone._shift) / alone._scale,
    )  # fmt: skip
    Y0 = (X[:100] - space.centre) / space.unit
    inside = alone.log_predictive(Y @ basis, alone.statistics(Y0 @ basis).sum(axis=0)[None])[:, 0]
    assert_allclose(got, inside + noise - np.log(space.unit).sum(), rtol=1e-9)


def test_clusters_are_described_in_all_columns():
    X, y = low_rank(600, 64, 7, apart=2.0)[0]
    model = ScStream(random_state=0, n_jobs=1).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.99
    for cluster in model.clusters_:
        own = X[model.labels_ == cluster.id]
        assert cluster.mean.shape == (64,)
        assert cluster.covariance.shape == (64, 64)
        spread = np.sqrt(np.diag(cluster.covariance))
        assert np.corrcoef(cluster.mean, own.mean(axis=0))[0, 1] > 0.9
        assert 0.5 < np.median(spread / own.std(axis=0)) < 2.0
    assert model.prior_["cov"].shape == (64, 64)


# -- a stream that goes elsewhere ----------------------------------------------------------------


def test_rows_as_before_leave_the_directions_as_they_are():
    first, second, third = low_rank(400, 96, 9, batches=3)
    family = Gaussian().prepare(first[0])
    once, carry = turned(family, second[0], 400.0)
    assert carry is None
    again, carry = turned(once, third[0], 400.0)
    assert carry is None
    assert again is once  # what is usual is known by now


def test_a_class_in_other_directions_is_found():
    rng = np.random.default_rng(12)
    mean = 3.0 * rng.normal(size=(8, 128))
    model = ScStream(random_state=0, n_jobs=1)
    for b in range(7):
        y = rng.integers(4 if b < 4 else 8, size=250)
        X = mean[y] + rng.normal(size=(250, 128))
        model.partial_fit(X)
        assert adjusted_rand_score(y, model.labels_) > 0.9, b
    assert adjusted_rand_score(y, model.labels_) > 0.99
    assert model.n_clusters_ == 8
    assert len(model.events_) >= 8  # drift, told in all columns


@pytest.mark.parametrize(("w", "scaled"), [(64, True), (160, False)])
def test_learning_a_batch_makes_its_labels_no_worse(w, scaled):
    predicted, learned = [], []
    model = ScStream(random_state=0, n_jobs=1)
    batches = low_rank(250, w, 13, drift=0.1, batches=8)
    low, high = batches[0][0].min(axis=0), batches[0][0].max(axis=0)
    for X, y in batches:
        X = (X - low) / (high - low) if scaled else X
        if model.n_batches_:
            predicted.append(adjusted_rand_score(y, model.predict(X)))
        model.partial_fit(X)
        learned.append(adjusted_rand_score(y, model.labels_))
    assert np.mean(learned[1:]) >= np.mean(predicted) - 0.005
    assert min(learned) > 0.9


def test_it_goes_on_from_a_checkpoint(tmp_path):
    batches = low_rank(250, 80, 14, drift=0.3, batches=7)
    model = ScStream(random_state=0, n_jobs=1)
    for X, _ in batches[:5]:
        model.partial_fit(X)
    model.save(tmp_path / "model")
    other = ScStream.load(tmp_path / "model")
    for X, _ in batches[5:]:
        assert_array_equal(model.partial_fit(X).labels_, other.partial_fit(X).labels_)
        assert_array_equal(model.score_samples(X), other.score_samples(X))


def test_what_was_learned_in_other_directions_is_known_in_these():
    (X, _), (other, _) = low_rank(400, 96, 15)[0], low_rank(400, 96, 16, apart=3.0, classes=12)[0]
    before, now = Gaussian().prepare(X), Gaussian().prepare(other)
    rows = X[:50]
    sums = now.reframed(before.statistics(rows).sum(axis=0)[None], before)[0]
    z = before.space.narrowed(rows).mean(axis=0)
    there = now.embed(before._space.means(z)[None])[0]
    assert sums[0] == pytest.approx(50.0)
    assert_allclose(sums[1 : 1 + len(there)] / 50.0, there, atol=1e-8)
    assert Gaussian(cov=1.0).prepare(other).reframed(sums[None], before) is None
