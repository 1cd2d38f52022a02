"""Groups: which clusters are parts of one whole, as a tree above the clusters. It changes none."""

from scstream.groups.tree import Tree

__all__ = ["Tree"]
