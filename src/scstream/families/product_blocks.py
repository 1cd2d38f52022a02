"""The blocks of a product: families and columns as a user or a checkpoint gives them, checked."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from scstream.families.columns import Columns, finite_numbers
from scstream.families.contract import Array, Family
from scstream.families.idle import Idle
from scstream.families.registry import BY_NAME
from scstream.families.scores import Points, to_dense

_MOST_COLUMNS = 2**31  # of a table

Blocks = Mapping[Any, Sequence[Any]] | Iterable[tuple[Any, Sequence[Any]]]


def pairs_of(blocks: Any) -> list[tuple[Any, Sequence[Any]]]:
    """Return the families and their columns, or raise `ValueError`."""
    pairs = list(blocks.items()) if isinstance(blocks, Mapping) else blocks
    if not isinstance(pairs, list | tuple) or not all(map(_is_pair, pairs)):
        raise ValueError(
            "The blocks of a Product are a dict from families to columns, or a list of pairs "
            f"of them; got {blocks!r}."
        )
    return list(pairs)


def listed(columns: Any) -> list[Any]:
    """Return columns as a list; one alone may be given as it is."""
    if isinstance(columns, str | int | np.integer):
        return [columns]
    return list(columns)


def _is_pair(pair: Any) -> bool:
    """Whether it is a family and its columns."""
    return (
        isinstance(pair, list | tuple)
        and len(pair) == 2
        and isinstance(pair[0], str | Family)
        and not isinstance(pair[1], bool)
        and (isinstance(pair[1], str | int | np.integer) or hasattr(pair[1], "__iter__"))
    )


def slices(widths: Sequence[int]) -> list[slice]:
    """Return where each of several pieces is that lie side by side."""
    ends = np.cumsum([0, *widths]).tolist()
    return [slice(a, b) for a, b in pairwise(ends)]


def resolved(family: Any) -> Family:
    """Return a block's family, which may be given by its name."""
    made = _made(family)
    if made.tails is not None:
        raise ValueError(
            f"A Product cannot hold the family {made.name!r}: how far out a row is would depend on "
            "the other columns too. Use 'gaussian' or 'diagonal' for these columns."
        )
    return made


def _made(family: Any) -> Family:
    if isinstance(family, Family):
        return family
    if family == Idle.name:
        return Idle()
    if not isinstance(family, str) or family not in BY_NAME:
        raise ValueError(
            f"A block's family must be one of {sorted(BY_NAME)} or a family object; got {family!r}."
        )
    return BY_NAME[family]()


def check_places(places: Sequence[Sequence[int]], table: Columns) -> None:
    """Raise `ValueError` if a column is in two blocks, or a block has none."""
    flat = [j for block in places for j in block]
    for j in flat:
        if flat.count(j) > 1:
            raise table.refuse(j, "is in two blocks of the Product: leave it in one.")
    if not all(places):
        raise ValueError("A block of a Product needs at least one column.")


def check_saved_places(places: list[Any]) -> None:
    """Raise `ValueError` if a checkpoint's blocks have not each their own columns."""
    for block in places:
        if not isinstance(block, list) or not block or not all(type(j) is int for j in block):
            raise ValueError("a block has no columns")
        if not all(0 <= j < _MOST_COLUMNS for j in block):
            raise ValueError("a column has no possible place")
    flat = [j for block in places for j in block]
    if len(set(flat)) != len(flat):
        raise ValueError("a column is in two blocks")


def beside_others(family: Family, *, alone: bool = False) -> Family:
    """Return a copy that knows that other columns separate clusters, too, or takes itself alone."""
    new = copy.copy(family)
    new.alone = alone
    return new


def prepared_beside(family: Family, rows: Points) -> Family:
    """Return a copy that rows prepare as if it were alone, and that knows then that it is not.

    A family that was a part before starts over when rows are learned anew.
    """
    return beside_others(beside_others(family, alone=True).prepare(rows))


def checked_columns(family: Family, table: Columns) -> Array:
    """Return a block's columns as its family takes them, dense."""
    if family.tabular:
        return to_dense(family.check(table))
    return to_dense(family.check(finite_numbers(table, family)))
