"""Models that learned apart, added up to one: create, add, merge, extract. See docs/merge.md.

Statistics of exponential families add up, so most of a model does once it is known which clusters
are the same. Nothing is drawn: the same models give the same one, in whatever order they come.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from scstream.merging.agreement import agreed
from scstream.merging.learners import joined_learners
from scstream.merging.models import model_of
from scstream.merging.parts import share_of
from scstream.support.arithmetic import numpy_defaults

if TYPE_CHECKING:
    from scstream.model import ScStream

__all__ = ["divide", "merge"]


@numpy_defaults
def merge(models: Iterable[ScStream | bytes], *, random_state: Any = None) -> ScStream:
    """Return one model of what several have learned, each from other rows of the same stream.

    Parameters
    ----------
    models : iterable of ScStream or bytes
        Models, or what `ScStream.to_bytes` made of them; they stay as they are. Those that have
        learned nothing add nothing. Families, columns, units of time and all parameters that shape
        the learning must be the same.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the draws that the merged model makes as it learns on. By default it follows from
        those of the models.

    Returns
    -------
    ScStream
        It learns on and predicts like any other. ``id_maps_`` has a dict for each model in the
        order given: where each of its cluster ids went. A cluster keeps the id of that of its
        parts which was born first, the heaviest of several. If two lay claim to one id the same
        rule decides, and the other gets the id of its next part, or a new one.

    Raises
    ------
    ValueError
        If models do not fit together; the message says in what.

    Examples
    --------
    >>> import scstream
    >>> from scstream.datasets import gaussian_stream
    >>> workers = [scstream.ScStream(random_state=seed) for seed in range(2)]
    >>> for batch in gaussian_stream(n_batches=20, n_clusters=3, random_state=1):
    ...     for i, worker in enumerate(workers):
    ...         worker = worker.partial_fit(batch.X[i::2])
    >>> scstream.merge(workers).n_clusters_
    3
    """
    given = agreed(models)
    learned = [model for model in given if model.n_batches_]
    if len(learned) < 2:
        only = learned[0] if learned else given[0]
        maps = [
            {i: i for i in m._learner.state.ids.tolist()} if m.n_batches_ else {} for m in given
        ]
        return model_of(only, only.__dict__.get("_learner"), None, maps)
    learner, record, own = joined_learners(learned, random_state)
    found = iter(own)
    maps = [next(found) if model.n_batches_ else {} for model in given]
    return model_of(learned[0], learner, record, maps, learned)


@numpy_defaults
def divide(model: ScStream, n: int) -> list[ScStream]:
    """Return n models that `merge` adds up to this one, for n workers that go on from it.

    Each remembers the same clusters, at an n-th of their counts, and draws by a seed of its own.
    Were each given the whole model, all that it remembers would count n times after a merge.
    """
    if isinstance(n, bool) or n != int(n) or n < 1:
        raise ValueError(f"n must be a whole number of workers, 1 or more; got {n!r}.")
    if not model.n_batches_:
        return [model_of(model, None, None, []) for _ in range(int(n))]
    own, share = model._learner, share_of(model._learner, 1.0 / n)
    seeds = np.random.default_rng([own.seed, own.n_batches]).integers(2**63, size=(int(n), 2))
    return [
        model_of(model, share.drawing_by(int(a), np.random.default_rng(int(b))), None, [], [model])
        for a, b in seeds
    ]
