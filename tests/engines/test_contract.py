"""What every engine must keep, over all engines, against the method in plain NumPy."""

import numpy as np
import pytest
import reference
from numpy.testing import assert_allclose, assert_array_equal
from problems import dense, problem, reference_parameters
from scipy import stats

from scstream.engines import CpuEngine, DaskEngine, Key
from scstream.engines.base import finished_sweep
from scstream.engines.chunks import SIZES, Sizes, Tree
from scstream.families.scores import JoinedScore, LinearScore


def in_blocks(n_threads, *, kept=True):
    """Return an engine that takes even a small batch in several blocks."""
    kept_bytes = SIZES.kept_bytes if kept else 0
    return CpuEngine(n_threads, sizes=Sizes(chunk_rows=8, block_rows=8, kept_bytes=kept_bytes))


def on_torch():
    """Return the engine on PyTorch, in the precision of the others, if PyTorch is there."""
    pytest.importorskip("torch", reason="PyTorch is not installed")
    from scstream.engines.torch.engine import TorchEngine

    return TorchEngine(device="cpu")


def on_dask(client, n_workers, shard_engine=in_blocks):
    """Return an engine that cuts even a small batch into shards."""
    workers = list(client.nthreads())[:n_workers]
    return DaskEngine(client, shard_engine, workers, chunk=8)


def on_dask_with_torch(client):
    """Return an engine of two workers, each with PyTorch, if PyTorch is there."""
    on_torch()  # a worker cannot skip a test
    return on_dask(client, 2, lambda n_threads: on_torch())


# An engine joins by its line here: how to make it, given the fixtures of pytest.
ENGINES = {
    "cpu": lambda get: CpuEngine(1),
    "cpu-blocks": lambda get: in_blocks(1),
    "cpu-2-threads": lambda get: in_blocks(2),
    "cpu-3-threads-not-kept": lambda get: in_blocks(3, kept=False),
    "torch-cpu": lambda get: on_torch(),
    "dask-3-workers": lambda get: on_dask(get("client"), 3),
    "dask-torch": lambda get: on_dask_with_torch(get("client")),
}
RARE = 1e-9  # the chance that one statistical comparison refuses a right program
ALPHA = 1.3
KEY = Key(seed=2**40 + 12345, batch=3, sweep=7)
CASES = ["gaussian-2d", "gaussian-3d-default", "multinomial-4", "multinomial-8-default"]


@pytest.fixture(params=ENGINES)
def engine(request):
    return ENGINES[request.param](request.getfixturevalue)


@pytest.fixture(params=CASES)
def case(request):
    return problem(request.param)


def weights(n):
    """Return row weights: fractions, ones, and nothing at all."""
    w = np.random.default_rng(0).random(n)
    w[::3], w[::7] = 1.0, 0.0
    return w


def subclusters(case):
    """Return four overlapping sub-clusters (X, w) of two clusters."""
    X, shuffled = case.X, np.random.default_rng(1).permutation(30)
    cuts = [shuffled[:9], shuffled[9:15], shuffled[15:28], shuffled[28:]]
    groups = [(X[rows], weights(30)[rows] + 0.1) for rows in cuts]
    return [groups[:2], groups[2:]]


def sums_of(case, groups):
    """Return statistics (k, 2, p) of groups of sub-clusters (X, w)."""
    T = case.family.statistics
    return np.array([[w @ dense(T(case.family.check(X))) for X, w in pair] for pair in groups])


def sampled(case, outliers):
    """Return two clusters' drawn scores, and what the reference makes of the same parameters."""
    family, rng, d = case.family, np.random.default_rng(2), case.X.shape[1]
    parts = sums_of(case, subclusters(case))
    weight, sub_weight = np.array([0.5, 0.3, 0.2]), np.array([[0.4, 0.6], [0.9, 0.1]])
    totals = np.concatenate([parts.sum(axis=1), parts[:1, 0]])  # the third takes outliers
    eta = family.draw(rng, family.prior + totals)
    sub_eta = family.draw(rng, family.prior + parts.reshape(4, -1))
    density, given = reference_parameters(family, eta, d)
    _, sub_given = reference_parameters(family, sub_eta, d)
    sub_given = [sub_given[:2], sub_given[2:]]
    if outliers:  # the sub-clusters of the third do not matter
        sub_weight_all, sub_given = [*sub_weight, [0.5, 0.5]], [*sub_given, sub_given[0]]
    else:
        weight, given, sub_weight_all = weight[:2], given[:2], sub_weight
    expected = reference.restricted_scores(
        density, case.X, weight, given, sub_weight_all, sub_given
    )
    eta, sub_eta = eta[: len(weight)].copy(), sub_eta.copy()
    eta[:, 0] += np.log(weight)
    sub_eta[:, 0] += np.log(sub_weight).ravel()
    score = LinearScore(eta)
    if outliers:
        score = JoinedScore([LinearScore(eta[:2]), LinearScore(eta[2:])])
    return score, LinearScore(sub_eta), (expected[0], expected[1][:, :2])


def check_sweep(engine, case, got, w, expected):
    """Compare labels and sums with those of the reference."""
    k = len(got.rows)
    assert_array_equal(engine.labels, expected.z)
    inside = expected.z >= 0
    assert_array_equal(engine.sublabels[inside], expected.sub[inside])
    sums = reference.statistics(case.T, w, expected.z, expected.share, k)
    assert_allclose(got.current, sums, rtol=1e-10, atol=1e-10)
    assert_array_equal(got.rows, reference.row_counts(expected.z, expected.sub, k))
    assert_array_equal(got.rivals, reference.rivals(expected, k))
    assert_allclose(got.entropy, reference.entropies(expected, w, k), rtol=1e-8, atol=1e-8)


def loaded(engine, name="gaussian-2d", labels=None):
    """Return the case whose batch the engine has taken, labelled by thirds if not told."""
    case = problem(name)
    engine.load(case.family, case.points, weights(30))
    engine.start(np.arange(30) // 10 if labels is None else labels)
    return case


# -- sweeps --------------------------------------------------------------------------------------


@pytest.mark.parametrize("outliers", [False, True])
def test_sampled_sweep_is_that_of_the_reference(engine, case, outliers):
    score, sub, (scores, sub_scores) = sampled(case, outliers)
    w = weights(30)
    engine.load(case.family, case.points, w)
    got = engine.sweep(score, sub, 2, KEY)
    u = reference.uniforms(KEY.seed, KEY.batch, KEY.sweep, 0, 30)
    expected = reference.label(scores, sub_scores, u)
    assert set(expected.z) == ({-1, 0, 1} if outliers else {0, 1})
    check_sweep(engine, case, got, w, expected)


@pytest.mark.parametrize("outliers", [False, True])
def test_deterministic_sweep_is_that_of_the_reference(engine, case, outliers):
    groups, w = subclusters(case), weights(30)
    scores, sub_scores = reference.deterministic_scores(case.prior, groups, case.X, ALPHA)
    parts = sums_of(case, groups)
    n = parts[..., 0]
    score = case.family.predictive_score(
        parts.sum(axis=1), np.log(n.sum(axis=1) / (n.sum() + ALPHA))
    )
    log_sub = np.log((n + ALPHA / 2) / (n.sum(axis=1, keepdims=True) + ALPHA))
    sub = case.family.predictive_score(parts.reshape(4, -1), log_sub.ravel())
    if outliers:  # a component for the points that both clusters like least
        level = np.median(scores.max(axis=1) - case.family.log_base(case.points))
        flat = np.zeros((1, case.T.shape[1]))
        flat[0, 0] = level
        score = JoinedScore([score, LinearScore(flat)])
        scores = np.column_stack([scores, level + case.family.log_base(case.points)])
    engine.load(case.family, case.points, w)
    got = engine.sweep(score, sub, 2, None)
    expected = reference.label(scores, sub_scores)
    assert set(expected.z) == ({-1, 0, 1} if outliers else {0, 1})
    check_sweep(engine, case, got, w, expected)


def test_any_family_can_be_swept(engine):
    case = problem("plain-poisson")
    engine.load(case.family, case.points, np.ones(30))
    sub = case.family.predictive_score(np.repeat(case.sums(), 2, axis=0), np.zeros(4))
    got = engine.sweep(case.family.predictive_score(case.sums(), np.zeros(2)), sub, 2, None)
    assert_array_equal(engine.labels, np.arange(30) >= 12)
    for part in (0, 1):  # which are alike, and share every point evenly
        assert_allclose(got.current[:, part], 0.5 * case.sums(), rtol=1e-12)


def test_rows_without_weight_are_labelled_and_counted_but_add_nothing(engine, case):
    score, sub, _ = sampled(case, outliers=False)
    w = np.where(np.arange(30) % 2 == 0, 0.0, 1.0)
    engine.load(case.family, case.points, np.ones(30))
    engine.sweep(score, sub, 2, KEY)
    labels = engine.labels.copy()
    engine.load(case.family, case.points, w)
    got = engine.sweep(score, sub, 2, KEY)
    assert_array_equal(engine.labels, labels)
    assert got.rows.sum() == 30
    assert_allclose(got.current.sum(axis=(0, 1)), case.T[1::2].sum(axis=0), atol=1e-10)


def test_the_users_arrays_are_left_alone(engine, case):
    points, w = case.points, weights(30)
    before = dense(points).copy()
    score, sub, _ = sampled(case, outliers=False)
    engine.load(case.family, points, w)
    engine.sweep(score, sub, 2, KEY)
    assert_array_equal(dense(points), before)
    assert_array_equal(w, weights(30))


# -- draws ---------------------------------------------------------------------------------------


def test_labels_and_sublabels_are_drawn_with_their_probabilities(engine):
    # broken on purpose (a tenth too many second sub-labels; the key without the sweep): it fails
    n = 20_000
    family = problem("gaussian-2d").family
    engine.load(family, np.zeros((n, 2)), np.ones(n))
    p, q = np.array([0.1, 0.55, 0.05, 0.3]), np.array([0.5, 0.02, 0.9, 0.3])
    eta, sub = np.zeros((4, 6)), np.zeros((8, 6))
    eta[:, 0], sub[:, 0] = np.log(p), np.log(np.column_stack([1 - q, q])).ravel()
    got = engine.sweep(LinearScore(eta), LinearScore(sub), 4, KEY)
    expected = n * np.column_stack([p * (1 - q), p * q])
    assert stats.chisquare(got.rows.ravel(), expected.ravel()).pvalue > RARE
    # labels of neighbouring rows have nothing to do with one another
    pairs = np.bincount(4 * engine.labels[:-1:2] + engine.labels[1::2], minlength=16)
    assert stats.chisquare(pairs, n / 2 * np.outer(p, p).ravel()).pvalue > RARE
    first = engine.labels.copy()
    engine.sweep(LinearScore(eta), LinearScore(sub), 4, Key(KEY.seed, KEY.batch, KEY.sweep + 1))
    pairs = np.bincount(4 * first + engine.labels, minlength=16)
    assert stats.chisquare(pairs, n * np.outer(p, p).ravel()).pvalue > RARE


def test_draws_hang_on_the_key_and_the_row_alone(engine, case):
    score, sub, _ = sampled(case, outliers=False)
    flat = LinearScore(0.0 * score.eta), LinearScore(0.0 * sub.eta)

    def labels(rows, key):
        engine.load(case.family, case.points[:rows], np.ones(rows))
        engine.sweep(*flat, 2, key)
        return engine.labels.copy(), engine.sublabels.copy()

    z, s = labels(30, KEY)
    assert_array_equal(labels(30, KEY), (z, s))
    assert_array_equal(labels(17, KEY), (z[:17], s[:17]))
    others = [Key(KEY.seed + 1, 3, 7), Key(KEY.seed, 4, 7), Key(KEY.seed, 3, 8)]
    for key in others:
        assert not np.array_equal(labels(30, key)[0], z)
        assert not np.array_equal(labels(30, key)[1], s)


# -- sub-labels ----------------------------------------------------------------------------------


def halves(k, p):
    """Return a score under which points with a positive first coordinate are second."""
    eta = np.zeros((2 * k, p))
    eta[1::2, 1] = 1.0
    return LinearScore(eta)


@pytest.mark.parametrize("name", CASES)
def test_resplitting_tries_and_adopting_keeps(engine, name):
    labels = np.where(np.arange(30) % 5 == 0, -1, np.arange(30) // 10)
    case = loaded(engine, name, labels)
    w, p, chosen = weights(30), case.T.shape[1], np.array([True, False, True])
    side = (case.T[:, 1] > 0).astype(int)
    sums, entropy = engine.resplit(halves(3, p), chosen)
    assert_array_equal(engine.sublabels, np.zeros(30))
    tried = np.where(np.isin(labels, [0, 2]), labels, -1)
    assert_allclose(sums, reference.statistics(case.T, w, tried, side, 3), rtol=1e-10, atol=1e-10)
    each = np.log1p(np.exp(-np.abs(case.T[:, 1])))  # minus the log-probability of the better
    assert_allclose(entropy, [(w * each)[tried == c].sum() for c in range(3)], rtol=1e-10)
    # of two that were tried, one is kept
    rows = engine.adopt(np.array([True, False, False]))
    assert_array_equal(engine.labels, labels)
    assert_array_equal(engine.sublabels, np.where(labels == 0, side, 0))
    assert_array_equal(rows, reference.row_counts(labels, engine.sublabels, 3))
    # the last trial is the one that counts
    engine.resplit(LinearScore(np.zeros((6, p))), chosen)
    engine.resplit(halves(3, p), chosen)
    engine.adopt(chosen)
    assert_array_equal(engine.sublabels, np.where(tried >= 0, side, 0))


# -- labels --------------------------------------------------------------------------------------


def test_relabelling_renames_pairs(engine):
    labels = np.where(np.arange(30) < 3, -1, np.arange(30) // 10)
    case = loaded(engine, labels=labels)
    engine.resplit(halves(3, case.T.shape[1]), np.ones(3, dtype=bool))
    engine.adopt(np.ones(3, dtype=bool))
    sub = engine.sublabels.copy()
    assert len(set(zip(labels, sub, strict=True))) > 4
    label, sublabel = np.array([[1, 3], [0, 0], [2, 1]]), np.array([[0, 0], [1, 0], [1, 1]])
    engine.relabel(label, sublabel)
    inside = labels >= 0
    assert_array_equal(engine.labels[~inside], -1)
    assert_array_equal(engine.labels[inside], label[labels[inside], sub[inside]])
    assert_array_equal(engine.sublabels[inside], sublabel[labels[inside], sub[inside]])


@pytest.mark.parametrize("name", ["gaussian-2d", "multinomial-4"])
def test_members_belong_to_their_cluster_and_each_is_as_likely(engine, name):
    # broken on purpose (the first member always): it fails
    labels = np.where(np.arange(30) % 5 == 0, -1, np.arange(30) // 10)
    labels[labels == 1] = 3  # nobody is in cluster 1
    case = loaded(engine, name, labels)
    drawn = np.zeros((30, 4))
    for sweep in range(200):
        got = engine.members(4, Key(5, 1, sweep))
        assert_array_equal(got[1], 0.0)
        for c in (0, 2, 3):
            mine = np.flatnonzero(labels == c)
            same = mine[np.all(case.T[mine] == got[c], axis=1)]
            assert len(same) > 0
            drawn[same, c] += 1.0 / len(same)
    for c in (0, 2, 3):
        assert stats.chisquare(drawn[labels == c, c]).pvalue > RARE


def test_sample_is_drawn_without_replacement(engine):
    # broken on purpose (a run of neighbouring rows): it fails
    X = np.arange(40.0).reshape(20, 2)
    engine.load(problem("gaussian-2d").family, X, np.ones(20))
    for size in (20, 21):
        assert_array_equal(engine.sample(np.random.default_rng(0), size), X)
    rng, seen = np.random.default_rng(1), np.zeros(20)
    for _ in range(400):
        got = engine.sample(rng, 7)
        assert len(got) == 7
        rows = (got[:, 0] / 2).astype(int)
        assert len(set(rows)) == 7
        assert_array_equal(got, X[rows])
        seen[rows] += 1
    # without replacement counts vary less than multinomial ones: this is on the safe side
    assert stats.chisquare(seen).pvalue > RARE
    assert len(set(seen)) > 1


def test_labels_can_be_kept_and_taken_up_again(engine):
    labels = np.where(np.arange(30) % 7 == 0, -1, np.arange(30) // 10)
    case = loaded(engine, labels=labels)
    assert engine.n_rows == 30
    engine.keep_labels()
    assert engine.labels_changed() == 0
    engine.resplit(halves(3, case.T.shape[1]), np.ones(3, dtype=bool))
    engine.adopt(np.ones(3, dtype=bool))
    assert engine.labels_changed() == 0  # sub-labels do not count
    engine.relabel(np.array([[0, 0], [1, 2], [2, 2]]), np.array([[0, 1], [0, 0], [1, 1]]))
    assert engine.labels_changed() == np.count_nonzero(engine.labels != labels) > 0
    engine.restore_labels()
    assert_array_equal(engine.labels, labels)
    assert_array_equal(engine.sublabels, np.zeros(30))
    assert engine.labels_changed() == 0


# -- parts of a batch ------------------------------------------------------------------------------


def test_two_parts_of_a_batch_are_the_whole(engine, case):
    score, sub, _ = sampled(case, outliers=True)
    w, chosen = weights(30), np.array([True, False])
    engine.load(case.family, case.points, w)
    whole, labels = engine.sweep(score, sub, 2, KEY), engine.labels.copy()
    resplit = engine.resplit(halves(2, case.T.shape[1]), chosen)
    sweeps, resplits, found = [], [], []
    for part in (slice(0, 16), slice(16, 30)):
        engine.load(case.family, case.points[part], w[part], part.start)
        sweeps += engine.sweep_parts(score, sub, 2, KEY)
        found.append(engine.labels.copy())
        resplits += engine.resplit_parts(halves(2, case.T.shape[1]), chosen)
    assert_array_equal(np.concatenate(found), labels)
    total = finished_sweep(Tree(sweeps).total())
    assert_array_equal(total.rows, whole.rows)
    assert_array_equal(total.rivals, whole.rivals)
    assert_allclose(total.current, whole.current, rtol=1e-12, atol=1e-12)
    assert_allclose(total.entropy, whole.entropy, rtol=1e-12, atol=1e-9)
    for one, other in zip(Tree(resplits).total(), resplit, strict=True):
        assert_allclose(one, other, rtol=1e-12, atol=1e-12)


# -- rows that are not of the batch ----------------------------------------------------------------


def test_evaluating_other_rows_leaves_the_batch_alone(engine, case):
    engine.load(case.family, case.points[:5], np.ones(5))
    score, _, _ = sampled(case, outliers=True)
    scores = np.concatenate([part.block(case.T) for part in score.parts], axis=1)
    same = engine.evaluate(case.family, case.points, score, lambda s: s)
    assert_allclose(same, scores, rtol=1e-12, atol=1e-10)
    best = engine.evaluate(case.family, case.points, score, lambda s: np.argmax(s, axis=1))
    assert_array_equal(best, np.argmax(scores, axis=1))
    assert len(engine.labels) == 5
    assert engine.evaluate(case.family, case.points[:0], score, lambda s: s).shape == (0, 3)
