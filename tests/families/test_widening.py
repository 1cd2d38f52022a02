"""Wider families: what a column becomes, and what of the past is carried over exactly."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from scstream.families import Bernoulli, Gaussian, Poisson, Product
from scstream.families.auto import choose_family
from scstream.families.check import check_family
from scstream.families.columns import columns_of
from scstream.families.idle import Idle
from scstream.families.saved import restored, saved_of
from scstream.families.widening import widened

RNG = np.random.default_rng(0)
FLAGS = (RNG.random((120, 3)) < [0.2, 0.5, 0.8]).astype(float)
COUNTS = RNG.poisson([3.0, 20.0, 0.3], (120, 3)).astype(float)


def learned(family, X):
    """Return a family prepared by rows, and the statistics of three groups of them."""
    met = family.meet(X, None)
    points = met.check(X)
    family = met.prepare(points)
    T = np.asarray(family.statistics(points))
    groups = np.stack([T[i::3].sum(axis=0) for i in range(3)])
    return family.adapt(groups), groups


def with_value(X, value):
    X = X.copy()
    X[5, 1] = value
    return X


@pytest.mark.parametrize(
    ("family", "X", "value", "name"),
    [
        (Bernoulli(), FLAGS, 3.0, "negative-binomial"),
        (Bernoulli(), FLAGS, -1.0, "categorical"),
        (Bernoulli(), FLAGS, 0.5, "diagonal"),
        (Poisson(), COUNTS, -1.0, "diagonal"),
        (Poisson(), COUNTS, 1.5, "diagonal"),
    ],
)
def test_a_column_becomes_what_it_holds_and_the_others_stay(family, X, value, name):
    prepared, groups = learned(family, X)
    new = with_value(X, value)
    assert widened(prepared, columns_of(X), groups) is None
    wider = widened(prepared, columns_of(new), groups)
    (change,) = wider.changes
    assert (change.column, change.was, change.now) == ("1", family.name, name)
    blocks = wider.family.independent_blocks(3)
    found = [(block.family.name, list(block.columns)) for block in blocks]
    assert found == [(family.name, [0, 2]), (name, [1])]
    carried = wider.carried(groups)
    assert carried.shape == (3, len(wider.family.prior))
    assert np.isfinite(wider.family.log_marginal(carried)).all()
    own = [0, 2]
    stays = type(family)(**{k: v[own] for k, v in prepared.hyperparameters().items()})
    alone = stays.prepare(X[:, own])
    part = wider.family.independent_blocks(0)[0].statistics(carried)
    expected = np.stack([alone.statistics(X[i::3][:, own]).sum(axis=0) for i in range(3)])
    assert_allclose(part, expected)
    assert_allclose(blocks[0].family.log_marginal(part), alone.log_marginal(expected))
    met = wider.family.meet(columns_of(new), wider.family)
    assert met.check(columns_of(new)).shape == X.shape
    assert widened(met, columns_of(new), carried) is None


@pytest.mark.parametrize("value", [3.0, -1.0, 0.5])
def test_flags_are_carried_over_exactly(value):
    prepared, groups = learned(Bernoulli(), FLAGS)
    wider = widened(prepared, columns_of(with_value(FLAGS, value)), groups)
    family = wider.family.independent_blocks(3)[1].family
    found = wider.family.independent_blocks(0)[1].statistics(wider.carried(groups))
    column = FLAGS[:, 1:2]
    T = family.statistics(family.check(columns_of(column)))
    expected = np.stack([T[i::3].sum(axis=0) for i in range(3)])
    if family.name == "diagonal":  # its numbers stand for cells, which have a variance
        n = expected[:, 1]
        expected[:, 3] += n * family._step[0] ** 2 / 12.0 / family.frame[1][0] ** 2
    assert_allclose(found, expected, rtol=1e-12)


def test_counts_keep_their_means_and_have_the_variance_of_counts():
    prepared, groups = learned(Poisson(), COUNTS)
    wider = widened(prepared, columns_of(with_value(COUNTS, -1.0)), groups)
    family = wider.family.independent_blocks(3)[1].family
    _, n, z, zz = wider.family.independent_blocks(0)[1].statistics(wider.carried(groups)).T
    shift, scale = (float(v[0]) for v in family.frame)
    means = [COUNTS[i::3, 1].mean() for i in range(3)]
    assert_allclose(z / n * scale + shift, means)
    variance = (zz / n - (z / n) ** 2) * scale**2
    assert_allclose(variance, np.array(means) + family._step[0] ** 2 / 12.0)


def test_text_among_numbers_is_not_widened():
    prepared, groups = learned(Poisson(), COUNTS)
    new = COUNTS.astype(object)
    new[3, 1] = "many"
    assert widened(prepared, columns_of(new), groups) is None
    prepared, groups = learned(Gaussian(), COUNTS)
    assert widened(prepared, columns_of(with_value(COUNTS, -3.5)), groups) is None


# -- idle columns -------------------------------------------------------------------------------


def test_idle_columns_say_nothing():
    X = np.column_stack([np.full(40, 1.5), np.full(40, np.nan)])
    check_family(Idle(), X)
    family = Idle().prepare(X)
    again = restored(Idle(), saved_of(family))
    assert_array_equal(again.hyperparameters()["value"], [1.5, np.nan])
    assert family.check(X[:3]).shape == (3, 2)
    for column, value in ((0, 2.0), (1, 0.0)):
        other = X.copy()
        other[7, column] = value
        with pytest.raises(ValueError, match=f"Column {column} was constant, or empty"):
            family.check(other)


@pytest.mark.parametrize(
    ("values", "name"),
    [
        (np.full(120, 1.25), "diagonal"),
        (RNG.normal(size=120), "diagonal"),
        (np.array(["a", "b"] * 60, dtype=object), "categorical"),
    ],
)
def test_idle_columns_become_what_they_hold_and_their_past_is_unknown(values, name):
    X = np.column_stack([COUNTS[:, 0], np.full(120, 2.5)])
    prepared, groups = learned(Product({"poisson": [0], "idle": [1]}), X)
    new = X.astype(object)
    new[:, 1] = values
    wider = widened(prepared, columns_of(new), groups)
    assert [c.now for c in wider.changes] == [name]
    carried = wider.carried(groups)
    assert_array_equal(carried[:, 3:], 0.0)
    assert_allclose(carried[:, :3], groups)


# -- the choice ---------------------------------------------------------------------------------


def chosen(X):
    family, _ = choose_family(X)
    blocks = family.blocks if isinstance(family, Product) else {family.name: [0]}
    return {column: name for name, columns in blocks.items() for column in columns}


def test_floating_point_columns_of_frames_are_real_valued():
    ones = np.array([0, 1] * 30)
    gaps = np.where(np.arange(60) % 7, ones, np.nan)
    frame = pd.DataFrame(
        {"flag": ones, "real": ones.astype(float), "gaps": gaps, "x": RNG.normal(size=60)}
    )
    assert chosen(frame) == {
        "flag": "bernoulli", "real": "gaussian", "gaps": "bernoulli", "x": "gaussian"
    }  # fmt: skip
    array = frame.to_numpy()  # one type for all columns says nothing about each
    assert chosen(array) == {0: "bernoulli", 1: "bernoulli", 2: "bernoulli", 3: "gaussian"}
