"""One model of what several have learned: clocks, frames, clusters and all that is beside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from scstream import validation as check
from scstream.engines import CpuEngine
from scstream.merging.beside import (
    background_of,
    repeats_of,
    scores_of,
    shares_of,
    warmup_of,
)
from scstream.merging.dormant import Asleep
from scstream.merging.models import source_of
from scstream.merging.names import Claim, named
from scstream.merging.parts import Part, Source, begun, part_of
from scstream.merging.union import matched, over, united
from scstream.records import BatchRecord
from scstream.sampler.clusters import ONE, State
from scstream.sampler.context import Context
from scstream.sampler.learner import Learner
from scstream.sampler.log_marginals import log_posterior
from scstream.sampler.recipe import Events, Plan
from scstream.sampler.rules import Rules
from scstream.support.frozen import changed

if TYPE_CHECKING:
    from scstream.model import ScStream

Ints = NDArray[np.int64]
Map = dict[int, int]

_AT_ONCE = 16  # models whose clusters are matched together; of more, groups of so many first


def joined_learners(
    models: Sequence[ScStream], random_state: Any
) -> tuple[Learner, BatchRecord, list[Map]]:
    """Return what models have learned together, a record of it, and where their ids went."""
    first = models[0]
    first._check_parameters()
    plan, rules = first._asked[1], first._rules
    sources = [source_of(model) for model in models]
    order = _canonical(sources)
    seeds = [source.learner.seed for source in sources]
    draws = np.random.default_rng(sorted(seeds))
    if random_state is not None:
        draws = np.random.default_rng(check.make_rng(random_state).integers(2**63))
    found, maps = _in_groups([sources[i] for i in order], plan, rules)
    learner = found.learner.drawing_by(int(draws.integers(2**63)), draws)
    own = [maps[order.index(i)] for i in range(len(sources))]
    return learner, _record(learner, sources, own), own


def _canonical(sources: Sequence[Source]) -> list[int]:
    """Return the places of sources in an order that does not depend on how they came."""

    def key(i: int) -> tuple[Any, ...]:
        own = sources[i].learner
        return -own.state.count, own.time, own.seed, own.state.totals.tobytes()

    return sorted(range(len(sources)), key=key)


def _in_groups(sources: Sequence[Source], plan: Plan, rules: Rules) -> tuple[Source, list[Map]]:
    """Return sources as one, and where the ids of each went.

    Those that ended before the latest began are joined first, since clusters may have moved in
    between; of others at most so many at once.
    """
    if len(sources) <= 2:
        return _joined(sources, plan, rules)
    latest = max(sources, key=lambda source: source.learner.time)
    ended = [i for i, source in enumerate(sources) if source.learner.time < begun(latest.learner)]
    rest = [i for i in range(len(sources)) if i not in set(ended)]
    if not ended and len(rest) <= _AT_ONCE:
        return _joined(sources, plan, rules)
    groups = [ended, rest] if ended else [rest[i::_AT_ONCE] for i in range(_AT_ONCE)]
    inner = [_in_groups([sources[i] for i in group], plan, rules) for group in groups]
    found, outer = _in_groups([one for one, _ in inner], plan, rules)
    maps: list[Map] = [{} for _ in sources]
    for group, (_, own), after in zip(groups, inner, outer, strict=True):
        for i, before in zip(group, own, strict=True):
            maps[i] = {old: after.get(new, new) for old, new in before.items()}
    return found, maps


def _joined(sources: Sequence[Source], plan: Plan, rules: Rules) -> tuple[Source, list[Map]]:
    """Return some sources as one; the first, in canonical order, sets frame and prior."""
    base = _aware(sources)
    if len(sources) == 1:
        own = [*base.state.ids.tolist(), *base.dormant.ids.tolist()]
        return sources[0], [{i: i for i in own}]
    time = max(source.learner.time for source in sources)
    ctx = Context(
        base.family, CpuEngine(1), base.rng, base.alpha, base.seed, base.n_batches, None, rules
    )  # which draws nothing
    parts, places = matched(ctx, plan, [part_of(source, base, time) for source in sources])
    sums = over(places, np.add, [part.state.totals for part in parts])
    asleep = Asleep(ctx, parts, places, sums)
    k, claims = len(sums), asleep.claims + _claims(parts, places)
    next_id = max(source.learner.state.next_id for source in sources)
    ids, born, next_id = named(claims, k + asleep.left, next_id, time)
    maps: list[Map] = [{} for _ in sources]
    for claim in claims:
        maps[claim.model][claim.id] = ids[claim.pool]
    order = np.argsort(ids[:k])
    places = [np.argsort(order)[place] for place in places]
    names = np.array(ids)[order], np.array(born)[order], next_id
    every = united(ctx, parts, places, names, time)
    most = over(places, np.maximum, [part.most for part in parts])
    stay = _not_forgotten(every)
    state, latest = every.select(stay), shares_of(parts, places, k)[np.append(stay, k)]
    dormant = asleep.memory(ids[k:], born[k:], every, most).after(every, state, Events(), rules)
    known = {*state.ids.tolist(), *dormant.ids.tolist()}
    maps = [{old: new for old, new in own.items() if new in known} for own in maps]
    family = base.family.follow(state.totals, state.totals) if rules.follow else base.family
    learner = Learner(
        family=family,
        state=state.settle(time) if state.window.is_one_sum else state,
        rng=base.rng,
        seed=base.seed,
        alpha=base.alpha,
        outliers=background_of(parts, base.family),
        time=time,
        spacing=base.spacing,
        n_batches=_batches(sources),
        dormant=dormant,
        scores=scores_of(parts, places, every.recent),
        warmup=warmup_of(parts, maps, base.family),
        suspicion=sum(part.left * part.learner.suspicion for part in parts),
        repeats=repeats_of(parts),
        alike=base.alike,
        latest=latest,
    )
    return Source(learner, state.now.current), maps


def _not_forgotten(state: State) -> Ints:
    """Return the clusters of which a point at least is left: one at least."""
    n = np.minimum(state.totals[:, 0], state.recent)
    stay = n >= ONE
    stay[np.argmax(n)] |= not stay.any()
    return np.flatnonzero(stay)


def _aware(sources: Sequence[Source]) -> Learner:
    """Return the first of the sources, with a family that knows the words of all."""
    first = sources[0].learner
    family = first.family
    for source in sources[1:]:
        family = family.aware_of(source.learner.family)
    return first if family is first.family else changed(first, family=family)


def _claims(parts: Sequence[Part], places: Sequence[Ints]) -> list[Claim]:
    """Return what the clusters of parts say of their pools' names, but for those split off."""
    return [
        Claim(born, -n, name, i, pool)
        for i, (part, place) in enumerate(zip(parts, places, strict=True))
        for born, n, name, pool in zip(
            part.state.born.tolist(), part.state.totals[:, 0].tolist(), part.state.ids.tolist(),
            place.tolist(), strict=True,
        )
        if name < part.learner.state.next_id
    ]  # fmt: skip


def _batches(sources: Sequence[Source]) -> int:
    """Return how many batches were learned: those that were learned side by side are one."""
    own, ended = [s.learner.n_batches for s in sources], min(s.learner.time for s in sources)
    return sum(own) if any(begun(s.learner) > ended for s in sources) else max(own)


def _record(learner: Learner, sources: Sequence[Source], maps: Sequence[Map]) -> BatchRecord:
    """Return what happened: ids that are new, and those that are called otherwise now."""
    now = set(learner.state.ids.tolist())
    before = [set(source.learner.state.ids.tolist()) for source in sources]
    gone = sorted(
        (own[i], i)
        for own, ids in zip(maps, before, strict=True)
        for i in ids
        if own.get(i, i) != i  # those that are forgotten by now went nowhere
    )
    every = set().union(*before)
    return BatchRecord(
        batch=learner.n_batches - 1,
        time=learner.time,
        n_points=0,
        n_clusters=learner.state.k,
        log_posterior=log_posterior(learner.family, learner.alpha, learner.state.totals),
        births=tuple(sorted(now - every)),
        deaths=tuple(sorted(every - now)),
        splits=(),
        merges=tuple(dict.fromkeys(pair for pair in gone if pair[1] not in now)),
    )
