"""The contract of a contestant."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import optuna


class Model(Protocol):
    """What the protocol runs. Labels are kept from batch to batch where the method can."""

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return labels (n,) of rows (n, d), without learning from them."""

    def partial_fit(self, X: Any) -> Any:
        """Learn a batch (n, d)."""


@dataclass(frozen=True)
class Task:
    """What a contestant may know of a data set before it starts.

    Attributes
    ----------
    name : str
    kind : {"real", "counts"}
        Counts come as compressed sparse rows.
    n_features, batch_size : int
    n_clusters : int
        The true number of clusters: for contestants that are marked as told.
    first : array or CSR (n, d)
        The first batch, for scales that a user would take from the data (no labels).
    paper : dict
        The hyper-parameters the paper states for this data set; empty if it states none.
    """

    name: str
    kind: str
    n_features: int
    batch_size: int
    n_clusters: int
    first: Any
    paper: Mapping[str, Any]


@dataclass(frozen=True)
class Contestant:
    """A method that takes part.

    Attributes
    ----------
    name : str
        As in the tables.
    make : callable (task, seed, **settings) -> Model
    space : callable (trial, task) -> settings, or None
        What is tuned; None if there is nothing to tune.
    told_k : bool
        Whether it is told the true number of clusters; the report marks it.
    kinds : tuple
        The kinds of data that it takes. One for real data alone gets counts as dense rows.
    needs : tuple of str
        Modules that must be there, as they are imported.
    random : bool
        Whether another seed gives another result.
    """

    name: str
    make: Callable[..., Model]
    space: Callable[[optuna.Trial, Task], dict[str, Any]] | None = None
    told_k: bool = False
    kinds: tuple[str, ...] = ("real",)
    needs: tuple[str, ...] = ()
    random: bool = True
