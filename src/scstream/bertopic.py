"""ScStream as the cluster model of BERTopic, with the probability of each document's topic."""

from __future__ import annotations

from typing import Any, Self

from scstream.model import ScStream
from scstream.pipeline.assess import assess, learner_of

__all__ = ["TopicClusterer"]


class TopicClusterer(ScStream):
    """The cluster model for ``BERTopic(hdbscan_model=...)``.

    It is `ScStream`, with the attribute that BERTopic reads probabilities from. `ScStream` itself
    works, too; BERTopic then has topics without probabilities.

    Attributes
    ----------
    probabilities_ : ndarray (n,)
        The probability of each row's label, for the rows of the last `fit` or `partial_fit`.

    Examples
    --------
    >>> from scstream.bertopic import TopicClusterer
    >>> from scstream.datasets import gaussian_stream
    >>> model = TopicClusterer(random_state=0)
    >>> for batch in gaussian_stream(n_batches=2, n_clusters=3, random_state=0):
    ...     model = model.partial_fit(batch.X)
    >>> model.probabilities_.shape == model.labels_.shape
    True
    """

    def fit(self, X: Any, y: Any = None, **more: Any) -> Self:
        """Cluster one set of documents; see `ScStream.fit`.

        Parameters
        ----------
        X : array-like (n, d)
            The reduced embeddings.
        y : ignored
        **more : optional
            The other arguments of `ScStream.fit`.

        Returns
        -------
        TopicClusterer
            The model itself.
        """
        super().fit(X, y, **more)
        return self._with_probabilities(X)

    def partial_fit(self, X: Any, y: Any = None, **more: Any) -> Self:
        """Learn from a batch of documents; see `ScStream.partial_fit`.

        Parameters
        ----------
        X : array-like (n, d)
            The reduced embeddings.
        y : ignored
        **more : optional
            The other arguments of `ScStream.partial_fit`.

        Returns
        -------
        TopicClusterer
            The model itself.
        """
        super().partial_fit(X, y, **more)
        return self._with_probabilities(X)

    def _with_probabilities(self, X: Any) -> Self:
        learner = learner_of(self)
        assert learner is not None
        self.probabilities_ = assess(learner, X, self.labels_).probability
        return self
