"""Clusters of amounts that are one common value in many rows, such as 0, and differ in the rest."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scstream.families import amounts, rounding, rowwise
from scstream.families.bernoulli import Bernoulli
from scstream.families.contract import Array, Family
from scstream.families.diagonal import Diagonal
from scstream.families.frame import column_frame
from scstream.families.gaussian import Gaussian
from scstream.families.given import as_floats, finite_vector, positive_vector
from scstream.families.joined import Joined
from scstream.families.product_blocks import beside_others, prepared_beside, slices
from scstream.families.saved import checked
from scstream.families.scores import Points
from scstream.families.typical import by_column

_STRAIGHT = 0.1  # units up to which the scale is straight, all but .2 %


class Hurdle(Joined):
    """Clusters of amounts: real columns in some of which many rows have one common value.

    Money spent, rain or time on a page are 0 for many rows and spread out for the others; a sensor
    that is capped has its largest value often, and -1 may say that nothing was measured. A cluster
    has a probability of another value than the common one, and a normal distribution of these
    others, on a scale that is logarithmic where that suits them.

    Parameters
    ----------
    value : float or array-like (d,), optional
        The common value, NaN for a column that has none. Default: what at least 5 % of the rows of
        the first batch have, and ten, and five times as many as any other value, if two of the
        other rows are equal in one case of ten at most.
    unit : float or array-like (d,), optional
        Of the scale of the other values, ``unit * arcsinh(x / unit)``: those far below it go by
        their differences, those far above by their ratios. Default: below nearly all amounts of the
        first batch if they have one sign and the scale makes their clusters more like normal
        distributions, otherwise a very large one.
    presence : Bernoulli, optional
        The prior of the probabilities of another value than the common one.
    amount : Diagonal or Gaussian, optional
        What the others are on the scale, with its prior: independent columns, the default, or ones
        with a full covariance, where entries with the common value are not observed.
    root : bool or array-like (d,), optional
        Whether those far above the unit go by their fourth roots instead, on the scale
        ``4 * unit * sinh(arcsinh(x / unit) / 4)``. Default: where these suit them better.

    Notes
    -----
    Missing entries are left out. The density of a row is a probability where it has the common
    value, and a density where it has another one.

    Examples
    --------
    >>> import numpy as np
    >>> from scstream import ScStream
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(2, size=400)
    >>> spent = np.exp(rng.normal(np.array([[2, 6, 4], [5, 1, 7]])[y], 0.3))
    >>> spent[rng.random(spent.shape) < 0.6] = 0.0
    >>> model = ScStream("hurdle", random_state=0).fit(spent)
    >>> model.n_clusters_
    2
    >>> about = model.clusters_[0].columns[0]
    >>> about["common_value"], bool(0.5 < about["common_share"] < 0.8)
    (0.0, True)
    """

    name: ClassVar[str] = "hurdle"
    missing: ClassVar[bool] = True
    tabular: ClassVar[bool] = True

    _value: Array = np.zeros(0)  # (d,): the common value
    _unit: Array  # (d,): of the scale
    _root: NDArray[np.bool_]  # (d,): whether it is that of roots
    _step: Array  # (d,): the width of cells, where other numbers are coarse
    _set_aside: Family | None = None  # the presence's own family, while amounts count alone

    def __init__(
        self,
        value: ArrayLike | None = None,
        unit: ArrayLike | None = None,
        presence: Bernoulli | None = None,
        amount: Diagonal | Gaussian | None = None,
        root: ArrayLike | None = None,
    ) -> None:
        self.value = value
        self.unit = unit
        self.presence = presence
        self.amount = amount
        self.root = root

    # -- set-up ---------------------------------------------------------------------------------

    def check_given(self) -> None:
        """Raise `ValueError` if the priors are not of the families that they must be."""
        kinds = {"presence": (Bernoulli,), "amount": (Diagonal, Gaussian)}
        for name, some in kinds.items():
            given = getattr(self, name)
            if given is not None and type(given) not in some:
                told = " or ".join(kind.__name__ for kind in some)
                raise ValueError(f"{name} must be a {told}; got {given!r}.")

    def meet(self, X: Points, before: Family | None) -> Family:
        """Return a copy that knows the columns' common values and units."""
        if len(self._value):
            return self
        new = copy.copy(self)
        if isinstance(before, Hurdle) and len(before._value):
            new._value, new._unit, new._root = before._value, before._unit, before._root
            return new
        x = Diagonal().check(X)
        d = x.shape[1]
        new._value = np.array([amounts.common_value(column[~np.isnan(column)]) for column in x.T])
        if self.value is not None:
            new._value = _values(self.value, d)
        if self.unit is not None:
            new._unit, new._root = positive_vector(self.unit, d, "unit"), np.zeros(d, dtype=bool)
        else:
            both = zip(x.T, new._value, strict=True)
            others = [column[~np.isnan(column) & (column != v)] for column, v in both]
            new._unit, new._root = amounts.scales_of(others)
        if self.root is not None:
            new._root = finite_vector(self.root, d, "root") != 0.0
        return new

    @property
    def scale(self) -> tuple[Array, NDArray[np.bool_]]:
        """The units of columns (d,), and whether roots are taken above these (d,)."""
        return self._unit, self._root

    def check(self, X: Points) -> Points:
        """Return rows (n, 2 d): whether each entry is another than the common value, and these.

        The amounts are on the scale. NaN stands for what is missing: the amounts at the common
        value, and whether it is that in a column that has none.
        """
        if not len(self._value):
            return self.meet(X, None).check(X)
        x = Diagonal().check(X)
        other = self._value != x
        unknown = np.isnan(x) | np.isnan(self._value)
        scaled = amounts.on_scale(np.where(other, x, np.nan), *self.scale)
        return np.concatenate([np.where(unknown, np.nan, other), scaled], axis=1)

    def sound(self, X: Points) -> bool:
        """Whether rows have the form that `check` returns."""
        d = len(self._value)
        if not isinstance(X, np.ndarray):
            return False
        return Bernoulli().sound(X[:, :d]) and Diagonal().sound(X[:, d:])

    def width(self, d: int) -> int:
        """Return how many columns checked rows have."""
        return 2 * d

    def table_numbers(self, X: Array) -> Array:
        """Return the amounts of checked rows in the table's units, the common values included."""
        d = len(self._value)
        return self.unscaled(X[:, :d], X[:, d:])

    def columns_taken(self) -> int:
        """Return how many columns checked rows have."""
        return 2 * len(self._value)

    def prepare(self, X: Points) -> Self:
        """Return a copy with its priors, the open parts of these still to be adapted."""
        self.check_given()
        new = copy.copy(self)._with_columns()
        amount = self.amount or Diagonal()
        new._step = np.zeros(len(self._value))
        if (amount.variance if isinstance(amount, Diagonal) else amount.cov) is None:
            x = amounts.off_scale(X[:, new._columns[1]], *self.scale)
            new._step = rounding.steps(x, column_frame(x)[1])
        rows = new.unrounded(X, 0)
        pairs = zip((self.presence or Bernoulli(), amount), new._columns, strict=True)
        return new._having([prepared_beside(f, rows[:, c]) for f, c in pairs])._with_parts()

    def _with_columns(self) -> Self:
        """Set where the two parts are in this copy's checked rows."""
        self._columns = slices([len(self._value)] * 2)
        return self

    def as_wide_as_all(self) -> Self:
        """Return the copy that expects amounts in a cluster as wide as all, see `Diagonal`."""
        presence, amount = self._families
        assert isinstance(amount, Diagonal)
        return self._having([presence, amount.as_wide_as_all()])

    def amounts_alone(self, alone: bool) -> Self:
        """Return a copy whose clusters have their probabilities in common, or their own again.

        Rows at the common value complete their amounts by their cluster. A cluster of such rows
        alone would complete all of them by itself, and for many rows never be the same as others
        again, so none may arise before clusters are known: amounts that are not there are missing
        at first, and nothing else. Where none is completed this is so in any case.
        """
        presence, amount = self._families
        if not alone and self._set_aside is not None:
            new = self._having([self._set_aside, amount])
            new._set_aside = None
            return new
        none = np.isnan(self._value).all() or not self.completes
        if none or not alone or self._set_aside is not None:
            return self
        assert isinstance(presence, Bernoulli)
        new = self._having([presence.in_common(), amount])
        new._set_aside = presence
        return new

    def to_saved(self) -> dict[str, Any]:
        """Return the scale and the two families; columns without a common value by a mask."""
        if not self._parts:
            return {}
        none = np.isnan(self._value)
        scale = {"value": np.where(none, 0.0, self._value), "none": none.astype(np.float64)}
        scale |= {"unit": self._unit, "root": self._root.astype(np.float64)}
        return {**scale, "step": self._step, "families": list(self._families)}

    def from_saved(self, saved: Mapping[str, Any]) -> Self:
        """Return the prepared copy that `to_saved` describes."""
        numbers = {name: value for name, value in saved.items() if name != "families"}
        forms = {"value": "d", "none": "d", "unit": "d+", "root": "d?", "step": "d"}
        found = checked(numbers, forms)
        families = saved.get("families")
        if not isinstance(families, list) or len(families) != 2:
            raise ValueError("a hurdle has not its two families")
        presence, amount = families
        if type(presence) is not Bernoulli or type(amount) not in (Diagonal, Gaussian):
            raise ValueError("a hurdle's families are of other kinds")
        new = copy.copy(self)
        new._value = np.where(found["none"] > 0, np.nan, found["value"])
        new._unit, new._step = found["unit"], found["step"]
        new._root = found.get("root", np.zeros(len(new._unit))) > 0  # there were none once
        if any(family.columns_taken() != len(new._value) for family in families):
            raise ValueError("a hurdle's families are not for its columns")
        new._families = [beside_others(family) for family in families]
        return new._with_columns()._with_parts()

    def hyperparameters(self) -> dict[str, Any]:
        """Return the scale and the priors, as families."""
        presence, amount = (type(f)(**f.hyperparameters()) for f in self._families)
        scale = {"value": self._value.copy(), "unit": self._unit.copy(), "root": self._root.copy()}
        return {**scale, "presence": presence, "amount": amount}

    # -- coarse columns -------------------------------------------------------------------------

    @property
    def cell_widths(self) -> Array:
        """Widths (d,) of the cells of coarse columns, in data's units."""
        return self._step

    def unrounded(self, X: Points, batch: int, first_row: int = 0) -> Points:
        """Return checked rows with coarse amounts at places within their cells."""
        if not self.is_coarse():
            return X
        coarse, own = self._step > 0, X[:, self._columns[1]]
        x = amounts.off_scale(own, *self.scale)
        moved = amounts.on_scale(rounding.unrounded(x, self._step, batch, first_row), *self.scale)
        return np.concatenate([X[:, self._columns[0]], np.where(coarse, moved, own)], axis=1)

    # -- the family proper ----------------------------------------------------------------------

    def log_base(self, X: Points) -> Array:
        """Return the sum of the parts' base measures, the change of scale included (n,)."""
        stretch = amounts.log_stretch(X[:, self._columns[1]], *self.scale)
        return super().log_base(X) - rowwise.sums(np.where(np.isnan(stretch), 0.0, stretch))

    def embed(self, X: Points) -> Array:
        """Return both parts in units of their deviations, 0 for what is not there (n, 2 d).

        Where amounts are completed, groups must not be made of rows that lack one: they would
        complete it by themselves, each in its own way, and never merge. So the amounts decide.
        """
        p, amount = self._families[0].hyperparameters()["mean"], self._families[1]
        other = (X[:, self._columns[0]] - p) / np.sqrt(p * (1.0 - p))
        shift, scale = amount.frame
        own = X[:, self._columns[1]]
        own = amount.embed(own) if amount.narrows else (own - shift) / scale
        out = np.concatenate([0.0 * other if self.completes else other, own], axis=1)
        return np.where(np.isnan(out), 0.0, out)

    # -- how it shows itself --------------------------------------------------------------------

    def parts(self, tau: Array) -> list[tuple[Family, Array]]:
        """Return the families of the two parts of checked rows, with their posteriors."""
        return list(zip(self._families, self._divided_posterior(tau), strict=True))

    def unscaled(self, other: Array, amount: Array) -> Array:
        """Return rows (n, d) of a table from the two parts of checked rows."""
        common = (other == 0) & ~np.isnan(self._value)
        return np.where(common, self._value, amounts.off_scale(amount, *self.scale))

    def describe(self, tau: Array) -> dict[str, Array]:
        """Return what is typical of the columns, of the values that are not common, and the shares.

        The others are normal on the scale. Where it is bent, ``mean`` is the median, ``low`` and
        ``high`` are quantiles a deviation below and above it on the scale, and ``variance`` is the
        square of half their distance: moments of what is normal there may lie beyond all values.
        """
        other, scaled = (family.describe(own) for family, own in self.parts(tau))
        if "covariance" in scaled:
            scaled["variance"] = np.diagonal(scaled["covariance"], axis1=1, axis2=2)
        none = np.isnan(self._value)
        p, level = np.where(none, 1.0, other["probability"]), scaled["mean"]
        value = np.where(none, 0.0, self._value) + 0.0 * p
        places = level, np.sqrt(scaled["variance"])
        everything = self._typical(p, *places, self._value)
        others = self._typical(np.ones_like(p), *places, np.full_like(self._value, np.nan))
        others = {f"other_{key}": x for key, x in others.items()}
        bent = self._bent(others)
        mean, variance = others["other_mean"], others["other_variance"]
        straight = {
            "mean": p * mean + (1.0 - p) * value,
            "variance": p * variance + p * (1.0 - p) * (mean - value) ** 2,
        }
        spread = np.sqrt(straight["variance"])
        straight |= {"low": straight["mean"] - spread, "high": straight["mean"] + spread}
        return {
            **{key: np.where(bent, everything[key], straight[key]) for key in everything},
            "common_value": value,
            "common_share": 1.0 - p,
            **others,
        }

    def _typical(self, p: Array, mean: Array, deviation: Array, value: Array) -> dict[str, Array]:
        """Return medians and ranges (k, d) of columns, a share of which is normal on the scale."""
        tail = amounts.TYPICAL
        low, middle, high = (
            amounts.quantile(level, p, mean, deviation, value, amounts.Scales(*self.scale))
            for level in (tail, 0.5, 1.0 - tail)
        )
        return {"mean": middle, "variance": (0.5 * (high - low)) ** 2, "low": low, "high": high}

    def _bent(self, about: Mapping[str, Array]) -> NDArray[np.bool_]:
        """Whether columns (d,) have values so large that the scale is no longer straight there."""
        size = np.maximum(np.abs(about["other_low"]), np.abs(about["other_high"]))
        return np.asarray(size.max(axis=0, initial=0.0) > _STRAIGHT * self._unit)

    def describe_columns(
        self, tau: Array, names: Sequence[Any], seen: Array | None = None
    ) -> list[dict[Any, Any]]:
        """Return the same by column: a median where the scale is bent, else mean and variance.

        A column without a common value has no shares.
        """
        described = self.describe(tau)
        found, forms = by_column(described, names, seen), {}
        for name, bent, value in zip(names, self._bent(described), self._value, strict=True):
            keys = ["median", "low", "high"] if bent else ["mean", "variance", "low", "high"]
            if not np.isnan(value):
                keys += ["common_value", "common_share", *(f"other_{key}" for key in keys)]
            forms[name] = {key: key.replace("median", "mean") for key in keys}
        return [
            {
                name: {key: cluster[name][own] for key, own in form.items()}
                for name, form in forms.items()
            }
            for cluster in found
        ]

    def example(self, rng: np.random.Generator) -> tuple[Any, Any]:
        """Return amounts, many of them 0, with some missing."""
        groups = []
        for n, log_mean in ((12, [1.0, 6.0, -2.0, 3.0, 9.0]), (18, [5.0, 1.0, 2.0, 8.0, 4.0])):
            spent = np.exp(rng.normal(log_mean, 0.4, (n, 5)))
            nothing = rng.permuted(np.arange(n)[:, None] < np.full(5, 0.35 * n), axis=0)
            groups.append(np.where(nothing, 0.0, spent))
            groups[-1][3, 0] = groups[-1][5, 1] = np.nan
        return groups[0], groups[1]


def _values(value: ArrayLike, d: int) -> Array:
    """Return common values (d,) as they were given, NaN for none."""
    given = as_floats(value, "value")
    none = np.isnan(given)
    return np.where(none, np.nan, finite_vector(np.where(none, 0.0, given), d, "value"))
