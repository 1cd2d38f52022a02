"""Clusters of categories that are spread over columns of yes and no (one-hot)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from scstream.encoders import FlagsEncoder
from scstream.families.categorical import Categorical
from scstream.families.categories import of_rows
from scstream.families.contract import Array
from scstream.families.encoded import Encoded, Kinds


class OneHot(Encoded):
    """Clusters of categories, each of which is spread over columns of yes and no.

    ``pandas.get_dummies`` and scikit-learn's ``OneHotEncoder`` make such columns. They exclude each
    other: as independent columns each category would form clusters of its own.

    Parameters
    ----------
    sizes : sequence of int, optional
        How many successive columns each category is spread over. Default: all columns are one.
    code : Categorical, optional
        The categories' family, with its prior.

    Notes
    -----
    Entries are 0 and 1, or truth values; what categories they are says
    `scstream.encoders.FlagsEncoder`. A category that comes later takes a place as in `Categorical`.

    Examples
    --------
    >>> import numpy as np
    >>> from scstream import OneHot, ScStream
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(2, size=200)
    >>> rare = rng.random((200, 4)) < 0.1
    >>> X = np.eye(3)[np.where(rare, 1, 2 * y[:, None])].reshape(200, 12)
    >>> model = ScStream(OneHot(sizes=[3, 3, 3, 3]), random_state=0).fit(X)
    >>> model.n_clusters_
    2
    >>> sorted(round(c.columns[0]["probability"], 1) for c in model.clusters_)
    [0.0, 0.9]
    """

    name: ClassVar[str] = "one-hot"
    kind = FlagsEncoder
    inner: ClassVar[Mapping[str, Kinds]] = {"code": (Categorical,)}

    def __init__(self, sizes: Sequence[int] | None = None, code: Categorical | None = None) -> None:
        self.sizes = sizes
        self.code = code

    @property
    def known(self) -> tuple[tuple[Any, ...], ...]:
        """The categories that were met."""
        (inner,) = self._families or self._given()
        assert isinstance(inner, Categorical)
        return inner.known

    def describe(self, tau: Array) -> dict[str, Array]:
        """Return the probabilities (k, d) that columns are 1."""
        (inner, own), flags = self.parts(tau)[0], self.form
        assert isinstance(inner, Categorical)
        share, out = inner.describe(own)["probabilities"], np.zeros((len(tau), len(flags.names_)))
        runs = zip(flags.runs, inner.places, inner.known, strict=True)
        for i, (run, at, words) in enumerate(runs):
            yes = [flags.flags_of(word, i) for word in words]
            if yes:
                out[:, run] = share[:, at][:, : len(yes)] @ np.array(yes)
        return {"probability": out}

    def describe_columns(
        self, tau: Array, names: Sequence[Any], seen: Array | None = None
    ) -> list[dict[Any, Any]]:
        """Return for each cluster the share of ones in each column among its rows."""
        return super().describe_columns(of_rows(tau, self.prior), names, seen)
