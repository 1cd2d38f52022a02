"""How the core cuts rows into chunks, see `scstream.engines.chunks`."""

from __future__ import annotations

from typing import NamedTuple


class Cut(NamedTuple):
    """How rows are cut into chunks, which are added up in pairs, and pairs of pairs."""

    rows: int  # of a chunk
    first: int  # the number of the first chunk within the whole batch
    threads: int  # among which chunks are shared

    def runs(self, n: int) -> list[tuple[int, int]]:
        """Return the runs of chunks that n rows are added up to: where each begins, and its length.

        They are nodes of the binary tree over all chunks, each as large as there are.

        Examples
        --------
        >>> Cut(4096, first=1, threads=1).runs(7 * 4096)
        [(1, 1), (2, 2), (4, 4)]
        """
        at, left, out = self.first, max(-(-n // self.rows), 1), []
        while left:
            most = 1 << left.bit_length() - 1
            size = min(at & -at, most) if at else most
            out.append((at, size))
            at, left = at + size, left - size
        return out
