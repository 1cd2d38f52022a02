"""One batch: what is swept and moved, when the first one ends, and what is left behind."""

import numpy as np
import pytest
import reference
from numpy.testing import assert_allclose, assert_array_equal
from problems import REFERENCED, dense, problem
from sampling import FORGETTINGS, Stream
from sklearn.metrics import adjusted_rand_score

from scstream import ScStream
from scstream.datasets import gaussian_stream
from scstream.engines import CpuEngine
from scstream.evaluate import prequential
from scstream.families import Gaussian
from scstream.sampler.batch import Course, first_batch, later_batch
from scstream.sampler.context import Context
from scstream.sampler.initialise import start_from_labels, start_over_clustered
from scstream.sampler.log_marginals import log_posterior
from scstream.sampler.recipe import Plan
from scstream.sampler.rules import Rules
from scstream.sampler.window import Forgetting

HALF_LIFE = FORGETTINGS["half-life"]
CENTRES = np.array([[0.0, 0.0], [15.0, 0.0], [0.0, 15.0], [15.0, 15.0]])


class Counting(CpuEngine):
    """Remembers the keys of its sweeps."""

    def load(self, family, X, weight):
        super().load(family, X, weight)
        self.keys = []

    def sweep(self, score, sub, k, key):
        self.keys.append(key)
        return super().sweep(score, sub, k, key)


class Batches(Stream):
    """A stream of four well separated clusters, none of it learned yet."""

    def __init__(self, n=120, shift=0.0):
        self.n, self.shift, self.seed = n, shift, 0
        family = Gaussian().prepare(self.draw(0))
        self.ctx = Context(family, Counting(), np.random.default_rng(0), 1.0, 1, 0)
        self.load(0)

    def draw(self, batch):
        rng = np.random.default_rng(batch)
        self.truth = rng.permutation(np.arange(self.n) % 4)
        return CENTRES[self.truth] + batch * self.shift + rng.normal(size=(self.n, 2))

    def load(self, batch):
        X, self.weight = self.draw(batch), np.ones(self.n)
        self.T = dense(self.ctx.family.statistics(X))
        self.ctx.engine.load(self.ctx.family, X, self.weight)
        self.ctx.batch = batch

    def found(self):
        """Return whether the clusters are the true ones, but for a stray point or two."""
        return adjusted_rand_score(self.truth, self.ctx.engine.labels) > 0.9

    def names(self):
        """Return the id of each true cluster."""
        z = self.ctx.engine.labels
        own = [np.bincount(z[self.truth == t]).argmax() for t in range(self.truth.max() + 1)]
        return self.state.ids[own].tolist()

    def learned(self, plan=None):
        """Learn the first batch."""
        start = start_over_clustered(self.ctx, plan or Plan(), HALF_LIFE, adapt=True)
        self.state = first_batch(self.ctx, plan or Plan(), start, Course(adapt=True))
        self.check(shared=True)
        return self


@pytest.mark.parametrize("name", REFERENCED)
def test_log_posterior_is_that_of_the_reference(name):
    case = problem(name)
    w = np.random.default_rng(0).random((3, 30))
    groups = [(case.X, weight) for weight in w]
    base = (w @ case.family.log_base(case.points)).sum()
    got = log_posterior(case.family, 0.4, w @ case.T) + base
    assert got == pytest.approx(reference.log_posterior(case.prior, 0.4, groups), rel=1e-9)


# -- starts --------------------------------------------------------------------------------------


def few_tell(n_others, n=400, seed=0):
    """Return four clusters far apart in two columns beside others that tell nothing, and who."""
    rng = np.random.default_rng(seed)
    y = rng.integers(4, size=n)
    told = 0.4 * CENTRES[y] + rng.normal(size=(n, 2))
    return np.column_stack([told, rng.normal(size=(n, n_others))]), y


def test_labels_to_start_from_are_kept_beside_columns_that_tell_nothing():
    X, y = few_tell(30)  # under the prior of nobody they become two clusters
    model = ScStream(random_state=0).fit(X, labels=y)
    assert adjusted_rand_score(y, model.labels_) > 0.9


def unlike_classes(rng, n_classes, points, d=16):
    """Return points of classes that differ in shape and size, and their classes."""
    own = rng.normal(size=(n_classes, d, 2 * d)) / np.sqrt(2 * d)
    factor = np.linalg.cholesky(own @ own.transpose(0, 2, 1))
    factor *= np.exp(rng.normal(scale=0.6, size=(n_classes, 1, 1)))
    mean = 1.5 * rng.normal(size=(n_classes, d))
    z = np.repeat(np.arange(n_classes), points)
    return mean[z] + (factor[z] @ rng.normal(size=(len(z), d, 1)))[..., 0], z


def test_classes_of_few_points_in_many_columns_are_taken_for_alike():
    scores = []
    for seed in range(3):
        X, z = unlike_classes(np.random.default_rng(seed), 40, 8)
        model = ScStream(random_state=0).partial_fit(X)
        assert model.family_.hyperparameters()["cov_strength"] == 16 * 17
        scores.append(adjusted_rand_score(z, model.labels_))
    assert np.mean(scores) > 0.65  # each with a shape of its own: 0.61


def test_classes_of_enough_points_have_shapes_of_their_own():
    X, _ = unlike_classes(np.random.default_rng(3), 5, 80)
    strength = ScStream(random_state=0).partial_fit(X).family_.hyperparameters()["cov_strength"]
    assert strength < 16 + 2 + 4 * 16


@pytest.mark.parametrize("most", [1, 2, 3])
def test_no_start_has_more_clusters_than_allowed(most):
    batch = Batches()
    plan = Plan(max_clusters=most)
    batch.state = start_over_clustered(batch.ctx, plan, HALF_LIFE, adapt=True)
    batch.check(shared=True)
    assert batch.state.k <= most
    assert batch.learned(plan).state.k <= most


# -- the first batch -------------------------------------------------------------------------------


def test_the_first_batch_finds_what_is_plain_to_see():
    batch = Batches().learned()
    assert batch.found()
    assert len(set(batch.names())) == 4
    keys = batch.ctx.engine.keys
    assert keys[-1] is None  # the last sweep is the deterministic one
    assert not np.all(np.equal(keys, None))


@pytest.mark.parametrize("merged", [True, False])
def test_the_first_batch_mends_a_bad_start(merged):
    batch = Batches()
    labels = batch.truth // 4 if merged else batch.truth * 3 + np.arange(batch.n) % 3
    start = start_from_labels(batch.ctx, HALF_LIFE, labels, adapt=False)
    assert start.k == (1 if merged else 12)
    batch.state = first_batch(batch.ctx, Plan(), start, Course(adapt=True))
    batch.check(shared=True)
    assert batch.found()


def test_a_first_batch_has_a_bound_on_its_sweeps_and_tells_its_progress():
    batch, told = Batches(), []
    start = start_over_clustered(batch.ctx, Plan(), HALF_LIFE, adapt=True)
    batch.ctx.engine.keys.clear()
    plan = Plan(max_sweeps=3)
    course = Course(adapt=True, progress=lambda *seen: told.append(seen))
    batch.state = first_batch(batch.ctx, plan, start, course)
    assert [sweep for sweep, _, _ in told] == [1, 2, 3]
    assert all(k >= 1 and np.isfinite(level) for _, k, level in told)
    assert sum(key is not None for key in batch.ctx.engine.keys) == 3


# -- later batches ---------------------------------------------------------------------------------


def follow(batch, time, plan=None):
    """Learn a later batch, and return what happened."""
    batch.state = batch.state.settle(time - 1.0).advance(time)
    batch.load(int(time))
    past = batch.state.totals.sum(axis=0)
    batch.state, events = later_batch(batch.ctx, plan or Plan(), batch.state, time)
    batch.check(shared=True)
    assert batch.state.totals[:, 0].sum() <= past[0] + batch.n + 1e-8
    return events


@pytest.mark.parametrize("sweeps", [0, 1, 3])
def test_a_later_batch_has_its_sweeps_and_then_the_deterministic_one(sweeps):
    batch = Batches().learned()
    follow(batch, 1.0, Plan(sweeps=sweeps))
    keys = batch.ctx.engine.keys
    assert [key is None for key in keys] == [False] * sweeps + [True]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("shift", [0.0, 0.5])
def test_clusters_keep_their_ids_while_they_stay_or_drift(shift):
    batch = Batches(shift=shift).learned()
    names = batch.names()
    for time in range(1, 8):
        follow(batch, float(time))
        assert batch.found()
        assert batch.names() == names
    old = np.isin(batch.state.ids, names)
    assert_array_equal(batch.state.born[old], 0.0)
    assert_array_equal(batch.state.lived[old], 7)


def appear(batch, time, centres):
    """Learn a batch with the given centres."""
    batch.state = batch.state.settle(time - 1.0).advance(time)
    rng = np.random.default_rng(100 + int(time))
    batch.truth = rng.permutation(np.arange(batch.n) % len(centres))
    X = np.asarray(centres)[batch.truth] + rng.normal(size=(batch.n, 2))
    batch.T = dense(batch.ctx.family.statistics(X))
    batch.ctx.engine.load(batch.ctx.family, X, batch.weight)
    batch.ctx.batch = int(time)
    batch.state, _ = later_batch(batch.ctx, Plan(), batch.state, time)
    batch.check(shared=True)


def test_points_where_none_had_been_found_a_cluster_at_once():
    batch = Batches(n=150).learned()
    names, old = batch.names(), set(batch.state.ids.tolist())
    appear(batch, 1.0, [*CENTRES, [60.0, -45.0]])
    assert batch.found()
    assert batch.names()[:4] == names
    new = batch.names()[4]
    assert new not in old
    assert batch.state.born[batch.state.ids == new] == 1.0


def test_clusters_born_at_once_are_found_in_their_first_batch():
    """Mostly: of nine a pair may stay one for a batch, an ARI of .91."""

    def found(seed, **rules):
        rng = np.random.default_rng(seed)
        means = 4.75 * rng.normal(size=(12, 5))
        model = ScStream(random_state=seed, rules=Rules(**rules))
        for k in (3, 3, 3, 12):
            y = rng.integers(k, size=1000)
            model.partial_fit(means[y] + rng.normal(size=(1000, 5)))
        return adjusted_rand_score(y, model.labels_)

    alone = {"challenger_margin": 1e9}  # a model that begins anew finds them, too
    assert np.mean([found(seed) for seed in range(6)]) > 0.95
    assert np.mean([found(seed, **alone) for seed in range(6)]) > 0.95
    # the last sweep mends one more of them
    assert np.mean([found(seed, more_sweeps=0, **alone) for seed in range(6)]) < 0.9


def test_new_classes_in_many_columns_found_clusters():
    """Of 15 classes three are new in each batch, and a class has 20 points for 32 columns."""
    model = ScStream(random_state=0)
    rng = np.random.default_rng(0)
    means = rng.normal(size=(51, 32))
    scores = []
    for batch in range(12):
        z = rng.integers(0, 15, 300) + 3 * batch
        model.partial_fit(means[z] + rng.normal(size=(300, 32)))
        scores.append(adjusted_rand_score(z, model.labels_))
        known = {i for record in model.history_ for i in record.births}
        assert set(model.labels_.tolist()) <= known
        for pair in model.history_[-1].merges:
            assert set(pair) <= known
        assert sorted(known) == list(range(len(known)))  # those on trial leave no gaps
    assert np.mean(scores[-5:]) > 0.93  # without founders: 0.89 to 0.92
    assert 15 <= len(np.unique(model.labels_)) <= 22


def test_clusters_that_drift_in_many_columns_keep_their_ids():
    """Groups of the present would take the place of clusters that moved."""
    stream = gaussian_stream(8, 500, n_clusters=10, n_features=64, random_state=0)
    result = prequential(ScStream(random_state=0), stream)
    assert result.full_nmi > 0.999


def test_a_cluster_that_is_seen_no_more_is_forgotten_and_its_id_with_it():
    batch = Batches(n=160).learned()
    *kept, lost = batch.names()
    ever, there = set(batch.state.ids.tolist()), []
    for time in range(1, 15):
        before = set(batch.state.ids.tolist())
        appear(batch, float(time), CENTRES[:3])
        there.append(lost in batch.state.ids)
        born = set(batch.state.ids.tolist()) - before
        assert born.isdisjoint(ever)
        ever |= born
        assert batch.names() == kept
    # its 40 points fade by half every two batches: eleven make them less than one
    assert there == [True] * 10 + [False] * 4


def test_no_later_batch_makes_more_clusters_than_allowed():
    batch = Batches().learned(Plan(max_clusters=2))
    for time in (1.0, 2.0):
        events = follow(batch, time, Plan(max_clusters=2))
        assert batch.state.k <= 2
        assert len(events.splits) <= len(events.merges)


def test_events_name_those_involved():
    batch = Batches().learned(Plan(max_clusters=2))
    known = set(batch.state.ids.tolist())
    events = follow(batch, 1.0)
    assert events.splits
    for parent, new in events.splits:
        assert parent in known
        assert new not in known
        known.add(new)
    for survivor, lost in events.merges:
        assert {survivor, lost} <= known
        assert lost not in batch.state.ids


@pytest.mark.parametrize("name", FORGETTINGS)
def test_the_past_counts_as_the_window_says(name):
    stream = Stream("gaussian", name)
    forgetting: Forgetting = FORGETTINGS[name]
    for time in (1.0, 2.0):
        before = stream.everything()
        stream.state = stream.state.settle(time - 1.0).advance(time)
        past = stream.state.totals.sum(axis=0)
        if forgetting.kernel is None:
            assert_allclose(past[0], before[0] * forgetting.decay(1.0))
        stream.load(int(time))
        stream.ctx.batch = int(time)
        stream.state, _ = later_batch(stream.ctx, Plan(), stream.state, time)
        stream.check(shared=True)
        # a cluster that moved may forget more, none forgets less
        assert stream.everything()[0] <= past[0] + stream.weight.sum() + 1e-8
        assert stream.everything()[0] >= stream.weight.sum() - 1e-8
