"""ScStream as a clusterer of river."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from river import base

from scstream.buffer import dicts
from scstream.river.buffered import Buffered


class StreamClusterer(Buffered, base.Clusterer):
    """Clusters a stream of dicts without a given number of clusters.

    Parameters
    ----------
    family : str or Family, default="gaussian"
        The distribution of a cluster, as in `scstream.ScStream`.
    batch_size : int, default=100
        Rows that are collected before they are learned together.
    alpha : float, default=1.0
        Concentration of the Dirichlet process: a higher value makes new clusters likelier.
    half_life : float, "auto" or None, default="auto"
        The age, in batches, at which a batch counts half; "auto" is 5, or more if batches are
        small. None never forgets.
    sweeps : int, default=1
        Sampled sweeps of each batch after the first.
    max_clusters : int, optional
        An upper bound on the number of clusters.
    outlier_weight : float or "auto", default=0.0
        Weight of a fixed component as wide as the whole first batch; its points are labelled -1.
        "auto" learns the weight and the shape of this background, for real-valued columns: noise
        is labelled -1 instead of forming clusters. See docs/anomalies.md.
    seed : int, optional
        The same seed gives the same clusters.

    Attributes
    ----------
    model : ScStream
        The model inside, with all that it offers: `clusters_`, `score_samples`, `events_`.
    features : list
        The features of a row in the order of the model's columns; empty before the first batch.

    Notes
    -----
    The features of the stream are those of the first batch's rows, all of them together. A
    feature that appears later is left out, with one warning. A feature that a row lacks (or that
    is None or NaN) is missing; "student" and "directional", which take no missing entries, refuse
    the batch.

    Examples
    --------
    >>> from river import preprocessing
    >>> from scstream.datasets import gaussian_stream
    >>> from scstream.river import StreamClusterer
    >>> model = preprocessing.StandardScaler() | StreamClusterer(seed=0)
    >>> for batch in gaussian_stream(n_batches=3, batch_size=200, n_clusters=3, random_state=1):
    ...     for x, y in batch.X.tolist():
    ...         model.learn_one({"x": x, "y": y})
    >>> len({model.predict_one({"x": x, "y": y}) for x, y in batch.X.tolist()})
    3
    """

    def predict_one(self, x: Mapping[Any, Any]) -> int:
        """Return the id of a row's cluster: -1 for an outlier, and before the first batch."""
        return int(self.predict([x])[0])

    def predict_many(self, X: Any) -> Any:
        """Return the ids of the rows' clusters as a series of the data frame's kind."""
        from river.utils import dataframe

        labels = self.predict(dicts(X))
        return dataframe.to_native_series(labels, name="cluster", like=dataframe.into_frame(X))

    @property
    def centers(self) -> dict[int, dict[Any, float]]:
        """The clusters' means, rates or probabilities by feature; words have none."""
        if not self.features:
            return {}
        centers = self.model.cluster_centers_.tolist()
        return {
            cluster.id: {
                name: value for name, value in zip(self.features, center, strict=True)
                if value == value
            }
            for cluster, center in zip(self.model.clusters_, centers, strict=True)
        }  # fmt: skip
