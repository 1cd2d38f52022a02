"""The engine on PyTorch against the one on the CPU; on a GPU, where there is one, its kernels."""

import numpy as np
import pytest
import reference
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse, stats
from scipy.special import expit

from scstream.engines import CpuEngine, Key, outputs, tensors
from scstream.families import Gaussian, Multinomial
from scstream.families.scores import JoinedScore, LinearScore

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from scstream.engines.torch import draws  # noqa: E402
from scstream.engines.torch import engine as torch_engine  # noqa: E402
from scstream.engines.torch.engine import TorchEngine  # noqa: E402

KEY = Key(seed=2**63 - 12345, batch=3, sweep=7)
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")


class Problem:
    """Overlapping clusters of d columns far from 0, with drawn and predictive scores."""

    def __init__(self, d=3, k=5, n=3000, seed=0):
        rng = np.random.default_rng(seed)
        self.k = k
        labels = rng.integers(k, size=n)
        centre = 1.5 * rng.normal(size=(k, d))
        self.X = 1000.0 + centre[labels] + rng.normal(size=(n, d)) * rng.uniform(0.2, 1.0, d)
        self.weight = rng.random(n)
        self.family = family = Gaussian().prepare(self.X)
        side = (self.X[:, 0] > np.median(self.X[:, 0])).astype(int)
        T = family.statistics(self.X)
        parts = reference.statistics(T, np.ones(n), labels, side, k)
        self.totals, flat = parts.sum(axis=1), parts.reshape(2 * k, -1)
        level, sub_level = np.log(np.full(k, 1 / k)), np.log(np.full(2 * k, 0.5))
        self.drawn = (
            family.sampled_score(rng, self.totals, level),
            family.sampled_score(rng, flat, sub_level),
        )
        self.predictive = (
            family.predictive_score(self.totals, level),
            family.predictive_score(flat, sub_level),
        )

    def outlying(self):
        """Return the drawn scores with a wide Student-t component behind them."""
        wide = self.family.predictive_score(self.totals[:1] * 0.0, np.array([0.0]))
        return JoinedScore([self.drawn[0], wide]), self.drawn[1]

    def halves(self):
        """Return a flat score of pairs: on which side of the middle the first column is."""
        eta = np.zeros((2 * self.k, self.totals.shape[1]))
        eta[1::2, 1] = 1.0
        return LinearScore(eta)


def swept(engine, problem, scores, key, X=None):
    """Return what a sweep of the problem's rows gives, with the labels."""
    engine.load(problem.family, problem.X if X is None else X, problem.weight)
    sums = engine.sweep(*scores, problem.k, key)
    return sums, engine.labels, engine.sublabels


def assert_same(got, expected, *, rtol=1e-9):
    """Compare the results of two sweeps whose labels are the same."""
    assert_array_equal(got[1], expected[1])
    assert_array_equal(got[2], expected[2])
    assert_array_equal(got[0].rows, expected[0].rows)
    assert_array_equal(got[0].rivals, expected[0].rivals)
    assert_allclose(got[0].current, expected[0].current, rtol=rtol, atol=rtol * 3000)
    assert_allclose(got[0].doubt, expected[0].doubt, rtol=10 * rtol, atol=rtol * 3000)


# -- the same as on the CPU ------------------------------------------------------------------------


def test_random_bits_are_those_of_the_reference():
    for key, first in ((KEY, 0), (Key(1, 0, 1), 2**33 - 2), (Key(0, 5, 2**31), 17)):
        got = draws.uniforms(key, first, 5, torch.device("cpu"))
        assert_array_equal(got, reference.uniforms(key.seed, key.batch, key.sweep, first, 5))


@pytest.mark.parametrize("key", [KEY, None])
@pytest.mark.parametrize("kind", ["drawn", "predictive", "outlying"])
def test_float64_gives_the_labels_of_the_cpu_engine(kind, key, monkeypatch):
    monkeypatch.setitem(torch_engine._BLOCK_NUMBERS, "cpu", 2**14)  # several blocks
    problem = Problem()
    scores = problem.outlying() if kind == "outlying" else getattr(problem, kind)
    expected = swept(CpuEngine(), problem, scores, key)
    assert (expected[1] < 0).any() == (kind == "outlying")
    assert_same(swept(TorchEngine("cpu"), problem, scores, key), expected)


def test_float32_gives_nearly_the_labels_of_the_cpu_engine():
    problem = Problem(n=20_000)
    _, expected, _ = swept(CpuEngine(), problem, problem.drawn, KEY)
    got, labels, _ = swept(TorchEngine("cpu", "float32"), problem, problem.drawn, KEY)
    assert np.mean(labels != expected) < 1e-3
    # sums are those of the labels it gave, rows rounded to float32 aside
    T = problem.family.statistics(problem.X)
    exact = reference.statistics(T, problem.weight, labels, np.zeros(20_000, dtype=int), 5)
    assert_allclose(got.current.sum(axis=1), exact.sum(axis=1), rtol=1e-5, atol=1e-2)


def test_the_same_call_gives_the_same_bits():
    problem = Problem()
    first, again = (swept(TorchEngine("cpu"), problem, problem.drawn, KEY) for _ in range(2))
    assert_array_equal(first[0].current, again[0].current)
    assert_array_equal(first[0].doubt, again[0].doubt)


def test_rows_from_the_middle_of_a_batch_are_drawn_as_there():
    problem = Problem()
    _, labels, _ = swept(TorchEngine("cpu"), problem, problem.drawn, KEY)
    engine = TorchEngine("cpu")
    engine.load(problem.family, problem.X[1000:], problem.weight[1000:], first_row=1000)
    engine.sweep(*problem.drawn, problem.k, KEY)
    assert_array_equal(engine.labels, labels[1000:])
    whole, part = CpuEngine(), TorchEngine("cpu")
    for engine, first in ((whole, 0), (part, 4096)):
        engine.load(problem.family, problem.X, problem.weight, first_row=first)
        engine.start(np.zeros(3000, dtype=int))
    assert not np.array_equal(whole.members(1, KEY), part.members(1, KEY))


def test_counts_in_few_rows_go_through_the_host():
    rng = np.random.default_rng(0)
    X = sparse.csr_array(rng.poisson(0.3, size=(200, 12)).astype(float))
    family = Multinomial().prepare(X)
    sums = family.statistics(X)[:40].toarray().reshape(4, 10, 13).sum(axis=1)
    scores = (
        family.predictive_score(sums[:2], np.zeros(2)),
        family.predictive_score(sums, np.zeros(4)),
    )
    results = []
    for engine in (CpuEngine(), TorchEngine("cpu")):
        engine.load(family, X, np.ones(200))
        results.append((engine.sweep(*scores, 2, KEY), engine.labels, engine.sublabels))
    assert_same(*results)


def test_weights_that_share_their_memory_are_weights():
    problem = Problem()
    scores, sums = problem.drawn, []
    for weight in (np.broadcast_to(1.5, 3000), np.full(3000, 1.5)):
        engine = TorchEngine("cpu")
        engine.load(problem.family, problem.X, weight)
        sums.append(engine.sweep(*scores, problem.k, KEY))
    assert_array_equal(sums[0].current, sums[1].current)
    assert_array_equal(sums[0].doubt, sums[1].doubt)


# -- tensors ---------------------------------------------------------------------------------------


def test_a_tensor_is_taken_as_the_array_that_it_holds():
    problem = Problem()
    expected = swept(TorchEngine("cpu"), problem, problem.drawn, KEY)
    X = torch.from_numpy(problem.X)
    engine = TorchEngine("cpu")
    assert_same(swept(engine, problem, problem.drawn, KEY, X), expected, rtol=1e-14)
    other = TorchEngine("cpu")
    swept(other, problem, problem.drawn, KEY)
    assert_array_equal(engine.members(problem.k, KEY), other.members(problem.k, KEY))
    for size in (10, 5000):
        rngs = (np.random.default_rng(3) for _ in range(2))
        samples = [e.sample(rng, size) for e, rng in zip((engine, other), rngs, strict=True)]
        assert isinstance(samples[0], np.ndarray)
        assert_array_equal(*samples)


def test_what_counts_as_a_tensor():
    class Foreign:
        def __init__(self, array):
            self._array = array

        def __dlpack__(self, **kwargs):
            return self._array.__dlpack__(**kwargs)

        def __dlpack_device__(self):
            return self._array.__dlpack_device__()

    array = np.arange(6.0).reshape(3, 2)
    assert not tensors.is_foreign(array)
    assert tensors.is_foreign(torch.from_numpy(array))
    shared = tensors.as_tensor(Foreign(array))
    assert tensors.is_tensor(shared)
    array[0, 0] = 7.0
    assert shared[0, 0] == 7.0  # no copy was made
    labels = np.array([1, 0, -1])
    assert tensors.like_input(labels, array) is labels
    out = tensors.like_input(labels, shared)
    assert out.dtype == torch.int64
    assert_array_equal(out, labels)
    assert_array_equal(tensors.like_input(out, shared), labels)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (torch.zeros(3), "2D"),
        (torch.zeros((2, 2), dtype=torch.complex64), "Complex"),
        (torch.zeros((0, 2)), "at least 1 row"),
        (torch.tensor([[1.0, float("nan")]]), "NaN or infinity"),
        (torch.tensor([[1.0, float("-inf")]]), "NaN or infinity"),
    ],
)
def test_bad_tensors_are_refused(X, message):
    with pytest.raises(ValueError, match=message):
        tensors.check_tensor(X)


@pytest.mark.parametrize("what", [outputs.Best(), outputs.LogTotal(), outputs.Probabilities(4)])
def test_reading_scores_on_the_device_is_reading_them_on_the_host(what):
    problem = Problem()
    score = problem.outlying()[0]
    expected = what(score.block(problem.family.statistics(problem.X)))
    for X in (problem.X, torch.from_numpy(problem.X)):
        got = TorchEngine("cpu", "float32").evaluate(problem.family, X, score, what)
        assert_allclose(got, expected, rtol=1e-9, atol=1e-12)
    best = TorchEngine("cpu").assign(problem.family, problem.X, score)
    assert_array_equal(best, outputs.Best()(score.block(problem.family.statistics(problem.X))))


# -- what is refused -------------------------------------------------------------------------------


def test_unknown_devices_and_types_are_refused():
    with pytest.raises(ValueError, match="device must be 'cuda'"):
        TorchEngine("meta")
    with pytest.raises(ValueError, match="dtype must be 'float32', 'float64' or None; got 'half'"):
        TorchEngine("cpu", "half")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_missing_gpu_is_said_to_be_missing():
    with pytest.raises(RuntimeError, match="'cuda:1' needs an NVIDIA GPU"):
        TorchEngine("cuda:1")


# -- kernels on a GPU ------------------------------------------------------------------------------


def shared_sums(problem, sub, z, k):
    """Return the statistics of clusters whose rows go to both parts by their probabilities."""
    T = problem.family.statistics(problem.X)
    pairs = sub.pairs(T, np.clip(z, 0, k - 1))
    second = expit(pairs[:, 1] - pairs[:, 0])
    parts = [
        reference.statistics(T, problem.weight * share, z, np.full(len(z), j), k)
        for j, share in enumerate((1.0 - second, second))
    ]
    return parts[0] + parts[1]


@needs_gpu
@pytest.mark.parametrize("key", [KEY, None])
@pytest.mark.parametrize("kind", ["drawn", "predictive", "outlying"])
@pytest.mark.parametrize(
    ("d", "k"), [(1, 3), (2, 150), (5, 80), (8, 7), (9, 40), (33, 5), (100, 4)]
)
def test_kernels_do_what_plain_operations_in_float64_do(d, k, kind, key):
    problem = Problem(d=d, k=k, n=20_001)
    scores = problem.outlying() if kind == "outlying" else getattr(problem, kind)
    exact, fast = TorchEngine("cuda", "float64"), TorchEngine("cuda")
    expected = swept(exact, problem, scores, key)
    got = swept(fast, problem, scores, key)
    assert fast._fused is not None
    differ = np.mean((got[1] != expected[1]) | (got[2] != expected[2]))
    assert differ < 1e-3
    T = problem.family.statistics(problem.X)
    sums = reference.statistics(T, problem.weight, got[1], got[2], k)
    if key is None:  # rows are shared by their sub-clusters
        assert_allclose(got[0].current.sum(axis=1), sums.sum(axis=1), rtol=1e-5, atol=2e-3)
        sums = shared_sums(problem, scores[1], got[1], k)
    assert_allclose(got[0].current, sums, rtol=1e-5, atol=2e-3 if key else 2e-2)
    assert_array_equal(got[0].rows, reference.row_counts(got[1], got[2], k))
    assert np.abs(got[0].rivals - expected[0].rivals).sum() <= 2 + 8 * differ * 20_001
    fast.start(expected[1])
    exact.start(expected[1])
    assert_allclose(fast.members(k, KEY), exact.members(k, KEY), rtol=1e-5, atol=1e-5)
    chosen = np.arange(k) % 3 != 1
    for sub in (problem.halves(), problem.predictive[1], problem.drawn[1]):
        (a, doubt_a), (b, doubt_b) = (e.resplit(sub, chosen) for e in (fast, exact))
        assert_allclose(a, b, rtol=1e-3, atol=0.5)
        assert_allclose(doubt_a, doubt_b, rtol=1e-3, atol=0.1)
    assert np.abs(fast.adopt(chosen) - exact.adopt(chosen)).sum() <= 8
    label = np.repeat(np.arange(k)[:, None], 2, axis=1)
    label[0, 1] = k
    for engine in (fast, exact):
        engine.relabel(label, np.tile([0, 1], (k, 1)))
    assert np.mean(fast.labels != exact.labels) < 1e-3


@needs_gpu
@pytest.mark.parametrize("spread", [1.0, 1e-4])
def test_narrow_clusters_of_many_columns_are_scored_with_all_digits(spread):
    """Two thirds of a float32 are enough for wide clusters, not for narrow ones."""
    rng = np.random.default_rng(0)
    n, d, k = 40_000, 20, 12
    mean = np.repeat(rng.normal(size=(k // 2, d)), 2, axis=0)
    mean[1::2, 0] += 2.0 * spread  # which overlaps with the one before it
    labels = rng.integers(k, size=n)
    X = mean[labels] + spread * rng.normal(size=(n, d))
    family = Gaussian().prepare(X)
    T = family.statistics(X)
    counted = 1e9 * reference.statistics(T, np.ones(n), labels, rng.integers(2, size=n), k)
    scores = (  # of so many rows that the prior counts for nothing
        family.sampled_score(rng, counted.sum(axis=1), np.full(k, -np.log(k))),
        family.sampled_score(rng, counted.reshape(2 * k, -1), np.full(2 * k, -np.log(2.0))),
    )
    found = []
    for engine in (TorchEngine("cuda"), TorchEngine("cuda", "float64")):
        engine.load(family, X, np.ones(n))
        engine.sweep(*scores, k, KEY)
        found.append(engine.labels)
    assert 0.7 < np.mean(found[1] == labels) < 0.9
    assert np.mean(found[0] != found[1]) < 3e-3


@needs_gpu
@pytest.mark.parametrize("d", [5, 20])
def test_kernels_give_the_same_bits_again(d):
    problem = Problem(d=d, k=20, n=100_000)
    first, again = (swept(TorchEngine("cuda"), problem, problem.drawn, KEY) for _ in range(2))
    assert_array_equal(first[0].current, again[0].current)
    assert_array_equal(first[0].doubt, again[0].doubt)
    assert_array_equal(first[1], again[1])


@needs_gpu
def test_draws_of_the_kernels_have_their_probabilities():
    n = 20_000
    family = Problem(d=2).family
    p, q = np.array([0.1, 0.55, 0.05, 0.3]), np.array([0.5, 0.02, 0.9, 0.3])
    eta, sub = np.zeros((4, 6)), np.zeros((8, 6))
    eta[:, 0], sub[:, 0] = np.log(p), np.log(np.column_stack([1 - q, q])).ravel()
    engine = TorchEngine("cuda")
    engine.load(family, np.zeros((n, 2)), np.ones(n))
    got = engine.sweep(LinearScore(eta), LinearScore(sub), 4, KEY)
    expected = n * np.column_stack([p * (1 - q), p * q])
    assert stats.chisquare(got.rows.ravel(), expected.ravel()).pvalue > 1e-9


@needs_gpu
@pytest.mark.parametrize(("d", "k"), [(1, 3), (5, 80), (8, 7), (20, 6)])
def test_divisions_refined_on_the_device_are_those_refined_step_by_step(d, k):
    problem = Problem(d=d, k=k, n=20_001)
    exact, fast = TorchEngine("cuda", "float64"), TorchEngine("cuda")
    chosen = np.arange(k) % 3 != 1
    _, labels, _ = swept(exact, problem, problem.drawn, KEY)
    for engine in (exact, fast):
        engine.load(problem.family, problem.X, problem.weight)
        engine.start(labels)
    for _ in range(3):  # compiled, recorded, replayed
        (a, doubt_a), (b, doubt_b) = (
            e.refine(problem.halves(), chosen, problem.family, 1.0, 2)() for e in (fast, exact)
        )
        assert_allclose(a, b, rtol=1e-3, atol=0.5)
        assert_allclose(doubt_a, doubt_b, rtol=1e-3, atol=0.1)
    assert np.abs(fast.adopt(chosen) - exact.adopt(chosen)).sum() <= 8
    assert np.mean(fast.sublabels != exact.sublabels) < 1e-3


@needs_gpu
def test_a_scatter_that_is_not_definite_is_mended_on_the_host():
    problem = Problem(d=2, k=3)
    broken = problem.family._with(0.01, 4.0, np.eye(2))
    broken._prior[3:] = [-1e9, 0.0, -1e9]
    fast = TorchEngine("cuda")
    fast.load(problem.family, problem.X, problem.weight)
    fast.start(np.zeros(3000, dtype=int))
    cut = LinearScore(problem.halves().eta[:2])
    current, _ = fast.refine(cut, np.ones(1, bool), broken, 1.0, 2)()
    assert_allclose(current[..., 0].sum(), problem.weight.sum(), rtol=1e-5)


@needs_gpu
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("value", "error"), [(np.nan, tensors.MissingEntries), (-np.inf, ValueError)]
)
def test_the_first_pass_over_few_columns_refuses_what_is_not_finite(value, error, dtype):
    problem = Problem(d=3, k=6, n=20_001)
    broken = torch.from_numpy(problem.X.astype(dtype)).cuda()
    broken[-1, 2] = value
    engine = TorchEngine("cuda")
    assert engine.checks(broken.shape)
    expected = swept(TorchEngine("cuda"), problem, problem.drawn, KEY)
    passes = (
        lambda: engine.sweep(*problem.drawn, problem.k, KEY),
        lambda: engine.members(problem.k, KEY),
        lambda: engine.resplit(problem.halves(), np.ones(problem.k, dtype=bool)),
        lambda: engine.start(expected[1]),
        lambda: engine.labels,
        lambda: engine.check(broken),
    )
    for look in passes:
        engine.load(problem.family, broken, problem.weight)
        for _ in range(2):
            with pytest.raises(error):
                look()
        found = swept(engine, problem, problem.drawn, KEY)
        assert_array_equal(found[1], expected[1])
        assert_array_equal(found[0].current, expected[0].current)


@needs_gpu
@pytest.mark.parametrize("d", [9, 33])
def test_forms_without_a_centre_are_scored_by_plain_operations(d):
    problem = Problem(d=d, k=3, n=2000)
    eta = problem.drawn[0].eta.copy()
    eta[1, 1 + d :] *= -1.0  # it grows with the distance
    fast, exact = TorchEngine("cuda"), TorchEngine("cuda", "float64")
    for score in (LinearScore(eta), LinearScore(problem.halves().eta[:3])):
        scores = score, problem.drawn[1]
        (_, got, _), (_, expected, _) = (swept(e, problem, scores, KEY) for e in (fast, exact))
        assert np.mean(got != expected) < 0.02
    pairs = LinearScore(np.repeat(eta, 2, axis=0))
    fast.start(expected)
    exact.start(expected)
    (got, _), (wanted, _) = (e.resplit(pairs, np.ones(3, dtype=bool)) for e in (fast, exact))
    assert_allclose(got[..., 0], wanted[..., 0], atol=1e-3)
