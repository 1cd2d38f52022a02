"""Families of cluster distributions, each with its conjugate prior.

A new family is one file, and one line here: it is then known by its name, and the tests of the
contract find it.
"""

from scstream.families.bernoulli import Bernoulli as Bernoulli
from scstream.families.categorical import Categorical as Categorical
from scstream.families.check import check_family as check_family
from scstream.families.composition import Composition as Composition
from scstream.families.contract import Family as Family
from scstream.families.count_shares import CountShares as CountShares
from scstream.families.diagonal import Diagonal as Diagonal
from scstream.families.directional import Directional as Directional
from scstream.families.gamma import Exponential as Exponential
from scstream.families.gamma import Gamma as Gamma
from scstream.families.gaussian import Gaussian as Gaussian
from scstream.families.hurdle import Hurdle as Hurdle
from scstream.families.multinomial import Multinomial as Multinomial
from scstream.families.negative_binomial import NegativeBinomial as NegativeBinomial
from scstream.families.one_hot import OneHot as OneHot
from scstream.families.poisson import Poisson as Poisson
from scstream.families.product import Product as Product
from scstream.families.registry import BY_NAME as BY_NAME
from scstream.families.spherical import Spherical as Spherical
from scstream.families.student import DiagonalStudent as DiagonalStudent
from scstream.families.student import Student as Student

BY_NAME.update(
    (thing.name, thing)
    for thing in list(globals().values())
    if isinstance(thing, type) and issubclass(thing, Family) and thing not in (Family, Product)
)
