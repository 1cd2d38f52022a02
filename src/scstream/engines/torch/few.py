"""Passes over rows of at most 8 columns by fused kernels, for Gaussian statistics in float32.

Batches of about the same size use the same memory, one after the other. So the launches of a pass
are the same each time, and are recorded and replayed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from scstream.engines.base import Key
from scstream.engines.tensors import check_finite, current_stream
from scstream.engines.torch import few_kernels as kernels
from scstream.engines.torch import few_sums
from scstream.engines.torch.batch import Batch, constant, old_names
from scstream.engines.torch.forms import Forms
from scstream.engines.torch.ledger import Ledger
from scstream.engines.torch.passes import Aside, Pass, Recorded, grid, on_its_device, rounded
from scstream.engines.torch.triton import least_bits, least_row
from scstream.engines.torch.workspace import Workspace, places
from scstream.families.contract import Array, GaussianPrior
from scstream.families.scores import Labels

FEW = 8  # columns up to which this is the way
_BLOCK, _UNROLL = {False: 512, True: 256}, 4  # rows of a program that labels, components at once
_GROUP, _STEP = 1024, 64  # rows of a program that sums, in all and at a time
_CLUSTERS = 32  # memory is for multiples of so many
_ROW_BLOCK, _TABLE_BLOCK = 256, 256  # rows, entries of a program that does little with each
_HOW = {"num_warps": 4, "num_stages": 1}
_WORKSPACES = 8  # for different numbers of clusters that are kept


class FewColumns:
    """Memory for batches of about n rows, and the passes over them.

    Parameters
    ----------
    shape : tuple
        Rows n, and columns d: at most 8.
    device : torch.device
    """

    def __init__(self, shape: tuple[int, int], device: torch.device) -> None:
        n, d = shape
        self._d, self.device = d, device
        self._size = size = rounded(n, _GROUP)
        self._p = 1 + d + d * (d + 1) // 2
        self._columns = max(16, 1 << (self._p + 1).bit_length())
        self._Z, self._Y = torch.zeros((2, d, size), device=device).unbind()
        self._weight, self._doubt, self._share = torch.zeros((3, size), device=device).unbind()
        whole = torch.zeros((4, size), dtype=torch.int32, device=device)
        self._z, self._sub, self._trial, self._code = whole.unbind()
        self._factors = torch.from_numpy(_factors(d, self._columns)).to(device).unbind()
        self._n = 0
        self._same: float | None = None
        self._frame = torch.zeros(2 * d, dtype=torch.float64, device=device)
        self._framed: tuple[Array, Array] | None = None
        self._coming: Tensor | None = None  # rows that nobody has taken in yet
        self._flaw = torch.zeros(1, dtype=torch.float64, device=device)
        self._under_way = self._naming = False  # passes, names that nobody has waited for yet
        self._workspaces: dict[int, Workspace] = {}

    def suits(self, n: int, d: int) -> bool:
        """Whether a batch has so many rows and columns as there is room for, or a few less."""
        return d == self._d and self._size // 2 < n <= self._size

    def load(
        self, pieces: Iterable[tuple[int, Tensor]], frame: tuple[Array, Array], weight: Array
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Take rows, given by pieces with the number of each one's first row, and weights.

        A single piece is taken in by the first sweep, or by `take_in`. Either raises if something
        in it is not finite. Returns where the weights, labels, sub-labels, and those last tried
        are: who looks at these before a sweep calls `take_in`.
        """
        n = len(weight)
        self._weigh(weight)
        self._scale(*frame)
        if n != self._n:
            self._z[n:].fill_(-1)
            self._n = n
            self._memory = self._weight[:n], self._z[:n], self._sub[:n], self._trial[:n]
        for first, x in pieces:
            self._coming = x.contiguous()
            if len(x) < n or x.dtype not in (torch.float32, torch.float64):
                self.take_in(first)
        return self._memory

    def take_in(self, first: int = 0) -> None:
        """Take in rows that have come, if nobody has; they become those from the first on."""
        if self._coming is not None:
            self._take_in(self._coming, first)

    @on_its_device
    def _take_in(self, x: Tensor, first: int) -> None:
        kernels.take_in[(grid(len(x), _ROW_BLOCK),)](
            x, self._frame, self._Z, self._z, self._sub, self._trial, self._flaw,
            self._size, first, len(x), d=self._d, block=_ROW_BLOCK,
        )  # fmt: skip
        if self._flaw.item():
            self._flaw.zero_()
            check_finite(x)
        self._coming = None

    def _weigh(self, weight: Array) -> None:
        same = constant(weight)
        if same is None:
            here = torch.from_numpy(np.require(weight, requirements=["C", "W"]))
            self._weight[: len(weight)].copy_(here)
        elif same != self._same:
            self._weight.fill_(same)
        self._same = same

    def _scale(self, shift: Array, scale: Array) -> None:
        """Take shifts and scales of the frame to the device; they hardly ever change."""
        if self._framed is None or self._framed[0] is not shift or self._framed[1] is not scale:
            self._frame.copy_(torch.from_numpy(np.concatenate([shift, scale])))
            self._framed = shift, scale

    def sweep(
        self, score: Forms, sub: Forms, k: int, key: Key | None, batch: Batch, aside: Aside
    ) -> Pass:
        """Label every row; see `Engine.sweep`."""
        n_all, rows = len(score.eta), self._coming
        work = self._workspace(n_all)
        work.say(key, batch, n_all, k)
        work.components(score, sub)
        flags = score.student, sub.student, key is not None
        kind = None if rows is None else rows.dtype
        if rows is not None:
            work.come(rows)
        name = "sweep", *flags, kind
        self._run(work, name, lambda: self._launch_sweep(work, *flags, kind))
        aside.do()
        self._wait()
        if rows is not None and work.flawed():
            check_finite(rows)
        self._coming = None
        return work.read(places(k), k, tables=True)

    def resplit(self, sub: Forms, chosen: NDArray[np.bool_], ledger: Ledger, batch: Batch) -> Pass:
        """Try sub-labels; see `Engine.resplit`. Sums are taken about where the ledger says."""
        which = np.flatnonzero(chosen)
        work = self._for_trial(sub, which, ledger.sums(len(chosen)), batch)
        student = sub.student
        self._run(work, ("resplit", student), lambda: self._launch_trials(work, student, 0))
        batch.renamed()
        self._wait()
        return work.read(which, len(chosen))

    def refine(
        self, sub: Forms, chosen: NDArray[np.bool_], ledger: Ledger, batch: Batch,
        prior: GaussianPrior, alpha: float, rounds: int,
    ) -> Callable[[], Pass | None]:  # fmt: skip
        """Try sub-labels, and refine them; see `Engine.refine`.

        It gives None if some scatter is not safely positive definite.
        """
        which = np.flatnonzero(chosen)
        work = self._for_trial(sub, which, ledger.sums(len(chosen)), batch)
        work.predicted(prior, alpha)
        student, name = sub.student, ("refine", sub.student, rounds)
        self._run(work, name, lambda: self._launch_trials(work, student, rounds))
        batch.renamed()

        def refined() -> Pass | None:
            self._wait()
            return None if work.failed(len(which), rounds) else work.read(which, len(chosen))

        return refined

    def _for_trial(
        self, sub: Forms, which: NDArray[np.int64], sums: Array, batch: Batch
    ) -> Workspace:
        """Return a workspace with what a trial of some clusters needs."""
        self.take_in()
        work = self._workspace(max(len(sums), batch.n_names))
        work.say(None, batch, 0, len(which), rename=True)
        work.trial(sub, which, sums)
        return work

    def members(self, k: int, key: Key, batch: Batch) -> Array:
        """Return the statistics (k, p) of a random row of each cluster, 0 if it has none."""
        self.take_in()
        work = self._workspace(max(k, batch.n_names))
        work.say(key, batch, 0, k, rename=True)
        self._run(work, ("members",), lambda: self._launch_members(work))
        batch.renamed()
        self._wait()
        return work.points(k, batch.n)

    def named(self, ids: Labels, skip: int, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return each row's id and its sub-label; see `Engine.named_labels`."""
        size = 2, batch.n - skip
        out, subs = torch.empty(size, dtype=torch.int64, device=self.device).unbind()
        self._name(ids, skip, batch, (out, subs))
        return out, subs

    def codes(self, ids: Labels, skip: int, batch: Batch) -> Tensor:
        """Return twice the id plus the sub-label of each row, -2 if it has none."""
        code = self._code[: batch.n - skip]
        self._name(ids, skip, batch, (code, code))
        return code

    # -- launches -------------------------------------------------------------------------------

    def _workspace(self, k: int) -> Workspace:
        """Return a workspace for k clusters, whose memory here nobody reads any more."""
        size = rounded(k, _CLUSTERS)
        if self._under_way:
            self._wait()
        if size not in self._workspaces:
            if len(self._workspaces) == _WORKSPACES:
                self._wait()
                del self._workspaces[next(iter(self._workspaces))]
            groups = self._size // _GROUP
            self._workspaces[size] = Workspace(
                size, self._d, self._p, self._columns, groups, self.device
            )
        return self._workspaces[size]

    def _run(self, work: Workspace, name: tuple[Any, ...], launch: Callable[[], None]) -> None:
        """Run launches with what was filled in; somebody is to wait before more is filled in."""
        if name not in work.recorded:
            work.recorded[name] = Recorded(self.device, launch)
        work.recorded[name].run()
        self._under_way = True

    def _wait(self) -> None:
        """Wait until the device has done everything."""
        current_stream(self.device.index).synchronize()
        self._under_way = self._naming = False

    def _launch_sweep(
        self, work: Workspace, student: bool, sub_student: bool, draw: bool,
        coming: torch.dtype | None,
    ) -> None:  # fmt: skip
        """Take in rows if some are coming, of that type, and label all."""
        work.send()
        words, pairs, centre, numbers, *_ = work.there
        if coming is not None:
            kernels.take_in_latest[(grid(self._size, _ROW_BLOCK),)](
                words, self._frame, self._Z, self._z, self._sub, self._trial, work.flaw, self._size,
                double=coming == torch.float64, d=self._d, block=_ROW_BLOCK,
            )  # fmt: skip
        block = _BLOCK[student or sub_student]
        kernels.label_few[(grid(self._size, block),)](
            self._Z, self._size, numbers, pairs, centre, words, work.fixed, self._weight,
            self._z, self._sub, self._code, self._share, self._Y, self._doubt, *work.tables,
            d=self._d, width=self._d + 2 + self._p, student=student, sub_student=sub_student,
            draw=draw, block=block, unroll=_UNROLL, **_HOW,
        )  # fmt: skip
        self._launch_sums(work, tables=True, both=not draw)
        work.fetch(len(work.out))

    def _launch_trials(self, work: Workspace, student: bool, rounds: int) -> None:
        """Try the pairs that were sent, then those that their sums foretell, some rounds."""
        words, pairs, *_, prior = work.there
        work.send()
        self._launch_names(work)
        self._launch_trial(work, student)
        for i in range(rounds):
            kernels.foretell[(work.padded,)](
                work.out, prior, words, pairs, work.status[i * work.padded :],
                p=self._p, columns=self._columns, d=self._d, num_warps=1,
            )  # fmt: skip
            self._launch_trial(work, True)
        work.fetch(work.padded * (self._columns + rounds))

    def _launch_trial(self, work: Workspace, student: bool) -> None:
        words, pairs, centre, _, rank, *_ = work.there
        block = _BLOCK[student]
        kernels.divide_few[(grid(self._size, block),)](
            self._Z, self._size, pairs, centre, words, rank, self._weight, self._z, self._trial,
            self._code, self._Y, self._doubt,
            d=self._d, sub_student=student, block=block, **_HOW,
        )  # fmt: skip
        self._launch_sums(work, tables=False)

    def _launch_names(self, work: Workspace) -> None:
        words, *_, names, _ = work.there
        kernels.rename[(grid(self._size, _ROW_BLOCK),)](
            words, names, self._z, self._sub, self._trial, block=_ROW_BLOCK
        )

    def _name(self, ids: Labels, skip: int, batch: Batch, to: tuple[Tensor, Tensor]) -> None:
        """Read ids and sub-labels, or codes, of rows but the first ones."""
        self.take_in()
        names = old_names(len(ids)) if batch.names is None else batch.names
        if self._naming:
            self._wait()
        work, both = self._workspace(len(names)), to[0] is not to[1]
        work.call(names, ids, skip, batch.n - skip, to)
        name = "names", both
        if name not in work.recorded:
            work.recorded[name] = Recorded(self.device, lambda: self._launch_named(work, both))
        work.recorded[name].run()
        self._naming = True

    def _launch_named(self, work: Workspace, both: bool) -> None:
        work.send_names()
        kernels.read_names[(grid(self._size, _ROW_BLOCK),)](
            work.ids, work.naming, self._z, self._sub, self._trial, both=both, block=_ROW_BLOCK
        )

    def _launch_members(self, work: Workspace) -> None:
        work.send()
        self._launch_names(work)
        words, least, row = work.there[0], work.least[0], work.least[1]
        work.least.fill_(2**62)
        programs = (grid(self._size, _ROW_BLOCK),)
        least_bits[programs](words, self._z, least, self._size, block=_ROW_BLOCK)
        least_row[programs](words, self._z, least, row, self._size, block=_ROW_BLOCK)
        kernels.gather[(work.size // _CLUSTERS,)](
            self._Z, self._size, row, words, work.out, d=self._d, block=_CLUSTERS
        )
        work.fetch(work.size * (1 + self._d))

    def _launch_sums(self, work: Workspace, *, tables: bool, both: bool = False) -> None:
        """Sum statistics by code, or by shares of both, and add up the tables of a sweep."""
        words, _, centre, *_ = work.there
        a, b = self._factors
        columns, groups, padded = self._columns, self._size // _GROUP, work.padded
        few_sums.sum_few[(groups, padded // work.tile)](
            self._Y, self._size, self._code, self._share, self._weight, self._doubt, a, b, words,
            work.partial, padded,
            p=self._p, columns=columns, rows=_GROUP, block=_STEP, tile=work.tile, both=both, **_HOW,
        )  # fmt: skip
        more = grid(work.size**2, _TABLE_BLOCK) if tables else 0
        few_sums.finish_few[(padded + more,)](
            work.partial, centre, a, b, words, work.out, *work.tables, work.fixed, groups, padded,
            d=self._d, columns=columns, step=32, block=_TABLE_BLOCK, **_HOW,
        )  # fmt: skip


def _factors(d: int, columns: int) -> NDArray[np.int32]:
    """Return the two coordinates that statistics are products of, -1 for 1: (2, columns)."""
    out = np.full((2, columns), -1, dtype=np.int32)
    out[1, 1 : 1 + d] = np.arange(d)
    p = 1 + d + d * (d + 1) // 2
    out[:, 1 + d : p] = np.triu_indices(d)
    return out
