"""Clusters of few rows: pieces of one class are joined, and Gaussians stay apart."""

import numpy as np
import pytest

from scstream import ScStream
from scstream.groups.near import Lines
from scstream.metrics import Contingency
from scstream.sampler.rules import RULES

NOBODY = np.zeros(0, dtype=np.int64)


def line(seen=(0.0, 0.0, 0.0), usual=(0.0, 0.0, 0.0)):
    """Return a line between the clusters 4 and 9 along the first of two columns."""
    return Lines(
        np.array([[4, 9]]), np.array([[1.0, 0.0]]), np.zeros(1), np.array([seen]), np.array(usual)
    )


def valley(seen, usual):
    return float(line(seen, usual)._valleys(RULES)[0])


def rows(*at, label=4):
    return np.column_stack([at, np.zeros(len(at))]), np.full(len(at), label)


def test_later_rows_are_remembered_and_forgotten():
    lines = line((1.0, 2.0, 3.0)).after((rows(0.5, 0.5), rows(1.0, label=9)), NOBODY, RULES)
    kept = 0.5 ** (3 / RULES.group_memory)
    np.testing.assert_allclose(lines.seen, [[2 + kept, 2 * kept, 1 + 3 * kept]])
    np.testing.assert_allclose(lines.usual, [2.0, 0.0, 1.0])


def test_two_are_apart_until_later_rows_lie_between_them():
    assert valley((0.0, 0.0, 0.0), (0.0, 0.0, 0.0)) == 0.0
    assert valley((0.0, 0.0, 0.0), (100.0, 100.0, 100.0)) > 0.9  # what is usual counts
    assert valley((0.0, 40.0, 40.0), (100.0, 100.0, 100.0)) < 0.2  # and less than what was seen
    assert valley((40.0, 40.0, 40.0), (0.0, 100.0, 100.0)) > 0.8


def strips(seed, n_batches=8, n=300, k=30, d=32):
    """Return classes that are even strips in three directions of many columns, ten rows each."""
    rng = np.random.default_rng(seed)
    centre = 14.0 / np.sqrt(2 * d) * rng.normal(size=(k, d))
    turn = np.linalg.qr(rng.normal(size=(k, d, 3)))[0]
    for _ in range(n_batches):
        y = rng.integers(k, size=n)
        along = rng.uniform(-1.0, 1.0, size=(n, 3)) * [6.0, 3.0, 1.5]
        noise = 0.6 * rng.normal(size=(n, d))
        yield centre[y] + np.einsum("ndj,nj->nd", turn[y], along) + noise, y


def pairs(seed, apart, n_batches=8, n=200, k=10, d=16):
    """Return Gaussians two by two: the two of a place are far nearer to each other than others."""
    rng = np.random.default_rng(seed)
    centre = 3.0 * apart / np.sqrt(2 * d) * rng.normal(size=(k, 1, d))
    way = np.linalg.qr(rng.normal(size=(k, d, 2)))[0].transpose(0, 2, 1)
    mean = (centre + apart / np.sqrt(2.0) * way).reshape(2 * k, d)
    for _ in range(n_batches):
        y = rng.integers(2 * k, size=n)
        yield mean[y] + rng.normal(size=(n, d)), y


def scores(stream, **params):
    """Return the mean ARI of clusters and of groups, each batch predicted before it is learned."""
    model, out = ScStream(random_state=0, group_level=0.3, **params), []
    for X, y in stream:
        if model.n_batches_:
            named = model.predict(X), model.predict_group(X)
            out.append([Contingency.from_labels(y, labels).ari for labels in named])
        model.partial_fit(X)
    return np.mean(out, axis=0)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_pieces_of_few_rows_are_joined(seed):
    # broken on purpose (no line is drawn): as good as the clusters, .90
    clusters, groups = scores(strips(seed))
    assert clusters < 0.93
    assert groups > clusters + 0.03


@pytest.mark.parametrize("apart", [6.0, 8.0])
def test_gaussians_in_pairs_stay_apart(apart):
    # broken on purpose (later rows are not asked): .15 lower
    clusters, groups = scores(pairs(0, apart))
    assert clusters > 0.9
    assert groups > clusters - 0.005


def test_a_loaded_model_goes_on_along_the_same_lines(tmp_path):
    model = ScStream(random_state=0, group_level=0.3)
    *first, last = (X for X, _ in strips(2, n_batches=3))
    for X in first:
        model.partial_fit(X)
    assert len(model._grouping.known[0].lines.pairs) > 0
    model.save(tmp_path / "model.scs")
    loaded = ScStream.load(tmp_path / "model.scs")
    for one in (model, loaded):
        one.partial_fit(last)
    assert [g.members for g in loaded.groups_] == [g.members for g in model.groups_]
    a, b = (one._grouping.known[0].lines for one in (model, loaded))
    for name in ("pairs", "direction", "offset", "seen", "usual"):
        assert getattr(a, name).tobytes() == getattr(b, name).tobytes()
    assert a.seen.sum() > 0.0
