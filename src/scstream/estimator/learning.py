"""How an estimator learns a batch: checked, run, and taken over only if all went well."""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from time import perf_counter, sleep
from typing import Any, Self

import numpy as np

from scstream import validation as check
from scstream.core.slow import tell_if_slow
from scstream.engines import Engine, EngineLost
from scstream.engines.choose import engine_for_gaps
from scstream.engines.tensors import MissingEntries, is_tensor, like_input
from scstream.estimator.codes import warning_of_codes
from scstream.estimator.counted import say_alike, say_repeated
from scstream.estimator.counting import followed, warning_of_counting
from scstream.estimator.describing import Describing
from scstream.estimator.one_hot import warning_of_one_hot
from scstream.estimator.pieces import warning_of_pieces
from scstream.estimator.resolution import warning_of_resolution
from scstream.events import Sight
from scstream.families import Family, Hurdle, Poisson
from scstream.families.columns import plain_table
from scstream.families.contract import Array
from scstream.families.widening import Widening
from scstream.groups.grouping import Grouping
from scstream.records import HISTORY as _HISTORY
from scstream.sampler.learner import Learner, Outcome, learn
from scstream.sampler.recipe import Batch, Recipe
from scstream.sampler.rows import is_quick
from scstream.support.advice import Advice, advice_of, advised
from scstream.support.arithmetic import numpy_defaults
from scstream.support.blas import single_threaded
from scstream.support.messages import advise, detail, warn
from scstream.support.threads import allowed
from scstream.support.times import as_length, is_length, is_moment
from scstream.support.turns import turn_of
from scstream.support.words import counted

_HARDLY = 0.01  # a share of a batch's weight that is next to nothing
_LOOKED_AT = 1, 2, 4, 8  # batches whose rows are looked at
_TRIES = 5  # how often a batch is run before a cluster that loses its workers is given up


class Learning(Describing):
    """The part of the estimator that learns from batches."""

    @numpy_defaults
    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        *,
        time: float | None = None,
        sample_weight: Any = None,
        labels: Any = None,
    ) -> Self:
        """Learn from the next batch of the stream.

        Parameters
        ----------
        X : array-like, data frame, sparse matrix, Dask array or Dask data frame (n, d)
            The batch. After the first it may be empty: time passes.
        y : ignored
        time : float, datetime, numpy.datetime64, pandas.Timestamp or str, optional
            When the batch arrived; later than the batch before. By default one unit later (0 for
            the first). Dates, as text in ISO 8601, count in seconds since 1970; those without a
            zone are in UTC.
        sample_weight : array-like (n,), optional
            How many points each row counts as. By default one, but less if rows resemble the row
            before, as readings of a sensor do (docs/method.md).
        labels : array-like (n,), optional
            Initial labels for the first batch, instead of an automatic over-clustering.

        Returns
        -------
        ScStream
            The model itself. An error leaves the model unchanged, unless `on_event` raised it.
        """
        if time is None and self.half_life != "auto" and is_length(self.half_life):
            raise advised(
                ValueError(
                    f"half_life={self.half_life!r} is a length of time, but this batch has no "
                    "time: give partial_fit(X, time=...), or a half-life in batches such as 5."
                ),
                Advice("time_column", when="the column of the times"),
            )
        with turn_of(self):  # of two batches at once one would be lost
            return self._learn(X, time, sample_weight, labels, self.__dict__.get("_learner"))

    @numpy_defaults
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None, labels: Any = None) -> Self:
        """Cluster one data set with the batch (non-streaming) sampler; forget everything before.

        Parameters
        ----------
        X : array-like, data frame, sparse matrix, Dask array or Dask data frame (n, d)
        y : ignored
        sample_weight : array-like (n,), optional
            How many points each row counts as.
        labels : array-like (n,), optional
            Initial labels.

        Returns
        -------
        ScStream
            The model itself; its labels are numbered from 0, the largest cluster first.
        """
        with turn_of(self):
            return self._learn(X, None, sample_weight, labels, None, whole=True)

    def _learn(
        self, X: Any, time: Any, sample_weight: Any, labels: Any, learner: Learner | None,
        *, whole: bool = False,
    ) -> Self:  # fmt: skip
        """Learn from a batch, or raise and leave everything as it was.

        A draft learns, of which the model takes over everything in one step. So neither an
        interrupt nor another thread, which may be predicting, finds a part of it.
        """
        draft = object.__new__(type(self))
        draft.__dict__.update(self.__dict__)
        draft._draft(plain_table(X), time, sample_weight, labels, learner, whole)
        kept = copy.deepcopy(self.random_state) if learner is None else None
        try:
            if learner is None:
                check.make_rng(self.random_state)  # a generator of the user's moves on only now
            self.__dict__ = draft.__dict__
        except BaseException:
            check.set_back(self.random_state, kept)
            raise
        if self.on_event is not None:
            for event in self.events_:
                self.on_event(event)
        return self

    def _draft(
        self, X: Any, time: Any, sample_weight: Any, labels: Any, learner: Learner | None,
        whole: bool,
    ) -> None:  # fmt: skip
        """Learn from a batch, as a copy that is dropped if that fails."""
        given, started = (X, time, sample_weight, labels, learner, whole), perf_counter()
        self._check_parameters()
        engine = self._engine(X)
        try:
            batch, learner, new, outcome = self._learned(engine, *given)
        except MissingEntries:
            engine = engine_for_gaps(engine, check.resolve_threads(self.n_jobs))
            batch, learner, new, outcome = self._learned(engine, *given)
        if new.n_batches in _LOOKED_AT:
            self._warn_of_rows(X, batch, new.family, outcome, first=learner is None)
        self._remember(X, learner, new, outcome)
        before = (learner and self.__dict__.get("_grouping")) or Grouping()
        asked = self.group_level is not None
        self._grouping = before.after(batch, outcome, new, self._rules, asked=asked)
        if asked:
            self._grouping.at(new, self._rules, self._level)
        tell_if_slow(perf_counter() - started)

    def _learned(
        self, engine: Engine, X: Any, time: Any, sample_weight: Any, labels: Any,
        learner: Learner | None, whole: bool,
    ) -> tuple[Batch, Learner | None, Learner, Outcome]:  # fmt: skip
        """Return the batch, the model that met it, the one that learned it, and what happened."""
        batch, family, learner = self._batch(engine, X, time, sample_weight, labels, learner)
        batch = replace(batch, whole=whole)
        recipe = self._recipe(family)
        bar: Any = recipe.progress or nullcontext()
        with bar:
            return batch, learner, *self._run(learner, batch, recipe, engine)

    def _batch(
        self, engine: Engine, X: Any, time: Any, sample_weight: Any, labels: Any,
        learner: Learner | None,
    ) -> tuple[Batch, Family, Learner | None]:  # fmt: skip
        """Return a checked batch, and family and model after they have met its rows."""
        before = None if learner is None else learner.family
        noise = self.outlier_weight == "auto"
        family = check.resolve_family(
            self.family, X, before, noise=noise, verbose=bool(self.verbose)
        )
        if before is not None:
            check.check_same_family(family, before)
        points, weight, family, learner, widened = self._points(
            engine, X, family, learner, sample_weight
        )
        if learner is None:
            threads = check.resolve_threads(self.n_jobs)
            detail(f"engine: {type(engine).__name__}, {counted(threads, 'thread')} on the CPU")
        if labels is not None:
            if learner is not None:
                raise ValueError("labels can only be given with the first batch.")
            labels = check.check_labels(labels, points.shape[0], self.max_clusters)
        if time is not None or learner is None:
            self.dates_ = is_moment(time)
        time = check.check_time(time, None if learner is None else learner.time)
        if learner is not None and self.half_life != "auto":
            self._warn_of_forgetting(time - learner.time)
        even, here = sample_weight is None, None
        if is_tensor(points) and type(X) is np.ndarray and X.dtype.kind == "f":
            here = X
        batch = Batch(points, weight, time, labels, even, widened, here)
        return batch, family, learner

    def _remember(self, X: Any, learner: Learner | None, new: Learner, outcome: Outcome) -> None:
        """Take over what a batch came to."""
        self._before = Sight.of(learner)
        self._learner = new
        self.labels_ = like_input(outcome.labels, X)
        self.sublabels_ = like_input(outcome.sublabels, X)
        earlier = () if learner is None else self._history
        self._history = deque(earlier, maxlen=_HISTORY)
        self._history.append(outcome.record)
        if new.repeats.told and "_told_of_repeats" not in self.__dict__:
            say_repeated()
            self._told_of_repeats = True
        if new.alike.weight != 1.0 and "_told_of_alike" not in self.__dict__:
            say_alike(new.alike)
            self._told_of_alike = True
        told: tuple[Any, ...] = self.__dict__.get("_told_of_widened", ())
        new_kinds = [w for w in outcome.record.widened if (w.column, w.now[-10:]) not in told]
        if new_kinds:  # that a column has ever more categories is said once
            check.say_widened(new_kinds)
            self._told_of_widened = told + tuple((w.column, w.now[-10:]) for w in new_kinds)

    def _note_clock(self, change: Widening) -> None:
        """Add to the last batch's events what became of the clock."""
        record = self._history[-1]
        changed = replace(record, widened=(*record.widened, change))
        self._history = deque((*list(self._history)[:-1], changed), maxlen=_HISTORY)
        if self.on_event is not None:
            for event in self.events_:
                if event.kind == "clock":
                    self.on_event(event)

    def _warn_of_forgetting(self, gap: float) -> None:
        """Warn, once, that hardly anything is left of the last batch when the next one comes."""
        forgetting = self._asked[0]
        left = forgetting.decay(gap) if forgetting.kernel is None else 1.0
        if left < _HARDLY and "_warned" not in self.__dict__:
            apart, unit = f"{gap:g}", " is in the same unit of time"
            if self.dates_:
                apart, unit = as_length(gap), " is much shorter"
            advise(
                f"Only {left:.1g} of the weight of the last batch is left: it came {apart} before "
                f"this one, and half_life={self.half_life!r}{unit}. The "
                "model forgets everything between two batches. Use half_life='auto', which follows "
                "the spacing of batches, or one of several such gaps."
            )
            self._warned = True

    def _warn_of_rows(
        self, X: Any, batch: Batch, family: Family, outcome: Outcome, *, first: bool
    ) -> None:  # fmt: skip
        """Warn, once each, of rows X that mislead; the first and some later batches show it."""
        told: tuple[str, ...] = self.__dict__.get("_warned_of", ())
        columns = _columns_of_numbers(batch.X, family, self._columns())
        found = {"one-hot": warning_of_one_hot(batch.X, family, self._columns()) if first else ""}
        if "resolution" not in told:
            found["resolution"] = warning_of_resolution(X)
        if "codes" not in told:
            found["codes"] = warning_of_codes(columns)
        if "counting" not in told:
            before = None if first else self.__dict__.get("_course")
            self._course = followed(before, columns)
            found["counting"] = warning_of_counting(self._course)
        if "pieces" not in told:
            found["pieces"] = warning_of_pieces(batch.X, outcome.labels, family)
        for kind, text in found.items():
            if text:
                advise(advised(UserWarning(text), *advice_of(text)))
                told += (kind,)
        if told:
            self._warned_of = told

    def _run(
        self, learner: Learner | None, batch: Batch, recipe: Recipe, engine: Engine
    ) -> tuple[Learner, Outcome]:
        """Learn from a checked batch, again from the start if a part of the engine is lost."""
        if learner is not None and self._needs_no_threads(learner, batch, engine):
            return learn(learner, batch, recipe, engine, self._make_rng)
        tries = 0
        while True:
            try:
                with single_threaded(), allowed(check.resolve_threads(self.n_jobs)):
                    return learn(learner, batch, recipe, engine, self._make_rng)
            except EngineLost as error:
                tries += 1
                if tries == _TRIES:
                    raise RuntimeError(
                        f"{error} The batch was tried {_TRIES} times. The model is as it was "
                        "before: repair the cluster and give the batch again."
                    ) from error
                warn(f"{error} The batch is run again.")
                sleep(0.2 * tries)  # until the cluster knows which are left

    def _needs_no_threads(self, learner: Learner, batch: Batch, engine: Engine) -> bool:
        """Whether a batch is small, or on a device whose clusters are: then limits cost more."""
        n = 0 if engine.takes_tensors else batch.X.shape[0]
        return not engine.takes_collections and is_quick(learner.family, n)


def _columns_of_numbers(X: Any, family: Family, names: Sequence[Any]) -> list[tuple[Any, Array]]:
    """Return the columns of numbers of checked rows, as the table had them, with their names."""
    if not isinstance(X, np.ndarray):
        return []
    columns: list[tuple[Any, Array]] = []
    for block in family.independent_blocks(len(names)):
        own, kind = X[:, block.rows], block.family
        if kind.real or isinstance(kind, Poisson | Hurdle):
            own = kind.form.decode(own) if isinstance(kind, Hurdle) else own
            columns += [(names[j], x) for j, x in zip(block.columns, own.T, strict=True)]
    return columns
