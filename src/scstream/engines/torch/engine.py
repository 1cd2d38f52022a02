"""The engine on PyTorch: batches live on a GPU, or on the CPU in plain operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scstream.engines.base import Engine, Key, Sums, finished_sweep
from scstream.engines.chunks import cut
from scstream.engines.tensors import is_tensor, require_torch, to_host
from scstream.families.contract import Array, Family
from scstream.families.left_out import LeftOutScore
from scstream.families.scores import Labels, Points, Products, Score, form_of

torch = require_torch()

from scstream.engines.torch import draws, kernels  # noqa: E402  # PyTorch is there
from scstream.engines.torch.pieces import ByLabel  # noqa: E402
from scstream.engines.torch.rows import KeptRows, Rows, rows_of  # noqa: E402

_NUMBERS = {"cuda": 2**27, "cpu": 2**20}  # of statistics and scores at a time
_LEAST_ROWS, _EVEN = 256, 1024  # at a time: at least, and a multiple
_SENT = 2**27  # bytes of rows
_FLOAT64 = {(6, 0), (7, 0), (8, 0), (9, 0), (10, 0)}  # cards on which it is half as fast, no less


class TorchEngine(Engine):
    """Runs the data pass on a GPU, or on the CPU with PyTorch.

    Parameters
    ----------
    device : str, default="cuda"
        Where batches live: "cuda", "cuda:1", ... or "cpu".
    dtype : {"float32", "float64"}, optional
        Precision of the products that score rows under all components. By default "float64", but
        "float32" on GPUs that are slow at float64. All else is float64.

    Notes
    -----
    Draws have the same bits as those of the other engines, so labels differ only where a score
    is rounded to the other side of a draw. Scores that are no products of statistics and parameters
    are computed by the family itself on the host: that is right, but slower. TF32 is not used,
    unless with "float32" where it was switched on in PyTorch.

    Results of the same calls on the same device have the same bits.
    """

    takes_tensors = True

    def __init__(self, device: str = "cuda", dtype: str | None = None) -> None:
        self._device = torch.device(device)
        kind = self._device.type
        if kind not in _NUMBERS:
            raise ValueError(f"device must be 'cuda', 'cuda:N' or 'cpu'; got {device!r}.")
        if kind == "cuda" and not torch.cuda.is_available():
            raise RuntimeError(
                f"device={device!r} needs an NVIDIA GPU and a PyTorch built for CUDA; this one "
                "sees no GPU. Use device='cpu' or another engine."
            )
        if dtype not in (None, "float32", "float64"):
            raise ValueError(f"dtype must be 'float32', 'float64' or None; got {dtype!r}.")
        fast = kind == "cpu" or torch.cuda.get_device_capability(self._device) in _FLOAT64
        self.dtype = dtype or ("float64" if fast else "float32")
        self._dtype = getattr(torch, self.dtype)

    def sent(self, X: NDArray[Any]) -> Any:
        """Return the rows of an array on the GPU, if they are few enough to be there twice."""
        return X if self._device.type == "cpu" or X.nbytes > _SENT else self._there(X)

    def load(
        self, family: Family, X: Points, weight: Array, first_row: int = 0, of: int | None = None
    ) -> None:
        """Take a batch: NumPy, a sparse array of counts, or a tensor; no missing entries."""
        n, device = X.shape[0], self._device
        self._n: int = n
        self._first_row = first_row
        self._rows = rows_of(family, X, device)
        # Of the row of nothing after the last one, see `rows`, the weight is 0.
        self._weight = w = torch.zeros(n + 1, dtype=torch.float64, device=device)
        if n and weight.strides == (0,):  # as a rule: nothing to send
            w[:n] = float(weight[0])
            total = n * weight[0]
        else:
            w[:n] = self._there(weight)
            total = weight.sum()
        # Entropies, none of which is larger than 37, are added up as whole multiples of a power of
        # two: such a sum has no order.
        self._unit = 2.0 ** min(50.0, np.floor(56.0 - np.log2(max(total, 1.0))))
        self._units = w * self._unit
        self._z = torch.full((n,), -1, device=device)
        self._sub, self._trial = torch.zeros((2, n + 1), dtype=torch.int64, device=device).unbind()
        self._by_label: ByLabel | None = None

    # -- passes over the rows -------------------------------------------------------------------

    def sweep(self, score: Score, sub: Score, k: int, key: Key | None) -> Sums:
        """Label every point and sum up."""
        n, device = self._n, self._device
        u = None if key is None else draws.uniforms(key, self._first_row, n + 1, device)
        z = torch.empty_like(self._z)
        tables = torch.zeros((2, k, k), dtype=torch.int64, device=device)
        scores_of = self._scorer(score, self._dtype)
        for at in self._cut(n, len(self._rows.family.prior) + 2 * k):
            some = None if u is None else u[0, at]
            draws.label(*scores_of(self._rows, at), some, self._units[at], z[at], tables)
        self._relabelled(z)
        self._sub.zero_()
        v, how = (None, "shared") if u is None else (u[1], "drawn")
        values = self._divided(sub, np.ones(k, dtype=bool), self._sub, v, how)
        found = torch.cat([values.view(-1), tables.view(-1).double()]).cpu().numpy()
        current, counts, own = _read(found[: values.numel()], k)
        rivals, between = found[values.numel() :].reshape(2, k, k)
        between = between / self._unit + np.diag(own)  # none is a rival of itself
        return finished_sweep((current, counts, rivals.astype(np.int64), between))

    def resplit(self, sub: Score, chosen: NDArray[np.bool_]) -> tuple[Array, Array]:
        """Try new sub-labels for the chosen clusters."""
        values = self._divided(sub, chosen, self._trial, None, "best")
        current, _, own = _read(values.cpu().numpy(), len(chosen))
        return current, own

    def _scorer(self, score: Score, dtype: Any) -> Callable[[Rows, slice], tuple[Any, Any]]:
        """Return what gives products or scores (k, m) of rows, and what `draws.finished` takes."""
        form = form_of(score)
        if isinstance(form, Products):
            eta, *student = self._sent(form)
            by = [x[:, None] for x in student] or None
            eta = eta.to(dtype).T.contiguous().T  # a GPU's products are a fifth faster so
            return lambda rows, at: (eta @ rows.statistics(at, dtype), by)

        def on_host(rows: Rows, at: slice) -> tuple[Any, Any]:
            T = rows.on_host(at)
            if isinstance(score, LeftOutScore):
                z, w = to_host(self._z[at]), to_host(self._weight[: self._n][at])
                return self._there(score.of_members(T, z, w).T), None
            return self._there(score.block(T).T), None

        return on_host

    def _sent(self, form: Products) -> list[Any]:
        """Return parameters (k, p) on the device, and the levels and powers (k,) if there are."""
        k, eta = len(form.eta), form.eta
        if not form.student:
            return [self._there(eta)]
        there = self._there(np.concatenate([eta.ravel(), form.const, form.power]))
        return [there[: -2 * k].view(k, -1), there[-2 * k : -k], there[-k:]]

    def _divided(self, sub: Score, chosen: NDArray[np.bool_], to: Any, v: Any, how: str) -> Any:
        """Give rows of the chosen clusters sub-labels: drawn by uniforms, or else the best.

        If they are shared, rows count in both sub-clusters by their probabilities. Returns, as one
        table (k, 2 p + 3), sums and numbers of rows by sub-label, and the entropies.
        """
        rows, k, form = self._rows, len(chosen), form_of(sub)
        if self._by_label is None or self._by_label.k != k:
            self._by_label = ByLabel(self._z, k)
        by_label, each = self._by_label, torch.arange(k, device=self._device)[:, None]
        pairs = self._sent(form) if isinstance(form, Products) else None
        if kernels.serve(self._device) and isinstance(rows, KeptRows) and pairs:
            there = self._there(chosen.astype(np.float64))
            which, values = kernels.divide(rows.T, by_label, there, pairs, self._weight, v, to, how)
            return (which == each).double() @ values
        p = len(rows.family.prior)
        total = torch.zeros((k, 2 * p + 3), dtype=torch.float64, device=self._device)
        numbers = max(_NUMBERS[self._device.type] // (4 * rows.numbers), 1)
        for index, which in by_label.pieces(chosen, numbers):
            of, w = rows.some(index), self._weight[index]
            gap = self._lead(sub, pairs, of, index, which)
            one, share, entropy = draws.sides(gap, v, index, how)
            to[index] = one.long()
            sums = rows.sums(of, torch.stack([w * (1.0 - share), w * share], dim=1))
            there = index < self._n
            counts = torch.stack([there & ~one, there & one], dim=1).sum(dim=2)
            entropy = (w * entropy).sum(dim=1, keepdim=True)
            values = torch.cat([sums.flatten(1), counts.double(), entropy], dim=1)
            total += (which == each).double() @ values
        return total

    def _lead(self, sub: Score, pairs: list[Any] | None, of: Any, index: Any, which: Any) -> Any:
        """Return by how much the second of its cluster's pair of scores leads for each row."""
        if pairs is not None:
            eta, *student = (x.view(-1, 2, x.shape[1] if x.ndim > 1 else 1)[which] for x in pairs)
            if not student:
                return self._rows.products(of, eta[:, 1:] - eta[:, :1])[:, 0]
            scores = draws.finished(self._rows.products(of, eta), student)
            return scores[:, 1] - scores[:, 0]
        rows = index.cpu().numpy()
        inside = rows < self._n
        z = np.broadcast_to(which.cpu().numpy()[:, None], rows.shape)[inside]
        lead = np.zeros(rows.shape)
        lead[inside] = np.diff(sub.pairs(self._rows.on_host(rows[inside]), z))[:, 0]
        return self._there(lead)

    # -- labels ---------------------------------------------------------------------------------

    def adopt(self, chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Keep the sub-labels last tried for the chosen clusters."""
        k, sub = len(chosen), self._sub[: self._n]
        mine = self._there(np.append(chosen, False))[self._z]  # a label of -1 finds the last entry
        torch.where(mine, self._trial[: self._n], sub, out=sub)
        cell = torch.where(self._z >= 0, 2 * self._z + sub, 2 * k)
        rows: NDArray[np.int64] = torch.bincount(cell, minlength=2 * k + 1).cpu().numpy()
        return rows[: 2 * k].reshape(k, 2)

    def relabel(self, label: Labels, sublabel: Labels) -> None:
        """Rename pairs of label and sub-label."""
        sub = self._sub[: self._n]
        cell = torch.where(self._z >= 0, 2 * self._z + sub, -1)
        names = self._there(np.stack([np.append(label, -1), np.append(sublabel, 0)]))
        sub.copy_(names[1][cell])
        self._relabelled(names[0][cell])

    def start(self, labels: Labels) -> None:
        """Set the labels."""
        self._relabelled(self._there(labels).clone())
        self._sub.zero_()

    def _relabelled(self, z: Any) -> None:
        self._z, self._by_label = z, None

    def _there(self, values: NDArray[Any]) -> Any:
        # The host goes on once it has left its memory: it need not wait for the passes so far.
        return torch.from_numpy(np.ascontiguousarray(values)).to(self._device, non_blocking=True)

    @property
    def labels(self) -> Labels:
        """The labels (n,)."""
        return np.asarray(to_host(self._z))

    @property
    def sublabels(self) -> Labels:
        """The sub-labels (n,)."""
        return np.asarray(to_host(self._sub[: self._n].clone()))

    def named_labels(self, ids: Labels, skip: int) -> tuple[Any, Any]:
        """Return each row's id, or -1, and its sub-label: tensors if the rows came as one."""
        z = self._there(np.append(ids, -1))[self._z[skip:]]  # a label of -1 finds the last entry
        sub = self._sub[skip : self._n].clone()
        return (z, sub) if is_tensor(self._rows.X) else (z.cpu().numpy(), sub.cpu().numpy())

    @property
    def n_rows(self) -> int:
        """The number of rows of the batch."""
        return self._n

    # -- rows -----------------------------------------------------------------------------------

    def members(self, k: int, key: Key) -> Array:
        """Return the statistics of one random point of each cluster: that of the least uniform."""
        n, device = self._n, self._device
        u = draws.uniforms(key, self._first_row, n, device)[0]
        label = torch.where((self._z >= 0) & (self._z < k), self._z, k)
        ones = torch.ones(k + 1, dtype=torch.float64, device=device)
        least = ones.scatter_reduce(0, label, u, "amin")
        row = torch.where(u == least[label], torch.arange(n, device=device), n)
        rows = torch.full((k + 1,), n, device=device).scatter_reduce(0, label, row, "amin")
        return self._rows.statistics_of(rows[:-1].cpu().numpy())

    def sample(self, rng: np.random.Generator, size: int) -> Points:
        """Return some rows of the batch, on the host."""
        X, n = self._rows.X, self._n
        if n <= size:
            return to_host(X)
        rows = np.sort(rng.choice(n, size, replace=False))
        return to_host(X[torch.from_numpy(rows).to(X.device)]) if is_tensor(X) else X[rows]

    def evaluate(self, family: Family, X: Points, score: Score, what: Any) -> NDArray[np.generic]:
        """Apply ``what`` to the scores of blocks of rows, in float64.

        If it has a method ``on_device`` for tensors, as `scstream.engines.outputs` has, only its
        results leave the device.
        """
        there, scores_of = getattr(what, "on_device", None), self._scorer(score, torch.float64)
        parts = []
        for at in self._cut(X.shape[0], len(family.prior) + 64):
            rows = rows_of(family, X[at], self._device)
            scores = draws.finished(*scores_of(rows, slice(at.stop - at.start))).T
            read = what(scores.cpu().numpy()) if there is None else there(scores).cpu().numpy()
            parts.append(read)
        return np.concatenate(parts)

    def _cut(self, n: int, width: int) -> list[slice]:
        size = _NUMBERS[self._device.type] // width
        return cut(n, size // _EVEN * _EVEN if size > _EVEN else max(size, _LEAST_ROWS))


def _read(values: Array, k: int) -> tuple[Array, NDArray[np.int64], Array]:
    """Return sums (k, 2, p), rows (k, 2) and entropies (k,) from a table."""
    table = values.reshape(k, -1)
    sums = np.ascontiguousarray(table[:, :-3]).reshape(k, 2, -1)
    return sums, table[:, -3:-1].astype(np.int64), table[:, -1].copy()
