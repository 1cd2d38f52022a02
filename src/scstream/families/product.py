"""Tables of mixed columns: independent blocks of columns, each with a family of its own."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from scstream.families.columns import columns_of
from scstream.families.contract import Array, Block, Family
from scstream.families.joined import Joined
from scstream.families.product_blocks import (
    Blocks,
    beside_others,
    check_places,
    check_saved_places,
    checked_columns,
    listed,
    pairs_of,
    prepared_beside,
    resolved,
    slices,
)
from scstream.families.scores import Points, to_dense


class Product(Joined):
    """Clusters of a mixed table: independent blocks of columns, each with its own family.

    Parameters
    ----------
    blocks : mapping, or sequence of pairs
        For each block its family (a name, or an object that carries its prior) and its columns:
        names of a data frame's columns, or their numbers. Columns in no block are left out.

    Notes
    -----
    Within a cluster the blocks are independent; so are the columns of a block, unless its family
    is the full Gaussian. Missing entries are not observed; the directional family and the
    multinomial refuse them.

    Examples
    --------
    >>> import numpy as np
    >>> from scstream import Product, ScStream
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(2, size=200)
    >>> X = np.column_stack([rng.normal(5 * y), rng.poisson(1 + 6 * y), rng.integers(3, size=200)])
    >>> family = Product({"gaussian": [0], "poisson": [1], "categorical": [2]})
    >>> model = ScStream(family, random_state=0).fit(X)
    >>> model.n_clusters_
    2
    >>> sorted(model.clusters_[0].columns[0])
    ['high', 'low', 'mean', 'variance']
    """

    name: ClassVar[str] = "product"
    missing: ClassVar[bool] = True
    tabular: ClassVar[bool] = True
    text: ClassVar[bool] = True
    kept: ClassVar[Mapping[str, str]] = {"_families": "any", "_places": "any"}

    _places: Sequence[Sequence[int]] = ()  # the columns of each block in the table

    def __init__(self, blocks: Blocks) -> None:
        self.blocks = blocks

    def __repr__(self) -> str:
        parts = ", ".join(f"{family!r}: {listed(columns)!r}" for family, columns in self._pairs())
        return f"Product({{{parts}}})"

    def _pairs(self) -> list[tuple[Any, Sequence[Any]]]:
        return pairs_of(self.blocks)

    def check_given(self) -> None:
        """Raise `ValueError` if the blocks are invalid: their families must be known."""
        for family, _ in self._pairs():
            resolved(family).check_given()

    # -- set-up ---------------------------------------------------------------------------------

    def meet(self, X: Points, before: Family | None) -> Family:
        """Return a copy that knows where its columns are, and what is in them."""
        table = columns_of(X)
        pairs = self._pairs()
        if not pairs:
            raise ValueError("A Product needs at least one block of columns.")
        new = copy.copy(self)
        new._places = [[table.place(c) for c in listed(columns)] for _, columns in pairs]
        check_places(new._places, table)
        families = self._families or [resolved(family) for family, _ in pairs]
        old: Sequence[Family | None] = [None] * len(families)
        if isinstance(before, Product):
            if before._places != new._places:
                raise ValueError("The blocks of a Product cannot change within a stream.")
            old = before._families
        new._families = [
            family.meet(table.select(places), known)
            for family, places, known in zip(families, new._places, old, strict=True)
        ]
        new._columns = _columns(new._families, new._places)
        return new

    def check(self, X: Points) -> Points:
        """Return the blocks' columns as numbers (n, d), side by side."""
        if not self._places:
            return self.meet(X, None).check(X)
        table = columns_of(X)
        return np.concatenate(
            [
                checked_columns(family, table.select(places))
                for family, places in zip(self._families, self._places, strict=True)
            ],
            axis=1,
        )

    def prepare(self, X: Points) -> Self:
        """Return a copy whose blocks are prepared."""
        new = copy.copy(self)
        if not self._places:  # the rows are all there is to go by
            new = copy.copy(self.meet(X, None))  # type: ignore[assignment] # it is one of its own
        new._families = [
            prepared_beside(f, X[:, c]) for f, c in zip(new._families, new._columns, strict=True)
        ]
        return new._with_parts()

    def remade(self) -> Self:
        """Return the copy that knows where the parts of rows and statistics are."""
        families, places = self._families, self._places
        if not isinstance(self.blocks, Mapping | list | tuple) or not isinstance(places, list):
            raise ValueError("a product has no blocks")
        if not isinstance(families, list) or not len(self._pairs()) == len(families) == len(places):
            raise ValueError("a product's blocks and families differ in number")
        check_saved_places(places)
        made = [family for family in families if isinstance(family, Family)]
        both = zip(made, places, strict=True)
        if any(f.columns_taken() not in (None, f.width(len(p))) for f, p in both):
            raise ValueError("a block's family does not fit its columns")
        return self.of_prepared(made, places)

    def independent_blocks(self, d: int) -> list[Block]:
        """Return the blocks, each with its columns in the table."""
        return [*map(Block, self._families, self._places, self._columns, self._parts)]

    def of_prepared(self, families: Sequence[Family], places: Sequence[Sequence[int]]) -> Self:
        """Return the copy whose blocks have these families, prepared, and these columns."""
        new = copy.copy(self)
        new._families, new._places = [beside_others(f) for f in families], places
        new._columns = _columns(new._families, places)
        return new._with_parts()

    # -- the family proper ----------------------------------------------------------------------

    def embed(self, X: Points) -> Array:
        """Return the blocks' embeddings side by side, each as wide as it has columns."""
        out = []
        for family, c in zip(self._families, self._columns, strict=True):
            E = to_dense(family.embed(X[:, c]))
            width = np.sqrt(E.var(axis=0).sum() / (c.stop - c.start)) if len(E) else 0.0
            out.append(E / width if width > 1e-12 else 0.0 * E)
        return np.concatenate(out, axis=1)

    # -- how it shows itself --------------------------------------------------------------------

    def describe(self, tau: Array) -> dict[str, Array]:
        """Return the blocks' parameters; where two have the same name, the block's goes first."""
        parts = zip(self._families, self._divided_posterior(tau), strict=True)
        described = [(family.name, family.describe(part)) for family, part in parts]
        often = [key for _, block in described for key in block]
        out: dict[str, Array] = {}
        for name, block in described:
            for key, value in block.items():
                full = key if often.count(key) == 1 else f"{name}_{key}"
                out[full if full not in out else f"{full}_{len(out)}"] = value
        return out

    def describe_columns(
        self, tau: Array, names: Sequence[Any], seen: Array | None = None
    ) -> list[dict[Any, Any]]:
        """Return for each cluster what is known of each column that is in a block."""
        out: list[dict[Any, Any]] = [{} for _ in range(len(tau))]
        parts = zip(self._families, self._divided_posterior(tau), self._places, strict=True)
        for family, part, places in parts:
            own = None if seen is None else seen[:, list(places)]
            block = family.describe_columns(part, [names[j] for j in places], own)
            for cluster, columns in zip(out, block, strict=True):
                cluster.update(columns)
        return out

    def hyperparameters(self) -> dict[str, Any]:
        """Return the blocks, with families whose priors are given, as `Product` takes them."""
        pairs = zip(self._families, self._pairs(), strict=True)
        return {
            "blocks": [
                (type(family)(**family.hyperparameters()), columns)
                for family, (_, columns) in pairs
            ]
        }


def _columns(families: Sequence[Family], places: Sequence[Sequence[int]]) -> list[slice]:
    """Return where the checked rows of each block are, side by side."""
    return slices([f.width(len(block)) for f, block in zip(families, places, strict=True)])
