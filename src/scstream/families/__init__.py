"""Families of cluster distributions, each with its conjugate prior."""

from scstream.families.base import Family
from scstream.families.gaussian import Gaussian
from scstream.families.multinomial import Multinomial

BY_NAME: dict[str, type[Family]] = {family.name: family for family in (Gaussian, Multinomial)}

__all__ = ["BY_NAME", "Family", "Gaussian", "Multinomial"]
