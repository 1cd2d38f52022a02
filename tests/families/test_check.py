"""The check of families: all registered ones hold, the guide's too, and what is broken is named."""

import re
import sys
import types
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from problems import PlainPoisson, problem
from scipy.special import gammaln

from examples import example_rows
from scstream import ScStream
from scstream.families import BY_NAME, Poisson, Product, check_family
from scstream.families.division import Division, Projection

GUIDE = Path(__file__).parents[2] / "docs" / "add-a-family.md"
COUNTS = np.random.default_rng(0).poisson([[3.0]] * 12 + [[30.0]] * 18).astype(float)
SUPPORT = (np.arange(2000.0)[:, None], np.ones(2000))


@pytest.mark.parametrize("name", BY_NAME)
def test_every_registered_family_holds(name) -> None:
    assert len(check_family(BY_NAME[name](), example_rows(name))) == 9


def test_a_family_with_the_basic_methods_alone_holds() -> None:
    check_family(PlainPoisson(2.0, 0.5), COUNTS, support=SUPPORT)


def test_a_product_holds() -> None:
    case = problem("product")
    check_family(Product(case.raw.blocks), case.X)


def test_the_guides_code_runs_and_is_short(monkeypatch) -> None:
    code = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    assert len(code) == 1
    assert len([line for line in code[0].splitlines() if line.strip()]) < 60
    module = types.ModuleType("guide")
    monkeypatch.setitem(sys.modules, "guide", module)
    exec(compile(code[0], str(GUIDE), "exec"), module.__dict__)


class Doors(PlainPoisson):
    """A user's family with a discriminant, a refusal and cells: the doors of the built-in ones."""

    name = "doors"

    def refusal(self, x):
        return "holds a half." if np.any(x == 0.5) else None

    @property
    def division(self):
        return DoorsDivision(self)


class DoorsDivision(Division):
    def __init__(self, family):
        self.family = family

    def discriminant(self, first, second):
        a, b = (
            (self.family.prior + s)[:, 1] / (self.family.prior + s)[:, 0] for s in (first, second)
        )
        return np.log(b) - np.log(a), b - a

    def project(self, past, discriminant):
        mean = past[..., 1] / np.maximum(past[..., 0], 1e-300)
        return Projection(discriminant[0] * mean - discriminant[1], discriminant[0] ** 2 * mean)

    def cut(self, past, discriminant, side):
        out = super().cut(past, discriminant, side)
        mean = past[..., 1] / np.maximum(past[..., 0], 1e-300)
        low = mean * (1.0 - discriminant[0] * side.pull)
        out[..., 1] = np.clip(out[..., 0] * low, 0.0, past[..., 1])
        return out


def test_a_users_family_goes_through_the_doors_of_a_built_in_one() -> None:
    """Its division is that of `Poisson`, alone and in a Product, also one in another Product."""
    check_family(Doors(2.0, 0.5), COUNTS, support=SUPPORT)
    own, built_in = Doors(2.0, 0.5), Poisson(mean=4.0, strength=2.0)
    X = np.column_stack([COUNTS[:, 0], np.random.default_rng(1).normal(size=30)])
    products = [Product([(one, [0]), ("diagonal", [1])]) for one in (own, built_in)]
    nested = Product([(Product([(own, [0])]), [0]), ("diagonal", [1])])
    parts = []
    for raw in (*products, nested):
        family = raw.meet(X, None)
        points = family.check(X)
        family = family.prepare(points)
        T = family.statistics(points)
        groups = T[:4].sum(axis=0)[None], T[4:].sum(axis=0)[None]
        division = family.division
        part = division.divide(T[2:20].sum(axis=0)[None], division.boundary(*groups))[0]
        parts.append(part[[0, 2 if raw is products[1] else 1]])  # points, and the sum of counts
    np.testing.assert_allclose(parts, [parts[1]] * 3, rtol=1e-12)


def test_a_users_refusal_names_the_column_of_a_data_frame() -> None:
    frame = pd.DataFrame({"clicks": [1.0, 0.5, 3.0]})
    with pytest.raises(ValueError, match=r"Column 'clicks' holds a half\."):
        ScStream(Doors()).fit(frame)


# -- what is broken is named --------------------------------------------------------------------


class WrongPartition(PlainPoisson):
    def log_partition(self, tau):
        return gammaln(tau[..., 1]) - 1.001 * tau[..., 1] * np.log(tau[..., 0])


class WrongDraw(PlainPoisson):
    def draw(self, rng, tau):
        return super().draw(rng, tau + np.array([0.0, 1.0]))


class WrongSpread(PlainPoisson):
    """Draws with the right mean density and the wrong moments would need luck; this has neither."""

    def draw(self, rng, tau):
        rate = np.repeat(tau[:, 1] / tau[:, 0], 1)
        return np.column_stack([-rate, np.log(rate)])


class WrongCount(PlainPoisson):
    def statistics(self, X):
        return 2.0 * super().statistics(X)


class Entangled(PlainPoisson):
    def statistics(self, X):
        out = super().statistics(X)
        out[:, 1] -= X[:, 0].mean() if len(X) else 0.0
        return out


class WrongBase(PlainPoisson):
    def log_base(self, X):
        return np.zeros(len(X))


class WrongFused(PlainPoisson):
    def predictive_score(self, s, log_weight):
        return super().predictive_score(s, log_weight + 1e-6)


class Steep(PlainPoisson):
    def log_partition(self, tau):
        return super().log_partition(tau) + (tau[..., 1] > self.shape)


class Forgetful(PlainPoisson):
    def hyperparameters(self):
        return {"shape": self.shape}


class Moving(PlainPoisson):
    def adapt(self, clusters):
        self.shape *= 2.0
        return self


class Greedy(PlainPoisson):
    @property
    def division(self):
        return Twice()


class Twice(Division):
    def divide(self, past, boundary):
        return 2.0 * past


class Blind(PlainPoisson):
    missing = True

    def statistics(self, X):
        return np.nan_to_num(super().statistics(X), nan=3.0)

    def log_base(self, X):
        return -gammaln(np.nan_to_num(X[:, 0]) + 1.0)


BROKEN = {
    WrongPartition: "draw and log_partition disagree",
    WrongDraw: "draw and log_partition disagree",
    WrongSpread: "draw and log_partition disagree",
    WrongCount: "first column of the statistics must be 1",
    Entangled: "must not depend on the other rows",
    WrongBase: "sum to 1 over the support",
    WrongFused: "log_predictive must be a ratio",
    Steep: "must be continuous",
    Forgetful: r"hyperparameters\(\) given to the constructor",
    Moving: "adapt must leave the family as it is",
    Greedy: "divide must give parts",
    Blind: "nothing is observed must add its count alone",
}


@pytest.mark.parametrize("kind", BROKEN, ids=lambda kind: kind.__name__)
def test_what_is_broken_is_named(kind) -> None:
    with pytest.raises(AssertionError, match=rf"^family 'plain-poisson': .*{BROKEN[kind]}"):
        check_family(kind(2.0, 0.5), COUNTS, support=SUPPORT)


def test_wrong_moments_are_seen_where_densities_cannot_tell() -> None:
    """Parameters that no point meets: an entry of eta that every statistic multiplies by 0."""

    class Idle(PlainPoisson):
        def statistics(self, X):
            return np.concatenate([super().statistics(X), np.zeros((len(X), 1))], axis=1)

        @property
        def prior(self):
            return np.append(super().prior, 1.0)

        def log_partition(self, tau):
            return super().log_partition(tau) + 0.5 * tau[..., 2] ** 2

        def draw(self, rng, tau):
            own = rng.standard_normal((len(tau), 1))  # its mean should be tau's last entry
            return np.concatenate([super().draw(rng, tau), own], axis=1)

    with pytest.raises(AssertionError, match="entry 2 of eta"):
        check_family(Idle(2.0, 0.5), COUNTS)
