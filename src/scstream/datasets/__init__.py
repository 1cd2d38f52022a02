"""Synthetic streams whose clusters drift, appear and vanish, with known true clusters.

The generators :func:`gaussian_stream`, :func:`multinomial_stream`, :func:`directional_stream` and
:func:`mixed_stream` give a
:class:`Stream` of :class:`Batch` objects. Nothing is stored but the clusters' parameters:
a batch is drawn when it is asked for, from the seed and its own index, so a stream of ten
million points takes no more memory than one of ten thousand.
"""

from scstream.datasets.base import Batch, Mixture, Stream
from scstream.datasets.directional import DirectionalMixture, directional_stream
from scstream.datasets.gaussian import GaussianMixture, gaussian_stream
from scstream.datasets.mixed import TableMixture, mixed_stream
from scstream.datasets.multinomial import MultinomialMixture, multinomial_stream

__all__ = [
    "Batch",
    "DirectionalMixture",
    "GaussianMixture",
    "Mixture",
    "MultinomialMixture",
    "Stream",
    "TableMixture",
    "directional_stream",
    "gaussian_stream",
    "mixed_stream",
    "multinomial_stream",
]
