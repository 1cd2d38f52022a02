"""ScStream, the estimator: parameters, checks, and a thin layer above the learner."""

from __future__ import annotations

import copy
import os
import sys
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from scstream import _validation as check
from scstream._blas import single_threaded
from scstream.chain import Plan
from scstream.engines import CpuEngine
from scstream.events import Event, Sight, events_of
from scstream.families import BY_NAME, Categorical, Family, Product
from scstream.families.base import Array
from scstream.families.columns import is_frame
from scstream.families.scores import JoinedScore, Labels, Points, Score
from scstream.learner import Batch, Learner, Recipe, learn
from scstream.records import HISTORY as _HISTORY
from scstream.records import BatchRecord, Cluster
from scstream.sweep import predictive
from scstream.window import Forgetting


class ScStream(TransformerMixin, ClusterMixin, BaseEstimator):
    """Clusters a stream of batches without being told how many clusters there are.

    A Dirichlet process mixture whose clusters drift, split, merge, appear and vanish while their
    labels stay the same from batch to batch. Works on real-valued data without tuning.

    Parameters
    ----------
    family : str or Family, default="gaussian"
        The distribution of a cluster: a name ("gaussian", "diagonal", "spherical",
        "directional", "multinomial", "poisson", "bernoulli", "categorical", "gamma",
        "exponential"), an object that carries its prior, a `Product` for columns of several
        kinds, or "auto" to choose by the first batch's columns.
    alpha : float, default=1.0
        Concentration of the Dirichlet process: more makes new clusters likelier.
    half_life : float or None, default=5.0
        The age, in units of time, at which a batch counts half. This is an upper bound: a
        cluster that moves forgets faster. None keeps everything.
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
    outlier_weight : float, default=0.0
        Weight of a fixed component as wide as the whole first batch; its points are labelled -1.
    random_state : int, Generator, RandomState or None, default=None
        Seed. The same seed gives the same labels, on any number of threads.
    n_jobs : int, optional
        Threads for large batches; all cores by default. No result depends on it.
    verbose : bool, default=False
        Whether to report progress of the first batch on standard error.
    on_event : callable, optional
        Called with every `Event` of a batch, one after the other, once the batch is learned.
        An error that it raises comes out of `partial_fit` or `fit` as it is; the batch stays
        learned, and the events that were not told any more are in `events_`.

    Attributes
    ----------
    labels_, sublabels_ : ndarray (n,)
        Labels (cluster ids) and sub-labels of the last batch.
    n_clusters_ : int
    n_batches_ : int
        Batches seen; 0 before the first.
    clusters_ : list of Cluster
        Id, weight, count, age, time of birth and parameters of each cluster.
    history_ : list of BatchRecord
        What happened in the last 1,000 batches.
    events_ : list of Event
        Births, deaths, splits, merges and drift in the last batch, worked out when asked for.
    family_ : Family
        The family with its prior, as the first batch set it.
    prior_ : dict
        That prior's hyper-parameters in the data's units.
    time_ : float
        The time of the last batch.
    n_features_in_ : int
    feature_names_in_ : ndarray (n_features_in_,)
        Only if the data's columns have names.

    Notes
    -----
    As long as fewer than ``max(20, 4 d)`` rows of d columns have been seen, the rows are kept and
    every batch starts the model anew from all of them, so that the prior does not hang on a
    handful of points. Ids are carried over.

    If nothing of the past is left when a batch comes (after a long time, or with a kernel that is
    0), the model begins anew, its prior included. Ids go on: none is used twice.

    Examples
    --------
    >>> from scstream import ScStream
    >>> from scstream.datasets import gaussian_stream
    >>> model = ScStream(random_state=0)
    >>> for batch in gaussian_stream(n_batches=5, n_clusters=3, random_state=1):
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
        half_life: float | None = 5.0,
        kernel: Callable[[float], float] | None = None,
        epsilon: float = 1e-8,
        sweeps: int = 1,
        max_sweeps: int = 100,
        max_clusters: int | None = None,
        splits: bool = True,
        merges: bool = True,
        outlier_weight: float = 0.0,
        random_state: int | np.random.Generator | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        verbose: bool = False,
        on_event: Callable[[Event], object] | None = None,
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
        self.verbose = verbose
        self.on_event = on_event

    # -- learning -------------------------------------------------------------------------------

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
        X : array-like, data frame or sparse matrix (n, d)
            The batch. After the first it may be empty: time passes.
        y : ignored
        time : float, optional
            When it came; later than the last. By default, one after the last (0 for the first).
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
        return self._learn(X, time, sample_weight, labels, getattr(self, "_learner", None))

    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None, labels: Any = None) -> Self:
        """Cluster one data set, forgetting everything before: the non-streaming sampler.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix (n, d)
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
        try:
            self._learn_batch(X, time, sample_weight, labels, learner)
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(kept)
            raise
        if self.on_event is not None:
            for event in self.events_:
                self.on_event(event)
        return self

    def _learn_batch(
        self, X: Any, time: Any, sample_weight: Any, labels: Any, learner: Learner | None
    ) -> None:
        check.check_parameters(self.get_params(deep=False))
        first = learner is None
        before = None if learner is None else learner.family
        family = check.resolve_family(self.family, X, before)
        if before is not None:
            check.check_same_family(family, before)
        rows = self._rows(X, family, reset=first, least=1 if first else 0)
        family = family.meet(rows, before)
        if learner is not None:
            learner = replace(learner, family=learner.family.meet(rows, before))
        points = family.check(rows)
        n = points.shape[0]
        if labels is not None and not first:
            raise ValueError("labels can only be given with the first batch.")
        batch = Batch(
            points,
            check.check_weight(sample_weight, n),
            check.check_time(time, None if learner is None else learner.time),
            None if labels is None else check.check_labels(labels, n, self.max_clusters),
        )
        recipe = Recipe(
            family,
            float(self.alpha),
            Forgetting(self.half_life, self.kernel, self.epsilon),
            Plan(
                sweeps=self.sweeps,
                max_sweeps=self.max_sweeps,
                max_clusters=self.max_clusters,
                splits=bool(self.splits),
                merges=bool(self.merges),
            ),
            float(self.outlier_weight),
            _report if self.verbose else None,
        )
        random_state = copy.deepcopy(self.random_state)
        with single_threaded():
            new, outcome = learn(
                learner, batch, recipe, self._engine(), lambda: check.make_rng(random_state)
            )
        if first:
            check.make_rng(self.random_state)  # a generator of the user's moves on only now
        self._before = Sight.of(learner)
        self._learner = new
        self.labels_ = outcome.labels
        self.sublabels_ = outcome.sublabels
        self._history = deque([] if first else self._history, maxlen=_HISTORY)
        self._history.append(outcome.record)

    def _engine(self) -> CpuEngine:
        return CpuEngine(check.resolve_threads(self.n_jobs))

    def _rows(self, X: Any, family: Family, *, reset: bool, least: int = 1) -> Any:
        """Return a sound table: columns as they came, or rows of finite numbers."""
        if family.tabular:
            table = check.read_columns(X, least)
            whole = X if is_frame(X) else np.empty(table.shape)
            validate_data(self, whole, reset=reset, skip_check_array=True)
            return table
        check.check_complete(X, family)
        return validate_data(
            self,
            X,
            reset=reset,
            accept_sparse="csr" if family.sparse else False,
            dtype=[np.float64, np.float32],
            ensure_all_finite="allow-nan" if family.missing else True,
            ensure_min_samples=least,
        )

    # -- using ----------------------------------------------------------------------------------

    def predict(self, X: Any) -> Labels:
        """Return the id of the cluster that each row belongs to, -1 for outliers: (n,)."""
        learner, points = self._ready(X)
        score = predictive(learner.family, learner.state.totals, learner.alpha)
        if learner.outliers is not None:
            score = learner.outliers.beside(score, learner.family)
        best = self._evaluate(points, score, lambda scores: np.argmax(scores, axis=1))
        ids: Labels = np.append(learner.state.ids, -1)[best]
        return ids

    def fit_predict(self, X: Any, y: Any = None, **fit_params: Any) -> Labels:
        """Cluster one data set and return its labels (n,), numbered from 0."""
        labels: Labels = self.fit(X, **fit_params).labels_
        return labels

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each cluster for each row, (n, k), in `clusters_` order.

        With an outlier component the rows add up to less than 1 by its probability.
        """
        learner, points = self._ready(X)
        score = predictive(learner.family, learner.state.totals, learner.alpha)
        if learner.outliers is not None:
            score = learner.outliers.beside(score, learner.family)
        k = learner.state.k

        def normalised(scores: Array) -> Array:
            out: Array = np.exp(scores - logsumexp(scores, axis=1, keepdims=True))[:, :k]
            return out

        return self._evaluate(points, score, normalised)

    def transform(self, X: Any) -> Array:
        """Return the probability of each cluster for each row, as `predict_proba`."""
        return self.predict_proba(X)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return a name for each column of `transform`: ``scstream`` and the cluster's id."""
        check_is_fitted(self)
        return np.array([f"scstream{i}" for i in self._learner.state.ids], dtype=object)

    def score_samples(self, X: Any) -> Array:
        """Return the log predictive density of each row (n,): low where a point is unusual.

        It is the density of the next point: clusters by their weights, a cluster yet to be born,
        and the outlier component if there is one.
        """
        learner, points = self._ready(X)
        family, totals = learner.family, learner.state.totals
        n = totals[:, 0].sum()
        unborn = np.log(learner.alpha) - np.log(n + learner.alpha)
        score: Score = JoinedScore(
            [
                predictive(family, totals, learner.alpha),
                family.predictive_score(np.zeros((1, totals.shape[1])), np.array([unborn])),
            ]
        )
        level = 0.0
        if learner.outliers is not None:
            score = learner.outliers.beside(score, family)
            level = float(np.log1p(-learner.outliers.weight))
        density = self._evaluate(points, score, lambda scores: logsumexp(scores, axis=1))
        out: Array = density + family.log_base(points) + level
        return out

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean of `score_samples`."""
        return float(np.mean(self.score_samples(X)))

    def _ready(self, X: Any) -> tuple[Learner, Points]:
        check_is_fitted(self)
        learner: Learner = self._learner
        return learner, learner.family.check(self._rows(X, learner.family, reset=False))

    def _evaluate(self, points: Points, score: Score, what: Callable[[Array], Any]) -> NDArray[Any]:
        with single_threaded():
            return self._engine().evaluate(self._learner.family, points, score, what)

    # -- keeping --------------------------------------------------------------------------------

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
        tags.input_tags.categorical = tags.input_tags.string = kind in (Categorical, Product)
        tags.transformer_tags.preserves_dtype = []
        return tags

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
    def prior_(self) -> dict[str, Any]:
        """The prior's hyper-parameters in the data's units."""
        return self.family_.hyperparameters()

    @property
    def history_(self) -> list[BatchRecord]:
        """What happened in the last batches."""
        check_is_fitted(self)
        return list(self._history)

    @property
    def events_(self) -> list[Event]:
        """What happened to clusters in the last batch."""
        check_is_fitted(self)
        after = None if self._before is None else Sight.of(self._learner)
        return events_of(self._history[-1], self._before, after, self._columns())

    def _columns(self) -> Sequence[Any]:
        """Return the columns' names, or their numbers."""
        names = getattr(self, "feature_names_in_", None)
        return range(self.n_features_in_) if names is None else list(names)

    @property
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
