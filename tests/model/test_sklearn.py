"""ScStream as a scikit-learn estimator: its checks, cloning, copies, frames and pipelines."""

import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from streams import blob_stream, blobs, box, counts, ids, labels_of, snapshot

from scstream import Gaussian, Rules, ScStream


class WholeCounts(ScStream):
    """Rounds before it looks: the checks draw fractions, which the multinomial refuses.

    That refusal is tested elsewhere; here it would hide all else that the checks look for.
    """

    def _rows(self, X, family, **options):
        rows = super()._rows(X, family, **options)
        return rows.rint() if sparse.issparse(rows) else np.rint(rows)


# The sampler draws at random, and a row of weight 2 draws one label where two rows draw two.
# That weights mean what they should is tested in test_sample_weight.py.
RANDOM = "a sampler gives repeated rows draws of their own"


def expected_failures(estimator):
    if estimator.family == "multinomial":
        # It is fed standardised data, half of them negative, although its tags say positive only.
        out = {"check_clustering": "counts cannot be negative"}
        # They take whatever has predict_proba for a classifier and stumble over its absent tags.
        # That sparse counts work is tested below.
        for kind in ("array", "matrix"):
            out[f"check_estimator_sparse_{kind}"] = "the check wants a classifier's tags"
        for kind in ("dense", "sparse"):
            out[f"check_sample_weight_equivalence_on_{kind}_data"] = RANDOM
        return out
    if estimator.outlier_weight:
        return {}  # all rows of that check's data are in one cluster
    return {"check_sample_weight_equivalence_on_dense_data": RANDOM}


@parametrize_with_checks(
    [
        ScStream(random_state=0, max_sweeps=5),
        ScStream(random_state=0, max_sweeps=5, outlier_weight=0.01),
        WholeCounts("multinomial", random_state=0, max_sweeps=5),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learns_checks(estimator, check) -> None:
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [ScStream("diagonal", random_state=0, max_sweeps=5)], expected_failed_checks=expected_failures
)
def test_scikit_learns_checks_of_another_family(estimator, check) -> None:
    check(estimator)


# -- parameters and copies ----------------------------------------------------------------------

EVERYTHING = {
    "family": "multinomial",
    "alpha": 2.0,
    "half_life": None,
    "kernel": box,
    "epsilon": 1e-6,
    "sweeps": 2,
    "max_sweeps": 7,
    "max_clusters": 9,
    "splits": False,
    "merges": True,
    "outlier_weight": 0.1,
    "group_level": 0.4,
    "random_state": 3,
    "n_jobs": 2,
    "engine": "torch",
    "rules": Rules(neighbours=4),
    "device": "cpu",
    "verbose": True,
    "on_event": print,
}


def test_parameters_go_in_and_come_out() -> None:
    model = ScStream(**EVERYTHING)
    assert model.get_params() == EVERYTHING
    assert ScStream().set_params(**EVERYTHING).get_params() == EVERYTHING
    with pytest.raises(ValueError, match="Invalid parameter 'n_clusters'"):
        model.set_params(n_clusters=3)


def test_a_clone_has_the_parameters_and_nothing_learned() -> None:
    model = ScStream(Gaussian(cov=1.0), alpha=0.5, random_state=1).fit(blobs(60, 0)[0])
    twin = clone(model)
    assert twin.n_batches_ == 0
    assert repr(twin.family) == "Gaussian(cov=1.0)"
    assert twin.alpha == 0.5
    np.testing.assert_array_equal(twin.fit(blobs(60, 0)[0]).labels_, model.labels_)


def test_learning_leaves_the_parameters_alone() -> None:
    family, rng = Gaussian(), np.random.default_rng(0)
    model = ScStream(family, random_state=rng)
    model.partial_fit(blobs(60, 0)[0]).partial_fit(blobs(60, 1)[0])
    assert model.family is family
    assert model.random_state is rng
    assert vars(family) == vars(Gaussian())


COPIES = {
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
    "deepcopy": copy.deepcopy,
}
MODELS = {
    "gaussian": {},
    "kernel": {"kernel": box},
    "outliers": {"outlier_weight": 0.05},
    "generator": {"random_state": np.random.default_rng(5)},
}


@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("options", MODELS)
@pytest.mark.parametrize("n", [6, 100], ids=["early", "mid-stream"])
def test_a_copy_continues_the_stream_exactly(how, options, n) -> None:
    model = ScStream(**{"random_state": 0, "max_sweeps": 3, **copy.deepcopy(MODELS[options])})
    for X, _ in blob_stream(2, n):
        model.partial_fit(X)
    twin = COPIES[how](model)
    rest = [X for X, _ in blob_stream(2, n, seed=7)]
    for mine, theirs in zip(labels_of(model, rest), labels_of(twin, rest), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert snapshot(twin) == snapshot(model)
    assert twin.history_ == model.history_


def test_a_copy_is_independent_of_the_original() -> None:
    model = ScStream(random_state=0).partial_fit(blobs(100, 0)[0])
    before, twin = snapshot(model), copy.deepcopy(model)
    twin.partial_fit(blobs(100, 1)[0])
    assert snapshot(model) == before
    assert (model.n_batches_, twin.n_batches_) == (1, 2)


def test_an_unfitted_model_pickles_and_prints() -> None:
    assert pickle.loads(pickle.dumps(ScStream(alpha=2.0))).alpha == 2.0
    assert repr(ScStream(alpha=2.0)) == "ScStream(alpha=2.0)"
    assert "ScStream" in ScStream(family="nonsense")._repr_html_()


# -- frames -------------------------------------------------------------------------------------


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_data_frames_go_in_like_arrays(frame) -> None:
    model = ScStream(random_state=0)
    batches = blob_stream(3, 80)
    plain = labels_of(ScStream(random_state=0), [X for X, _ in batches])
    frames = [frame({"width": X[:, 0], "height": X[:, 1]}) for X, _ in batches]
    for mine, theirs in zip(labels_of(model, frames), plain, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert model.feature_names_in_.tolist() == ["width", "height"]
    np.testing.assert_array_equal(model.predict(frames[0]), ScStream.predict(model, frames[0]))
    model.partial_fit(frames[0][:0])
    assert model.n_batches_ == 4


def test_frames_of_whole_numbers_and_of_nullable_ones_go_in() -> None:
    X, _ = counts(100, 0)
    plain = ScStream("multinomial", random_state=0).fit_predict(X)
    names = [f"word {i}" for i in range(12)]
    for frame in (
        pd.DataFrame(X, columns=names),
        pd.DataFrame(X, columns=names, dtype="Int64"),
        pl.DataFrame(X, schema=names),
    ):
        labels = ScStream("multinomial", random_state=0).fit_predict(frame)
        np.testing.assert_array_equal(labels, plain)


@pytest.mark.parametrize(("kind", "frame"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
def test_set_output_names_a_column_for_each_cluster(kind, frame) -> None:
    X, _ = blobs(80, 0)
    model = ScStream(random_state=0).set_output(transform=kind).fit(X)
    out = model.transform(X)
    assert isinstance(out, frame)
    assert list(out.columns) == [f"scstream{i}" for i in ids(model)]
    np.testing.assert_array_equal(out.to_numpy(), model.predict_proba(X))
    assert model.get_feature_names_out().tolist() == list(out.columns)


# -- sparse -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "form", [sparse.csr_array, sparse.csr_matrix, sparse.csc_array, sparse.coo_array]
)
def test_sparse_counts_are_the_same_as_dense_ones(form) -> None:
    batches = [counts(80, seed)[0] for seed in range(3)]
    dense, thin = (ScStream("multinomial", random_state=0) for _ in range(2))
    plain = labels_of(dense, batches)
    for mine, theirs in zip(labels_of(thin, map(form, batches)), plain, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    X = batches[0]
    np.testing.assert_array_equal(thin.predict(form(X)), dense.predict(X))
    np.testing.assert_array_equal(thin.predict_proba(form(X)), dense.predict_proba(X))
    np.testing.assert_array_equal(thin.score_samples(form(X)), dense.score_samples(X))


def test_sparse_input_is_not_changed() -> None:
    X = sparse.csr_array(counts(80, 0)[0].astype(float))
    X.data[5] = 0.0  # a zero that is stored
    before = X.copy()
    model = ScStream("multinomial", random_state=0).partial_fit(X)
    model.predict(X)
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(X, name), getattr(before, name))


# -- in company ---------------------------------------------------------------------------------


def test_it_works_at_the_end_and_in_the_middle_of_a_pipeline() -> None:
    X, _ = blobs(120, 0)
    alone = ScStream(random_state=0).fit_predict(StandardScaler().fit_transform(X))
    last = make_pipeline(StandardScaler(), ScStream(random_state=0))
    np.testing.assert_array_equal(last.fit_predict(X), alone)
    np.testing.assert_array_equal(last.predict(X), alone)
    assert last.score(X) == pytest.approx(np.mean(last.score_samples(X)))
    middle = make_pipeline(ScStream(random_state=0), StandardScaler()).fit(X)
    assert middle.transform(X).shape == (120, middle[0].n_clusters_)


def test_its_score_can_choose_a_parameter() -> None:
    X, _ = blobs(200, 0)
    search = GridSearchCV(
        ScStream(random_state=0, max_sweeps=20),
        {"family": [Gaussian(cov=1.0), Gaussian(cov=1e4, cov_strength=1e4)]},
        cv=2,
    )
    assert repr(search.fit(X).best_params_["family"]) == "Gaussian(cov=1.0)"
    assert np.all(np.isfinite(search.cv_results_["mean_test_score"]))
