"""What the estimators for river share: rows are buffered, and learned in mini-batches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from river import base

from scstream.buffer import Buffer, dicts
from scstream.families import Family
from scstream.model import ScStream


class Buffered(Buffer, base.Estimator):
    """A model that gets rows one by one, as dicts, and learns them `batch_size` at a time."""

    def __init__(
        self,
        family: str | Family = "gaussian",
        *,
        batch_size: int = 100,
        alpha: float = 1.0,
        half_life: float | Literal["auto"] | None = "auto",
        sweeps: int = 1,
        max_clusters: int | None = None,
        outlier_weight: float | Literal["auto"] = 0.0,
        seed: int | None = None,
    ) -> None:
        options: dict[str, Any] = {
            "alpha": alpha, "half_life": half_life, "sweeps": sweeps, "max_clusters": max_clusters,
            "outlier_weight": outlier_weight,
        }  # fmt: skip
        super().__init__(ScStream(family, random_state=seed, **options), batch_size=batch_size)
        self.__dict__ |= {"family": family, "seed": seed, **options}  # where river looks for them

    def learn_one(self, x: Mapping[Any, Any]) -> None:
        """Add a row, a dict of features; the model learns once there are `batch_size` of them."""
        self.add(x)

    def score_one(self, x: Mapping[Any, Any]) -> float:
        """Return how unusual a row is, from 0 to 1: one minus `ScStream.anomaly`.

        In a stream without anomalies one row in a thousand is above 0.999. Before the first batch
        this is 0.
        """
        row = self._observed(x)
        if not self.features:
            return 0.0
        return float(1.0 - self.model.anomaly(self._table([row], self.features))[0])

    def learn_many(self, X: Any) -> None:
        """Take in the rows of a data frame, one after the other."""
        for row in dicts(X):
            self.learn_one(row)
