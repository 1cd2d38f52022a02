"""What an encoder is: columns in another form, in which clusters are simpler, and back."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from scstream.core import Floats as Array
from scstream.support.saved import checked, parameters_of


class Encoder(TransformerMixin, BaseEstimator, ABC):
    """Columns of numbers in another form, row by row.

    What an encoder learns from the first rows never changes. It is used by a family of clusters
    (`scstream.families.encoded`), or alone, as a transformer of scikit-learn. NaN stands for a
    missing entry.

    Attributes
    ----------
    learned : dict
        What `learn` finds out: names of attributes and their forms, see `scstream.support.saved`;
        "d" are the columns. Each parameter that may be left open is among them, with an underscore
        behind it.
    """

    learned: ClassVar[Mapping[str, str]] = {}
    n_features_in_: int

    # -- what an encoder gives ------------------------------------------------------------------

    @abstractmethod
    def learn(self, X: Array, names: Sequence[str]) -> None:
        """Set what `encode` needs, from rows (n, d) and the columns' names."""

    @abstractmethod
    def encode(self, X: Array) -> Any:
        """Return rows (n, d) in the other form, (n, sum of `widths`)."""

    @abstractmethod
    def decode(self, codes: Any) -> Array:
        """Return the rows (n, d) that have this form."""

    @property
    def widths(self) -> list[int]:
        """How many columns of the other form belong together: blocks side by side."""
        return [self.n_features_in_]

    def log_jacobian(self, codes: Any) -> Array:
        """Return the log of a row's density (n,) less that of its other form."""
        return np.zeros(len(codes))

    def check_learned(self) -> None:
        """Raise `ValueError` if what is given and learned, perhaps from a file, does not fit."""
        return

    # -- entries that stand for a range ---------------------------------------------------------

    def with_cells(self, codes: Any) -> Self:
        """Return a copy that knows how coarse the entries of encoded rows are."""
        return self

    def is_coarse(self) -> bool:
        """Whether some entries stand for a range, in which `spread` places them."""
        return False

    def spread(self, codes: Any, batch: int, first_row: int) -> Any:
        """Return encoded rows with such entries at a place that the row's number decides."""
        return codes

    # -- what follows ---------------------------------------------------------------------------

    def fitted(self, X: Array, names: Sequence[Any]) -> Self:
        """Return a copy that has learned from rows (n, d) with columns of these names."""
        new = copy.copy(self)
        new.n_features_in_ = X.shape[1]
        new.learn(X, tuple(map(str, names)))
        return new

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from rows (n, d)."""
        X = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan")
        names: Any = getattr(self, "feature_names_in_", range(X.shape[1]))
        self.learn(X, tuple(map(str, names)))
        return self

    def transform(self, X: Any) -> Any:
        """Return rows (n, d) in the other form."""
        check_is_fitted(self, "n_features_in_")
        X = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=False)
        return self.encode(X)

    def inverse_transform(self, X: Any) -> Array:
        """Return the rows (n, d) that have this form."""
        check_is_fitted(self, "n_features_in_")
        return self.decode(np.asarray(X))

    def __sklearn_tags__(self) -> Any:
        """Say that entries may be missing."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def hyperparameters(self) -> dict[str, Any]:
        """Return the parameters as they were given or learned."""
        given = parameters_of(type(self))
        return {name: getattr(self, f"{name}_", getattr(self, name)) for name in given}

    def to_saved(self) -> dict[str, Any]:
        """Return what a checkpoint holds."""
        return {"d": self.n_features_in_} | {n: 1.0 * getattr(self, n) for n in self.learned}

    def from_saved(self, saved: Any) -> Self:
        """Return the copy that `to_saved` describes, or raise `ValueError`."""
        d = saved.get("d") if isinstance(saved, dict) else None
        if type(d) is not int or d < 1:
            raise ValueError("an encoder has no columns")
        new = copy.copy(self)
        new.n_features_in_ = d
        own = {name: value for name, value in saved.items() if name != "d"}
        new.__dict__.update(checked(own, self.learned, {"d": d}))
        new.check_learned()
        return new
