"""A model around what was merged, and what of a model goes into it."""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from scstream.groups.grouping import Grouping
from scstream.merging.parts import Source
from scstream.records import BatchRecord
from scstream.sampler.learner import Learner
from scstream.support.frozen import changed

if TYPE_CHECKING:
    from scstream.model import ScStream


def source_of(model: ScStream) -> Source:
    """Return what a model brings along."""
    own, kernel = model._learner, model.kernel
    window = own.state.window
    if window.forgetting.kernel is not kernel:  # what was read from bytes knows of none
        window = replace(window, forgetting=replace(window.forgetting, kernel=kernel))
        own = changed(own, state=own.state.having(window=window))
    return Source(own, model._last_batch)


def model_of(
    like: ScStream, learner: Learner | None, record: BatchRecord | None,
    maps: Sequence[dict[int, int]], models: Sequence[ScStream] = (),
) -> ScStream:  # fmt: skip
    """Return a model with the parameters of another that has learned what is given."""
    new = type(like)(**like.get_params(deep=False))
    new.random_state = copy.deepcopy(like.random_state)
    if (output := getattr(like, "_sklearn_output_config", None)) is not None:
        new._sklearn_output_config = dict(output)
    new.id_maps_ = list(maps)
    if learner is None:
        return new
    models = models or (like,)
    nothing = np.zeros(0, dtype=np.int64)
    new._learner = learner
    new._history = deque([record] if record else like._history, maxlen=like._history.maxlen)
    new.labels_ = new.sublabels_ = nothing
    new.n_features_in_, new.dates_ = like.n_features_in_, like.dates_
    named = next((m for m in models if hasattr(m, "feature_names_in_")), None)
    if named is not None:
        new.feature_names_in_ = named.feature_names_in_
    new._seen = _ranges([m._seen for m in models])
    new._grouping = Grouping()
    if like.group_level is not None:
        new._grouping.at(learner, new._rules, new._level)
    return new


def _ranges(seen: Sequence[Any]) -> Any:
    """Return the least and the largest number (2, d) of each column in several models."""
    known = [one for one in seen if one is not None]
    if not known:
        return None
    low, high = (np.stack([one[side] for one in known]) for side in (0, 1))
    return np.stack([np.fmin.reduce(low), np.fmax.reduce(high)])
