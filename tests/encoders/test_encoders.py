"""Every encoder by itself: what it says of densities, what it gives back, and as a transformer."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from scstream.encoders import (
    CountSharesEncoder,
    FlagsEncoder,
    HurdleEncoder,
    ScaleEncoder,
    SharesEncoder,
)

RNG = np.random.default_rng(0)
AMOUNTS = np.exp(RNG.normal([1.0, 5.0, -2.0], 1.0, (200, 3)))
ROWS = {
    "scale": (ScaleEncoder(), AMOUNTS),
    "roots": (ScaleEncoder(unit=0.1, root=True), AMOUNTS),
    "hurdle": (HurdleEncoder(), np.where(RNG.random((200, 3)) < 0.4, 0.0, AMOUNTS)),
    "shares": (SharesEncoder(), 100.0 * RNG.dirichlet([4.0, 9.0, 2.0], 200)),
    "counts": (CountSharesEncoder(by_total=True), RNG.poisson([5.0, 90.0, 20.0], (200, 3))),
    "flags": (FlagsEncoder([3, 2]), np.eye(5)[RNG.integers(3, size=200)] + np.eye(5)[4]),
}
NUMBERS = ["scale", "roots", "shares", "counts"]


@pytest.fixture(params=ROWS)
def case(request):
    encoder, X = ROWS[request.param]
    return clone(encoder).fit(X), np.asarray(X, dtype=float)


def test_rows_come_back(case) -> None:
    encoder, X = case
    codes = encoder.transform(X)
    assert codes.shape == (200, sum(encoder.widths))
    assert_allclose(encoder.inverse_transform(codes), X, rtol=1e-9, atol=1e-9)


def test_a_row_is_encoded_alone(case) -> None:
    encoder, X = case
    some = np.array([7, 0, 3])
    assert_array_equal(encoder.transform(X[some]), encoder.transform(X)[some])
    codes = encoder.encode(X)
    assert_array_equal(encoder.log_jacobian(codes[some]), encoder.log_jacobian(codes)[some])


@pytest.mark.parametrize("name", NUMBERS)
def test_the_jacobian_is_that_of_differences(name) -> None:
    """Densities are of all shares but one; counts have their usual total, and none missing."""
    encoder, X = ROWS[name]
    encoder = clone(encoder).fit(X)
    for x in np.asarray(X, dtype=float)[:5]:
        free = 2 if name == "shares" else 3
        steps = np.zeros((free, 3))
        np.fill_diagonal(steps, 1e-4 * x[:free])
        if name == "shares":
            steps[:, 2] = -steps.sum(axis=1)
        slope = [
            (encoder.encode((x + s)[None]) - encoder.encode((x - s)[None]))[0] / (2.0 * s[j])
            for j, s in enumerate(steps)
        ]
        expected = np.linalg.slogdet(np.array(slope))[1]
        if name == "counts":  # it is stated for shares of rows with the usual total
            usual, total = encoder.total_ + 1.125, x.sum() + 1.125
            expected += 2.0 * np.log(total / usual)
        found = encoder.log_jacobian(encoder.encode(x[None]))[0]
        assert found == pytest.approx(expected, abs=1e-4)


def test_what_is_saved_makes_the_same_encoder(case) -> None:
    encoder, X = case
    saved = encoder.to_saved()
    again = clone(encoder).from_saved(saved)
    assert_array_equal(again.encode(X), encoder.encode(X))
    assert again.hyperparameters().keys() == encoder.get_params().keys()
    with pytest.raises(ValueError, match=r"columns|names|attributes"):
        clone(encoder).from_saved({})


def test_what_is_learned_and_given_back_changes_nothing(case) -> None:
    encoder, X = case
    again = type(encoder)(**encoder.hyperparameters()).fit(X)
    assert_array_equal(again.encode(X), encoder.encode(X))


@parametrize_with_checks(
    [ScaleEncoder(), HurdleEncoder(), SharesEncoder(), CountSharesEncoder()]
)  # the other one makes words
def test_it_is_a_transformer_of_scikit_learn(estimator, check) -> None:
    check(estimator)


def test_it_is_a_step_of_a_pipeline() -> None:
    y = RNG.integers(2, size=400)
    X = pd.DataFrame(
        RNG.gamma(np.array([[9.0, 3.0, 1.0], [2.0, 3.0, 8.0]])[y]), columns=list("abc")
    )
    model = make_pipeline(SharesEncoder(), GaussianMixture(2, random_state=0))
    found = model.fit_predict(X.div(X.sum(axis=1), axis=0))
    assert max(np.mean(found == y), np.mean(found != y)) > 0.95
    with pytest.raises(ValueError, match="feature names"):
        model[0].transform(X[["c", "b", "a"]])


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="total must be a positive number"):
        SharesEncoder(total=0.0).fit(AMOUNTS)
    with pytest.raises(ValueError, match="two columns or more"):
        SharesEncoder().fit(AMOUNTS[:, :1])
    with pytest.raises(ValueError, match="unit must be positive"):
        ScaleEncoder(unit=-1.0).fit(AMOUNTS)
    with pytest.raises(ValueError, match="sizes"):
        FlagsEncoder([2, 2]).fit(np.eye(3))
    with pytest.raises(ValueError, match="infinity"):
        ScaleEncoder().fit([[np.inf]])


def test_cells_are_found_and_filled() -> None:
    """A share of 0, and an amount that was rounded, stand for a range."""
    X = np.where(AMOUNTS < 1.0, 0.0, np.minimum(np.round(AMOUNTS), 9.0))
    encoder = HurdleEncoder(value=0.0, unit=1.0).fit(X)
    codes = encoder.encode(X)
    assert not encoder.is_coarse()
    encoder = encoder.with_cells(codes)
    assert encoder.is_coarse()
    moved = encoder.spread(codes, 3, 0)
    assert_array_equal(moved[:, :3], codes[:, :3])
    assert_array_equal(np.isnan(moved), np.isnan(codes))
    assert_array_equal(encoder.spread(codes[9:], 3, 9), moved[9:])
    assert np.nanmean(np.abs(encoder.decode(moved) - X)) < 1.0
