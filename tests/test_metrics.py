"""Scores against scikit-learn and against counting the pairs one by one."""

from itertools import combinations

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from scstream.metrics import (
    Contingency,
    adjusted_rand_index,
    normalized_mutual_info,
    pairwise_f,
    purity,
)

SCORES = [adjusted_rand_index, normalized_mutual_info, purity, pairwise_f]

EDGE_CASES = {
    "empty": ([], []),
    "one point": ([3], [-1]),
    "one cluster in both": ([0, 0, 0], [5, 5, 5]),
    "one true cluster": ([0, 0, 0, 0], [0, 1, 1, 2]),
    "one predicted cluster": ([0, 1, 1, 2], [7, 7, 7, 7]),
    "all alone in both": ([0, 1, 2], [5, 3, 4]),
    "all alone in one": ([0, 0, 1, 1], [0, 1, 2, 3]),
    "independent": ([0, 0, 1, 1], [0, 1, 0, 1]),
    "permuted": ([0, 0, 1, 2, 2], [2, 2, -1, 9, 9]),
}


def random_labels(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two labellings of 2 to 400 points that agree more or less, some labels far apart."""
    rng = np.random.default_rng(seed)
    n = rng.integers(2, 400)
    y_true = rng.integers(-1, rng.integers(1, 30), n)
    y_pred = np.where(rng.random(n) < rng.random(), y_true, rng.integers(-1, 40, n))
    if seed % 3 == 0:
        y_pred = y_pred * 10**15 - 5
    return y_true, y_pred


def brute_force_f(y_true: np.ndarray, y_pred: np.ndarray) -> float:
    pairs = list(combinations(range(len(y_true)), 2))
    in_true = np.array([y_true[i] == y_true[j] for i, j in pairs], dtype=bool)
    in_pred = np.array([y_pred[i] == y_pred[j] for i, j in pairs], dtype=bool)
    together = in_true.sum() + in_pred.sum()
    return 2 * (in_true & in_pred).sum() / together if together else 1.0


def brute_force_purity(y_true: np.ndarray, y_pred: np.ndarray) -> float:
    hits = 0
    for cluster in set(y_pred.tolist()):
        members = y_true[y_pred == cluster].tolist()
        hits += max(members.count(label) for label in set(members))
    return hits / len(y_true)


@pytest.mark.parametrize("seed", range(30))
def test_scores_equal_scikit_learn_and_brute_force(seed: int) -> None:
    y_true, y_pred = random_labels(seed)
    assert adjusted_rand_index(y_true, y_pred) == pytest.approx(
        adjusted_rand_score(y_true, y_pred), abs=1e-12
    )
    assert normalized_mutual_info(y_true, y_pred) == pytest.approx(
        normalized_mutual_info_score(y_true, y_pred), abs=1e-12
    )
    assert purity(y_true, y_pred) == pytest.approx(brute_force_purity(y_true, y_pred))
    small = slice(60)
    assert pairwise_f(y_true[small], y_pred[small]) == pytest.approx(
        brute_force_f(y_true[small], y_pred[small])
    )


@pytest.mark.parametrize("case", EDGE_CASES)
def test_edge_cases_are_scikit_learns(case: str) -> None:
    y_true, y_pred = (np.array(labels, dtype=int) for labels in EDGE_CASES[case])
    assert adjusted_rand_index(y_true, y_pred) == pytest.approx(adjusted_rand_score(y_true, y_pred))
    assert normalized_mutual_info(y_true, y_pred) == pytest.approx(
        normalized_mutual_info_score(y_true, y_pred), abs=1e-15
    )
    assert pairwise_f(y_true, y_pred) == pytest.approx(brute_force_f(y_true, y_pred))


@pytest.mark.parametrize("score", SCORES)
def test_scores_do_not_depend_on_names_or_order(score) -> None:
    y_true, y_pred = random_labels(1)
    rng = np.random.default_rng(0)
    names, order = rng.permutation(100) - 50, rng.permutation(y_true.size)
    renamed = score(names[y_true][order], names[y_pred][order])
    assert renamed == pytest.approx(score(y_true, y_pred), abs=1e-12)
    assert score(y_true, names[y_true]) == pytest.approx(1.0)


def test_large_counts_do_not_overflow() -> None:
    # The same shares as a table of nine points, whose scores they must nearly have.
    true, pred = np.array([0, 0, 1]), np.array([0, 1, 1])
    small = Contingency(true, pred, np.array([4, 1, 4]))
    large = Contingency(true, pred, np.array([4, 1, 4]) * 10**8)
    assert large.nmi == pytest.approx(small.nmi)
    assert large.purity == small.purity
    # Of N pairs, sum of squares: 33 of 81 in both, 41 of 81 in each.
    chance = 41 / 81 * 41 / 81
    assert large.ari == pytest.approx((33 / 81 - chance) / (41 / 81 - chance), abs=1e-7)
    assert large.f == pytest.approx(33 / 41, abs=1e-7)


@pytest.mark.parametrize("seed", range(6))
def test_tables_of_parts_add_up_to_the_table_of_the_whole(seed: int) -> None:
    y_true, y_pred = random_labels(seed)
    total = Contingency()
    for part in np.array_split(np.arange(y_true.size), 5):
        total += Contingency.from_labels(y_true[part], y_pred[part])
    whole = Contingency.from_labels(y_true, y_pred)
    for name in ("true", "pred", "count"):
        np.testing.assert_array_equal(getattr(total, name), getattr(whole, name))
    assert total.n_points == y_true.size
    assert total.n_true == np.unique(y_true).size
    assert total.n_pred == np.unique(y_pred).size


@pytest.mark.parametrize("score", SCORES)
def test_bad_labels_are_refused(score) -> None:
    with pytest.raises(ValueError, match="got 2 and 3 labels"):
        score([0, 1], [0, 1, 2])
    with pytest.raises(ValueError, match=r"y_true must have one dimension.*\(2, 1\)"):
        score([[0], [1]], [0, 1])
    with pytest.raises(ValueError, match=r"y_pred must hold integers.*np\.unique"):
        score([0, 1], ["a", "b"])
    with pytest.raises(ValueError, match="y_true must hold integers"):
        score([0.5, 1.0], [0, 1])
    with pytest.raises(ValueError, match="y_true must hold integers"):
        score([np.nan, 1.0], [0, 1])


def test_parts_are_joined_by_their_commonest_true_label():
    true = [0, 0, 0, 1, 1, 1, 1, 0]
    pred = [5, 5, 7, 7, 7, 9, 9, 3]
    joined = Contingency.from_labels(true, pred).joined()
    expected = Contingency.from_labels(true, [0, 0, 1, 1, 1, 1, 1, 0])
    for name in ("true", "pred", "count"):
        np.testing.assert_array_equal(getattr(joined, name), getattr(expected, name))
    assert joined.purity == Contingency.from_labels(true, pred).purity
