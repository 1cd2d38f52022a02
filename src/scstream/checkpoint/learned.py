"""What is saved of a model between two batches, object by object.

Not saved, because the next batch sets it before it looks: of the clusters' state, how often
sub-clusters were restarted, the past's entropies, and of the last batch's sums all but the
statistics and the numbers of rows. A kernel is a function: that there is one is saved.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import Any

import numpy as np

from scstream.checkpoint.errors import require
from scstream.checkpoint.forms import (
    BELOW_ONE,
    POSITIVE,
    array,
    ids,
    many,
    maybe,
    number,
    part,
    plain,
    reals,
    rows,
    whole,
)
from scstream.engines import Sums
from scstream.families import Family
from scstream.families.widening import Widening
from scstream.records import HISTORY, BatchRecord
from scstream.sampler.alike import Alike, Likeness
from scstream.sampler.clusters import State
from scstream.sampler.context import Outliers
from scstream.sampler.dormant import Dormant
from scstream.sampler.learner import Learner
from scstream.sampler.recipe import Batch
from scstream.sampler.repeats import Repeats
from scstream.sampler.scores import Sketch
from scstream.sampler.warmup import KeptBatch
from scstream.sampler.window import Forgetting, Window


class LostKernel:
    """Stands for the kernel of a loaded model, until the user gives it again.

    The model predicts without it. Learning needs it.
    """

    def __call__(self, age: float) -> float:
        """Raise: what the kernel was is not known."""
        raise ValueError(
            "The model was saved with a kernel, a function, which no file can hold. Give it again "
            "before the model learns on: ScStream.load(path, kernel=f), or "
            "model.set_params(kernel=f)."
        )

    def __repr__(self) -> str:
        return "LostKernel()"


# -- clusters -------------------------------------------------------------------------------------

_forgetting = part(
    Forgetting,
    lambda kernel, **others: Forgetting(kernel=LostKernel() if kernel else None, **others),
    lambda forgetting: {**vars(forgetting), "kernel": forgetting.kernel is not None},
    half_life=maybe(number(POSITIVE)),
    kernel=plain(bool),
    epsilon=number(0.0, BELOW_ONE),
    max_records=whole(1, 2**20),
)


def _make_window(forgetting: Forgetting, times: Any, **others: Any) -> Window:
    many = len(times) > 0 and forgetting.kernel is not None
    require(many or len(times) == 1, "several batches need a kernel")
    require(np.all(np.diff(times) > 0), "times of the window are not those of batches")
    return Window(forgetting=forgetting, times=times, **others)


_window = part(
    Window,
    _make_window,
    forgetting=_forgetting,
    sums=reals("b", "K", 2, "P"),
    entropy=reals("b", "K", "K"),
    times=reals("b"),
    weight=reals("b", low=0.0),
)


def _make_sums(current: Any, rows: Any) -> Sums:
    return replace(Sums.nothing(len(current), current.shape[-1]), current=current, rows=rows)


def _make_state(ids: Any, next_id: int, past: Any, now: Sums, **others: Any) -> State:
    k = len(ids)
    sound = k > 0 and len(np.unique(ids)) == k and ids.max() < next_id
    require(sound, "ids are not those of clusters")
    require(np.all((past + now.current)[..., 0] >= -1e-6), "a cluster has less than no rows")
    attempt = np.zeros(k, dtype=np.int64)
    return State(
        ids=ids, next_id=next_id, past=past, now=now, past_entropy=np.zeros((k, k)),
        attempt=attempt, **others,
    )  # fmt: skip


_state = part(
    State,
    _make_state,
    ids=ids("K"),
    born=reals("K"),
    lived=ids("K"),
    next_id=whole(1),
    past=reals("K", 2, "P"),
    now=part(Sums, _make_sums, current=reals("K", 2, "P"), rows=ids("K", 2)),
    window=_window,
    earlier=reals("K", low=0.0),
)


def _make_dormant(ids: Any, sums: Any, **others: Any) -> Dormant:
    require(np.all(sums[:, 0] > 0), "dormant clusters have no rows")
    return Dormant(ids=ids, sums=sums, **others)


_dormant = part(
    Dormant,
    _make_dormant,
    ids=ids("m"),
    born=reals("m"),
    sums=reals("m", "P"),
    awake=ids("K"),
    most=reals("K", low=0.0),
)

# -- what is known of the stream ------------------------------------------------------------------


def _make_outliers(weight: float, sums: Any, held: Any, pseudo: float) -> Outliers:
    if held is not None:
        sound = 0 <= held[0, 0] <= sums[0, 0] + 1e-6 and sums[0, 0] > 0 and pseudo > 0
        require(sound, "the rows of the background are not a share of all")
    return Outliers(weight, sums, held, None, pseudo)


_outliers = part(
    Outliers,
    _make_outliers,
    weight=number(POSITIVE, BELOW_ONE),
    sums=reals(1, "P"),
    held=maybe(reals(1, "P")),
    pseudo=number(0.0),
)


def _make_sketch(values: Any, weights: Any, seen: float) -> Sketch:
    require(np.all(np.diff(values) >= 0), "scores are not ascending")
    return Sketch(values, weights, seen)


_sketch = part(
    Sketch,
    _make_sketch,
    values=reals("s"),
    weights=reals("s", low=POSITIVE),
    seen=number(0.0),
)


def _make_repeats(batches: Any, number: int, **others: Any) -> Repeats:
    sound = np.all(np.diff(batches) >= 0) and np.all(batches <= number)
    require(sound, "rows that were seen are not those of earlier batches")
    return Repeats(batches=batches, number=number, **others)


_repeats = part(
    Repeats,
    _make_repeats,
    hashes=array(np.uint64, "m"),
    batches=ids("m", low=1),
    number=whole(),
    time=number(),
    watched=whole(),
    told=plain(bool),
)
_alike = part(
    Alike,
    weight=number(POSITIVE),
    likeness=part(Likeness, None, Likeness._asdict, correlation=number(), farther=number()),
    looked=whole(),
    seen=whole(),
    usual=number(0.0),
    rows=reals("m", None),
    labels=array(np.int64, "m"),
)
_batch = part(Batch, X=rows, weight=reals("n", low=0.0), time=number())
_kept = part(KeptBatch, batch=_batch, ids=ids("n", low=-1))

# -- the whole of it ------------------------------------------------------------------------------


def _family(family: Any, sizes: dict[str, int], name: str) -> Any:
    """Return a family for D columns; gives its statistics P and the columns W of checked rows."""
    require(isinstance(family, Family), f"{name} is not a family")
    blocks, d = family.independent_blocks(sizes["D"]), sizes["D"]
    inside = all(j < d for block in blocks for j in block.columns)
    require(inside, f"a block of the product is beyond {d} columns")
    width = sum(block.family.width(len(block.columns)) for block in blocks)
    require(family.columns_taken() in (None, width), f"the family is not for {d} columns")
    sizes |= {"P": len(family.prior), "W": width}
    return family


def _make_learner(rng: Any, warmup: Any, **parts: Any) -> Learner:
    family, state, dormant = parts["family"], parts["state"], parts["dormant"]
    known = [*dormant.ids, *state.ids]
    distinct = len(np.unique(known)) == len(known) and max(known) < state.next_id
    require(distinct, "ids of dormant clusters are not those of earlier clusters")
    for kept in warmup:
        sound = len(kept.ids) > 0 and family.sound(kept.batch.X)
        require(sound, f"the first rows are not what the family {family.name!r} takes")
        require(kept.ids.max() < state.next_id, "the first rows are in unknown clusters")
    times = [state.window.times[-1], *(kept.batch.time for kept in warmup)]
    require(max(times) <= parts["time"], "a batch is later than the latest")
    require(len(parts["latest"]) == state.k + 1, "latest is not about the clusters")
    pcg = isinstance(rng.bit_generator, np.random.PCG64)
    require(pcg, "the model's generator is not PCG64")
    return Learner(rng=rng, warmup=warmup, **parts)


learner = part(
    Learner,
    _make_learner,
    lambda learner: vars(learner),
    family=_family,
    state=_state,
    rng=plain(np.random.Generator),
    seed=whole(0, 2**63 - 1),
    alpha=number(POSITIVE),
    outliers=maybe(_outliers),
    time=number(),
    spacing=number(0.0),
    n_batches=whole(1),
    dormant=_dormant,
    scores=_sketch,
    warmup=many(_kept),
    suspicion=number(0.0),
    repeats=_repeats,
    alike=_alike,
    latest=reals(None, low=0.0),
)

# -- what happened --------------------------------------------------------------------------------


def _pair(value: Any, sizes: dict[str, int], name: str) -> Any:
    require(isinstance(value, tuple) and len(value) == 2, f"{name} is not about pairs of clusters")
    return tuple(whole()(one, sizes, name) for one in value)


_record = part(
    BatchRecord,
    batch=whole(),
    time=number(),
    n_points=whole(),
    n_clusters=whole(),
    log_posterior=plain(float),
    births=many(whole()),
    deaths=many(whole()),
    splits=many(_pair),
    merges=many(_pair),
    returns=many(whole()),
    widened=many(part(Widening, column=plain(str), was=plain(str), now=plain(str))),
)


def history(records: Any, sizes: dict[str, int], name: str) -> Any:
    """Return the records of batches, the latest last."""
    require(isinstance(records, list) and 1 <= len(records) <= HISTORY, f"{name} is not a history")
    return deque(many(_record)(records, sizes, name), maxlen=HISTORY)
