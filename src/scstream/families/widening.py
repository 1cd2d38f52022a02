"""Wider families for columns that hold what was not expected, and what becomes of the past.

A column of yes/no becomes one of amounts that are mostly 0 (or 1), where the batch is like that, or
else of counts, or of codes where a number is negative; it and counts become real numbers,
independent of the other columns, where a number is not whole; idle ones become whatever they hold.
What is known of a cluster's column is its moments, which are carried over:

- yes/no: the numbers of zeros and ones are known, so counts, shares, sums and squares are exact;
- counts: number and sum are exact, the squares are those of such counts with that mean;
- idle columns told nothing apart: their past counts as not observed.

Real numbers that were counts are still mostly whole. So that neighbouring numbers do not become
clusters of their own, each stands for a cell that overlaps the next, see `rounding`.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from scstream.families.auto import MAKE, choice_of
from scstream.families.bernoulli import Bernoulli
from scstream.families.categorical import Categorical
from scstream.families.columns import Columns, absent, kind_of
from scstream.families.contract import Array, Block, Family
from scstream.families.diagonal import Diagonal
from scstream.families.factorised import Factorised
from scstream.families.hurdle import Hurdle
from scstream.families.idle import Idle
from scstream.families.joined import Joined
from scstream.families.one_hot import OneHot
from scstream.families.poisson import Poisson
from scstream.families.product import Product
from scstream.support.words import counted

Kind = TypeVar("Kind", bound=Family)
CLOCK = "clock"  # what a column of times was taken for that is none any more
MODEL = "model"  # what a record is about that is about no column: the model, which has changed
_CELL = 2.0  # the width of cells of whole numbers: deviations of .58, so that neighbours overlap


@dataclass(frozen=True)
class Widening:
    """A column that is now treated as another kind than before.

    Attributes
    ----------
    column : str
    was, now : str
        Names of families; of a column of categories, how many it has; of a clock, `CLOCK` and what
        time goes on by since; of no column, `MODEL` and what the model has since.
    """

    column: str
    was: str
    now: str

    @property
    def of_column(self) -> bool:
        """Whether this is about what a column is taken for."""
        return self.was not in (CLOCK, MODEL)

    def __str__(self) -> str:
        if self.was == MODEL:
            return f"this batch is not as expected, and the model has {self.now}"
        if self.now.endswith("categories"):
            return f"column {self.column} has {self.now} now, {self.was.split()[0]} before"
        return f"column {self.column} is taken as {self.now} now, as {self.was} before"


@dataclass(frozen=True)
class _Origin:
    """Where a block of the wider family comes from: columns of an old block, by their numbers."""

    block: int
    columns: Sequence[int]


@dataclass(frozen=True)
class Wider:
    """A wider family, prepared, and how statistics and rows of the old one are carried over."""

    old: Family
    family: Product
    changes: tuple[Widening, ...]
    origins: Sequence[_Origin]
    width: int  # columns of the table

    def carried(self, s: Array) -> Array:
        """Return statistics (..., p) of the old family as those of the wider one."""
        blocks = self.old.independent_blocks(self.width)
        out = [s[..., :1]]
        for origin, new in zip(
            self.origins, self.family.independent_blocks(self.width), strict=True
        ):
            old = blocks[origin.block]
            own = _carried(old.family, old.statistics(s), origin.columns, new.family)
            out.append(own[..., 1:])
        return np.ascontiguousarray(np.concatenate(out, axis=-1))  # as the core expects

    def rows(self, X: Array) -> Array:
        """Return checked rows of the old family as those of the wider one."""
        blocks, d, out = self.old.independent_blocks(self.width), self.width, []
        for origin, new in zip(self.origins, self.family.independent_blocks(d), strict=True):
            old, own = blocks[origin.block].family, X[:, blocks[origin.block].rows]
            if type(new.family) is not type(old) or not isinstance(old, Joined):
                own = own[:, origin.columns]
                own = new.family.check(own) if isinstance(new.family, Hurdle) else own
            out.append(own)
        return np.concatenate(out, axis=1)


def widened(family: Family, table: Columns, totals: Array) -> Wider | None:
    """Return the family that takes a table's columns too, None if this one does.

    Parameters
    ----------
    family : Family
        Prepared; its priors were set by the data, not by the user.
    totals : ndarray (k, p)
        The clusters' statistics, to which the priors of new blocks are adapted.
    """
    blocks = family.independent_blocks(len(table.values))
    kept: list[tuple[Family, _Origin]] = []
    moved: dict[str, list[tuple[int, int]]] = {}
    changes = []
    for i, block in enumerate(blocks):
        stay = []
        for j, place in enumerate(block.columns):
            name = _wider_name(block.family, table, place, j)
            if name is None:
                stay.append(j)
            else:
                moved.setdefault(f"{i} {name}", []).append((i, j))
                changes.append(Widening(str(table.labels[place]), block.family.name, name))
        if len(stay) == len(block.columns):
            kept.append((block.family, _Origin(i, stay)))
        elif stay:
            kept.append((selected(block.family, stay), _Origin(i, stay)))
    if not changes:
        return None
    for key, columns in moved.items():
        i, numbers = columns[0][0], [j for _, j in columns]
        places = [blocks[i].columns[j] for j in numbers]
        new = _new_block(key.split()[1], blocks[i].family, table.select(places))
        carried = _carried(blocks[i].family, blocks[i].statistics(totals), numbers, new)
        kept.append((_adapted(new, carried), _Origin(i, numbers)))
    return _joined(family, table, blocks, kept, tuple(changes))


def new_categories(before: Family, now: Family, table: Columns) -> tuple[Widening, ...]:
    """Return the columns of categories that have met new ones."""
    d, out = len(table.values), []
    pairs = zip(before.independent_blocks(d), now.independent_blocks(d), strict=True)
    for (old, places, *_), (new, *_) in pairs:
        if isinstance(old, Categorical | OneHot) and isinstance(new, Categorical | OneHot):
            for i, (a, b) in enumerate(zip(old.known, new.known, strict=True)):
                if len(b) > len(a):
                    had, has = (counted(len(x), "category", "categories") for x in (a, b))
                    run = new.form.run_name(i) if isinstance(new, OneHot) else None
                    out.append(Widening(run or str(table.labels[places[i]]), had, has))
    return tuple(out)


def _wider_name(family: Family, table: Columns, place: int, j: int) -> str | None:
    """Return the name of the family that a column needs, None if its own will do or none does."""
    column = table.select([place])
    values = table.values[place]
    if isinstance(family, Idle):
        if not family.awakes(column, j):
            return None
        held = family.hyperparameters()["value"][j : j + 1]
        name = choice_of(column, 0, also=held[~np.isnan(held)])
        return "diagonal" if name == "gaussian" else name
    if not isinstance(family, Bernoulli | Poisson) or kind_of(values) not in ("number", "truth"):
        return None
    x = values[~absent(values)].astype(np.float64)
    if np.isinf(x).any() or family.refusal(x) is None:
        return None
    if isinstance(family, Bernoulli) and choice_of(column, 0) == Hurdle.name:
        return Hurdle.name
    if Poisson().refusal(x) is None:
        return "negative-binomial"
    codes = isinstance(family, Bernoulli) and np.all(x == np.floor(x))
    return "categorical" if codes else "diagonal"


def selected(family: Kind, columns: Sequence[int]) -> Kind:
    """Return the prepared family of independent columns for some of them."""
    new = copy.copy(family)
    for name, form in family.kept.items():
        if form.startswith("d") and name in vars(family):
            setattr(new, name, getattr(family, name)[list(columns)])
    return new.remade()


def _new_block(name: str, old: Family, table: Columns) -> Family:
    """Return the family of that name, prepared by the columns of a batch."""
    family: Family = MAKE[name]()
    if isinstance(old, Bernoulli) and isinstance(family, Categorical):
        family = family.meet(Columns([np.arange(2)] * len(table.values), table.labels, 2), None)
    met = family.meet(table, family)
    new = met.prepare(met.check(table))
    if isinstance(new, Hurdle):
        return new.as_wide_as_all()
    if not isinstance(new, Diagonal):
        return new
    return new.as_wide_as_all() if isinstance(old, Idle) else new.with_cells(_CELL)


def _adapted(family: Family, clusters: Array) -> Family:
    """Return the family with a prior that suits the clusters, where something is known of them."""
    if isinstance(family, Factorised) and family.split_up(clusters)[0].sum() > 0:
        return family.adapt(clusters).settled(len(clusters))
    return family


def _carried(old: Family, s: Array, columns: Sequence[int], new: Family) -> Array:
    """Return statistics (..., p) of columns of an old block as those of a new one."""
    count = s[..., :1]
    if type(new) is type(old):
        if not isinstance(old, Factorised):
            return s  # a block that stays whole
        return np.concatenate([count, *(b[..., columns] for b in old.split_up(s))], axis=-1)
    if isinstance(old, Idle):
        return np.concatenate([count, np.zeros((*s.shape[:-1], len(new.prior) - 1))], axis=-1)
    assert isinstance(old, Bernoulli | Poisson)
    n, x = (b[..., columns] for b in old.split_up(s))
    if isinstance(new, Hurdle):
        no, yes = new.statistics(new.check(np.repeat([[0.0], [1.0]], len(columns), 1)))[:, 1:]
        blocks = len(yes) // len(columns)
        both = np.concatenate([n - x] * blocks, axis=-1) * no
        return np.concatenate([count, both + np.concatenate([x] * blocks, axis=-1) * yes], axis=-1)
    if isinstance(new, Poisson):
        return np.concatenate([count, n, x], axis=-1)
    if isinstance(new, Categorical):
        return np.concatenate([count, new.counts_of(np.stack([n - x, x], axis=-1))], axis=-1)
    assert isinstance(new, Diagonal)
    squares = x
    if isinstance(old, Poisson):
        spread = selected(old, columns).spread([n, x])
        squares = n * spread + x * x / np.maximum(n, 1e-300)
    squares = squares + n * new._step**2 / 12.0
    shift, scale = new.frame
    z = (x - n * shift) / scale
    zz = (squares - 2.0 * shift * x + n * shift**2) / scale**2
    return np.concatenate([count, n, z, zz], axis=-1)


def _joined(
    old: Family, table: Columns, blocks: list[Block], kept: list[tuple[Family, _Origin]],
    changes: tuple[Widening, ...],
) -> Wider:  # fmt: skip
    origins = [origin for _, origin in kept]
    places = [[int(blocks[o.block].columns[j]) for j in o.columns] for o in origins]
    names = [
        (f.name, [table.labels[j] for j in at]) for (f, _), at in zip(kept, places, strict=True)
    ]
    family = Product(names).of_prepared([f for f, _ in kept], places)
    return Wider(old, family, changes, origins, len(table.values))
