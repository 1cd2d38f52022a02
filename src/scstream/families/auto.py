"""The family that a table's columns call for."""

from __future__ import annotations

from typing import Any

import numpy as np

from scstream.families.bernoulli import Bernoulli
from scstream.families.categorical import Categorical
from scstream.families.columns import Columns, absent, columns_of, kind_of
from scstream.families.contract import Family
from scstream.families.diagonal import Diagonal
from scstream.families.gaussian import Gaussian
from scstream.families.poisson import Poisson
from scstream.families.product import Product

_SMALL = 100.0  # whole numbers that hardly ever exceed this are taken for counts
_WIDE = 64  # columns beyond which a full covariance rests on too few rows, and costs too much
_DISTINCT = 0.5  # words that are new in more than this share of the rows name rows, not kinds

_MAKE: dict[str, type[Family]] = {
    "gaussian": Gaussian,
    "diagonal": Diagonal,
    "poisson": Poisson,
    "bernoulli": Bernoulli,
    "categorical": Categorical,
}


def choose_family(X: Any) -> tuple[Family, str]:
    """Return a family for a first batch, and what was chosen in words.

    Truth values and columns of 0 and 1 are Bernoulli, words are categories, small whole numbers
    are Poisson counts, all other numbers are Gaussian: with a full covariance if none is missing
    and there are at most 64 of them, else with independent columns.
    """
    table = columns_of(X)
    blocks: dict[str, list[Any]] = {}
    for j, label in enumerate(table.labels):
        blocks.setdefault(_choice(table, j), []).append(label)
    real = [table.place(label) for label in blocks.get("gaussian", [])]
    if len(real) > _WIDE or any(absent(table.values[j]).any() for j in real):
        blocks["diagonal"] = blocks.pop("gaussian")
    words = "; ".join(f"{', '.join(map(str, labels))} as {name}" for name, labels in blocks.items())
    if len(blocks) == 1:
        return _MAKE[next(iter(blocks))](), words
    return Product(blocks), words


def names_rows(distinct: int, n: int) -> bool:
    """Whether so many different words in n rows name the rows, rather than kinds of them."""
    return distinct > max(_DISTINCT * n, 20.0)


def _choice(table: Columns, j: int) -> str:
    """Return the name of the family for a column."""
    values = table.values[j]
    kind, present = kind_of(values), values[~absent(values)]
    if kind in ("date", "other"):
        raise table.refuse(
            j,
            f"holds {'dates' if kind == 'date' else 'no plain values'}, which no family takes. "
            "Turn it into numbers or words, or leave it out.",
        )
    if len(present) == 0:
        raise table.refuse(
            j, "holds nothing, so its kind is unknown. Leave it out, or give a family."
        )
    if kind == "text":
        distinct = len(np.unique(present.astype(str)))
        if names_rows(distinct, len(present)) and not table.settled:
            raise table.refuse(
                j,
                f"looks like free text or an identifier ({distinct} distinct values in "
                f"{len(present)} rows). Leave it out, or name it in "
                "Product({'categorical': [...]}).",
            )
        return "categorical"
    numbers = present.astype(np.float64)
    if kind == "truth" or np.isin(numbers, (0.0, 1.0)).all():
        return "bernoulli"
    whole = np.all(numbers == np.floor(numbers)) and numbers.min() >= 0
    return "poisson" if whole and np.quantile(numbers, 0.99) <= _SMALL else "gaussian"
