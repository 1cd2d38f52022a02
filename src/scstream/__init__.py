"""Clustering of streams with a Dirichlet process mixture."""

from scstream.families import Gaussian, Multinomial
from scstream.model import ScStream

__version__ = "0.1.0"

__all__ = ["Gaussian", "Multinomial", "ScStream", "__version__"]
