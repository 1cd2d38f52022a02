"""The check of families: all registered ones hold, the guide's too, and what is broken is named."""

import re
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from problems import PlainPoisson, problem
from scipy.special import gammaln

from scstream.families import BY_NAME, Product, check_family

GUIDE = Path(__file__).parents[2] / "docs" / "add-a-family.md"
COUNTS = np.random.default_rng(0).poisson([[3.0]] * 12 + [[30.0]] * 18).astype(float)
SUPPORT = (np.arange(2000.0)[:, None], np.ones(2000))


@pytest.mark.parametrize("name", BY_NAME)
def test_every_registered_family_holds(name) -> None:
    assert len(check_family(BY_NAME[name]())) == 8


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


def test_it_needs_rows() -> None:
    with pytest.raises(NotImplementedError, match="PlainPoisson brings no example"):
        check_family(PlainPoisson(2.0, 0.5))
    with pytest.raises(ValueError, match="at least ten rows; got 3"):
        check_family(PlainPoisson(2.0, 0.5), COUNTS[:3])
