"""The reference itself, against SciPy and published numbers."""

import numpy as np
import pytest
import reference
from scipy import stats

RNG = np.random.default_rng(0)
MEAN = RNG.normal(size=3)
COV = stats.wishart(5, np.eye(3)).rvs(random_state=RNG)


@pytest.mark.parametrize(
    ("counter", "key", "words"),
    [  # the known answers that come with Random123
        ("00000000 00000000 00000000 00000000", "00000000 00000000",
         "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff",
         "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0",
         "d16cfe09 94fdcceb 5001e420 24126ea1"),
    ],
)  # fmt: skip
def test_philox_gives_the_known_answers(counter, key, words):
    counter, key, words = ([int(v, 16) for v in text.split()] for text in (counter, key, words))
    assert reference.philox(counter, key) == words


def test_densities_are_those_of_scipy():
    x = RNG.normal(size=3)
    assert reference.log_normal(x, MEAN, COV) == pytest.approx(
        stats.multivariate_normal(MEAN, COV).logpdf(x), rel=1e-12
    )
    assert reference.log_student(x, 4.5, MEAN, COV) == pytest.approx(
        stats.multivariate_t(MEAN, COV, 4.5).logpdf(x), rel=1e-12
    )
    assert reference.log_multinomial([2, 0, 3], [0.2, 0.3, 0.5]) == pytest.approx(
        stats.multinomial(5, [0.2, 0.3, 0.5]).logpmf([2, 0, 3]), rel=1e-12
    )
    prior = reference.Dirichlet(np.array([0.5, 1.0, 2.0]))
    assert prior.log_predictive(np.array([2, 0, 3])) == pytest.approx(
        stats.dirichlet_multinomial([0.5, 1.0, 2.0], 5).logpmf([2, 0, 3]), rel=1e-12
    )


def test_a_marginal_is_the_product_of_the_predictives_one_after_another():
    normal = reference.NormalInverseWishart(MEAN, 0.7, 4.0 * COV, 4.0)
    counts = reference.Dirichlet(np.array([0.5, 1.0, 2.0]))
    for prior, X in [(normal, RNG.normal(size=(6, 3))), (counts, RNG.poisson(2.0, (6, 3)))]:
        post, total = prior, 0.0
        for x in X:
            total += post.log_predictive(x)
            post = post.posterior([x], [1.0])
        assert prior.log_marginal(X, np.ones(6)) == pytest.approx(total, rel=1e-11)


def test_labels_are_drawn_in_proportion_and_the_rest_follows():
    scores = np.log([[0.5, 0.2, 0.3]] * 3)
    sub_scores = np.log(np.tile([0.25, 0.75], (3, 2, 1)))
    got = reference.label(scores, sub_scores, [[0.49, 0.51, 0.71], [0.74, 0.76, 0.0]])
    assert got.z.tolist() == [0, 1, -1]  # the third component is nobody's
    assert got.sub.tolist() == [1, 0, 0]
    assert got.second.tolist() == [2, 0, 0]
    np.testing.assert_allclose(got.entropy, -np.log([5 / 8, 2 / 7, 3 / 8]))
    np.testing.assert_allclose(got.sub_entropy[:2], -np.log([0.75, 0.25]))
    best = reference.label(scores, sub_scores)
    assert best.z.tolist() == [0, 0, 0]
    assert best.sub.tolist() == [1, 1, 1]
