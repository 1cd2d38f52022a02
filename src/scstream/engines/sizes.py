"""How many rows an engine takes at a time, and how much it stores between passes."""

from __future__ import annotations

from dataclasses import dataclass

from scstream.engines.ordered_sums import LEAF_ROWS


@dataclass(frozen=True)
class Sizes:
    """Sizes that results do not depend on, but for the last bits of sums.

    Attributes
    ----------
    leaf_rows : int
        Rows of a leaf of the tree of sums. Engines with the same leaves give the same bits.
    block_rows : int or None
        Rows of a block, which divides a leaf. None is as many as stay in cache.
    kept_bytes : int
        A batch's statistics are stored between passes up to this size.
    """

    leaf_rows: int = LEAF_ROWS
    block_rows: int | None = None
    kept_bytes: int = 2**27


SIZES = Sizes()
