"""Tensors through the whole model: they go in, and labels come out beside them."""

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import homogeneity_score

from scstream import ScStream

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
BATCHES = [
    np.random.default_rng(seed).normal(size=(200, 2)) + 8.0 * (np.arange(200) % 3)[:, None]
    for seed in range(3)
]


@pytest.mark.parametrize("first_rows", [5, 200])
@pytest.mark.parametrize("options", [{}, {"engine": "torch", "device": "cpu"}])
def test_tensors_are_taken_and_returned(options, first_rows):
    batches = [BATCHES[0][:first_rows], *BATCHES[1:]]
    arrays = ScStream(random_state=0, max_sweeps=5, **options)
    tensors = ScStream(random_state=0, max_sweeps=5, **options)
    for X in batches:
        expected = arrays.partial_fit(X).labels_
        assert isinstance(expected, np.ndarray)
        got = tensors.partial_fit(torch.from_numpy(X)).labels_
        assert isinstance(got, torch.Tensor)
        assert_array_equal(got.numpy(), expected)
        assert isinstance(tensors.sublabels_, torch.Tensor)
    for method in ("predict", "predict_proba", "score_samples"):
        got = getattr(tensors, method)(torch.from_numpy(BATCHES[0]))
        assert isinstance(got, torch.Tensor)
        assert_allclose(got.numpy(), getattr(arrays, method)(BATCHES[0]), rtol=1e-10, atol=1e-10)
    assert tensors.score(torch.from_numpy(BATCHES[0])) == pytest.approx(arrays.score(BATCHES[0]))


@pytest.mark.parametrize("options", [{}, {"engine": "torch", "device": "cpu"}])
def test_coarse_numbers_of_tensors_are_those_of_arrays(options):
    arrays, tensors = (ScStream(random_state=0, max_sweeps=5, **options) for _ in range(2))
    for X in BATCHES:
        X = np.column_stack([X, X[:, 0] > 12.0])
        expected = arrays.partial_fit(X).labels_
        got = tensors.partial_fit(torch.from_numpy(X)).labels_
        assert isinstance(got, torch.Tensor)
        assert_array_equal(got.numpy(), expected)
    assert arrays._learner.family.rounding is not None


@pytest.mark.parametrize("engine", ["cpu", "torch"])
def test_many_columns_of_tensors_are_narrowed_as_those_of_arrays(engine):
    mix = np.random.default_rng(1).normal(size=(2, 60))
    options = {"random_state": 0, "max_sweeps": 5, "engine": engine}
    arrays, tensors = (ScStream(**options) for _ in range(2))
    for X in BATCHES:
        X = X[:, :2] @ mix + 0.1 * np.random.default_rng(2).normal(size=(len(X), 60))
        expected = arrays.partial_fit(X).labels_
        assert_array_equal(tensors.partial_fit(torch.from_numpy(X)).labels_.numpy(), expected)
        assert_array_equal(tensors.predict(torch.from_numpy(X)).numpy(), arrays.predict(X))
        scores = tensors.score_samples(torch.from_numpy(X))
        assert_array_equal(scores.numpy(), arrays.score_samples(X))
    assert arrays._learner.family.space is not None


@pytest.mark.parametrize(
    "device",
    [
        "cpu",
        pytest.param(
            "cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
        ),
    ],
)
def test_rows_without_weight_and_other_families(device):
    X, w = torch.from_numpy(BATCHES[0]).to(device), (np.arange(200) % 4).astype(float)
    options = {"random_state": 0, "max_sweeps": 5, "engine": "torch", "device": device}
    one = ScStream(**options).fit(X, sample_weight=w)
    assert_array_equal(
        one.labels_.cpu().numpy(), ScStream(**options).fit(BATCHES[0], sample_weight=w).labels_
    )
    counts = torch.from_numpy(np.random.default_rng(0).poisson(3.0, size=(60, 2)))
    assert isinstance(ScStream("poisson", **options).fit(counts).labels_, torch.Tensor)


@pytest.mark.parametrize("options", [{}, {"engine": "torch", "device": "cpu"}])
def test_tensors_are_checked(options):
    model = ScStream(random_state=0, max_sweeps=3, **options).partial_fit(
        torch.from_numpy(BATCHES[0])
    )
    bad = torch.from_numpy(BATCHES[1].copy())
    bad[3, 1] = float("inf")
    for rows, match in (
        (bad, "infinity"),
        (bad[:, 0], "2D array"),
        (torch.zeros(9, 3), "X has 3 features"),
    ):
        with pytest.raises(ValueError, match=match):
            model.partial_fit(rows)
    assert model.n_batches_ == 1
    assert copy.deepcopy(model).predict(BATCHES[0]).shape == (200,)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
@pytest.mark.parametrize("on_device", [False, True])
@pytest.mark.parametrize("time", [2.0, 500.0])  # as usual, and after a pause
def test_a_batch_that_is_refused_on_the_way_leaves_the_model_as_it_was(time, on_device):
    rng, k = np.random.default_rng(0), 3
    batches = [rng.normal(size=(6000, 2)) + 8.0 * (np.arange(6000) % k)[:, None] for _ in range(4)]
    broken = batches[2].copy()
    broken[17, 1] = np.inf
    options = {"random_state": 0, "max_sweeps": 5, "engine": "torch", "device": "cuda"}

    def given(X):
        return torch.from_numpy(X).cuda() if on_device else X

    model, other = ScStream(**options), ScStream(**options)
    for i, X in enumerate(batches[:2]):
        model.partial_fit(given(X), time=float(i))
        other.partial_fit(given(X), time=float(i))
    with pytest.raises(ValueError, match="infinity"):
        model.partial_fit(given(broken), time=time)
    assert model.n_batches_ == 2
    for one in (model, other):
        one.partial_fit(given(batches[3]), time=time)
    assert_array_equal(*(np.asarray(torch.as_tensor(one.labels_).cpu()) for one in (model, other)))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
@pytest.mark.parametrize("on_device", [False, True])
def test_gaps_are_completed_on_the_cpu(on_device):
    rng = np.random.default_rng(0)
    batches = [rng.normal(size=(6000, 2)) + 8.0 * (np.arange(6000) % 3)[:, None] for _ in range(3)]
    batches[1][5, 0] = np.nan
    model = ScStream(random_state=0, max_sweeps=5, engine="torch", device="cuda")
    for X in batches:
        model.partial_fit(torch.from_numpy(X).cuda() if on_device else X)
        labels = np.asarray(torch.as_tensor(model.labels_).cpu())
        assert homogeneity_score(np.arange(6000) % 3, labels) > 0.99
    assert model.n_batches_ == 3
