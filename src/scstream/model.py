"""ScStream, the estimator: parameters, checks, and a thin layer above the learner."""

from __future__ import annotations

import copy
import os
import sys
import warnings
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import partial
from operator import is_, itemgetter
from time import sleep
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from scstream import validation as check
from scstream.engines import CpuEngine, Engine, EngineLost, make_engine
from scstream.engines.choose import engine_for_gaps, is_client
from scstream.engines.dask.rows import evaluated, is_collection
from scstream.engines.outputs import Best, LogTotal, Probabilities
from scstream.engines.tensors import MissingEntries, like_input, to_host
from scstream.events import Event, Sight, events_of, group_events
from scstream.families import BY_NAME, Family, Product
from scstream.families.contract import Array
from scstream.families.scores import Points, Score
from scstream.groups.grouping import Grouping, records_of
from scstream.groups.lasting import Lasting
from scstream.groups.reading import group_probabilities, renamed
from scstream.groups.tree import Tree
from scstream.inputs import TakesRows, on_host
from scstream.records import HISTORY as _HISTORY
from scstream.records import BatchRecord, Cluster, Group
from scstream.sampler.choose import few_columns
from scstream.sampler.gaussian import best_ids, predicts_at_once
from scstream.sampler.learner import Learner, Outcome, learn
from scstream.sampler.recipe import Batch, Plan, Recipe
from scstream.sampler.rules import RULES, Rules
from scstream.sampler.sweep import predictive
from scstream.sampler.window import Forgetting
from scstream.support.arithmetic import numpy_defaults
from scstream.support.blas import single_threaded
from scstream.support.messages import warn
from scstream.support.threads import allowed
from scstream.support.times import is_length, is_moment

_parameters = itemgetter(*check.CONSTRAINTS)
_HARDLY = 0.01  # a share of a batch's weight that is next to nothing
_TRIES = 5  # how often a batch is run before a cluster that loses its workers is given up


class ScStream(TakesRows, TransformerMixin, ClusterMixin, BaseEstimator):
    """Clusters a stream of batches without being told how many clusters there are.

    A Dirichlet process mixture whose clusters drift, split, merge, appear and vanish while their
    labels stay the same from batch to batch. Works on real-valued data without tuning.

    Parameters
    ----------
    family : str or Family, default="gaussian"
        The distribution of a cluster: a name ("gaussian", "diagonal", "spherical",
        "directional", "multinomial", "poisson", "bernoulli", "categorical", "gamma",
        "exponential"), an object that carries its prior, a `Product` for columns of several
        kinds, or "auto" to choose by the first batch's columns, and anew by later ones that hold
        something else.
    alpha : float, default=1.0
        Concentration of the Dirichlet process: more makes new clusters likelier.
    half_life : float, "auto", text, timedelta or None, default="auto"
        The age at which a batch counts half. This is an upper bound: a cluster that moves forgets
        faster. None keeps everything. "auto" is 5 times the usual spacing of batches, whatever the
        unit of time, and so much longer for a batch of fewer than 100 rows that 500 such rows are
        half forgotten; a pause, however long, counts 4 half-lives at most. A number is in the unit
        of the times that you give, seconds if these are dates, batches if you give none. A length
        of time such as "12h", "5d" or a timedelta needs times that are dates, or in seconds.
    kernel : callable, optional
        Weight of a batch as a function of its age, in place of the half-life.
    epsilon : float, default=1e-8
        With a kernel, batches with at most this weight are dropped.
    sweeps : int, default=1
        Sampled sweeps of each batch after the first.
    max_sweeps : int, default=100
        Sampled sweeps of the first batch, and of `fit`, if it does not converge before.
    max_clusters : int, optional
        An upper bound on the number of clusters.
    splits, merges : bool, default=True
        Whether clusters may split and merge.
    outlier_weight : float or "auto", default=0.0
        Weight of a fixed component as wide as the whole first batch; its points are labelled -1.
        "auto" learns the weight and the shape of such a background, for real-valued columns: noise
        is labelled -1, not made clusters of. See docs/anomalies.md.
    random_state : int, Generator, RandomState or None, default=None
        Seed. The same seed gives the same labels, on any number of threads.
    n_jobs : int, optional
        Threads for large batches; all cores by default. No result depends on it.
    engine : str, distributed.Client or callable, default="cpu"
        Where the points are passed over: "cpu" on this machine's cores; "torch" by PyTorch, on a
        GPU if there is one; "dask", or a client, on the workers of a Dask cluster ("dask" takes
        the client that this process last made); "auto" whichever suits the batch, which is said.
        Or a function that returns an engine, see `scstream.engines`. The CPU and a Dask cluster
        of any size give the same labels.
    device : str, optional
        For PyTorch, such as "cuda" or "cpu"; with a Dask cluster, on each of its workers.
    group_level : float, optional
        Form groups of clusters after every batch, at this level, so that `events_` and `on_event`
        tell which groups split and merge. By default they are formed when you ask for them, at
        level 0.3. See docs/groups.md.
    verbose : bool, default=False
        Whether to report on standard error what "auto" chooses and how the first batch goes.
        Warnings go to the logger ``scstream`` in any case.
    on_event : callable, optional
        Called with every `Event` of a batch, one after the other, once the batch is learned.
        An error that it raises comes out of `partial_fit` or `fit` as it is; the batch stays
        learned, and the events that were not told any more are in `events_`.
    rules : Rules, optional
        Numbers that steer the sampler, for experiments, see `scstream.Rules`.

    Attributes
    ----------
    labels_, sublabels_ : ndarray (n,)
        Labels (cluster ids) and sub-labels of the last batch. Those of a Dask collection are
        Dask arrays and stay on the workers until they are asked for.
    n_clusters_ : int
    n_batches_ : int
        Batches seen; 0 before the first.
    clusters_ : list of Cluster
        Id, weight, count, age, time of birth and parameters of each cluster.
    history_ : list of BatchRecord
        What happened in the last 1,000 batches.
    events_ : list of Event
        Births, deaths, splits, merges and drift in the last batch, and columns that "auto" takes
        for something wider since, worked out when asked for; of groups too, if these were formed
        after the batch.
    groups_ : list of Group
        Id, members, weight, count and mean of each group of clusters that are parts of one whole.
    tree_ : Tree
        The merges that groups come from, with heights.
    family_ : Family
        The family with its prior, as the first batch set it and as it followed the stream.
    prior_ : dict
        That prior's hyper-parameters in the data's units.
    time_ : float
        The time of the last batch.
    dates_ : bool
        Whether the times that were given are dates, which count in seconds since 1970.
    n_features_in_ : int
    feature_names_in_ : ndarray (d,)
        Only if the data's columns have names.

    Notes
    -----
    As long as fewer than ``max(20, 4 d)`` rows of d columns (d at most 24) have been seen, they are
    kept and every batch starts the model anew from all of them: the prior should not depend on a
    handful of points. Ids are carried over.

    If nothing of the past is left when a batch comes (after a long time, or with a kernel that is
    0), the model begins anew, its prior included. Ids go on: none is used twice.

    Examples
    --------
    >>> from scstream import ScStream
    >>> from scstream.datasets import gaussian_stream
    >>> model = ScStream(random_state=3)
    >>> for batch in gaussian_stream(n_batches=20, n_clusters=3, random_state=1):
    ...     model = model.partial_fit(batch.X)
    >>> model.n_clusters_, sorted(cluster.id for cluster in model.clusters_)
    (3, [0, 1, 2])
    """

    _learner: Learner  # these two once there was a batch
    _history: deque[BatchRecord]
    _before: Sight | None = None  # the clusters before the last batch

    def __init__(
        self,
        family: str | Family = "gaussian",
        *,
        alpha: float = 1.0,
        half_life: float | str | timedelta | np.timedelta64 | None = "auto",
        kernel: Callable[[float], float] | None = None,
        epsilon: float = 1e-8,
        sweeps: int = 1,
        max_sweeps: int = 100,
        max_clusters: int | None = None,
        splits: bool = True,
        merges: bool = True,
        outlier_weight: float | Literal["auto"] = 0.0,
        random_state: int | np.random.Generator | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        engine: Any = "cpu",
        device: str | None = None,
        group_level: float | None = None,
        verbose: bool = False,
        on_event: Callable[[Event], object] | None = None,
        rules: Rules | None = None,
    ) -> None:
        self.family = family
        self.alpha = alpha
        self.half_life = half_life
        self.kernel = kernel
        self.epsilon = epsilon
        self.sweeps = sweeps
        self.max_sweeps = max_sweeps
        self.max_clusters = max_clusters
        self.splits = splits
        self.merges = merges
        self.outlier_weight = outlier_weight
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.engine = engine
        self.device = device
        self.group_level = group_level
        self.verbose = verbose
        self.on_event = on_event
        self.rules = rules

    # -- learning -------------------------------------------------------------------------------

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
        time : float, datetime, numpy.datetime64 or pandas.Timestamp, optional
            When it came; later than the last. By default, one after the last (0 for the first).
            Dates count in seconds since 1970; those without a zone are in UTC.
        sample_weight : array-like (n,), optional
            How many points each row stands for.
        labels : array-like (n,), optional
            Where the first batch starts from, in place of an over-clustering of our own.

        Returns
        -------
        ScStream
            The model itself. If an error is raised it is what it was before, unless it is
            `on_event` that raised it.
        """
        if time is None and self.half_life != "auto" and is_length(self.half_life):
            raise ValueError(
                f"half_life={self.half_life!r} is a length of time, but this batch has no time: "
                "give partial_fit(X, time=...), or a half-life in batches such as half_life=5."
            )
        return self._learn(X, time, sample_weight, labels, self.__dict__.get("_learner"))

    @numpy_defaults
    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None, labels: Any = None) -> Self:
        """Cluster one data set, forgetting everything before: the non-streaming sampler.

        Parameters
        ----------
        X : array-like, data frame, sparse matrix, Dask array or Dask data frame (n, d)
        y : ignored
        sample_weight : array-like (n,), optional
            How many points each row stands for.
        labels : array-like (n,), optional
            Where to start from.

        Returns
        -------
        ScStream
            The model itself; its labels are numbered from 0, the largest cluster first.
        """
        return self._learn(X, None, sample_weight, labels, None)

    def _learn(
        self, X: Any, time: Any, sample_weight: Any, labels: Any, learner: Learner | None
    ) -> Self:
        """Learn from a batch, or raise and leave everything as it was."""
        kept = dict(self.__dict__)
        given = X, time, sample_weight, labels, learner
        try:
            self._check_parameters()
            engine = self._engine(X)
            try:
                batch, learner, new, outcome = self._learned(engine, *given)
            except MissingEntries:
                engine = engine_for_gaps(engine, check.resolve_threads(self.n_jobs))
                batch, learner, new, outcome = self._learned(engine, *given)
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(kept)
            raise
        self._remember(X, learner, new, outcome)
        before = Grouping() if learner is None else self.__dict__.get("_grouping", Grouping())
        asked = self.group_level is not None
        self._grouping = before.after(batch, outcome, new, self._rules, asked=asked)
        if asked:
            self._grouping.at(new, self._rules, self._level)
        if self.on_event is not None:
            for event in self.events_:
                self.on_event(event)
        return self

    def _learned(
        self, engine: Engine, X: Any, time: Any, sample_weight: Any, labels: Any,
        learner: Learner | None,
    ) -> tuple[Batch, Learner | None, Learner, Outcome]:  # fmt: skip
        """Return the batch, the model that met it, the one that learned it, and what happened."""
        batch, family, learner = self._batch(engine, X, time, sample_weight, labels, learner)
        return batch, learner, *self._run(learner, batch, self._recipe(family), engine)

    def _batch(
        self, engine: Engine, X: Any, time: Any, sample_weight: Any, labels: Any,
        learner: Learner | None,
    ) -> tuple[Batch, Family, Learner | None]:  # fmt: skip
        """Return a checked batch, and family and model after they have met its rows."""
        before = None if learner is None else learner.family
        family = check.resolve_family(self.family, X, before, verbose=bool(self.verbose))
        if before is not None:
            check.check_same_family(family, before)
        points, weight, family, learner, widened = self._points(
            engine, X, family, learner, sample_weight
        )
        if learner is None:
            check.suggest_family(family, points)
        if labels is not None:
            if learner is not None:
                raise ValueError("labels can only be given with the first batch.")
            labels = check.check_labels(labels, points.shape[0], self.max_clusters)
        if time is not None or learner is None:
            self.dates_ = is_moment(time)
        time = check.check_time(time, None if learner is None else learner.time)
        if learner is not None and self.half_life != "auto":
            self._warn_of_forgetting(time - learner.time)
        even = sample_weight is None
        return Batch(points, weight, time, labels, even, widened), family, learner

    def _remember(self, X: Any, learner: Learner | None, new: Learner, outcome: Outcome) -> None:
        """Take over what a batch came to."""
        first = learner is None
        if first:
            check.make_rng(self.random_state)  # a generator of the user's moves on only now
        self._before = Sight.of(learner)
        self._learner = new
        self.labels_ = like_input(outcome.labels, X)
        self.sublabels_ = like_input(outcome.sublabels, X)
        if first:
            self._history = deque(maxlen=_HISTORY)
        self._history.append(outcome.record)
        check.say_widened(outcome.record.widened)

    def _check_parameters(self) -> None:
        """Raise for a parameter that cannot be; those of the last batch need no second look."""
        values = _parameters(self.__dict__)
        checked = self.__dict__.get("_checked")
        if checked is None or not all(map(is_, values, checked)):
            check.check_parameters(dict(zip(check.CONSTRAINTS, values, strict=True)))
            self._checked = values
            self._asked = (
                Forgetting(
                    self._half_life(),
                    self.kernel,
                    self.epsilon,
                ),
                Plan(
                    sweeps=self.sweeps,
                    max_sweeps=self.max_sweeps,
                    max_clusters=self.max_clusters,
                    splits=bool(self.splits),
                    merges=bool(self.merges),
                ),
            )

    def _half_life(self) -> float | None:
        if isinstance(self.half_life, str) and self.half_life == "auto":
            return self._rules.half_life
        return None if self.half_life is None else check.half_life_of(self.half_life)

    def _warn_of_forgetting(self, gap: float) -> None:
        """Warn, once, that hardly anything is left of the last batch when the next one comes."""
        forgetting = self._asked[0]
        left = forgetting.decay(gap) if forgetting.kernel is None else 1.0
        if left < _HARDLY and "_warned" not in self.__dict__:
            warnings.warn(
                f"Only {left:.1g} of the weight of the last batch is left: it came {gap:g} before "
                f"this one, and half_life={self.half_life!r} is in the same unit of time. The "
                "model forgets everything between two batches. Use half_life='auto', which follows "
                "the spacing of batches, or one of several such gaps.",
                stacklevel=4,
            )
            self._warned = True

    def _engine(self, X: Any) -> Engine:
        n_threads = check.resolve_threads(self.n_jobs)
        if type(X) is np.ndarray and self.engine == "cpu":
            return CpuEngine(n_threads)
        last = getattr(self, "_last_engine", None)
        engine = make_engine(self.engine, self.device, n_threads, X, last)
        if engine.takes_tensors:
            self._last_engine = engine  # it has buffers that are worth keeping
        return engine

    def _recipe(self, family: Family) -> Recipe:
        progress = _report if self.verbose else None
        weight, auto = self.outlier_weight, self.half_life == "auto"
        weight = "auto" if weight == "auto" else float(weight)
        asked = (family, float(self.alpha), *self._asked)
        return Recipe(*asked, weight, progress, auto, self._rules)

    @property
    def _rules(self) -> Rules:
        return RULES if self.rules is None else self.rules

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
                        "before: mend the cluster and give the batch again."
                    ) from error
                warn(f"{error} The batch is run again.")
                sleep(0.2 * tries)  # until the cluster knows who is left

    def _needs_no_threads(self, learner: Learner, batch: Batch, engine: Engine) -> bool:
        """Whether a batch is small, or on a device whose clusters are: then limits cost more."""
        small = predicts_at_once(learner.family, self._rules, batch.X.shape[0])
        if small and not engine.takes_collections:
            return True
        return engine.takes_tensors and few_columns(learner.family, self._rules)

    def _make_rng(self) -> np.random.Generator:
        """Return the randomness of a new model; a generator of the user's stays where it is."""
        return check.make_rng(copy.deepcopy(self.random_state))

    # -- using ----------------------------------------------------------------------------------

    def predict(self, X: Any) -> Any:
        """Return the id of the cluster that each row belongs to, -1 for outliers: (n,).

        Like the other methods that use the model it returns a Dask array, still to be computed,
        for a Dask collection, and a NumPy array for everything else.
        """
        learner = self._fitted()
        plain = learner.outliers is None and self.engine == "cpu" and self._is_sound(X)
        if plain and predicts_at_once(learner.family, self._rules, len(X)):
            return best_ids(learner.family, learner.alpha, learner.state, X)
        return self._best(X)

    @numpy_defaults  # which takes as long as the labels of a few rows
    def _best(self, X: Any) -> Any:
        """Return the same for any rows, by their scores."""
        learner = self._fitted(X)
        with allowed(check.resolve_threads(self.n_jobs)):
            score = predictive(learner.family, learner.state.totals, learner.alpha)
        if learner.outliers is not None:
            score = learner.outliers.beside(score, learner.family)
        return self._evaluate(
            learner.family, X, score, Best(), np.append(learner.state.ids, -1).take
        )

    def fit_predict(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Cluster one data set and return its labels (n,), numbered from 0."""
        return self.fit(X, **fit_params).labels_

    @numpy_defaults
    def predict_proba(self, X: Any) -> Any:
        """Return the probability of each cluster for each row, (n, k), in `clusters_` order.

        With an outlier component the rows add up to less than 1 by its probability.
        """
        learner = self._fitted(X)
        score = predictive(learner.family, learner.state.totals, learner.alpha)
        if learner.outliers is not None:
            score = learner.outliers.beside(score, learner.family)
        return self._evaluate(learner.family, X, score, Probabilities(learner.state.k))

    def transform(self, X: Any) -> Any:
        """Return the probability of each cluster for each row, as `predict_proba`."""
        return self.predict_proba(X)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return a name for each column of `transform`: ``scstream`` and the cluster's id."""
        return np.array([f"scstream{i}" for i in self._fitted().state.ids], dtype=object)

    @numpy_defaults
    def score_samples(self, X: Any) -> Any:
        """Return the log predictive density of each row (n,): low where a point is unusual.

        It is the density of the next point: clusters by their weights, a cluster yet to be born,
        and the outlier component if there is one.
        """
        learner = self._fitted(X)
        score, level = learner.next_point()
        return self._evaluate(
            learner.family, X, score, LogTotal(), partial(np.add, level), base=True
        )

    @numpy_defaults
    def anomaly(self, X: Any) -> Any:
        """Return the share of the stream's recent rows that were less expected than each row (n,).

        Low where a point is unusual: of a stream without anomalies one row in a thousand is below
        0.001. Recent rows count by how expected they were before they were learned, so rows are
        best judged before `partial_fit` is given them. See docs/anomalies.md.
        """
        learner = self._fitted(X)
        score, level = learner.next_point()
        share = learner.scores.share_below
        return self._evaluate(
            learner.family, X, score, LogTotal(), lambda s: share(s + level), base=True
        )

    @numpy_defaults
    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean of `score_samples`."""
        return float(self.score_samples(X).mean())

    def _fitted(self, X: Any = None) -> Learner:
        """Return what was learned, fit to take rows if they are given."""
        if "_learner" not in self.__dict__:
            check_is_fitted(self)
        return self._learner if X is None else self._fitted_to(self._learner, X)

    def _evaluate(
        self,
        family: Family,
        X: Any,
        score: Score,
        what: Callable[[Array], Any],
        then: Callable[[Any], Any] | None = None,
        *,
        base: bool = False,
    ) -> Any:
        """Read something off the scores of rows.

        ``then`` is applied to it, and the log base measure added if asked to.
        """
        job = partial(_evaluated, family, score, what, then, base)
        if is_collection(X):
            check.check_readable(family)
            self._check_columns(X, reset=False)
            nothing = job(CpuEngine(), family.check(np.empty((0, self.n_features_in_))))
            return evaluated(X, partial(_evaluated_chunk, job, family), nothing)
        engine = self._reader(X)
        if self._stays_on_device(engine, X, family):
            with suppress(MissingEntries):
                return like_input(job(engine, self._tensor(X, reset=False)), X)
        points = family.check(self._rows(on_host(X), family, reset=False))
        if engine.takes_tensors and len(family.gaps(points)):
            engine = engine_for_gaps(engine, check.resolve_threads(self.n_jobs))
        return like_input(job(engine, points), X)

    def _reader(self, X: Any) -> Engine:
        """Return the engine that scores local rows: a cluster's would only send them away."""
        known = check.fits("engine", self.engine)  # if not, the next batch is refused
        if not known or is_client(self.engine) or self.engine == "dask":
            return CpuEngine(check.resolve_threads(self.n_jobs))
        return self._engine(X)

    # -- groups ---------------------------------------------------------------------------------

    @property
    @numpy_defaults
    def tree_(self) -> Tree:
        """Which clusters are parts of one whole: merges of clusters with heights.

        See docs/groups.md.
        """
        return self._groups_kept().tree(self._fitted(), self._rules, self._level)

    @property
    def groups_(self) -> list[Group]:
        """The groups at the default level, the lowest id first."""
        return self.groups()

    @numpy_defaults
    def groups(self, level: float | None = None) -> list[Group]:
        """Return the groups at a level, a number in [0, 1]: how deep a valley may be within one.

        Ids last from when a level is first asked for, and differ from level to level.
        """
        return records_of(self._grouped(level), self.clusters_)

    @numpy_defaults
    def predict_group(self, X: Any, level: float | None = None) -> Any:
        """Return the id of the group of each row's cluster, -1 for outliers: (n,)."""
        groups = self._grouped(level).group
        return renamed(self.predict(X), groups)

    @numpy_defaults
    def predict_group_proba(self, X: Any, level: float | None = None) -> Any:
        """Return the probability of each group for each row, (n, g), in `groups_` order."""
        groups = self._grouped(level).group
        return group_probabilities(self.predict_proba(X), self._learner.state.ids, groups)

    def _groups_kept(self) -> Grouping:
        self._fitted()
        if "_grouping" not in self.__dict__:
            self._grouping = Grouping()
        return self._grouping

    def _grouped(self, level: float | None) -> Lasting:
        level = self._level if level is None else check.check_level(level)
        return self._groups_kept().at(self._fitted(), self._rules, level)

    @property
    def _level(self) -> float:
        return self._rules.group_level if self.group_level is None else float(self.group_level)

    # -- copies ---------------------------------------------------------------------------------

    def __sklearn_clone__(self) -> Self:
        """Return an unfitted copy, connected to the same cluster: that cannot be copied."""
        other = copy.copy(self)
        other.engine = "cpu"
        new: Self = super(ScStream, other).__sklearn_clone__()
        new.engine = self.engine
        return new

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: a client stays behind, the copy takes the one it finds."""
        state: dict[str, Any] = dict(super().__getstate__())
        state.pop("_last_engine", None)
        if is_client(state.get("engine")):
            state["engine"] = "dask"
            state.pop("_checked", None)
        return state

    # -- keeping --------------------------------------------------------------------------------

    @numpy_defaults
    def save(self, path: str | os.PathLike[str], *, extra: dict[str, Any] | None = None) -> None:
        """Write the model to one file, from which it goes on bit for bit.

        The file takes the place of an older one in a single step: whatever happens, one of the
        two is there, whole. See docs/checkpoints.md.

        Parameters
        ----------
        path : str or path-like
        extra : dict, optional
            Something to keep beside the model, in plain JSON, such as a place in the stream.
        """
        from scstream.checkpoint.store import save  # which knows the model

        save(self, path, extra)

    @classmethod
    @numpy_defaults
    def load(
        cls, path: str | os.PathLike[str], *, kernel: Callable[[float], float] | None = None
    ) -> Self:
        """Return the model that `save` wrote; nothing in the file can run as code.

        Parameters
        ----------
        path : str or path-like
        kernel : callable, optional
            The kernel that the model had. Without it the model predicts, but learns no more
            until ``set_params(kernel=...)``.

        Returns
        -------
        ScStream

        Raises
        ------
        scstream.checkpoint.CheckpointError
            If the file is no sound checkpoint, or of a format that is not known yet.
        OSError
            If it cannot be read.
        """
        from scstream.checkpoint.store import load  # which knows the model

        model: Self = load(cls, path, kernel)[0]
        return model

    # -- looking --------------------------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_learner")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        kind = type(self.family)
        if isinstance(self.family, str):  # an unknown name is refused later
            kind = BY_NAME.get(self.family, Product)
        tags.input_tags.sparse = getattr(kind, "sparse", False)
        tags.input_tags.allow_nan = getattr(kind, "missing", False)
        tags.input_tags.positive_only = getattr(kind, "positive_only", False)
        tags.input_tags.categorical = tags.input_tags.string = getattr(kind, "text", False)
        tags.transformer_tags.preserves_dtype = []
        return tags

    def summary(self) -> Any:
        """Return a data frame with a row for each cluster, the largest first, by its id.

        Its columns are ``share`` (of the mixture), ``rows`` (that it remembers), ``born``,
        ``age``, ``speed`` (of drift, in standard deviations for each unit of time), ``different``
        (what makes it different from the rest, in words), and then the data's columns: a mean,
        rate or probability, or the likeliest categories.

        Returns
        -------
        pandas.DataFrame
            Or of polars, with the column ``id``, where pandas is not installed.
        """
        from scstream.summary import summary_frame  # which knows the model

        return summary_frame(self)

    def sample(self, n: int = 1, random_state: Any = None) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return rows (n, d) as the model expects the next ones, and their clusters' ids (n,)."""
        check_is_fitted(self)
        from scstream.summary.sampling import sample_rows  # which knows the model

        return sample_rows(self, n, random_state)

    def _html_repr(self) -> str:
        """Return what a notebook shows: the clusters, before the first batch the parameters."""
        from scstream.summary import model_page  # which knows the model

        return model_page(self) if self.n_batches_ else str(super()._html_repr())

    @property
    def cluster_centers_(self) -> Array:
        """The clusters' means, rates or probabilities (k, d); NaN for columns of words."""
        from scstream.summary.differences import location

        found = [[location(about) for about in c.columns.values()] for c in self.clusters_]
        return np.array(found, dtype=np.float64)

    @property
    def n_batches_(self) -> int:
        """The number of batches seen, 0 before the first."""
        return self._learner.n_batches if hasattr(self, "_learner") else 0

    @property
    def n_clusters_(self) -> int:
        """The number of clusters."""
        check_is_fitted(self)
        return self._learner.state.k

    @property
    def time_(self) -> float:
        """The time of the last batch."""
        check_is_fitted(self)
        return self._learner.time

    @property
    def family_(self) -> Family:
        """The family with its prior."""
        check_is_fitted(self)
        return self._learner.family

    @property
    @numpy_defaults
    def prior_(self) -> dict[str, Any]:
        """The prior's hyper-parameters in the data's units."""
        return self.family_.hyperparameters()

    @property
    def history_(self) -> list[BatchRecord]:
        """What happened in the last batches."""
        check_is_fitted(self)
        return list(self._history)

    @property
    @numpy_defaults
    def events_(self) -> list[Event]:
        """What happened to clusters in the last batch."""
        check_is_fitted(self)
        after = None if self._before is None else Sight.of(self._learner)
        found = events_of(self._history[-1], self._before, after, self._columns())
        return found + group_events(self._history[-1], self._groups_kept().changes(self._level))

    def _columns(self) -> Sequence[Any]:
        """Return the columns' names, or their numbers."""
        names = getattr(self, "feature_names_in_", None)
        return range(self.n_features_in_) if names is None else list(names)

    @property
    @numpy_defaults
    def clusters_(self) -> list[Cluster]:
        """The clusters, the oldest ids first as a rule."""
        check_is_fitted(self)
        learner = self._learner
        state = learner.state
        totals = state.totals
        count = totals[:, 0]
        posterior = learner.family.prior + totals
        parameters = learner.family.describe(posterior)
        columns = learner.family.describe_columns(posterior, self._columns())
        total = count.sum() + learner.alpha
        return [
            Cluster(
                id=int(state.ids[i]),
                weight=float(count[i] / total),
                count=float(count[i]),
                age=float(learner.time - state.born[i]),
                born=float(state.born[i]),
                parameters={name: values[i] for name, values in parameters.items()},
                columns=columns[i],
            )
            for i in range(state.k)
        ]


def _report(sweep: int, k: int, log_posterior: float) -> None:
    """Print the progress of a first batch, one line rewritten on a terminal."""
    end = "\r" if sys.stderr.isatty() else "\n"
    line = f"scstream: sweep {sweep}, {k} clusters, log posterior {log_posterior:.1f}   "
    print(line, end=end, file=sys.stderr, flush=True)


def _evaluated(
    family: Family,
    score: Score,
    what: Callable[[Array], Any],
    then: Callable[[Any], Any] | None,
    base: bool,
    engine: Engine,
    X: Points,
) -> NDArray[Any]:
    """Return what is read off the scores of checked rows."""
    with single_threaded():
        out: NDArray[Any]
        X = to_host(X) if family.narrows else X
        rows = family.narrowed(X)
        if isinstance(what, Best):
            out = engine.assign(family, rows, score)
        else:
            out = engine.evaluate(family, rows, score, what)
        if base:
            out = out + family.log_base(X)
        return out if then is None else then(out)


def _evaluated_chunk(job: Callable[..., NDArray[Any]], family: Family, X: Any) -> NDArray[Any]:
    """Return the same of a chunk of a Dask collection, on a worker."""
    return job(CpuEngine(), check.sound_rows(X, family))
