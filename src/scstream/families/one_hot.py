"""Clusters of categories that are spread over columns of yes and no (one-hot)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from scstream.families.categorical import Categorical
from scstream.families.categories import of_rows
from scstream.families.columns import Columns, numbers_of
from scstream.families.contract import Array
from scstream.families.product_blocks import slices
from scstream.families.recoded import Recoded
from scstream.support.messages import advise

_NONE = "(none)"  # the category of rows without a yes,
_MANY = "(several)"  # with more than so many,
_TOGETHER = 3
_ODD = "(not 0 or 1)"  # and with something else
_AND = " + "


class OneHot(Recoded):
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
    Entries are 0 and 1, or truth values. Rows without a 1 have a category of their own, and so
    have rows with two or three in places where there is one usually; a category that comes later
    takes a place as in `Categorical`. A missing entry is left out, unless another one is 1.

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

    def __init__(self, sizes: Sequence[int] | None = None, code: Categorical | None = None) -> None:
        self.sizes = sizes
        self.code = code

    # -- set-up ---------------------------------------------------------------------------------

    def check_given(self) -> None:
        """Raise `ValueError` if the sizes or the prior are not what they must be."""
        if self.code is not None and type(self.code) is not Categorical:
            raise ValueError(f"code must be a Categorical; got {self.code!r}.")
        sizes: Any = [1] if self.sizes is None else self.sizes
        whole = [isinstance(n, int | np.integer) and n > 0 for n in sizes]
        if not whole or not all(whole):
            raise ValueError(f"sizes must be whole numbers of at least 1; got {self.sizes!r}.")

    def inner(self) -> Categorical:
        """Return the family of the categories."""
        return self.code or Categorical()

    def learned_form(self, table: Columns) -> Self:
        """Return a copy that knows the columns' names."""
        self.check_given()
        if self.sizes is not None and sum(self.sizes) != len(table.values):
            raise ValueError(
                f"The sizes {list(self.sizes)} are those of {sum(self.sizes)} columns; there are "
                f"{len(table.values)}."
            )
        if self.sizes is None:
            _warn_of_several(numbers_of(table))
        return super().learned_form(table)

    def width(self, d: int) -> int:
        """Return how many categories a row has."""
        return 1 if self.sizes is None else len(self.sizes)

    def _runs(self) -> list[slice]:
        """Return the columns of each category."""
        return slices([len(self._names)] if self.sizes is None else list(self.sizes))

    def recoded(self, table: Columns) -> Columns:
        """Return the categories as columns of words: each is called by its column's name."""
        flags = numbers_of(table)
        values = [_words(flags[:, run], self._names[run]) for run in self._runs()]
        return Columns(values, [self.run_name(i) for i in range(len(values))], table.n)

    def run_name(self, i: int) -> str:
        """Return what the columns of a category are called in messages."""
        names = self._names[self._runs()[i]]
        return names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"

    def from_saved_form(self, saved: Mapping[str, Any]) -> Self:
        """Return a copy with the columns' names, which must be as many as the sizes say."""
        new = super().from_saved_form(saved)
        new.check_given()
        if new.sizes is not None and sum(new.sizes) != len(new._names):
            raise ValueError("the sizes are not those of the columns")
        return new

    def hyperparameters(self) -> dict[str, Any]:
        """Return the sizes and the prior, as a family."""
        return {"sizes": self.sizes, "code": self._given_inner()}

    @property
    def known(self) -> tuple[tuple[Any, ...], ...]:
        """The categories that were met."""
        inner = self._families[0] if self._families else self.inner()
        assert isinstance(inner, Categorical)
        return inner.known

    # -- how it shows itself --------------------------------------------------------------------

    def describe(self, tau: Array) -> dict[str, Array]:
        """Return the probabilities (k, d) that columns are 1."""
        inner, own = self.part(tau)
        assert isinstance(inner, Categorical)
        share, out = inner.describe(own)["probabilities"], np.zeros((len(tau), len(self._names)))
        for run, at, words in zip(self._runs(), inner.places, inner.known, strict=True):
            yes = [_yes(word, self._names[run]) for word in words]
            if yes:
                out[:, run] = share[:, at][:, : len(yes)] @ np.array(yes)
        return {"probability": out}

    def describe_columns(
        self, tau: Array, names: Sequence[Any], seen: Array | None = None
    ) -> list[dict[Any, Any]]:
        """Return for each cluster the share of ones in each column among its rows."""
        return super().describe_columns(of_rows(tau, self.prior), names, seen)

    def as_table(self, rows: NDArray[Any]) -> Array:
        """Return 0 and 1 in the columns (n, d) for words (n, runs)."""
        found = [
            np.array([_yes(word, self._names[run]) for word in words.tolist()])
            for words, run in zip(rows.T, self._runs(), strict=True)
        ]
        return np.concatenate(found, axis=1).astype(np.float64)

    def example(self, rng: np.random.Generator) -> tuple[Any, Any]:
        """Return columns one of which is 1, with some missing."""
        common = np.array([0.9, 0.05, 0.05])
        low, high = rng.choice(3, 12, p=common), 3 + rng.choice(3, 18, p=common)
        groups = np.eye(6)[low], np.eye(6)[high]
        groups[0][4] = groups[1][5] = np.nan
        return groups


def _warn_of_several(flags: Array) -> None:
    """Warn if the columns hold several categories, which would be one place for all rows."""
    ones = np.count_nonzero(flags == 1.0, axis=1)
    if 2 * np.count_nonzero(ones > _TOGETHER) > len(ones):
        advise(
            f"Most rows have more than {_TOGETHER} ones, so the columns of 'one-hot' are several "
            "categories. Give OneHot(sizes=[...]), how many columns each of them has, or "
            "family='auto', which finds them. As one category these rows are all alike."
        )


def _words(flags: Array, names: tuple[str, ...]) -> NDArray[Any]:
    """Return the category (n,) of rows (n, d), None where it is not known."""
    gap = np.isnan(flags)
    yes = (flags != 0.0) & ~gap
    ones = yes.sum(axis=1)
    words = np.array([*names, _NONE], dtype=object)
    out: NDArray[Any] = words[np.where(ones == 0, len(names), yes.argmax(axis=1))]
    for i in np.flatnonzero(ones > 1).tolist():
        own = [names[j] for j in np.flatnonzero(yes[i])]
        out[i] = _AND.join(own) if len(own) <= _TOGETHER else _MANY
    out[(yes & (flags != 1.0)).any(axis=1)] = _ODD
    out[(ones == 0) & gap.any(axis=1)] = None
    return out


def _yes(word: str, names: tuple[str, ...]) -> list[bool]:
    """Return which columns are 1 in rows of a category."""
    own = {word} if word in names else set(word.split(_AND))
    return [name in own for name in names]
