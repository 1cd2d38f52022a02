"""The engine on PyTorch against the one on the CPU; and on a GPU, where there is one."""

import numpy as np
import pytest
import reference
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse, stats

from scstream.engines import CpuEngine, Key, outputs, tensors
from scstream.families import Gaussian, Multinomial
from scstream.families.scores import JoinedScore, LinearScore

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from scstream.engines.torch import draws, kernels  # noqa: E402
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
    assert_allclose(got[0].entropy, expected[0].entropy, rtol=10 * rtol, atol=rtol * 3000)


# -- the same as on the CPU ------------------------------------------------------------------------


def test_random_bits_are_those_of_the_reference():
    for key, first in ((KEY, 0), (Key(1, 0, 1), 2**33 - 2), (Key(0, 5, 2**31), 17)):
        got = draws.uniforms(key, first, 5, torch.device("cpu"))
        assert_array_equal(got, reference.uniforms(key.seed, key.batch, key.sweep, first, 5))


@pytest.mark.parametrize("key", [KEY, None])
@pytest.mark.parametrize("kind", ["drawn", "predictive", "outlying"])
def test_float64_gives_the_labels_of_the_cpu_engine(kind, key, monkeypatch):
    monkeypatch.setitem(torch_engine._NUMBERS, "cpu", 2**14)  # several blocks
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
    assert_array_equal(first[0].entropy, again[0].entropy)


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
    assert_array_equal(sums[0].entropy, sums[1].entropy)


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


# -- on a GPU --------------------------------------------------------------------------------------


@needs_gpu
@pytest.mark.parametrize("key", [KEY, None])
@pytest.mark.parametrize("kind", ["drawn", "predictive", "outlying"])
@pytest.mark.parametrize(
    ("d", "k"), [(1, 3), (2, 150), (5, 80), (8, 7), (9, 40), (33, 5), (100, 4)]
)
def test_a_gpu_does_what_the_cpu_does(d, k, kind, key):
    problem = Problem(d=d, k=k, n=20_001)
    scores = problem.outlying() if kind == "outlying" else getattr(problem, kind)
    here, there = TorchEngine("cpu"), TorchEngine("cuda", "float64")
    expected, got = (swept(engine, problem, scores, key) for engine in (here, there))
    assert np.sum((got[1] != expected[1]) | (got[2] != expected[2])) <= 1  # by rounding
    T = problem.family.statistics(problem.X)
    if key is not None:
        sums = reference.statistics(T, problem.weight, got[1], got[2], k)
        assert_allclose(got[0].current, sums, rtol=1e-9, atol=1e-6)
    assert_array_equal(got[0].rows, reference.row_counts(got[1], got[2], k))
    for engine in (here, there):
        engine.start(expected[1])
    assert_allclose(there.members(k, KEY), here.members(k, KEY), rtol=1e-12)
    chosen = np.arange(k) % 3 != 1
    for sub in (problem.halves(), problem.predictive[1], problem.drawn[1]):
        (a, entropy_a), (b, entropy_b) = (engine.resplit(sub, chosen) for engine in (there, here))
        assert_allclose(a, b, rtol=1e-8, atol=1e-6)
        assert_allclose(entropy_a, entropy_b, rtol=1e-8, atol=1e-6)
    assert_array_equal(there.adopt(chosen), here.adopt(chosen))
    label = np.repeat(np.arange(k)[:, None], 2, axis=1)
    label[0, 1] = k
    for engine in (there, here):
        engine.relabel(label, np.tile([0, 1], (k, 1)))
    assert_array_equal(there.labels, here.labels)
    assert_array_equal(there.sublabels, here.sublabels)


@needs_gpu
def test_a_gpu_in_float32_gives_nearly_the_same_labels():
    problem = Problem(d=5, k=20, n=20_000)
    exact, fast = (
        swept(TorchEngine("cuda", dtype), problem, problem.drawn, KEY)[1]
        for dtype in ("float64", "float32")
    )
    assert np.mean(exact != fast) < 1e-3


@needs_gpu
@pytest.mark.parametrize("d", [5, 20])
def test_a_gpu_gives_the_same_bits_again(d):
    problem = Problem(d=d, k=20, n=100_000)
    first, again = (swept(TorchEngine("cuda"), problem, problem.drawn, KEY) for _ in range(2))
    assert_array_equal(first[0].current, again[0].current)
    assert_array_equal(first[0].entropy, again[0].entropy)
    assert_array_equal(first[1], again[1])


@needs_gpu
def test_draws_of_a_gpu_have_their_probabilities():
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
@pytest.mark.parametrize("on_device", [False, True])
def test_random_bits_of_a_gpu_are_those_of_the_reference(on_device, monkeypatch):
    if not on_device:  # the same by plain operations, as without Triton
        monkeypatch.setattr(kernels, "serve", lambda device: False)
    for key, first in ((KEY, 0), (Key(1, 0, 1), 2**33 - 2), (Key(0, 5, 2**31), 17)):
        got = draws.uniforms(key, first, 1000, torch.device("cuda")).cpu()
        expected = reference.uniforms(key.seed, key.batch, key.sweep, first, 1000)
        assert_array_equal(got, expected)
