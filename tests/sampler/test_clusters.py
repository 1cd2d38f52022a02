"""The clusters' statistics through every change: what belongs together stays together."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sampling import FORGETTINGS, arrays, check_state, random_state

from scstream.sampler.clusters import State

K, P = 5, 3


@pytest.fixture(params=FORGETTINGS)
def state(request):
    return random_state(K, P, FORGETTINGS[request.param])


CHANGES = {
    "split": lambda s: s.split(np.array([1, 3]), 9.0)[0],
    "merge": lambda s: s.merge(np.array([4, 1]), np.array([0, 2]))[0],
    "select": lambda s: s.select(np.array([3, 0, 4])),
    "found": lambda s: s.found(s.totals[:2] + 1.0, 9.0),
    "forget": lambda s: s.forget(np.linspace(0.1, 1.0, s.k)),
    "advance": lambda s: s.advance(9.0),
    "settle": lambda s: s.settle(3.0),
    "divide": lambda s: s.with_past_parts(
        np.arange(s.k) % 2 == 0,
        0.3 * s.window.sums.sum(axis=2),
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_makes_a_new_state_and_leaves_the_old_one(state, change):
    before, next_id = arrays(state), state.next_id
    new = CHANGES[change](state)
    after = arrays(state)
    for name in before:
        assert_array_equal(after[name], before[name], err_msg=name)
    assert state.next_id == next_id
    assert isinstance(new, State)
    assert any(
        a.shape != before[name].shape or not np.array_equal(a, before[name])
        for name, a in arrays(new).items()
    )
    check_state(state)
    if change != "settle":  # the present is in the past already: the next thing is to advance
        check_state(new)


def test_starting_halves_the_clusters():
    clusters = np.random.default_rng(0).random((3, P))
    state = State.start(FORGETTINGS["half-life"], clusters, 2.0, 7)
    check_state(state)
    assert state.ids.tolist() == [7, 8, 9]
    assert state.next_id == 10
    assert_array_equal(state.born, 2.0)
    assert_allclose(state.totals, clusters)
    assert_allclose(state.parts[:, 0], state.parts[:, 1])
    assert not state.past.any()
    assert not state.present.any()


# -- split ---------------------------------------------------------------------------------------


def test_split_parts_are_the_subclusters_and_the_larger_keeps_the_id(state):
    which = np.array([3, 0, 4, 1])
    new, moved = state.split(which, 9.0)
    assert new.k == K + 4
    assert_array_equal(new.ids[:K], state.ids)
    assert_array_equal(new.ids[K:], state.next_id + np.arange(4))
    assert new.next_id == state.next_id + 4
    assert_array_equal(new.born, [*state.born, *[9.0] * 4])
    assert_array_equal(new.lived, [*state.lived, *[0] * 4])
    for place, i in enumerate(which):
        major = int(state.parts[i, 1, 0] > state.parts[i, 0, 0])
        for old, where in ((major, i), (1 - major, K + place)):
            assert moved[i, old] == where
            assert_allclose(new.parts[where, 0], state.parts[i, old])
            assert not new.parts[where, 1].any()
            assert_allclose(new.past[where, 0], state.past[i, old])
            assert_allclose(new.now.current[where, 0], state.now.current[i, old])
            assert new.now.rows[where].tolist() == [state.now.rows[i, old], 0]
            assert new.attempt[where] == 0
            assert new.now.entropy[where, where] == new.past_entropy[where, where] == 0.0
        # what was in entropy between the halves is now in entropy between two clusters
        assert new.now.entropy[i, K + place] == state.now.entropy[i, i]
        assert new.past_entropy[i, K + place] == pytest.approx(state.past_entropy[i, i])
        assert new.now.rivals[i, K + place] > 0  # siblings are neighbours
    assert {int(state.parts[i, 1, 0] > state.parts[i, 0, 0]) for i in which} == {0, 1}


# -- merge ---------------------------------------------------------------------------------------


def test_merged_clusters_are_the_subclusters_and_the_heavier_keeps_the_id(state):
    first, second = np.array([4, 1]), np.array([0, 2])
    new, label, sublabel = state.merge(first, second)
    n = state.totals[:, 0]
    heavy = np.where(n[first] >= n[second], first, second)
    light = np.where(n[first] >= n[second], second, first)
    assert sorted(new.ids) == sorted([*state.ids[heavy], state.ids[3]])
    assert new.next_id == state.next_id
    for a, b in zip(heavy, light, strict=True):
        place = new.ids.tolist().index(state.ids[a])
        assert_array_equal(label[[a, b]], place)
        assert_array_equal(sublabel[a], 0)
        assert_array_equal(sublabel[b], 1)
        assert_allclose(new.parts[place], [state.totals[a], state.totals[b]])
        assert_allclose(new.past[place], state.past[[a, b]].sum(axis=1))
        assert_array_equal(new.now.rows[place], state.now.rows[[a, b]].sum(axis=1))
        assert new.born[place] == state.born[a]
        assert new.lived[place] == state.lived[a]
        assert new.attempt[place] == 0
        # what was in entropy between two clusters is now in entropy between the halves
        assert new.now.entropy[place, place] == state.now.entropy[a, b]
        assert new.past_entropy[place, place] == pytest.approx(state.past_entropy[a, b])
    assert_allclose(new.totals.sum(axis=0), state.totals.sum(axis=0))


def test_one_born_in_this_batch_leaves_its_id_to_one_that_was_not(state):
    n = state.totals[:, 0]
    heavy, light = (4, 0) if n[4] >= n[0] else (0, 4)
    for lived, survivor in ((0, light), (1, heavy)):
        ages = np.full(state.k, 3)
        ages[heavy] = lived
        new, _, _ = state.having(lived=ages).merge(np.array([heavy]), np.array([light]))
        assert state.ids[survivor] in new.ids
        assert state.ids[heavy + light - survivor] not in new.ids


def test_merge_undoes_a_split(state):
    split, moved = state.split(np.array([2]), 9.0)
    new, label, sublabel = split.merge(np.array([2]), np.array([K]))
    assert_array_equal(new.ids, state.ids)
    assert new.next_id == state.next_id + 1  # the id of the part is not used again
    major = int(np.argmax(state.parts[2, :, 0]))
    assert_allclose(new.parts[2], state.parts[2, [major, 1 - major]])
    assert_allclose(new.totals, state.totals)
    assert_allclose(new.now.entropy[2, 2], state.now.entropy[2, 2])
    # each point finds itself where it was, in the order of the parts
    for sub in (0, 1):
        assert label[moved[2, sub], 0] == 2
        assert sublabel[moved[2, sub], 0] == (0 if sub == major else 1)


# -- the rest --------------------------------------------------------------------------------------


def test_founded_clusters_come_after_the_others_and_have_no_past(state):
    groups = np.arange(1.0, 2.0 * P + 1.0).reshape(2, P)
    new = state.found(groups, 9.0)
    for name in ("ids", "born", "lived", "attempt", "past", "parts", "totals"):
        assert_array_equal(getattr(new, name)[:K], getattr(state, name), err_msg=name)
    assert new.ids[K:].tolist() == [state.next_id, state.next_id + 1]
    assert new.next_id == state.next_id + 2
    assert_array_equal(new.born[K:], 9.0)
    assert_array_equal(new.lived[K:], 0)
    assert_allclose(new.totals[K:], groups)
    assert_array_equal(new.past[K:], 0.0)
    assert not new.past_entropy[K:].any()
    assert not new.now.rivals[:, K:].any()


def test_dividing_the_past_anew_keeps_its_whole(state):
    chosen = np.array([True, False, True, False, False])
    whole = state.window.sums.sum(axis=2)
    first = whole * np.linspace(0.0, 1.0, K)[:, None]
    new = state.with_past_parts(chosen, first)
    weight = state.window.weight
    assert_allclose(new.past.sum(axis=1), state.past.sum(axis=1), rtol=1e-12)
    assert_allclose(new.past[chosen, 0], np.tensordot(weight, first, 1)[chosen], atol=1e-12)
    assert_array_equal(new.past[~chosen], state.past[~chosen])
    assert_array_equal(np.diagonal(new.past_entropy)[chosen], 0.0)
    away = ~np.diag(chosen)
    assert_allclose(new.past_entropy[away], state.past_entropy[away])
    assert_array_equal(new.now.current, state.now.current)


def test_settling_and_advancing_turn_the_present_into_past(state):
    new = state.settle(3.0).advance(3.0 + 1e-12)
    assert_allclose(new.past, state.past + state.now.current, rtol=0.5)  # a kernel joins records
    assert not new.now.current.any()
    assert not new.present.any()
    assert_array_equal(new.ids, state.ids)
    assert_array_equal(new.lived, state.lived + 1)


@pytest.mark.parametrize("name", ["half-life", "for-ever"])
def test_statistics_fade_with_time(name):
    state = random_state(K, P, FORGETTINGS[name])
    settled = state.settle(3.0)
    new = settled.advance(7.0)
    factor = {"half-life": 0.25, "for-ever": 1.0}[name]
    assert_allclose(settled.window.count_at(7.0), new.past[..., 0].sum(), rtol=1e-12)
    assert_allclose(new.past, factor * (state.past + state.now.current), rtol=1e-12)
    assert_allclose(new.past_entropy, factor * (state.past_entropy + state.now.entropy), rtol=1e-12)


@pytest.mark.parametrize("name", FORGETTINGS)
def test_no_sequence_of_changes_breaks_the_whole(name):
    rng = np.random.default_rng(4)
    state, seen, time = random_state(K, P, FORGETTINGS[name]), set(), 4.0
    seen |= set(state.ids.tolist())
    for _ in range(60):
        total, before = state.totals.sum(axis=0), set(state.ids.tolist())
        what = rng.choice(["split", "merge", "select"])
        if what == "split" and state.k < 12:
            state, _ = state.split(rng.permutation(state.k)[: rng.integers(1, 3)], time)
            born = set(state.ids.tolist()) - before
            assert born.isdisjoint(seen)
            seen |= born
        elif what == "merge" and state.k > 3:
            a, b = rng.permutation(state.k)[:2]
            state, *_ = state.merge(np.array([a]), np.array([b]))
            assert set(state.ids.tolist()) < before
        elif what == "select":
            state = state.select(rng.permutation(state.k))
        check_state(state)
        assert_allclose(state.totals.sum(axis=0), total, rtol=1e-9)
