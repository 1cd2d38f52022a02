"""The window: past batches live on as statistics, weighed by a kernel of their age."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from scstream.families.contract import Array
from scstream.sampler.rules import RULES
from scstream.support.frozen import frozen
from scstream.support.once import once


@dataclass(frozen=True)
class Forgetting:
    """How much a batch of a given age counts.

    Attributes
    ----------
    half_life : float or None
        The age at which a batch counts half; None never forgets.
    kernel : callable or None
        Weight of an age, in place of the half-life; needs a record of each batch.
    epsilon : float
        A batch whose weight falls to this or below is dropped.
    max_records : int
        More records than this are thinned out by joining neighbours of like weight.
    """

    half_life: float | None = RULES.half_life
    kernel: Callable[[float], float] | None = None
    epsilon: float = 1e-8
    max_records: int = 256

    @property
    def adaptive(self) -> bool:
        """Whether clusters that change may forget faster: not if the user said what counts."""
        return self.kernel is None and self.half_life is not None

    def decay(self, age: float) -> float:
        """Return the weight of an age under the half-life."""
        return 1.0 if self.half_life is None else float(2.0 ** (-age / self.half_life))

    def weights(self, ages: Array) -> Array:
        """Return the kernel's weights of ages (b,), checked."""
        assert self.kernel is not None
        given = [self.kernel(float(age)) for age in ages]
        for age, weight in zip(ages, given, strict=True):
            if not (np.isrealobj(weight) and np.ndim(weight) == 0 and _is_weight(weight)):
                raise ValueError(
                    "The kernel must give a finite weight of at least 0 for every age; "
                    f"for age {age:g} it gave {weight!r}."
                )
        return np.array([float(weight) for weight in given])


@frozen
class Window:
    """Statistics of past batches, oldest first, of k clusters.

    With a half-life there is a single record, the weighted sum of all batches, and its weight
    is 1: memory does not grow with the stream. With a kernel each batch is a record until its
    weight is negligible.

    Attributes
    ----------
    sums : ndarray (b, k, 2, p)
    entropy : ndarray (b, k, k)
        See `scstream.engines.Sums`.
    times, weight : ndarray (b,)
    """

    forgetting: Forgetting
    sums: Array
    entropy: Array
    times: Array
    weight: Array

    @staticmethod
    def empty(forgetting: Forgetting, k: int, p: int) -> Window:
        """Return a window that remembers nothing of k clusters."""
        none = np.zeros(0)
        return Window(forgetting, np.zeros((0, k, 2, p)), np.zeros((0, k, k)), none, none)

    def __getstate__(self) -> dict[str, Any]:
        """Travel without what was computed from the rest."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def past(self) -> tuple[Array, Array]:
        """Return the weighted sums (k, 2, p) and entropies (k, k) over all records."""
        if len(self.sums) == 1 and self.weight.item(0) == 1.0:
            return self.sums[0], self.entropy[0]
        return self.weighted(self.sums), self.weighted(self.entropy)

    def weighted(self, records: Array) -> Array:
        """Return the weighted sum of records (b, ...) of batches."""
        if len(records) == 1 and self.weight.item(0) == 1.0:
            only: Array = records[0]
            return only
        return np.tensordot(self.weight, records, 1)

    def whole(self) -> Array:
        """Return the weighted sums (k, p) of the clusters' statistics over all records."""
        return self.weighted(self.wholes)

    def _known(self) -> dict[str, Any]:
        """Return what was computed of the sums and still holds at another time."""
        return {
            name: vars(self)[name] for name in ("wholes", "_latest_count") if name in vars(self)
        }

    @once
    def wholes(self) -> Array:
        """The clusters' statistics (b, k, p)."""
        return self.sums[:, :, 0] + self.sums[:, :, 1]

    def advance(self, time: float) -> Window:
        """Return the window as it stands at a later time."""
        if len(self.times) == 0:
            return self
        if self.forgetting.kernel is None:
            factor = self.forgetting.decay(time - self.times.item(-1))
            if factor == 1.0:
                new = replace(self, times=np.array([time]))
                new.__dict__.update(self._known())
                return new
            sums, entropy = factor * self.sums, factor * self.entropy
            return Window(self.forgetting, sums, entropy, np.array([time]), self.weight)
        weight = self.forgetting.weights(time - self.times)
        kept = weight > self.forgetting.epsilon
        return replace(
            self,
            sums=self.sums[kept],
            entropy=self.entropy[kept],
            times=self.times[kept],
            weight=weight[kept],
        )

    def left_of(self, points: Array, past: Array, time: float) -> Array:
        """Return what is left at a later time of points (k,), of which the past (k, 2, p) is then.

        With a kernel clusters forget nothing but what the past has forgotten.
        """
        if self.forgetting.kernel is not None or len(self.times) == 0:
            return past[:, 0, 0] + past[:, 1, 0]
        return points * self.forgetting.decay(time - self.times.item(-1))

    @property
    def is_one_sum(self) -> bool:
        """Whether the present is added to what is remembered, and gets no record of its own."""
        return self.forgetting.kernel is None and len(self.times) > 0

    def with_past(self, past: Array, entropy: Array, count: float | None = None) -> Window:
        """Return the window with other sums (k, 2, p) and entropies in its single record, if any.

        The points that these count may be known.
        """
        if len(self.times) == 0:
            return self
        new = Window(self.forgetting, past[None], entropy[None], self.times, self.weight)
        if count is not None:
            new.__dict__["_latest_count"] = count
        return new

    def count_at(self, time: float) -> float:
        """Return how many points of the past still count at a later time."""
        if len(self.times) == 0:
            return 0.0
        if self.forgetting.kernel is None:
            n: float = self._latest_count
            return n * self.forgetting.decay(time - self.times.item(-1))
        n = self.sums[..., 0].sum(axis=(1, 2))
        weight = self.forgetting.weights(time - self.times)
        return float((n * weight)[weight > self.forgetting.epsilon].sum())

    @once
    def _latest_count(self) -> float:
        """How many points the latest record counts."""
        return float(self.sums[-1, :, :, 0].sum())

    def with_record(self, current: Array, entropy: Array, time: float) -> Window:
        """Return the window with a record of the present batch."""
        grown = replace(
            self,
            sums=np.concatenate([self.sums, current[None]]),
            entropy=np.concatenate([self.entropy, entropy[None]]),
            times=np.append(self.times, time),
            weight=np.append(self.weight, 1.0),
        )
        return grown.thinned()

    def thinned(self) -> Window:
        """Return the window with as many records as it may have: neighbours of like weight join."""
        if len(self.times) <= self.forgetting.max_records:
            return self
        gap = np.diff(self.times)
        i = int(np.argmin(np.abs(np.diff(self.weight)) + 1e-3 * gap / gap.sum()))
        n = self.sums[i : i + 2, :, :, 0].sum(axis=(1, 2)) + 1e-12
        sums, entropy, times = self.sums.copy(), self.entropy.copy(), self.times.copy()
        sums[i] += sums[i + 1]
        entropy[i] += entropy[i + 1]
        times[i] = (n * times[i : i + 2]).sum() / n.sum()
        kept = np.arange(len(times)) != i + 1
        fewer = replace(
            self,
            sums=sums[kept],
            entropy=entropy[kept],
            times=times[kept],
            weight=self.weight[kept],
        )
        return fewer.thinned()

    def scaled(self, share: Array) -> Window:
        """Return the window with only a share (k,) of each cluster's past."""
        pair = np.minimum(share[:, None], share[None, :])
        return replace(self, sums=self.sums * share[:, None, None], entropy=self.entropy * pair)


def _is_weight(value: Any) -> bool:
    try:
        return bool(0.0 <= float(value) < np.inf) and not isinstance(value, str)
    except (TypeError, ValueError):
        return False
