"""The pass over rows: the native one against the plain one, and that against probabilities."""

import numpy as np
import pytest
from scipy import stats

from scstream.core import Cut, Rows, Scores, plain
from scstream.core.plain.passes import scored, statistics
from scstream.core.plain.randomness import uniforms

NONE = np.zeros(0)


def problem(n, d, k, *, apart=3.0, student=False, more=0, seed=0):
    """Return rows around k centres, weights, and scores of k clusters and of their parts."""
    rng = np.random.default_rng(seed)
    centre = apart * rng.normal(size=(k + more, d))
    X = centre[rng.integers(k + more, size=n)] + rng.normal(size=(n, d))
    parts = np.repeat(centre[:k], 2, axis=0) + 0.5 * rng.normal(size=(2 * k, d))
    shift, scale = rng.normal(size=d), rng.uniform(0.5, 2.0, size=d)
    given = [normal_scores((c - shift) / scale, scale) for c in (centre, parts)]
    if student:
        given = [student_scores(by, rng) for by in given]
    return Rows(X, shift, scale), rng.uniform(0.5, 2.0, size=n), *given


def normal_scores(centre, scale):
    """Return scores by unit spheres about centres that are given in the frame."""
    k, d = centre.shape
    i, j = np.triu_indices(d)
    eta = np.zeros((k, 1 + d + len(i)))
    eta[:, 0] = -0.5 * (centre**2 * scale**2).sum(axis=1)
    eta[:, 1 : 1 + d] = centre * scale**2
    eta[:, 1 + d + np.flatnonzero(i == j)] = -0.5 * scale**2
    return Scores(eta, NONE, NONE)


def student_scores(by, rng):
    """Return Student-t scores instead, but of the first component."""
    k = len(by.eta)
    power = rng.uniform(3.0, 300.0, size=k)
    eta, level = -by.eta / power[:, None], rng.normal(size=k)
    eta[:, 0] += 1.0
    power[0], eta[0] = 0.0, by.eta[0]
    return Scores(eta, level, power)


def swept(core, rows, weight, scores, pairs, key):
    n, (m, p) = len(rows.X), pairs.eta.shape
    k, cut = m // 2, Cut(1000, first=3, threads=2)
    r = len(cut.runs(n))
    z, sub = np.full((2, n), -7)
    sums = (
        np.empty((r, k, 2, p)), np.empty((r, k, 2), np.int64), np.empty((r, k, k), np.int64),
        np.empty((r, k, k)),
    )  # fmt: skip
    core.sweep(rows, weight, scores, pairs, key, z, sub, cut, sums)
    return z, sub, *sums


CASES = {
    "two-columns": {"n": 3000, "d": 2, "k": 20},
    "overlapping": {"n": 3000, "d": 5, "k": 60, "apart": 0.7},
    "student": {"n": 3000, "d": 5, "k": 60, "student": True},
    "student-overlapping": {"n": 2000, "d": 3, "k": 12, "apart": 0.5, "student": True},
    "outliers": {"n": 2000, "d": 3, "k": 9, "more": 1},
    "one-cluster": {"n": 700, "d": 1, "k": 1},
    "fifteen-columns": {"n": 1500, "d": 15, "k": 30, "apart": 1.0},
    "one-row": {"n": 1, "d": 2, "k": 3},
    "no-rows": {"n": 0, "d": 2, "k": 3},
}


@pytest.mark.parametrize("key", [(99, 1, 2, 4096), None], ids=["drawn", "best"])
@pytest.mark.parametrize("name", CASES)
def test_both_cores_label_and_add_up_alike(name, key):
    native = pytest.importorskip(
        "scstream.core.native._compiled", reason="the native core was not built"
    )
    given = problem(**CASES[name])
    ours, told = swept(native, *given, key), swept(plain, *given, key)
    for mine, its in zip(ours, told, strict=True):
        if mine.dtype == np.int64:
            np.testing.assert_array_equal(mine, its)
        else:
            np.testing.assert_allclose(mine, its, rtol=1e-9, atol=1e-9)
    out = np.empty(len(given[0].X), np.int64)
    native.best_labels(given[0], given[2], out, 2)
    plain.best_labels(given[0], given[2], its := np.empty_like(out), 2)
    np.testing.assert_array_equal(out, its)


@pytest.mark.parametrize("name", ["overlapping", "student", "outliers"])
def test_both_cores_try_sublabels_alike(name):
    native = pytest.importorskip(
        "scstream.core.native._compiled", reason="the native core was not built"
    )
    rows, weight, scores, pairs = problem(**CASES[name])
    z = swept(plain, rows, weight, scores, pairs, None)[0]
    k, p = len(pairs.eta) // 2, pairs.eta.shape[1]
    chosen = np.arange(k) % 3 > 0
    found, cut = [], Cut(700, 0, 2)
    r = len(cut.runs(len(z)))
    for core in (native, plain):
        trial, sums = np.full(len(z), -7), (np.empty((r, k, 2, p)), np.empty((r, k)))
        core.try_sublabels(rows, weight, pairs, chosen, z, trial, cut, sums)
        found.append((trial, *sums))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    assert set(found[0][0][z < 0].tolist()) <= {-7}
    for mine, its in zip(found[0][1:], found[1][1:], strict=True):
        np.testing.assert_allclose(mine, its, rtol=1e-9, atol=1e-9)


def test_numbers_that_float32_cannot_hold_are_scored_in_float64():
    native = pytest.importorskip(
        "scstream.core.native._compiled", reason="the native core was not built"
    )
    rows, weight, scores, pairs = problem(500, 2, 8)
    for factor in (1e-3, 1e6, 1e18, 1e25):
        far = Rows(rows.X * factor, rows.shift * factor, rows.scale)
        by, own = (
            Scores(one.eta / factor ** np.array([0, 1, 1, 2, 2, 2]), NONE, NONE)
            for one in (scores, pairs)
        )
        for key in ((5, 1, 1, 0), None):
            ours, told = (swept(core, far, weight, by, own, key) for core in (native, plain))
            for mine, its in zip(ours[:2], told[:2], strict=True):
                np.testing.assert_array_equal(mine, its)
    single = Rows(rows.X.astype(np.float32), rows.shift, rows.scale)
    double = single._replace(X=single.X.astype(np.float64))
    for mine, its in zip(
        swept(native, single, weight, scores, pairs, None),
        swept(native, double, weight, scores, pairs, None), strict=True,
    ):  # fmt: skip
        np.testing.assert_array_equal(mine, its)


def test_labels_are_drawn_with_their_probabilities(core):
    """A binomial test for each component: all fail less than once in a million runs."""
    rows, _, scores, pairs = problem(1, 2, 6, apart=0.8)
    n = 200_000
    many = rows._replace(X=np.repeat(rows.X, n, axis=0))
    z = swept(core, many, np.ones(n), scores, pairs, (7, 3, 1, 0))[0]
    score = scored(statistics(rows, slice(0, 1)), scores)[0]
    probability = np.exp(score - score.max())
    probability /= probability.sum()
    counts = np.bincount(z, minlength=6)
    for count, p in zip(counts, probability, strict=True):
        assert stats.binomtest(int(count), n, p).pvalue > 1e-7


def test_uniforms_are_those_of_philox():
    """The words that its authors give for a counter and a key of zeros."""
    u = uniforms((0, 0, 0, 0), 0, 1)
    words = [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    expected = [((words[0] << 32 | words[1]) >> 11), ((words[2] << 32 | words[3]) >> 11)]
    assert (u[:, 0] * 2.0**53).tolist() == expected


def test_native_arrays_of_other_shapes_are_refused():
    native = pytest.importorskip(
        "scstream.core.native._compiled", reason="the native core was not built"
    )
    rows, weight, scores, pairs = problem(20, 2, 3)
    wrong = [
        (rows._replace(shift=rows.shift[:1]), weight, scores, pairs),
        (rows._replace(X=rows.X.astype(int)), weight, scores, pairs),
        (rows._replace(X=rows.X[:, ::-1]), weight, scores, pairs),
        (rows, weight[:-1], scores, pairs),
        (rows, weight, scores._replace(eta=scores.eta[:, :-1].copy()), pairs),
        (rows, weight, scores._replace(power=np.ones(2)), pairs),
        (rows, weight, scores._replace(eta=scores.eta[:0]), pairs),
        (rows, weight, scores, pairs._replace(eta=pairs.eta[:5])),
        (rows, weight, scores, Scores(np.tile(pairs.eta, (2, 1)), NONE, NONE)),
    ]
    for given in wrong:
        with pytest.raises((TypeError, ValueError)):
            swept(native, *given, None)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_statistics_are_numbers_and_their_products(core, kind):
    rng = np.random.default_rng(0)
    for d in (1, 3, 20):
        X, shift, scale = (
            rng.normal(size=(5000, d)).astype(kind),
            rng.normal(size=d),
            np.full(d, 3.0),
        )
        out = np.empty((len(X), (d + 1) * (d + 2) // 2))
        core.fill_statistics(Rows(X, shift, scale), out)
        z = (X - shift) / scale
        products = [z[:, i] * z[:, j] for i in range(d) for j in range(i, d)]
        np.testing.assert_array_equal(out, np.column_stack([np.ones(len(X)), z, *products]))
