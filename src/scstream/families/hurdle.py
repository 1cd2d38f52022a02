"""Clusters of amounts that are one common value in many rows, such as 0, and differ in the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scstream.encoders import HurdleEncoder
from scstream.families.bernoulli import Bernoulli
from scstream.families.contract import Array, Family
from scstream.families.diagonal import Diagonal
from scstream.families.encoded import Encoded, Kinds
from scstream.families.gaussian import Gaussian
from scstream.families.scores import Points
from scstream.families.typical import by_column

_STRAIGHT = 0.1  # units up to which the scale is straight, all but .2 %
_TYPICAL = 0.15865525393145707, 0.5, 0.8413447460685429  # chances of normal numbers to be less


class Hurdle(Encoded):
    """Clusters of amounts: real columns in some of which many rows have one common value.

    Money spent, rain or time on a page are 0 for many rows and spread out for the others; a sensor
    that is capped has its largest value often, and -1 may say that nothing was measured. A cluster
    has a probability of another value than the common one, and a normal distribution of these
    others, on a scale that is logarithmic where that suits them.

    Parameters
    ----------
    value, unit, root : float or array-like (d,), optional
        The common value, and the scale of the others, see `scstream.encoders.HurdleEncoder`.
    presence : Bernoulli, optional
        The prior of the probabilities of another value than the common one.
    amount : Diagonal or Gaussian, optional
        What the others are on the scale, with its prior: independent columns, the default, or ones
        with a full covariance, where entries with the common value are not observed.

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
    kind = HurdleEncoder
    inner: ClassVar[Mapping[str, Kinds]] = {
        "presence": (Bernoulli,),
        "amount": (Diagonal, Gaussian),
    }

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

    def as_wide_as_all(self) -> Self:
        """Return the copy that expects amounts in a cluster as wide as all, see `Diagonal`."""
        presence, amount = self._families
        assert isinstance(amount, Diagonal)
        return self._having([presence, amount.as_wide_as_all()])

    def simplified(self, on: bool) -> Self:
        """Return a copy whose clusters have their probabilities in common, or their own again.

        Rows at the common value complete their amounts by their cluster. A cluster of such rows
        alone would complete all of them by itself, and for many rows never be the same as others
        again, so none may arise before clusters are known: amounts that are not there are missing
        at first, and nothing else. Where none is completed this is so in any case.
        """
        presence, amount = self._families
        if not on and self._set_aside is not None:
            new = self._having([self._set_aside, amount])
            new._set_aside = None
            return new
        none = np.isnan(self.form.value_).all() or self.imputation is None
        if none or not on or self._set_aside is not None:
            return self
        assert isinstance(presence, Bernoulli)
        new = self._having([presence.in_common(), amount])
        new._set_aside = presence
        return new

    def embed(self, X: Points) -> Array:
        """Return both parts in units of their deviations, 0 for what is not there (n, 2 d).

        Where amounts are completed, groups must not be made of rows that lack one: they would
        complete it by themselves, each in its own way, and never merge. So the amounts decide.
        """
        p, amount = self._families[0].hyperparameters()["mean"], self._families[1]
        other = (X[:, self._columns[0]] - p) / np.sqrt(p * (1.0 - p))
        shift, scale = amount.frame
        own = X[:, self._columns[1]]
        own = (own - shift) / scale if amount.space is None else amount.embed(own)
        out = np.concatenate([other if self.imputation is None else 0.0 * other, own], axis=1)
        return np.where(np.isnan(out), 0.0, out)

    # -- how it shows itself --------------------------------------------------------------------

    def describe(self, tau: Array) -> dict[str, Array]:
        """Return what is typical of the columns, of the values that are not common, and the shares.

        The others are normal on the scale. Where it is bent, ``mean`` is the median, ``low`` and
        ``high`` are quantiles a deviation below and above it on the scale, and ``variance`` is the
        square of half their distance: moments of what is normal there may lie beyond all values.
        """
        other, scaled = (family.describe(own) for family, own in self.parts(tau))
        if "covariance" in scaled:
            scaled["variance"] = np.diagonal(scaled["covariance"], axis1=1, axis2=2)
        none = np.isnan(self.form.value_)
        p = np.where(none, 1.0, other["probability"])
        value = np.where(none, 0.0, self.form.value_) + 0.0 * p
        places = scaled["mean"], np.sqrt(scaled["variance"])
        everything = _range([self.form.quantile_of_all(x, p, *places) for x in _TYPICAL])
        others = _range([self.form.quantile(x, *places) for x in _TYPICAL])
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

    def _bent(self, about: Mapping[str, Array]) -> NDArray[np.bool_]:
        """Whether columns (d,) have values so large that the scale is no longer straight there."""
        size = np.maximum(np.abs(about["other_low"]), np.abs(about["other_high"]))
        return np.asarray(size.max(axis=0, initial=0.0) > _STRAIGHT * self.form.unit_)

    def describe_columns(
        self, tau: Array, names: Sequence[Any], seen: Array | None = None
    ) -> list[dict[Any, Any]]:
        """Return the same by column: a median where the scale is bent, else mean and variance.

        A column without a common value has no shares.
        """
        described = self.describe(tau)
        found, forms = by_column(described, names, seen), {}
        for name, bent, value in zip(names, self._bent(described), self.form.value_, strict=True):
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


def _range(quantiles: Sequence[Array]) -> dict[str, Array]:
    """Return a median and the range about it (k, d)."""
    low, middle, high = quantiles
    return {"mean": middle, "variance": (0.5 * (high - low)) ** 2, "low": low, "high": high}
