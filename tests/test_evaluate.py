"""The prequential loop: what the model is shown, and that the scores are those of sklearn."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from sklearn.cluster import MiniBatchKMeans
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from scstream.datasets import gaussian_stream, multinomial_stream
from scstream.evaluate import prequential
from scstream.metrics import pairwise_f, purity


@dataclass
class Recorder:
    """Predicts by the first coordinate; remembers its calls."""

    cells: int = 4
    calls: list[tuple[str, Any]] = field(default_factory=list)

    def predict(self, X: np.ndarray) -> np.ndarray:
        self.calls.append(("predict", X))
        return np.digitize(X[:, 0], np.linspace(-20, 20, self.cells + 1)) - 1

    def partial_fit(self, X: np.ndarray, y: Any = None) -> "Recorder":
        self.calls.append(("partial_fit", X))
        return self


@pytest.fixture
def stream():
    return gaussian_stream(n_batches=6, batch_size=200, n_clusters=5, random_state=3)


def test_each_batch_but_the_first_is_predicted_and_then_learned(stream) -> None:
    model = Recorder()
    prequential(model, stream)
    assert [name for name, _ in model.calls] == ["partial_fit"] + ["predict", "partial_fit"] * 5
    shown = [X for name, X in model.calls if name == "predict"]
    learned = [X for name, X in model.calls if name == "partial_fit"]
    for batch, X in zip(stream[1:], shown, strict=True):
        np.testing.assert_array_equal(batch.X, X)
    for batch, X in zip(stream, learned, strict=True):
        np.testing.assert_array_equal(batch.X, X)


def test_scores_of_batches_and_stream_are_those_of_the_labels(stream) -> None:
    result = prequential(Recorder(), stream)
    truth = [batch.y for batch in stream[1:]]
    labels = [Recorder().predict(batch.X) for batch in stream[1:]]
    pairs = list(zip(truth, labels, strict=True))
    np.testing.assert_allclose(result.ari, [adjusted_rand_score(*pair) for pair in pairs])
    np.testing.assert_allclose(result.nmi, [normalized_mutual_info_score(*pair) for pair in pairs])
    np.testing.assert_allclose(result.purity, [purity(*pair) for pair in pairs])
    np.testing.assert_allclose(result.f, [pairwise_f(*pair) for pair in pairs])
    np.testing.assert_array_equal(result.batch, np.arange(1, 6))
    np.testing.assert_array_equal(result.n_true, [np.unique(y).size for y in truth])
    np.testing.assert_array_equal(result.n_clusters, [np.unique(z).size for z in labels])

    all_true, all_labels = np.concatenate(truth), np.concatenate(labels)
    assert result.full_ari == pytest.approx(adjusted_rand_score(all_true, all_labels))
    assert result.full_nmi == pytest.approx(normalized_mutual_info_score(all_true, all_labels))
    assert result.contingency.n_points == 5 * 200
    assert result.contingency.count.size <= 5 * 6


def test_oracle_is_scored_where_there_is_one(stream) -> None:
    result = prequential(Recorder(), stream)
    expected = [adjusted_rand_score(batch.y, batch.oracle) for batch in stream[1:]]
    np.testing.assert_allclose(result.oracle_ari, expected)
    assert result.mean()["oracle_ari"] == pytest.approx(np.mean(expected))
    assert result.relative_ari == pytest.approx(result.ari.mean() / np.mean(expected))

    for without in (
        prequential(Recorder(), stream, oracle=False),
        prequential(Recorder(), [(batch.X, batch.y) for batch in stream]),
    ):
        assert np.isnan(without.oracle_ari).all()
        assert np.isnan(without.relative_ari)
        assert "oracle_ari" not in without.mean()
        np.testing.assert_array_equal(without.ari, result.ari)


def test_only_the_chosen_classes_are_scored() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-20, 20, (3, 100, 2))
    y = np.where(X[..., 0] < 0, 0, 1)
    y[:, ::3] = -1
    y[2] = -1
    model = Recorder(cells=2)
    result = prequential(model, list(zip(X, y, strict=True)), classes=[0, 1])
    np.testing.assert_array_equal(result.batch, [1])
    np.testing.assert_array_equal(result.ari, [1.0])
    np.testing.assert_array_equal(result.n_true, [2])
    assert result.contingency.n_points == (y[1] >= 0).sum()
    assert [name for name, _ in model.calls].count("partial_fit") == 3


def test_any_scikit_learn_clusterer_can_be_evaluated() -> None:
    stream = multinomial_stream(
        n_batches=4, n_clusters=4, concentration=0.1, drift="none", sparse=True, random_state=0
    )
    result = prequential(MiniBatchKMeans(4, n_init=5, random_state=0), stream)
    assert result.full_ari > 0.5
    assert result.mean()["oracle_ari"] > 0.99


def test_what_is_no_batch_is_refused(stream) -> None:
    with pytest.raises(ValueError, match=r"batch 0 must be a Batch.*got ndarray"):
        prequential(Recorder(), [stream[0].X])
    with pytest.raises(ValueError, match="got 10 and 200 labels"):
        prequential(Recorder(), [(batch.X, batch.y[:10]) for batch in stream])


def test_clusters_that_are_parts_of_classes_are_scored_joined():
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    y = np.array([0, 0, 1, 1])

    class Parts:
        def predict(self, X):
            return X[:, 0].astype(int)

        def partial_fit(self, X):
            return self

    apart = prequential(Parts(), [(X, y)] * 2)
    joined = prequential(Parts(), [(X, y)] * 2, parts=True)
    assert apart.mean()["ari"] < 0.5
    assert joined.mean()["ari"] == 1.0
    assert joined.n_clusters.tolist() == [4]
