"""Tensors that come in: what counts as one, checks where they are, and the way to the host.

PyTorch is imported only when there is a tensor, or something that gives itself away as one by
DLPack.
"""

from __future__ import annotations

import sys
from math import isfinite
from typing import Any

import numpy as np

from scstream.support.extras import need_package

_NUMPY = (np.ndarray, np.generic)


class MissingEntries(ValueError):
    """Rows have missing entries, which an engine cannot complete."""


def is_tensor(X: Any) -> bool:
    """Whether it is a PyTorch tensor."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(X, torch.Tensor)


def is_foreign(X: Any) -> bool:
    """Whether it is a tensor, or an array of another library that hands itself over by DLPack.

    NumPy's arrays and data frames are none.
    """
    if isinstance(X, _NUMPY) or hasattr(X, "columns"):
        return False
    return is_tensor(X) or (hasattr(X, "__dlpack__") and hasattr(X, "__dlpack_device__"))


def as_tensor(X: Any) -> Any:
    """Return a tensor, or one that shares the memory of a DLPack array."""
    if is_tensor(X):
        return X.detach()
    return require_torch().from_dlpack(X)


def check_tensor(X: Any, least: int = 1) -> Any:
    """Return rows of finite floating-point numbers (n, d), checked where they are.

    Raises
    ------
    ValueError
        If it is no matrix, has too few rows, or holds what is not finite.
    """
    torch = require_torch()
    x = as_tensor(X)
    if x.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got a tensor of {x.ndim} dimensions, shape {tuple(x.shape)}. "
            "Reshape it to (rows, columns)."
        )
    if x.dtype.is_complex:
        raise ValueError(f"Complex data not supported: the tensor's type is {x.dtype}.")
    if x.shape[0] < least or x.shape[1] < 1:
        raise ValueError(
            f"Found a tensor with shape {tuple(x.shape)}: at least {least} row(s) and 1 column "
            "are required."
        )
    if x.dtype not in (torch.float32, torch.float64):
        x = x.float() if x.dtype.is_floating_point else x.double()
    if not isfinite(x.sum().item()) and not bool(torch.isfinite(x).all()):
        kind = ValueError if bool(torch.isinf(x).any()) else MissingEntries
        raise kind("Input X contains NaN or infinity. Leave such rows out or fill them in.")
    return x


def to_host(X: Any) -> Any:
    """Return a tensor as a NumPy array; anything else as it is."""
    return X.detach().cpu().numpy() if is_tensor(X) else X


def on_device(rows: Any, device: Any) -> Any:
    """Return numbers of rows as a tensor on a device; a slice as it is."""
    return rows if isinstance(rows, slice) else require_torch().from_numpy(rows).to(device)


def like_input(labels: Any, X: Any) -> Any:
    """Return labels as a tensor beside the tensor X; if X is no tensor, as an array."""
    if type(X) is type(labels) is np.ndarray:
        return labels
    if is_tensor(X) and is_tensor(labels) and X.device == labels.device:
        return labels
    if not is_foreign(X):
        return to_host(labels)
    there = (
        labels if is_tensor(labels) else require_torch().from_numpy(np.ascontiguousarray(labels))
    )
    return there.to(as_tensor(X).device)


def require_torch() -> Any:
    """Return PyTorch, or say how to install it."""
    torch = sys.modules.get("torch")
    why = "tensors and the engine 'torch' need PyTorch"
    return need_package("torch", "gpu", why) if torch is None else torch
