"""Tables of mixed columns: independent blocks of columns, each with a family of its own."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from scstream.families import rowwise
from scstream.families.columns import columns_of
from scstream.families.contract import Array, Block, Family
from scstream.families.cutting import Projection, Side
from scstream.families.gaps import Completion
from scstream.families.product_blocks import (
    Blocks,
    beside_others,
    check_places,
    check_saved_places,
    checked_columns,
    listed,
    pairs_of,
    resolved,
    slices,
)
from scstream.families.product_scores import SumScore, completion_of
from scstream.families.scores import LinearScore, Points, Score, to_dense


class Product(Family):
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
    ['mean', 'variance']
    """

    name: ClassVar[str] = "product"
    missing: ClassVar[bool] = True
    tabular: ClassVar[bool] = True
    text: ClassVar[bool] = True

    _families: Sequence[Family] = ()  # one for each block, once the table was met
    _places: Sequence[Sequence[int]] = ()  # the columns of each block in the table
    _columns: Sequence[slice] = ()  # the same in the checked rows
    _parts: Sequence[slice] = ()  # the statistics of each block, once it is prepared

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
        new._columns = slices([len(places) for places in new._places])
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
            beside_others(f.prepare(X[:, c]))
            for f, c in zip(new._families, new._columns, strict=True)
        ]
        return new._with_parts()

    def _changed(self, change: Callable[[Family, Array], Family], clusters: Array) -> Self:
        """Return a copy with each block's family changed, given its part of the clusters."""
        parts = zip(self._families, self.parts_of(clusters), strict=True)
        return self._having([change(family, s) for family, s in parts])

    def _having(self, families: list[Family]) -> Self:
        """Return a copy with other families for its blocks."""
        new = copy.copy(self)
        new._families = families
        return new

    def adapt(self, clusters: Array) -> Self:
        """Return a copy whose blocks suit the clusters (k, p)."""
        return self._changed(lambda family, s: family.adapt(s), clusters)

    def held(self, hold: bool) -> Self:
        """Return a copy whose blocks are held, or not; itself if there is nothing to hold."""
        families = [family.held(hold) for family in self._families]
        same = all(a is b for a, b in zip(families, self._families, strict=True))
        return self if same else self._having(families)

    def follow(self, clusters: Array, latest: Array) -> Self:
        """Return a copy whose blocks follow the clusters (k, p)."""
        own = iter(self.parts_of(latest))
        return self._changed(lambda family, s: family.follow(s, next(own)), clusters)

    def settled(self, k: int) -> Self:
        """Return the copy for the rest of the stream."""
        return self._having([family.settled(k) for family in self._families])

    def to_saved(self) -> dict[str, Any]:
        """Return the blocks' families and where their columns are."""
        if not self._parts:
            return {}
        return {"_families": list(self._families), "_places": [list(p) for p in self._places]}

    def from_saved(self, saved: Mapping[str, Any]) -> Self:
        """Return the prepared copy that `to_saved` describes."""
        families, places = saved.get("_families"), saved.get("_places")
        blocks = self.blocks
        if not isinstance(blocks, Mapping | list | tuple) or not isinstance(places, list):
            raise ValueError("a product has no blocks")
        if not isinstance(families, list) or not len(self._pairs()) == len(families) == len(places):
            raise ValueError("a product's blocks and families differ in number")
        check_saved_places(places)
        made = [family for family in families if isinstance(family, Family)]
        both = zip(made, places, strict=True)
        if any((family.columns_taken() or len(p)) != len(p) for family, p in both):
            raise ValueError("a block's family does not fit its columns")
        return self.of_prepared(made, places)

    def columns_taken(self) -> int:
        """Return how many columns the blocks have."""
        return sum(len(places) for places in self._places)

    def independent_blocks(self, d: int) -> list[Block]:
        """Return the blocks, each with its columns in the table."""
        return [Block(f, p) for f, p in zip(self._families, self._places, strict=True)]

    def sound(self, X: Points) -> bool:
        """Whether rows have the form that `check` returns."""
        if not isinstance(X, np.ndarray):
            return False
        blocks = zip(self._families, self._columns, strict=True)
        return all(f.sound(sparse.csr_array(X[:, c]) if f.sparse else X[:, c]) for f, c in blocks)

    def _with_parts(self) -> Self:
        """Set where each block's statistics are in this copy's."""
        self._parts = [
            slice(part.start + 1, part.stop + 1)
            for part in slices([len(f.prior) - 1 for f in self._families])
        ]
        return self

    def of_prepared(self, families: Sequence[Family], places: Sequence[Sequence[int]]) -> Self:
        """Return the copy whose blocks have these families, prepared, and these columns."""
        new = copy.copy(self)
        new._families, new._places = [beside_others(f) for f in families], places
        new._columns = slices([len(block) for block in places])
        return new._with_parts()

    def parts_of(self, s: Array) -> list[Array]:
        """Return each block's part of statistics (..., p), the count in front of each."""
        return [np.concatenate([s[..., :1], s[..., part]], axis=-1) for part in self._parts]

    # -- missing entries that are completed -----------------------------------------------------

    def gaps(self, X: Points) -> NDArray[np.int64]:
        """Return the rows that have gaps in some block."""
        rows = [f.gaps(X[:, c]) for f, c in self._completing()]
        return np.unique(np.concatenate(rows)) if rows else super().gaps(X)

    def _completing(self) -> list[tuple[Family, slice]]:
        pairs = zip(self._families, self._columns, strict=True)
        return [(family, columns) for family, columns in pairs if family.completes]

    def filled(self, X: Points) -> Points:
        """Return rows with a first guess in place of the blocks' gaps."""
        if len(self.gaps(X)) == 0:
            return X
        out = X.copy()
        for family, columns in self._completing():
            out[:, columns] = family.filled(X[:, columns])
        return out

    def completion(self, score: Score) -> Completion:
        """Return what scores and completes rows with gaps, block by block."""
        return completion_of(score, self._families, self._parts)

    # -- the family proper ----------------------------------------------------------------------

    def is_coarse(self) -> bool:
        """Whether some block is."""
        return any(family.is_coarse() for family in self._families)

    def unrounded(self, X: Points, batch: int, first_row: int = 0) -> Points:
        """Return rows with the coarse numbers of each block at places within their cells."""
        if not self.is_coarse():
            return X
        out = X.copy()
        for family, columns in zip(self._families, self._columns, strict=True):
            out[:, columns] = family.unrounded(X[:, columns], batch, first_row)
        return out

    def statistics(self, X: Points) -> Points:
        """Return the blocks' statistics behind one common count."""
        parts = [f.statistics(X[:, c]) for f, c in zip(self._families, self._columns, strict=True)]
        if any(sparse.issparse(part) for part in parts):
            rows = [parts[0], *(part[:, 1:] for part in parts[1:])]
            return sparse.hstack([sparse.csr_array(r) for r in rows], format="csr")
        return np.concatenate([parts[0], *(part[:, 1:] for part in parts[1:])], axis=1)

    def log_base(self, X: Points) -> Array:
        """Return the sum of the blocks' base measures (n,)."""
        blocks = zip(self._families, self._columns, strict=True)
        return rowwise.sums(np.column_stack([f.log_base(X[:, c]) for f, c in blocks]))

    @property
    def prior(self) -> Array:
        """The blocks' priors behind a count of 0; each block adds its own count again."""
        return np.concatenate([[0.0], *(family.prior[1:] for family in self._families)])

    def split_posterior(self, tau: Array) -> list[Array]:
        """Return each block's ``tau`` (..., p)."""
        parts = self.parts_of(tau)
        for family, part in zip(self._families, parts, strict=True):
            part[..., 0] += family.prior[0]
        return parts

    def log_partition(self, tau: Array) -> Array:
        """Return the sum of the blocks' log-normalisers."""
        parts = zip(self._families, self.split_posterior(tau), strict=True)
        out: Array = np.sum([family.log_partition(part) for family, part in parts], axis=0)
        return out

    def log_marginal(self, s: Array) -> Array:
        """Return the sum of the blocks' log marginal likelihoods."""
        parts = zip(self._families, self.parts_of(s), strict=True)
        out: Array = np.sum([family.log_marginal(part) for family, part in parts], axis=0)
        return out

    def draw(self, rng: np.random.Generator, tau: Array) -> Array:
        """Draw each block's parameters."""
        parts = zip(self._families, self.split_posterior(tau), strict=True)
        return self._joined([family.draw(rng, part) for family, part in parts])

    def _joined(self, parts: Sequence[Array]) -> Array:
        """Return functionals (k, p) that are the sums of the blocks' own."""
        constant = np.sum([part[:, :1] for part in parts], axis=0)
        return np.concatenate([constant, *(part[:, 1:] for part in parts)], axis=1)

    def predictive_score(self, s: Array, log_weight: Array) -> Score:
        """Score points by the product of the blocks' predictives."""
        nothing = np.zeros(len(s))
        scores = [
            family.predictive_score(part, nothing)
            for family, part in zip(self._families, self.parts_of(s), strict=True)
        ]
        eta = np.zeros(s.shape)
        eta[:, 0] = log_weight
        other = []
        for score, part in zip(scores, self._parts, strict=True):
            if isinstance(score, LinearScore):
                eta[:, 0] += score.eta[:, 0]
                eta[:, part] = score.eta[:, 1:]
            else:
                other.append((score, part))
        return SumScore(LinearScore(eta), other)

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
        parts = zip(self._families, self.split_posterior(tau), strict=True)
        described = [(family.name, family.describe(part)) for family, part in parts]
        often = [key for _, block in described for key in block]
        out: dict[str, Array] = {}
        for name, block in described:
            for key, value in block.items():
                full = key if often.count(key) == 1 else f"{name}_{key}"
                out[full if full not in out else f"{full}_{len(out)}"] = value
        return out

    def describe_columns(self, tau: Array, names: Sequence[Any]) -> list[dict[Any, Any]]:
        """Return for each cluster what is known of each column that is in a block."""
        out: list[dict[Any, Any]] = [{} for _ in range(len(tau))]
        parts = zip(self._families, self.split_posterior(tau), self._places, strict=True)
        for family, part, places in parts:
            block = family.describe_columns(part, [names[j] for j in places])
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

    # -- moves ----------------------------------------------------------------------------------

    def directions(self, s: Array, member: Array, attempt: NDArray[np.int64]) -> Array:
        """Propose to cut by one block in turn, or by all of them together."""
        m = len(self._families)
        turn, attempt = attempt % (m + 1), attempt // (m + 1)
        found = []
        for i, (family, own, point) in enumerate(
            zip(self._families, self.parts_of(s), self.parts_of(member), strict=True)
        ):
            alone = family.directions(own, point, attempt)
            together = family.directions(own, point, 2 * attempt + 1)
            used = np.where((turn == i)[:, None], alone, 0.0)
            found.append(np.where((turn == m)[:, None], together, used))
        return self._joined(found)

    def discriminant(self, first: Array, second: Array) -> list[Any]:
        """Return the blocks' discriminants, whose sum it is."""
        groups = zip(self._families, self.parts_of(first), self.parts_of(second), strict=True)
        return [family.discriminant(a, b) for family, a, b in groups]

    def project(self, past: Array, discriminant: list[Any]) -> Projection:
        """Return the sums of the blocks' means and variances, which are independent."""
        pieces = zip(self._families, self.parts_of(past), discriminant, strict=True)
        each = [family.project(own, cut) for family, own, cut in pieces]
        return Projection(*(np.sum(both, axis=0) for both in zip(*each, strict=True)))

    def cut(self, past: Array, discriminant: list[Any], side: Side) -> Array:
        """Return the blocks' parts on a side of their common discriminant."""
        pieces = zip(self._families, self.parts_of(past), discriminant, strict=True)
        parts = [family.cut(own, cut, side) for family, own, cut in pieces]
        return np.concatenate([parts[0], *(part[..., 1:] for part in parts[1:])], axis=-1)
