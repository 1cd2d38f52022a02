"""What an estimator makes of the rows it is given, wherever they are: checks, and the way in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from scstream import validation as check
from scstream.engines import Engine, RemoteRows
from scstream.engines.dask.rows import check_collection, is_collection
from scstream.engines.tensors import as_tensor, check_tensor, is_foreign, to_host
from scstream.families import Family
from scstream.families.columns import (
    Columns,
    check_dense,
    check_has,
    check_is_table,
    is_frame,
    numbers_of,
    plain_table,
    seen_with,
    warn_of_unknown,
)
from scstream.families.contract import Array
from scstream.families.gaps import gap_rows
from scstream.families.scores import Points
from scstream.families.widening import Widening, new_categories
from scstream.sampler.learner import Learner
from scstream.sampler.recipe import Recipe
from scstream.sampler.widening import widened_learner


class TakesRows:
    """The part of the estimator that reads rows; it knows the columns that it was given first."""

    family: str | Family
    n_jobs: int | None
    n_features_in_: int
    _seen: Array | None
    _recipe: Callable[[Family], Recipe]

    def _points(
        self, engine: Engine, X: Any, family: Family, learner: Learner | None, sample_weight: Any
    ) -> tuple[Points, Array, Family, Learner | None, tuple[Widening, ...]]:
        """Return sound rows and weights, family and model after they have met the rows.

        Also returns the columns that are taken for something wider from now on.
        """
        first = learner is None
        elsewhere = None
        if engine.takes_tensors or engine.takes_collections:
            elsewhere = self._rows_elsewhere(engine, X, family, learner, sample_weight)
        if elsewhere is not None:
            self._seen = None  # of some rows is not of all
            return *elsewhere, family, learner, ()
        table = self._rows(on_host(X), family, reset=first, least=1 if first else 0)
        changes: tuple[Widening, ...] = ()
        if learner is not None and self._may_widen(family):
            learner, changes = widened_learner(learner, table)
            family = learner.family
        before = None if learner is None else learner.family
        family = family.meet(table, before)
        if before is not None and self._may_widen(family):
            changes += new_categories(before, family, table)
        if learner is not None:
            known = learner.family.meet(table, before)
            learner = learner if known is learner.family else replace(learner, family=known)
        points = family.check(table)
        if first and len(gap_rows(family, points[:1])) and np.isnan(points).all():
            raise ValueError("Every entry of the first batch is missing: nothing can be learned.")
        weight = check.check_weight(sample_weight, points.shape[0], shared=engine.takes_tensors)
        if first or self._seen is not None:
            threads = check.resolve_threads(self.n_jobs)
            self._seen = seen_with(None if first else self._seen, table, threads)
        return points, weight, family, learner, changes

    def _may_widen(self, family: Family) -> bool:
        """Whether columns may be taken for something wider: the user has fixed nothing."""
        return family.tabular and isinstance(self.family, str) and self.family == check.AUTO

    def _fitted_to(self, learner: Learner, X: Any) -> Learner:
        """Return the model as it would take rows, with wider families where that must be."""
        if not self._may_widen(learner.family) or is_collection(X):
            return learner
        return widened_learner(learner, self._rows(on_host(X), learner.family, reset=False))[0]

    def _rows_elsewhere(
        self, engine: Engine, X: Any, family: Family, learner: Learner | None, sample_weight: Any
    ) -> tuple[Points, Array] | None:
        """Return sound rows and weights that are not, or need not stay, here; None if they must."""
        first = learner is None
        if engine.takes_collections and is_collection(X):
            rows = self._remote_rows(engine, X, family, sample_weight, reset=first)
            return rows, np.zeros(0)
        if learner is not None and learner.warmup:
            return None
        if learner is not None and family.quadratic_rows and self._is_plain(X):
            X = engine.sent(X)  # where rows are wanted they are checked
        if self._stays_on_device(engine, X, family):
            tensor = self._tensor(X, reset=first, least=1 if first else 0)
            n, d = tensor.shape
            if n >= (self._recipe(family).alone_rows(d) if first else family.enough_rows(d)):
                return tensor, check.check_weight(sample_weight, n, shared=True)
        return None

    @staticmethod
    def _stays_on_device(engine: Engine, X: Any, family: Family) -> bool:
        """Whether rows go from a tensor to the engine without coming here."""
        return engine.takes_tensors and is_foreign(X) and family.quadratic_rows

    def _tensor(self, X: Any, *, reset: bool, least: int = 1) -> Any:
        """Return a sound tensor."""
        tensor = check_tensor(X, least)
        d, named = tensor.shape[1], hasattr(self, "feature_names_in_")
        if reset or named or d != self.n_features_in_:  # else there is nothing that it could find
            validate_data(self, np.empty((0, d)), reset=reset, skip_check_array=True)
        return tensor

    def _remote_rows(
        self, engine: Engine, X: Any, family: Family, sample_weight: Any, *, reset: bool
    ) -> RemoteRows:
        """Return the sound rows of a Dask collection, which stay where they are."""
        check.check_readable(family)
        X = self._known_columns(X, reset=reset)
        rows = engine.read(X, partial(check.sound_rows, family=family))
        if reset and rows.shape[0] == 0:
            raise ValueError("Found array with 0 sample(s) while at least 1 is required.")
        if sample_weight is not None:
            rows = rows.weighed(sample_weight, check.positive_weight)
        return rows

    def _rows(self, X: Any, family: Family, *, reset: bool, least: int = 1) -> Any:
        """Return a sound table: columns as they came, or rows of finite numbers."""
        if isinstance(X, Columns):
            return self._rows_of_columns(self._met(X, reset=reset), family, least)
        if not reset and is_frame(X):
            X = self._in_order(X)
        if family.tabular:
            table = check.read_columns(X, least)
            whole = X if is_frame(X) else np.empty(table.shape)
            validate_data(self, whole, reset=reset, skip_check_array=True)
            return table
        if not reset and self._is_sound(X) and len(X) >= least:
            return X if X.dtype.char in "fd" else X.astype(np.float64)
        finite = reset and check.is_plain_and_finite(X, self.n_jobs)
        if not finite:
            check_is_table(X)
            if not family.sparse:
                check_dense(X)
            check.check_complete(X, family)
        return validate_data(
            self,
            X,
            reset=reset,
            accept_sparse="csr" if family.sparse else False,
            dtype=[np.float64, np.float32],
            ensure_all_finite=False if finite else "allow-nan" if family.missing else True,
            ensure_min_samples=least,
        )

    def _met(self, table: Columns, *, reset: bool) -> Columns:
        """Return a source's columns as the model knows them: by name, in the first batch's order.

        scikit-learn knows the names of data frames only.
        """
        width, names = len(table.values), table.names
        if reset:
            self.n_features_in_ = width
            self.__dict__.pop("feature_names_in_", None)
            if names is not None:
                self.feature_names_in_ = np.array(names, dtype=object)
            return table
        known = self.__dict__.get("feature_names_in_")
        if known is not None and names is not None:
            return table.ordered(known.tolist())
        if width != self.n_features_in_:
            raise ValueError(
                f"The model learned from {self.n_features_in_} columns, but the table has {width}."
            )
        return table

    @staticmethod
    def _rows_of_columns(table: Columns, family: Family, least: int) -> Any:
        """Return a source's columns as the family takes them."""
        if family.tabular:
            return check.read_columns(table, least)
        if table.matrix is None or not check.is_finite(table.matrix):
            check.check_complete(table, family)
        elif table.matrix.dtype == np.float64 and len(table.matrix) >= max(least, 1):
            return np.ascontiguousarray(table.matrix)  # what most batches are
        return check_array(
            numbers_of(table),
            ensure_all_finite="allow-nan" if family.missing else True,
            ensure_min_samples=least,
        )

    def _is_sound(self, X: Any) -> bool:
        """Whether rows are plain and finite: what most batches are, and quick to find out."""
        if not self._is_plain(X):
            return False
        return X.dtype.kind != "f" or check.is_finite(X, self.n_jobs)

    def _is_plain(self, X: Any) -> bool:
        """Whether rows are numbers in an array as expected."""
        mine = self.__dict__
        return (
            type(X) is np.ndarray
            and X.ndim == 2
            and X.shape[1] == mine.get("n_features_in_")
            and (X.dtype.char in "fd" or X.dtype.kind in "iu")
            and "feature_names_in_" not in mine
        )

    def _known_columns(self, X: Any, *, reset: bool) -> Any:
        """Return a Dask collection whose columns are those of the model, in their order."""
        check_collection(X)
        if not reset and is_frame(X):
            X = self._in_order(X)
        known = X._meta if is_frame(X) else np.empty((0, *X.shape[1:]))
        validate_data(self, known, reset=reset, skip_check_array=True)
        return X

    def _in_order(self, X: Any) -> Any:
        """Return the columns of a later data frame that the model knows, in its order.

        Others are left out, with a warning. Columns without names are known by their places.
        """
        known, labels = self.__dict__.get("feature_names_in_"), list(X.columns)
        named = all(isinstance(label, str) for label in labels)
        if known is None or not named or labels == known.tolist():
            return X
        check_is_table(X)
        check_has(labels, known)
        others = [label for label in labels if label not in set(known)]
        if others:
            warn_of_unknown(others)
        return X[known.tolist()]


def on_host(X: Any) -> Any:
    """Return tensors as NumPy arrays, anything else as `plain_table` does."""
    X = plain_table(X)
    return to_host(as_tensor(X)) if is_foreign(X) else X
