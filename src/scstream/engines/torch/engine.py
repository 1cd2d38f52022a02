"""The engine on PyTorch: batches live on a GPU, or on the CPU in plain operations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scstream.engines.base import Engine, Key, Sums
from scstream.engines.tensors import is_tensor, require_torch, to_host
from scstream.families.contract import Array, Family
from scstream.families.left_out import LeftOutScore
from scstream.families.scores import Labels, Points, Score

torch = require_torch()

from scstream.engines.torch import draws  # noqa: E402  # PyTorch is there
from scstream.engines.torch.batch import Batch  # noqa: E402
from scstream.engines.torch.few import FEW, FewColumns  # noqa: E402
from scstream.engines.torch.forms import Forms, forms_of  # noqa: E402
from scstream.engines.torch.ledger import Ledger  # noqa: E402
from scstream.engines.torch.many import MANY, ManyColumns  # noqa: E402
from scstream.engines.torch.passes import Aside, Pass, Scratch, least_rows  # noqa: E402
from scstream.engines.torch.points import PIECE, QuadraticRows, refuse_gaps, rows_of  # noqa: E402
from scstream.engines.torch.staging import UPLOAD, Courier  # noqa: E402
from scstream.engines.torch.triton import AVAILABLE  # noqa: E402

_BLOCK_NUMBERS = {"cuda": 2**27, "cpu": 2**20}  # of statistics and scores at a time
_LEAST_BLOCK = 256
_MOST_ROWS = 2**31  # that kernels can count
_MOST_ID = 2**30  # of a cluster that goes with a sub-label into half of a number


class TorchEngine(Engine):
    """Runs the data pass on a GPU, or on the CPU with PyTorch.

    Parameters
    ----------
    device : str, default="cuda"
        Where batches live: "cuda", "cuda:1", ... or "cpu".
    dtype : {"float32", "float64"}, optional
        Precision of the scores. By default "float32" on a GPU and "float64" on the CPU.

    Notes
    -----
    Draws have the same bits as those of the other engines, so labels differ only where a score
    is rounded to the other side of a draw.

    In float32 rows are taken to the family's frame in float64 before they are rounded. Scores of
    `Gaussian` clusters are computed about each cluster's centre, as are the sums, which groups of
    1,024 rows collect in float32 and float64 adds up. Other families are scored by plain
    operations, or by the family itself on the host: that is right, but slower. There statistics
    and weights are rounded to float32 and summed up in float64. All of `evaluate` is float64.
    TF32 is not used, unless in plain operations by those who switched it on in PyTorch.

    Results of the same calls on the same device have the same bits.
    """

    takes_tensors = True

    def __init__(self, device: str = "cuda", dtype: str | None = None) -> None:
        self._device = torch.device(device)
        kind = self._device.type
        if kind not in _BLOCK_NUMBERS:
            raise ValueError(f"device must be 'cuda', 'cuda:N' or 'cpu'; got {device!r}.")
        if kind == "cuda" and not torch.cuda.is_available():
            raise RuntimeError(
                f"device={device!r} needs an NVIDIA GPU and a PyTorch built for CUDA; this one "
                "sees no GPU. Use device='cpu' or another engine."
            )
        if dtype not in (None, "float32", "float64"):
            raise ValueError(f"dtype must be 'float32', 'float64' or None; got {dtype!r}.")
        if kind == "cuda" and self._device.index is None:  # which calls would look up each time
            self._device = torch.device("cuda", torch.cuda.current_device())
        self.device = device
        self.dtype = dtype or ("float32" if kind == "cuda" else "float64")
        self._dtype = getattr(torch, self.dtype)
        fit = kind == "cuda" and AVAILABLE and self.dtype == "float32"
        self._courier = Courier(self._device) if fit else None
        self._scratch = Scratch(self._device)
        self._few: FewColumns | None = None
        self._uploaded = 0  # where rows of an array were last put
        self._aside = Aside()

    def serves(self, device: str) -> bool:
        """Whether it is for this device."""
        return self.device == device

    def sent(self, X: NDArray[Any]) -> Any:
        """Return the rows of an array on the GPU, if they are few enough to be there twice."""
        if self._courier is None or X.nbytes > UPLOAD:
            return X
        there = self._courier.upload(X)
        self._uploaded = there.data_ptr()
        return there

    def checks(self, shape: tuple[int, ...]) -> bool:
        """Whether the first pass over a tensor of such a shape refuses what is not finite."""
        return self._courier is not None and shape[1] <= FEW and 0 < shape[0] * shape[1] <= PIECE

    def load(
        self, family: Family, X: Points, weight: Array, first_row: int = 0, of: int | None = None
    ) -> None:
        """Take a batch: NumPy, a sparse array of counts, or a tensor; no missing entries."""
        upload = None if self._courier is None else self._courier.upload
        self._rows = rows = rows_of(family, X, self._device, self._dtype, upload)
        self._ledger = Ledger(X.shape[1] if isinstance(rows, QuadraticRows) else 0)
        self._fused: FewColumns | ManyColumns | None = None
        self._aside.clear()
        there, courier = (None, None), self._courier if 0 < X.shape[0] < _MOST_ROWS else None
        if courier is not None and isinstance(rows, QuadraticRows) and FEW < X.shape[1] <= MANY:
            rows.come()
            self._fused = ManyColumns(rows, courier, self._scratch)
        else:
            refuse_gaps(family, X)
            if courier is not None and isinstance(rows, QuadraticRows) and X.shape[1] <= FEW:
                there = self._load_few(rows, weight)
        self._batch = Batch(weight, first_row, self._device, self._dtype, *there)

    def _load_few(self, rows: QuadraticRows, weight: Array) -> tuple[Any, Any]:
        """Take rows of few columns into the memory of the batch before, if that is large enough.

        Returns what `Batch` has of it.
        """
        if self._few is None or not self._few.suits(*rows.X.shape):
            self._few = FewColumns(rows.X.shape, self._device)
        self._fused = few = self._few
        return few.load(rows.pieces(), rows.family.frame, weight), few.take_in

    # -- sweeps ---------------------------------------------------------------------------------

    def sweep(self, score: Score, sub: Score, k: int, key: Key | None) -> Sums:
        """Label every point and sum up."""
        done = self._fused_sweep(score, sub, k, key) or self._plain_sweep(score, sub, k, key)
        self._batch.touch()
        assert done.rivals is not None
        assert done.doubt is not None
        self._ledger.sweep(done.rows, done.current)
        return Sums(done.current, done.rows, done.rivals, done.doubt)

    def meanwhile(self, job: Callable[[], None]) -> None:
        """Do a job when the device is at work on the next sweep."""
        self._aside.append(job)

    def _fused_sweep(self, score: Score, sub: Score, k: int, key: Key | None) -> Pass | None:
        forms, pairs = self._forms(score), self._forms(sub)
        if self._fused is None or forms is None or pairs is None:
            return None
        return self._fused.sweep(forms, pairs, k, key, self._batch, self._aside)

    def _plain_sweep(self, score: Score, sub: Score, k: int, key: Key | None) -> Pass:
        batch, size = self._batch, len(self._rows.family.prior)
        if isinstance(score, LeftOutScore):
            batch.settle()
        batch.touch()  # pending names belong to the labels that are replaced here
        self._aside.do()
        current = torch.zeros((2 * k, size), dtype=torch.float64, device=self._device)
        units = torch.zeros(k * k + 1, dtype=torch.int64, device=self._device)
        rivals, own = torch.zeros_like(units), torch.zeros_like(units[: k + 1])
        for rows in self._blocks(k):
            if isinstance(score, LeftOutScore):
                was, weight = batch.z[rows], batch.weight[rows]
                scores = self._rows.scores_of_members(score, rows, was, weight)
            else:
                scores = self._rows.scores(score, rows)
            if key is None:
                z, second, doubt = draws.best(scores)
                pairs = self._rows.pairs(sub, rows, z.clamp(max=k - 1))
                half, share, sub_doubt = draws.share_pair(pairs)
            else:
                u, v = draws.uniforms(key, batch.first_row + rows.start, len(scores), self._device)
                z, second, doubt = draws.draw(scores, u)
                pairs = self._rows.pairs(sub, rows, z.clamp(max=k - 1))
                half, sub_doubt = draws.draw_pair(pairs, v)
            inside, w = z < k, batch.weight[rows]
            half = torch.where(inside, half, 0)
            first = torch.where(inside, 2 * z, -1)
            if key is None:
                second_part = w * share
                current += self._rows.sums(rows, w - second_part, first, 2 * k)
                second_code = torch.where(inside, first + 1, -1)
                current += self._rows.sums(rows, second_part, second_code, 2 * k)
            else:
                code = torch.where(inside, first + half, -1)
                current += self._rows.sums(rows, w, code, 2 * k)
            met = inside & (second >= 0) & (second < k)
            pair = torch.where(met, z * k + second, k * k)
            rivals.index_add_(0, pair, torch.ones_like(pair))
            units.index_add_(0, pair, self._in_units(w * doubt))
            own.index_add_(0, z.clamp(max=k), self._in_units(w * sub_doubt))
            batch.z[rows] = torch.where(inside, z, -1).int()
            batch.sub[rows] = half.int()
        done = Pass(
            current.cpu().numpy().reshape(k, 2, size), batch.count(k), self._from_units(own[:-1])
        )
        return done.with_tables(
            rivals[:-1].cpu().numpy().reshape(k, k), self._from_units(units[:-1]).reshape(k, k)
        )

    # -- sub-labels -----------------------------------------------------------------------------

    def resplit(
        self, sub: Score, chosen: NDArray[np.bool_], *, doubts: bool = True
    ) -> tuple[Array, Array]:
        """Try new sub-labels for the chosen clusters."""
        if not chosen.any():
            return np.zeros((len(chosen), 2, len(self._rows.family.prior))), np.zeros(len(chosen))
        done, pairs = None, self._forms(sub)
        if self._fused is not None and pairs is not None:
            done = self._fused.resplit(pairs, chosen, self._ledger, self._batch)
        done = done or self._plain_resplit(sub, chosen)
        self._ledger.trial(chosen, done.rows, done.current)
        return done.current, done.own if doubts else np.zeros(len(chosen))

    def _plain_resplit(self, sub: Score, chosen: NDArray[np.bool_]) -> Pass:
        batch, k, size = self._batch, len(chosen), len(self._rows.family.prior)
        batch.settle()
        among = torch.from_numpy(np.append(chosen, False)).to(self._device)
        current = torch.zeros((2 * k, size), dtype=torch.float64, device=self._device)
        own = torch.zeros(k + 1, dtype=torch.int64, device=self._device)
        counts = torch.zeros(2 * k + 1, dtype=torch.int64, device=self._device)
        for rows in self._blocks(k):
            z, w = batch.z[rows].long(), batch.weight[rows]
            mine = among[z]  # a label of -1 finds the last entry
            half, doubt = draws.best_pair(self._rows.pairs(sub, rows, z.clamp(min=0)))
            code = torch.where(mine, 2 * z + half, -1)
            current += self._rows.sums(rows, w, code, 2 * k)
            own.index_add_(0, torch.where(mine, z, k), self._in_units(w * doubt))
            at = torch.where(mine, code, 2 * k)
            counts.index_add_(0, at, torch.ones_like(at))
            batch.trial[rows] = torch.where(mine, half.int(), batch.trial[rows])
        return Pass(
            current.cpu().numpy().reshape(k, 2, size),
            counts[:-1].cpu().numpy().reshape(k, 2),
            self._from_units(own[:-1]),
        )

    def refine(
        self, sub: Score, chosen: NDArray[np.bool_], family: Family, alpha: float, rounds: int
    ) -> Callable[[], tuple[Array, Array]]:
        """Try new sub-labels for the chosen clusters, and refine them: on the device if it can."""
        few, pairs, prior = self._fused, self._forms(sub), family.small_gaussian()
        plain = super().refine(sub, chosen, family, alpha, rounds)
        if not (isinstance(few, FewColumns) and prior is not None and pairs and chosen.any()):
            return plain
        wait = few.refine(pairs, chosen, self._ledger, self._batch, prior, alpha, rounds)

        def refined() -> tuple[Array, Array]:
            done = wait()
            if done is None:
                return plain()
            self._ledger.trial(chosen, done.rows, done.current)
            return done.current, done.own

        return refined

    def adopt(self, chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Keep the sub-labels last tried for the chosen clusters."""
        self._batch.adopt(chosen)
        rows = self._ledger.adopt(chosen)
        if rows is None:
            rows = self._batch.count(len(chosen))
            self._ledger.counted(rows)
        return rows

    # -- labels ---------------------------------------------------------------------------------

    def relabel(self, label: Labels, sublabel: Labels) -> None:
        """Rename pairs of label and sub-label."""
        self._batch.relabel(label, sublabel)
        self._ledger.relabel(label, sublabel)

    def start(self, labels: Labels) -> None:
        """Set the labels."""
        self._batch.start(torch.from_numpy(np.ascontiguousarray(labels)).to(self._device))
        self._ledger.forget()

    @property
    def labels(self) -> Labels:
        """The labels (n,)."""
        self._batch.settle()
        return np.asarray(self._batch.z.long().cpu())

    @property
    def sublabels(self) -> Labels:
        """The sub-labels (n,)."""
        self._batch.settle()
        return np.asarray(self._batch.sub.long().cpu())

    def named_labels(self, ids: Labels, skip: int) -> tuple[Any, Any]:
        """Return each row's id, or -1, and its sub-label: tensors if the rows came as one."""
        if isinstance(self._fused, FewColumns) and skip < self._batch.n:
            z, sub = self._fused.named(ids, skip, self._batch)
        else:
            self._batch.settle()
            table = torch.from_numpy(np.append(ids, -1)).to(self._device)
            z = table[self._batch.z[skip:].long()]  # a label of -1 finds the last entry
            sub = self._batch.sub[skip:].long()
        return (z, sub) if is_tensor(self._rows.X) else (z.cpu().numpy(), sub.cpu().numpy())

    def bring_labels(self, ids: Labels, skip: int) -> Callable[[], tuple[Any, Any]]:
        """Start to bring what `named_labels` returns: to the host if the rows came from there."""
        few, batch, X = self._fused, self._batch, self._rows.X
        from_here = not is_tensor(X) or X.data_ptr() == self._uploaded
        short = from_here and skip < batch.n and int(ids.max(initial=0)) < _MOST_ID
        if self._courier is None or not short:
            return super().bring_labels(ids, skip)
        if isinstance(few, FewColumns):
            return self._courier.bring_codes(few.codes(ids, skip, batch))
        return self._courier.bring_codes(batch.codes(ids)[skip:])

    @property
    def n_rows(self) -> int:
        """The number of rows of the batch."""
        return self._batch.n

    def keep_labels(self) -> None:
        """Remember the labels as they are, on the device."""
        self._batch.settle()
        self._kept_there = self._batch.z.clone()

    def labels_changed(self) -> int:
        """Return how many labels are not those last kept."""
        self._batch.settle()
        return int(torch.count_nonzero(self._kept_there != self._batch.z))

    def restore_labels(self) -> None:
        """Set the labels to those last kept; every sub-label becomes 0."""
        self._batch.start(self._kept_there)
        self._ledger.forget()

    # -- rows -----------------------------------------------------------------------------------

    def members(self, k: int, key: Key) -> Array:
        """Return the statistics of one random point of each cluster."""
        batch = self._batch
        if isinstance(self._fused, FewColumns):
            return self._fused.members(k, key, batch)
        batch.settle()
        if self._courier is not None and 0 < batch.n < _MOST_ROWS:
            with torch.cuda.device(self._device):
                row = least_rows(key, k, batch, self._courier)
        else:
            row = batch.least_rows(key, k)
        return self._rows.statistics_of(row, batch.n)

    def sample(self, rng: np.random.Generator, size: int) -> Points:
        """Return some rows of the batch, on the host."""
        X, n = self._rows.X, self._batch.n
        if n <= size:
            return to_host(X)
        rows = np.sort(rng.choice(n, size, replace=False))
        return to_host(X[torch.from_numpy(rows).to(X.device)]) if is_tensor(X) else X[rows]

    def evaluate(
        self, family: Family, X: Points, score: Score, what: Callable[[Array], NDArray[np.generic]]
    ) -> NDArray[np.generic]:
        """Apply ``what`` to the scores of blocks of rows.

        If it has a method ``on_device`` for tensors, as `scstream.engines.outputs` has, only its
        results leave the device.
        """
        there = getattr(what, "on_device", None)
        parts = []
        for rows in self._cut(X.shape[0], len(family.prior) + 64):
            some = rows_of(family, X[rows], self._device, torch.float64)
            scores = some.scores(score, slice(None))
            if there is None:
                parts.append(what(scores.cpu().numpy()))
            else:
                parts.append(there(scores).cpu().numpy())
        return np.concatenate(parts)

    # -- blocks, forms and units -------------------------------------------------------

    def _blocks(self, k: int) -> Iterator[slice]:
        return self._cut(self._batch.n, len(self._rows.family.prior) + 2 * k)

    def _cut(self, n: int, width: int) -> Iterator[slice]:
        size = max(_LEAST_BLOCK, _BLOCK_NUMBERS[self._device.type] // width)
        return (slice(a, min(a + size, n)) for a in range(0, max(n, 1), size))

    def _forms(self, score: Score) -> Forms | None:
        return None if self._fused is None else forms_of(score)

    def _in_units(self, doubt: Any) -> Any:
        return (doubt.double() * self._batch.unit + 0.5).long()

    def _from_units(self, total: Any) -> Array:
        out: Array = total.cpu().numpy() / self._batch.unit
        return out
