"""Batches learned in parts: nearly the clusters of one model, however often it is divided."""

import numpy as np
import pytest

from scstream import ScStream
from scstream.datasets import gaussian_stream
from scstream.metrics import adjusted_rand_index
from scstream.parts import divided, learn_in_parts, learned, merged


def test_dividing_and_merging_in_each_batch_is_nearly_as_one_model() -> None:
    """Where entropies were not forgotten with the past, there were 25 clusters for 20."""
    one, model = ScStream(random_state=0), ScStream(random_state=0)
    scores = []
    for i, batch in enumerate(gaussian_stream(20, 4000, random_state=2)):
        one.partial_fit(batch.X)
        parts = divided(model, 4)
        assert len(parts) == (4 if i else 1)
        n = len(parts)
        model = merged(parts, {j: learned(part, batch.X[j::n]) for j, part in enumerate(parts)})
        if i >= 3:
            scores.append([adjusted_rand_index(batch.y, m.predict(batch.X)) for m in (one, model)])
    alone, together = np.mean(scores, axis=0)
    assert together > 0.97 * alone
    assert model.n_clusters_ == one.n_clusters_
    assert model.n_batches_ == 20
    assert len(model.to_bytes()) < 200_000  # rows that all remember were four times more each time
    count = one._learner.state.count
    assert 0.9 * count < model._learner.state.count < 1.1 * count
    assert model._learner.scores.seen <= 4 * one._learner.scores.seen  # each scores as many at most


def test_parts_without_rows_add_what_they_remember() -> None:
    X = gaussian_stream(2, 900, 4, 2, random_state=3)[0].X
    model = ScStream(random_state=0, half_life=None).partial_fit(X)
    parts = divided(model, 4)
    one = merged(parts, {2: learned(parts[2], X[:100])})
    assert one._learner.state.recent.sum() == pytest.approx(1000)
    assert one._learner.time == 1.0


@pytest.fixture
def da():
    return pytest.importorskip("dask.array", reason="Dask is not installed")


def test_workers_of_a_cluster_learn_parts(client, da) -> None:
    model, scores = ScStream(random_state=0), []
    for batch in gaussian_stream(5, 3000, 5, 2, random_state=4):
        X = da.from_array(batch.X, chunks=(500, 2))
        before = model.n_batches_ and model.to_bytes()
        new = learn_in_parts(model, X, client=client, n_parts=3)
        assert (model.n_batches_ and model.to_bytes()) == before
        model = new
        scores.append(adjusted_rand_index(batch.y, model.predict(X).compute()))
    assert model.n_batches_ == 5
    assert model.engine == "cpu"
    assert min(scores[1:]) > 0.9
    again = learn_in_parts(model, X, client=client, n_parts=3, time=9.0)
    assert (
        again.to_bytes() == learn_in_parts(model, X, client=client, n_parts=3, time=9.0).to_bytes()
    )


def test_data_frames_keep_their_names(client) -> None:
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    dd = pytest.importorskip("dask.dataframe", reason="Dask is not installed")
    model = ScStream(random_state=0)
    for batch in gaussian_stream(3, 1000, 3, 2, random_state=5):
        table = dd.from_pandas(pd.DataFrame(batch.X, columns=["x", "y"]), npartitions=4)
        model = learn_in_parts(model, table[table.x < 1e9], client=client)
    assert model.feature_names_in_.tolist() == ["x", "y"]


def test_what_cannot_be_learned_in_parts_is_refused(client, da) -> None:
    X = np.zeros((40, 2))
    with pytest.raises(TypeError, match="must be a Dask array or data frame; got ndarray"):
        learn_in_parts(ScStream(), X, client=client)
    with pytest.raises(ValueError, match="2D array"):
        learn_in_parts(ScStream(), da.zeros(40), client=client)
    with pytest.raises(ValueError, match="n_parts must be at least 1"):
        learn_in_parts(ScStream(), da.from_array(X), client=client, n_parts=0)
