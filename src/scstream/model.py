"""ScStream, the estimator: parameters, and what scikit-learn wants; see `scstream.estimator`."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from scstream.engines.choose import is_client
from scstream.estimator.learning import Learning
from scstream.events import Event
from scstream.families import BY_NAME, Family, Product
from scstream.families.contract import Array
from scstream.sampler.rules import Rules
from scstream.support.arithmetic import numpy_defaults

if TYPE_CHECKING:
    from onnx import ModelProto


class ScStream(Learning, TransformerMixin, ClusterMixin, BaseEstimator):
    """Clusters a stream of batches without a given number of clusters.

    A Dirichlet process mixture whose clusters drift, split, merge, appear and vanish while their
    labels stay the same from batch to batch. Works on real-valued data without tuning.

    Parameters
    ----------
    family : str or Family, default="gaussian"
        The distribution of a cluster: a name ("gaussian", "diagonal", "spherical", "student",
        "diagonal-student", "directional", "multinomial", "poisson", "negative-binomial",
        "bernoulli", "categorical", "one-hot", "gamma", "exponential", "hurdle", "composition",
        "count-shares"), an object that carries its prior, a `Product` for columns of several kinds,
        or "auto" to choose from the first batch's columns, and again when later ones hold something
        else.
    alpha : float, default=1.0
        Concentration of the Dirichlet process: a higher value makes new clusters likelier.
    half_life : float, "auto", text, timedelta or None, default="auto"
        The age at which a batch counts half. This is an upper bound: a cluster that moves forgets
        faster. None never forgets. "auto" is 5 times the usual spacing of batches, whatever the
        unit of time. It is longer for batches of fewer than 100 rows, such that 500 such rows are
        half forgotten. A pause, however long, counts as at most 4 half-lives. A number is in the
        unit of the times you give: seconds for dates, batches if you give no times. A length of
        time such as "12h", "5d" or a timedelta needs times that are dates, or in seconds.
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
        "auto" learns the weight and the shape of this background, for real-valued columns, once
        there is noise: that is labelled -1 instead of forming clusters. See docs/anomalies.md.
    random_state : int, Generator, RandomState or None, default=None
        Seed. The same seed gives the same labels, on any number of threads.
    n_jobs : int, optional
        Threads for large batches; all cores by default. No result depends on it.
    engine : str, distributed.Client or callable, default="cpu"
        Where the rows are processed: "cpu" on this machine's cores; "torch" with PyTorch, on a
        GPU if there is one; "dask", or a client, on the workers of a Dask cluster ("dask" takes
        the client that this process created last); "auto" whichever suits the batch, with a note.
        Or a function that returns an engine, see `scstream.engines`. The CPU and a Dask cluster
        of any size give the same labels.
    device : str, optional
        For PyTorch, such as "cuda" or "cpu"; with a Dask cluster, on each of its workers.
    group_level : float, optional
        Form groups of clusters after every batch, at this level in [0, 1], so that `events_` and
        `on_event` report which groups split and merge; or so many groups, if it is a whole number
        above 1. By default groups are formed when you ask for them, at level 0.3. See
        docs/groups.md.
    verbose : bool, default=False
        Whether to report on standard error what "auto" chooses and how the first batch goes.
        Warnings go to the logger ``scstream`` in any case.
    on_event : callable, optional
        Called with each `Event` of a batch, in order, once the batch is learned.
        An error that it raises is raised by `partial_fit` or `fit`; the batch stays
        learned, and `events_` has the remaining events.
    rules : Rules, optional
        Numbers that control the sampler, for experiments; see `scstream.Rules`.

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
        Births, deaths, returns, splits, merges and drift in the last batch, and columns for which
        "auto" has chosen a wider family since. Computed on access. Includes groups if these were
        formed after the batch.
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
    As long as fewer than ``max(20, 4 d)`` rows of d columns have been seen, they are stored, and
    every batch restarts the model from all of them: the prior should not depend on a handful of
    points. Ids are carried over. Rows of counts need 20; d is 15 where rows of more than 48 columns
    are described by a few directions.

    If nothing of the past is left when a batch comes (after a long time, or with a kernel that is
    0), the model starts over, its prior included. Ids continue: none is used twice.

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

    # -- using ------------------------------------------------------------------------------------

    def fit_predict(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Cluster one data set and return its labels (n,), numbered from 0."""
        return self.fit(X, **fit_params).labels_

    def transform(self, X: Any) -> Any:
        """Return the probability of each cluster for each row, like `predict_proba`."""
        return self.predict_proba(X)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return a name for each column of `transform`: ``scstream`` and the cluster's id."""
        return np.array([f"scstream{i}" for i in self._fitted().state.ids], dtype=object)

    # -- copies -----------------------------------------------------------------------------------

    def __sklearn_clone__(self) -> Self:
        """Return an unfitted copy, connected to the same cluster: that cannot be copied."""
        other = copy.copy(self)
        other.engine = "cpu"
        new: Self = super(ScStream, other).__sklearn_clone__()
        new.engine = self.engine
        return new

    def __getstate__(self) -> dict[str, Any]:
        """Return what is copied: a client stays behind, the copy takes the one it finds."""
        state: dict[str, Any] = dict(super().__getstate__())
        if is_client(state.get("engine")):
            state["engine"] = "dask"
            state.pop("_checked", None)
        return state

    # -- keeping ----------------------------------------------------------------------------------

    @numpy_defaults
    def save(self, path: str | os.PathLike[str], *, extra: dict[str, Any] | None = None) -> None:
        """Write the model to one file, from which it continues bit for bit.

        The file replaces an older one in a single step: whatever happens, one of the
        two exists, intact. See docs/checkpoints.md.

        Parameters
        ----------
        path : str or path-like
        extra : dict, optional
            Something to save with the model, in plain JSON, such as a place in the stream.
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
            The kernel that the model had. Without it the model predicts, but does not learn
            until ``set_params(kernel=...)``.

        Returns
        -------
        ScStream

        Raises
        ------
        scstream.checkpoint.CheckpointError
            If the file is not a valid checkpoint, or of an unknown format.
        OSError
            If it cannot be read.
        """
        from scstream.checkpoint.store import load  # which knows the model

        model: Self = load(cls, path, kernel)[0]
        return model

    @numpy_defaults
    def to_bytes(self) -> bytes:
        """Return the model as bytes, from which it goes on bit for bit: a compressed checkpoint.

        They hold what the model learns on, predicts and is merged with. They hold neither the
        labels of the last batch nor the records of batches before it; `save` writes these too.
        """
        from scstream.checkpoint.store import to_bytes  # which knows the model

        return to_bytes(self)

    @classmethod
    @numpy_defaults
    def from_bytes(cls, data: bytes, *, kernel: Callable[[float], float] | None = None) -> Self:
        """Return the model that `to_bytes` wrote, or the content of a saved file.

        Nothing in the bytes can run as code. A `scstream.checkpoint.CheckpointError` is raised if
        they are not a valid checkpoint. See `load` for ``kernel``.
        """
        from scstream.checkpoint.store import from_bytes  # which knows the model

        model: Self = from_bytes(cls, data, kernel)
        return model

    def to_onnx(self) -> ModelProto:
        """Return the model as an ONNX graph that labels rows in other runtimes and languages.

        Its input ``X`` (n, d) holds rows of float64, the columns in the order of the first batch.
        Outputs are ``label`` (n,), as `predict` returns them, ``probabilities`` (n, k), as
        `predict_proba`, and ``score_samples`` (n,). See docs/exporting.md.

        Returns
        -------
        onnx.ModelProto
            Its ``SerializeToString()`` is what a runtime reads. Needs the extra ``scstream[onnx]``.

        Raises
        ------
        ValueError
            If the family is not Gaussian (full, diagonal or spherical), multinomial or Poisson.
        """
        from scstream.onnx import to_onnx  # which knows the model

        return to_onnx(self)

    def merge(self, other: ScStream | bytes, *, random_state: Any = None) -> ScStream:
        """Return one model of what this and another learned; see `scstream.merge`."""
        from scstream.merging import merge  # which knows the model

        return merge([self, other], random_state=random_state)

    # -- looking ----------------------------------------------------------------------------------

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

        Its columns are ``group`` (where some clusters are parts of one whole, or `group_level` is
        given), ``share`` (of the latest rows, by their labels), ``rows`` (that the share is
        computed from), from the second batch on ``born``, ``age`` and ``speed`` (of drift, in
        standard deviations for each unit of time), ``different`` (how it differs from the rest, in
        words), and then the data's columns in their order: a median, mean, rate or probability, or
        the likeliest categories. Clusters that label none of the latest rows are left out.

        Returns
        -------
        pandas.DataFrame
            Or a polars data frame with the column ``id``, if pandas is not installed.
        """
        from scstream.summary import summary_frame  # which knows the model

        return summary_frame(self)

    @property
    def cluster_centers_(self) -> Array:
        """The clusters' means, rates or probabilities (k, d); NaN for columns of words."""
        from scstream.summary.differences import location

        names = self._columns()
        found = [[location(c.columns.get(name, {})) for name in names] for c in self.clusters_]
        return np.array(found, dtype=np.float64)

    def sample(self, n: int = 1, random_state: Any = None) -> tuple[NDArray[Any], NDArray[Any]]:
        """Draw rows (n, d) from the model, and return them with the ids of their clusters (n,)."""
        check_is_fitted(self)
        from scstream.summary.sampling import sample_rows  # which knows the model

        return sample_rows(self, n, random_state)

    def _html_repr(self) -> str:
        """Return what a notebook shows: the clusters, before the first batch the parameters."""
        from scstream.summary import model_page  # which knows the model

        return model_page(self) if self.n_batches_ else str(super()._html_repr())
