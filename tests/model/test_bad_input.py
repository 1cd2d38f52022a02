"""Bad input is refused in words that help, and the model stays bit for bit what it was."""

import copy
import functools

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from streams import blobs, counts, snapshot

from scstream import Gaussian, Multinomial, ScStream
from scstream.engines import CpuEngine

# How far a model is when the mistake happens: rows of each batch it has seen. A model with few
# rows still keeps them (see the notes of `ScStream`), which is another way through the code.
STAGES = {"new": [], "early": [5, 4], "mid-stream": [150, 80, 80]}
X, _ = blobs(60, 0)
NEXT = [blobs(30, seed)[0] for seed in (901, 902)]
COUNTS, _ = counts(60, 0)
NEXT_COUNTS = [counts(30, seed)[0] for seed in (901, 902)]


def with_value(value, data=X):
    out = data.astype(object if isinstance(value, str) else float)
    out[7, 1] = value
    return out


@functools.cache
def learned(stage, family="gaussian"):
    model = ScStream(family, random_state=0, max_sweeps=5)
    for seed, n in enumerate(STAGES[stage]):
        model.partial_fit((blobs if family == "gaussian" else counts)(n, seed)[0])
    return model


@pytest.fixture(params=STAGES)
def model(request):
    return copy.deepcopy(learned(request.param))


@pytest.fixture
def fitted():
    return copy.deepcopy(learned("mid-stream"))


@pytest.fixture(params=STAGES)
def counter(request):
    return copy.deepcopy(learned(request.param, "multinomial"))


unharmed: dict[str, tuple[list, str]] = {}  # how each model goes on that is left alone


def go_on(model, following):
    labels = [model.partial_fit(batch).labels_ for batch in following]
    return labels, snapshot(model)


def refused(model, error, match, offend, following=NEXT):
    """Check the error, that nothing changed, and that the stream goes on as if nothing had been."""
    before = snapshot(model)
    if before not in unharmed:
        unharmed[before] = go_on(copy.deepcopy(model), following)
    with pytest.raises(error, match=match):
        offend(model)
    assert snapshot(model) == before
    labels, after = go_on(model, following)
    for mine, right in zip(labels, unharmed[before][0], strict=True):
        np.testing.assert_array_equal(mine, right)
    assert after == unharmed[before][1]


def test_a_first_batch_of_finite_numbers_is_looked_through_once(monkeypatch):
    looked = []
    monkeypatch.setattr("scstream.validation.finite_numbers", lambda *args: looked.append(args))
    for rows in (X, X.astype(np.float32), np.asfortranarray(X)):
        ScStream(random_state=0, max_sweeps=2).partial_fit(rows)
    assert not looked


# -- the rows -----------------------------------------------------------------------------------

BAD_ROWS = {
    "infinity": (with_value(np.inf), ValueError, "contains infinity"),
    "minus infinity": (with_value(-np.inf), ValueError, "contains infinity"),
    "enormous": (with_value(1e300), ValueError, r"contains 1e\+300: larger numbers than 1e\+154"),
    "text": (with_value("ten"), ValueError, "could not convert string to float: 'ten'"),
    "one dimension": (X[0], ValueError, "(?s)Expected 2D array.*Reshape your data"),
    "three dimensions": (X[None], ValueError, "dim 3"),
    "a number": (3.0, ValueError, "Expected 2D array, got scalar"),
    "nothing": (None, ValueError, "Expected 2D array"),
    "no columns": (X[:, :0], ValueError, r"0 feature\(s\)"),
    "ragged": ([[1.0, 2.0], [3.0]], ValueError, "inhomogeneous"),
    "complex": (X + 1j, ValueError, "Complex data not supported"),
    "sparse": (sparse.csr_array(X), TypeError, "[Ss]parse data was passed"),
    "texts": (["disk is full", "link is down"], ValueError, "count their words first"),
    "an array of texts": (np.array(["disk is full"]), ValueError, "HashingVectorizer"),
}


@pytest.mark.parametrize("what", BAD_ROWS)
def test_rows_that_are_no_finite_table_are_refused(model, what) -> None:
    rows, error, match = BAD_ROWS[what]
    refused(model, error, match, lambda m: m.partial_fit(rows))


@pytest.mark.parametrize("what", BAD_ROWS)
def test_fit_refuses_them_too_and_keeps_what_it_had_learned(fitted, what) -> None:
    rows, error, match = BAD_ROWS[what]
    refused(fitted, error, match, lambda m: m.fit(rows))


def test_a_fit_that_fails_late_leaves_the_columns_as_they_were(fitted) -> None:
    """The table is sound, and wider than those before; what comes with it is not."""
    offend = lambda m: m.fit(np.hstack([X, X]), labels=np.full(60, 0.5))  # noqa: E731
    refused(fitted, ValueError, "labels must be whole numbers", offend)
    assert fitted.n_features_in_ == 2


@pytest.mark.parametrize("method", ["predict", "predict_proba", "score_samples", "score"])
@pytest.mark.parametrize("what", BAD_ROWS)
def test_methods_that_only_look_refuse_them_too(fitted, method, what) -> None:
    rows, error, match = BAD_ROWS[what]
    before = snapshot(fitted)
    with pytest.raises(error, match=match):
        getattr(fitted, method)(rows)
    assert snapshot(fitted) == before


def test_the_first_batch_cannot_be_empty() -> None:
    refused(ScStream(random_state=0), ValueError, r"0 sample\(s\)", lambda m: m.partial_fit(X[:0]))


@pytest.mark.parametrize("stage", ["early", "mid-stream"])
@pytest.mark.parametrize("rows", [np.ones((9, 3)), np.ones((9, 1)), np.ones((0, 3))])
def test_the_number_of_columns_cannot_change(stage, rows) -> None:
    match = f"X has {rows.shape[1]} features, but ScStream is expecting 2"
    model = copy.deepcopy(learned(stage))
    refused(model, ValueError, match, lambda m: m.partial_fit(rows))


@pytest.mark.parametrize("method", ["predict", "predict_proba", "score_samples", "score"])
def test_nor_can_it_when_the_model_is_only_asked(fitted, method) -> None:
    with pytest.raises(ValueError, match="X has 3 features, but ScStream is expecting 2"):
        getattr(fitted, method)(np.ones((9, 3)))


def test_the_names_of_columns_cannot_change() -> None:
    model = ScStream(random_state=0).partial_fit(pd.DataFrame(X, columns=["a", "b"]))
    following = [pd.DataFrame(rows, columns=["a", "b"]) for rows in NEXT]
    frame = pd.DataFrame(X, columns=["a", "c"])
    match = "learned from 'b', but the table has no such column. It has 'a', 'c'. Add it, with NaN"
    refused(model, ValueError, match, lambda m: m.partial_fit(frame), following)


BAD_COUNTS = {
    "negative": (with_value(-2, COUNTS), "[Nn]egative.*-2"),
    "fractional": (with_value(1.5, COUNTS), "whole numbers.*1.5.*gaussian"),
    "nan": (with_value(np.nan, COUNTS), "contains NaN"),
    "infinite": (with_value(np.inf, COUNTS), "contains infinity"),
    "sparse negative": (sparse.csr_array(with_value(-2, COUNTS)), "[Nn]egative.*-2"),
    "sparse fractional": (sparse.csr_array(with_value(1.5, COUNTS)), "whole numbers.*1.5"),
    "sparse nan": (sparse.csr_array(with_value(np.nan, COUNTS)), "contains NaN"),
}


@pytest.mark.parametrize("what", BAD_COUNTS)
def test_rows_that_are_no_counts_are_refused(counter, what) -> None:
    rows, match = BAD_COUNTS[what]
    refused(counter, ValueError, match, lambda m: m.partial_fit(rows), NEXT_COUNTS)


# -- what comes with the rows -------------------------------------------------------------------


@pytest.mark.parametrize("time", [2.0, 1.5, -1, np.float64(0)])
def test_times_must_increase(time) -> None:
    model = ScStream(random_state=0).partial_fit(X, time=2)
    match = f"Times must increase.*{float(time):g}.*last one had 2"
    refused(model, ValueError, match, lambda m: m.partial_fit(X, time=time))


def test_a_time_so_late_that_nothing_comes_one_later_is_named_when_it_matters() -> None:
    model = ScStream(random_state=0).partial_fit(X, time=1e17)
    match = "Times must increase"
    refused(model, ValueError, match, lambda m: m.partial_fit(X), following=[])
    model.partial_fit(X, time=2e17)


@pytest.mark.parametrize("time", [np.nan, np.inf, -np.inf, "noon", 1j, True, [1.0], X])
def test_a_time_is_a_finite_number(model, time) -> None:
    match = "time must be a finite number"
    refused(model, ValueError, match, lambda m: m.partial_fit(X, time=time))


@pytest.mark.parametrize(
    ("weight", "match"),
    [
        (np.ones(59), r"sample_weight.*60 rows.*\(59,\)"),
        (np.ones((60, 1)), r"sample_weight.*60 rows.*\(60, 1\)"),
        (np.full(60, -1.0), "sample_weight must be finite and not negative"),
        (np.full(60, np.nan), "sample_weight must be finite and not negative"),
        (np.full(60, np.inf), "sample_weight must be finite and not negative"),
        (["heavy"] * 60, "sample_weight must be numbers"),
        ([1.0] * 59 + [None], "sample_weight must be"),
        ([[1.0], [1.0, 2.0]], "sample_weight must be numbers"),
    ],
)
def test_weights_are_numbers_one_a_row_and_not_negative(model, weight, match) -> None:
    refused(model, ValueError, match, lambda m: m.partial_fit(X, sample_weight=weight))


def test_a_first_batch_without_weight_has_nothing_to_teach() -> None:
    model, match = ScStream(random_state=0), "weight zero.*positive sample_weight"
    refused(model, ValueError, match, lambda m: m.partial_fit(X, sample_weight=np.zeros(60)))


@pytest.mark.parametrize(
    ("labels", "match"),
    [
        (np.zeros(59, int), r"labels.*60 rows.*\(59,\)"),
        (np.zeros((60, 1), int), r"labels.*60 rows.*\(60, 1\)"),
        (np.full(60, 0.5), "labels must be whole numbers"),
        (np.full(60, np.nan), "labels must be whole numbers"),
        (["a"] * 60, "labels must be whole numbers"),
        (np.full(60, -1), "labels must be whole numbers of at least 0"),
        ([0] * 59 + [None], "labels must be whole numbers"),
    ],
)
def test_labels_to_start_from_are_whole_numbers(labels, match) -> None:
    model = copy.deepcopy(learned("new"))
    refused(model, ValueError, match, lambda m: m.partial_fit(X, labels=labels))
    refused(model, ValueError, match, lambda m: m.fit(X, labels=labels))


@pytest.mark.parametrize("rows", [5, 150])
def test_labels_come_with_the_first_batch_or_not_at_all(rows) -> None:
    model = ScStream(random_state=0, max_sweeps=5).partial_fit(blobs(rows, 1)[0])
    offend = lambda m: m.partial_fit(X, labels=np.zeros(60, int))  # noqa: E731
    refused(model, ValueError, "labels can only be given with the first batch", offend)


def test_labels_do_not_hold_more_clusters_than_there_may_be() -> None:
    model = ScStream(max_clusters=2, random_state=0)
    offend = lambda m: m.partial_fit(X, labels=np.arange(60) % 3)  # noqa: E731
    refused(model, ValueError, "labels hold 3 clusters, more than max_clusters=2", offend)


# -- parameters ---------------------------------------------------------------------------------

IMPOSSIBLE = {
    "family": ["weibull", None, 3, Gaussian, ("gaussian",)],
    "alpha": [0, -1.0, np.nan, np.inf, None, "1", True, [1.0]],
    "half_life": [0, -1.0, np.nan, np.inf, "5", True],
    "kernel": [3.0, "box", True],
    "epsilon": [-1e-9, 1.0, np.nan, None, "small"],
    "sweeps": [0, -1, 1.5, None, True, "one"],
    "max_sweeps": [0, -1, 2.0, None, True],
    "max_clusters": [0, -3, 2.5, "many", True],
    "splits": [None, 1, "yes"],
    "merges": [None, 0, "no"],
    "group_level": [-0.1, 1.1, np.nan, "deep", True],
    "outlier_weight": [-0.1, 1.0, 1, np.nan, None, "0.1"],
    "random_state": [-1, 1.5, "seed", [1, 2], True],
    "n_jobs": [0, -2, 1.5, "all", True],
    "engine": ["gpu", None, 3, CpuEngine()],
    "device": [0, True, ["cuda"]],
    "verbose": [None, -1, 0.5, "loud"],
    "on_event": [3, "print", True],
    "rules": [3, {"neighbours": 4}, "few"],
}


def test_the_table_of_impossible_values_has_every_parameter() -> None:
    assert set(IMPOSSIBLE) == set(ScStream().get_params())


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in IMPOSSIBLE.items() for value in values]
)
def test_an_impossible_parameter_is_named_with_what_it_must_be(name, value) -> None:
    model = ScStream(random_state=0).set_params(**{name: value})
    before = snapshot(model)
    for learn in (model.fit, model.partial_fit):
        with pytest.raises(ValueError, match=f"^{name} must be .*; got "):
            learn(X)
    assert snapshot(model) == before


@pytest.mark.parametrize("name", sorted(set(IMPOSSIBLE) - {"random_state"}))
def test_a_parameter_made_impossible_mid_stream_can_be_put_right(fitted, name) -> None:
    twin, good = copy.deepcopy(fitted), fitted.get_params()[name]
    fitted.set_params(**{name: IMPOSSIBLE[name][0]})
    scores = twin.score_samples(X)
    with pytest.raises(ValueError, match=f"^{name} must be "):
        fitted.partial_fit(X)
    np.testing.assert_array_equal(fitted.score_samples(X), scores)
    fitted.set_params(**{name: good})
    np.testing.assert_array_equal(fitted.partial_fit(X).labels_, twin.partial_fit(X).labels_)
    assert snapshot(fitted) == snapshot(twin)


def test_a_bound_on_clusters_needs_merges() -> None:
    with pytest.raises(ValueError, match="max_clusters needs merges=True"):
        ScStream(max_clusters=3, merges=False).fit(X)


def test_the_family_cannot_change_within_a_stream(fitted) -> None:
    twin = copy.deepcopy(fitted)
    fitted.set_params(family="multinomial")
    with pytest.raises(ValueError, match=r"family cannot change within a stream.*fit"):
        fitted.partial_fit(COUNTS[:, :2])
    fitted.set_params(family="gaussian")
    np.testing.assert_array_equal(fitted.partial_fit(X).labels_, twin.partial_fit(X).labels_)


@pytest.mark.parametrize(
    ("family", "match"),
    [
        (Gaussian(cov=0.0), "cov must be .*positive definite"),
        (Gaussian(cov=-1.0), "cov must be .*positive definite"),
        (Gaussian(cov=[1.0, 2.0, 3.0]), r"cov must .*\(3,\)"),
        (Gaussian(cov=np.eye(3)), r"cov must be .*\(3, 3\)"),
        (Gaussian(cov=[[1.0, 2.0], [2.0, 1.0]]), "cov must be .*positive definite"),
        (Gaussian(cov=[[1.0, 0.5], [0.0, 1.0]]), "cov must be symmetric"),
        (Gaussian(cov=np.nan), "cov must be"),
        (Gaussian(cov="wide"), "cov must be"),
        (Gaussian(mean=[0.0, 0.0, 0.0]), r"mean must .*\(3,\)"),
        (Gaussian(mean=[0.0, np.nan]), "mean must be finite"),
        (Gaussian(mean="here"), "mean must be"),
        (Gaussian(mean_strength=0.0), "mean_strength must be positive.*0"),
        (Gaussian(mean_strength=np.inf), "mean_strength must be positive.*inf"),
        (Gaussian(mean_strength=np.nan), "mean_strength must be positive.*nan"),
        (Gaussian(mean_strength="much"), "mean_strength must be"),
        (Gaussian(cov_strength=1.0), "cov_strength must be larger than .*1"),
        (Gaussian(cov_strength=np.nan), "cov_strength must be"),
        (Gaussian(cov_strength="much"), "cov_strength must be"),
        (Multinomial(concentration=0.0), "concentration must be positive"),
        (Multinomial(concentration=[1.0, -1.0]), "concentration must be positive"),
        (Multinomial(concentration=[1.0, 1.0, 1.0]), r"concentration must .*\(3,\)"),
        (Multinomial(concentration=np.nan), "concentration must be positive"),
        (Multinomial(concentration="much"), "concentration must be"),
    ],
    ids=repr,
)
def test_an_impossible_prior_is_named(family, match) -> None:
    rows = COUNTS[:, :2] if isinstance(family, Multinomial) else X
    offend = lambda m: m.partial_fit(rows)  # noqa: E731
    model = ScStream(family, random_state=np.random.default_rng(0))
    refused(model, ValueError, match, offend, following=[])


# -- kernels ------------------------------------------------------------------------------------


class Spoiled:
    """A kernel that is sound until it is told to return nonsense."""

    def __init__(self, nonsense):
        self.nonsense, self.sound = nonsense, True

    def __call__(self, age):
        if isinstance(self.nonsense, Exception) and not self.sound:
            raise self.nonsense
        return 1.0 / (1.0 + age) if self.sound else self.nonsense


@pytest.mark.parametrize("rows", [5, 150])
@pytest.mark.parametrize(
    "nonsense", [np.nan, np.inf, -0.1, None, "half", np.ones(2), [], 1j], ids=repr
)
def test_a_kernel_that_returns_nonsense_is_named_and_nothing_is_lost(nonsense, rows) -> None:
    model = ScStream(kernel=Spoiled(nonsense), random_state=0, max_sweeps=5)
    model.partial_fit(blobs(rows, 1)[0])
    twin, before = copy.deepcopy(model), snapshot(model)
    model.kernel.sound = False
    with pytest.raises(ValueError, match=r"kernel must .*finite weight.*age"):
        model.partial_fit(X)
    model.kernel.sound = True
    assert snapshot(model) == before
    np.testing.assert_array_equal(model.partial_fit(X).labels_, twin.partial_fit(X).labels_)


def test_an_error_inside_a_kernel_comes_through_as_it_is() -> None:
    model = ScStream(kernel=Spoiled(LookupError("no such age")), random_state=0).partial_fit(X)
    before = snapshot(model)
    model.kernel.sound = False
    with pytest.raises(LookupError, match="no such age"):
        model.partial_fit(X)
    model.kernel.sound = True
    assert snapshot(model) == before


# -- interrupted --------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
def test_a_generator_of_the_users_moves_on_only_if_the_batch_was_learned(make, monkeypatch) -> None:
    model = ScStream(random_state=make(3))

    def offend(m):
        with monkeypatch.context() as patch:
            patch.setattr(CpuEngine, "sweep", lambda *_: 1 / 0)
            m.partial_fit(X)

    refused(model, ZeroDivisionError, "division", offend)
    assert model.random_state.random() != make(3).random()


# -- before the first batch ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "method", ["predict", "predict_proba", "transform", "score_samples", "score"]
)
def test_an_unfitted_model_says_so(method) -> None:
    with pytest.raises(NotFittedError, match="not fitted yet"):
        getattr(ScStream(), method)(X)


@pytest.mark.parametrize(
    "name", ["clusters_", "n_clusters_", "history_", "time_", "prior_", "family_"]
)
def test_attributes_of_an_unfitted_model_say_so(name) -> None:
    with pytest.raises(NotFittedError, match="not fitted yet"):
        getattr(ScStream(), name)
    assert not hasattr(ScStream(), name)


def test_an_unfitted_model_has_seen_no_batches_and_has_no_labels() -> None:
    assert ScStream().n_batches_ == 0
    assert not hasattr(ScStream(), "labels_")
    with pytest.raises(NotFittedError):
        ScStream().get_feature_names_out()
