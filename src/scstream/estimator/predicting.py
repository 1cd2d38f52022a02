"""What an estimator says of rows: labels, probabilities, densities."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import nullcontext, suppress
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from scstream import validation as check
from scstream.engines import CpuEngine, Engine
from scstream.engines.choose import engine_for_gaps, is_client
from scstream.engines.dask.rows import evaluated, is_collection
from scstream.engines.outputs import Best, LogTotal, Probabilities, named_labels
from scstream.engines.tensors import MissingEntries, like_input, to_host
from scstream.estimator.asked import Asked
from scstream.families import Family
from scstream.families.columns import plain_table
from scstream.families.contract import Array
from scstream.families.gaps import gap_rows
from scstream.families.scores import Points, Score
from scstream.families.subspace import narrowed
from scstream.inputs import on_host
from scstream.records import BatchRecord
from scstream.sampler.learner import Learner
from scstream.sampler.rows import is_quick
from scstream.support.arithmetic import numpy_defaults
from scstream.support.blas import single_threaded
from scstream.support.threads import allowed


class Predicting(Asked):
    """The part of the estimator that uses what was learned."""

    _learner: Learner  # these two once there was a batch
    _history: deque[BatchRecord]

    @numpy_defaults
    def predict(self, X: Any) -> Any:
        """Return the id of the cluster that each row belongs to, -1 for outliers: (n,).

        For a Dask collection this returns a lazy Dask array, like the other methods that use the
        model; for everything else a NumPy array.
        """
        learner = self._fitted(X)
        threads = check.resolve_threads(self.n_jobs)
        with allowed(threads):
            score = learner.predictive()
        if learner.outliers is not None:
            score = learner.outliers.beside(score, learner.family)
        ids = partial(named_labels, learner.state.ids, n_threads=threads)
        return self._evaluate(learner.family, X, score, Best(), ids)

    @numpy_defaults
    def predict_proba(self, X: Any) -> Any:
        """Return the probability of each cluster for each row, (n, k), in `clusters_` order.

        With an outlier component, each row adds up to 1 minus the probability of that component.
        """
        learner = self._fitted(X)
        score = learner.predictive()
        if learner.outliers is not None:
            score = learner.outliers.beside(score, learner.family)
        return self._evaluate(learner.family, X, score, Probabilities(learner.state.k))

    @numpy_defaults
    def score_samples(self, X: Any) -> Any:
        """Return the log predictive density of each row (n,): low where a point is unusual.

        This is the density of the next point: the clusters by weight, a possible new cluster,
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

        Low where a point is unusual: in a stream without anomalies one row in a thousand is below
        0.001. Recent rows count by how expected they were before they were learned. So call this
        before you give the rows to `partial_fit`. See docs/anomalies.md.
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
        job, X = partial(_evaluated, family, score, what, then, base), plain_table(X)
        if is_collection(X):
            check.check_readable(family)
            X = self._known_columns(X, reset=False)
            nothing = job(CpuEngine(), family.check(np.empty((0, self.n_features_in_))))
            return evaluated(X, partial(_evaluated_chunk, job, family), nothing)
        engine = self._reader(X)
        if self._stays_on_device(engine, X, family):
            with suppress(MissingEntries):
                return like_input(job(engine, self._tensor(X, reset=False)), X)
        points = family.check(self._rows(on_host(X), family, reset=False))
        if engine.takes_tensors and len(gap_rows(family, points)):
            engine = engine_for_gaps(engine, check.resolve_threads(self.n_jobs))
        return like_input(job(engine, points), X)

    def _reader(self, X: Any) -> Engine:
        """Return the engine that scores local rows: a cluster's would only send them away."""
        known = check.fits("engine", self.engine)  # if not, the next batch is refused
        if not known or is_client(self.engine) or self.engine == "dask":
            return CpuEngine(check.resolve_threads(self.n_jobs))
        return self._engine(X)


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
    limit = nullcontext() if is_quick(family, X.shape[0]) else single_threaded()
    with limit:
        out: NDArray[Any]
        X = X if family.space is None else to_host(X)
        rows = narrowed(family, X)
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
