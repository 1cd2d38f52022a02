"""Categories that are spread over columns of 0 and 1 (one-hot), as words."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from scstream.core import Floats as Array
from scstream.encoders.base import Encoder
from scstream.support.messages import advise

_NONE = "(none)"  # the category of rows without a yes,
_MANY = "(several)"  # with more than so many,
_TOGETHER = 3
_ODD = "(not 0 or 1)"  # and with something else
_AND = " + "


class FlagsEncoder(Encoder):
    """Columns of 0 and 1 that exclude each other as categories, called by their columns' names.

    Parameters
    ----------
    sizes : sequence of int, optional
        How many successive columns each category is spread over. Default: all columns are one.

    Notes
    -----
    Rows without a 1 have a category of their own, and so have rows with two or three in places
    where there is one usually. A missing entry is left out, unless another one is 1.

    Examples
    --------
    >>> encoder = FlagsEncoder(sizes=[2, 3]).fit([[1, 0, 0, 1, 0], [0, 1, 1, 0, 0]])
    >>> encoder.transform([[0, 1, 0, 0, 1]]).tolist()
    [['1', '4']]
    """

    names_: tuple[str, ...]

    def __init__(self, sizes: Sequence[int] | None = None) -> None:
        self.sizes = sizes

    def learn(self, X: Array, names: Sequence[str]) -> None:
        """Remember the columns' names."""
        if self.sizes is None:
            _warn_of_several(X)
        self.names_ = tuple(names)
        self.check_learned()

    def check_learned(self) -> None:
        """Raise `ValueError` if the sizes are not those of the columns."""
        sizes: Any = [1] if self.sizes is None else self.sizes
        whole = [isinstance(n, int | np.integer) and n > 0 for n in sizes]
        if not whole or not all(whole):
            raise ValueError(f"sizes must be whole numbers of at least 1; got {self.sizes!r}.")
        if self.sizes is not None and sum(self.sizes) != len(self.names_):
            raise ValueError(
                f"The sizes {list(self.sizes)} are those of {sum(self.sizes)} columns; there are "
                f"{len(self.names_)}."
            )

    @property
    def widths(self) -> list[int]:
        """One for each category."""
        return [1 if self.sizes is None else len(self.sizes)]

    @property
    def runs(self) -> list[slice]:
        """The columns of each category."""
        sizes = [len(self.names_)] if self.sizes is None else self.sizes
        return [slice(a, b) for a, b in pairwise(np.cumsum([0, *sizes]).tolist())]

    def run_name(self, i: int) -> str:
        """Return what the columns of a category are called in messages."""
        names = self.names_[self.runs[i]]
        return names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"

    def encode(self, X: Array) -> NDArray[Any]:
        """Return the categories (n, runs), None where one is not known."""
        return np.column_stack([_words(X[:, run], self.names_[run]) for run in self.runs])

    def decode(self, codes: NDArray[Any]) -> Array:
        """Return 0 and 1 in the columns (n, d) for words (n, runs)."""
        found = [
            np.array([self.flags_of(word, i) for word in words.tolist()])
            for i, words in enumerate(codes.T)
        ]
        return np.concatenate(found, axis=1).astype(np.float64)

    def flags_of(self, word: str, i: int) -> list[bool]:
        """Return which columns of the i-th run are 1 in rows of a category."""
        names = self.names_[self.runs[i]]
        own = {word} if word in names else set(str(word).split(_AND))
        return [name in own for name in names]

    def to_saved(self) -> dict[str, Any]:
        """Return the columns' names."""
        return {"names": list(self.names_)}

    def from_saved(self, saved: Any) -> Self:
        """Return a copy with the columns' names, which must be as many as the sizes say."""
        names = saved.get("names") if isinstance(saved, dict) else None
        if not isinstance(names, list) or not names or not all(type(n) is str for n in names):
            raise ValueError("the columns have no names")
        new = copy.copy(self)
        new.names_ = tuple(names)
        return super(FlagsEncoder, new).from_saved({"d": len(names)})


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
