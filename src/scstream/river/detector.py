"""ScStream as an anomaly detector of river."""

from __future__ import annotations

from river import base

from scstream.river.buffered import Buffered


class StreamDetector(Buffered, base.AnomalyDetector):
    """Scores how unusual a row is, from 0 to 1, by clusters that follow the stream.

    The score is one minus `ScStream.anomaly`: of a stream without anomalies one row in a thousand
    is above 0.999, whatever its units and columns. Score a row before it is learned.

    Parameters
    ----------
    family, batch_size, alpha, half_life, sweeps, max_clusters, outlier_weight, seed
        As in `StreamClusterer`.

    Attributes
    ----------
    model : ScStream
        The model inside.
    features : list
        The features of a row in the order of the model's columns; empty before the first batch.

    Examples
    --------
    >>> from river import anomaly, preprocessing
    >>> from scstream.datasets import gaussian_stream
    >>> from scstream.river import StreamDetector
    >>> model = preprocessing.StandardScaler() | StreamDetector(seed=0)
    >>> for batch in gaussian_stream(n_batches=5, batch_size=200, n_clusters=3, random_state=1):
    ...     for x, y in batch.X.tolist():
    ...         model.learn_one({"x": x, "y": y})
    >>> model.score_one({"x": 90.0, "y": -90.0}) > 0.999
    True

    The filters of river take it:

    >>> alarm = anomaly.ThresholdFilter(StreamDetector(seed=0), threshold=0.999)
    >>> alarm.classify(0.9995)
    True
    """
