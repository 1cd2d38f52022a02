"""Ids of groups follow their members by weight, and are never used twice."""

import numpy as np

from scstream.groups.lasting import Lasting
from scstream.records import BatchRecord


def record(splits=(), merges=()):
    return BatchRecord(1, 1.0, 10, 2, 0.0, (), (), splits, merges)


def form(before, ids, part, weight=None):
    weight = np.ones(len(ids)) if weight is None else np.array(weight, dtype=float)
    return before.form(np.array(ids), weight, np.array(part))


def test_ids_stay_while_members_stay():
    first = form(Lasting(), [5, 6, 7], [0, 0, 1])
    again = form(first, [7, 6, 5], [0, 1, 1])
    assert first.group == again.group == {5: 0, 6: 0, 7: 1}
    assert (again.splits, again.merges, again.next_id) == ((), (), 2)


def test_what_happened_once_is_told_once():
    first = form(Lasting(), [1, 2], [0, 0])
    apart = form(first, [1, 2], [0, 1])
    assert apart.splits
    again = form(apart, [1, 2], [0, 1])
    assert (again.splits, again.merges) == ((), ())
    assert again.group == apart.group
    assert form(again, [1, 2], [0, 1]) is again


def test_the_heavier_part_keeps_the_id():
    first = form(Lasting(), [1, 2], [0, 0])
    apart = form(first, [1, 2], [0, 1], weight=[1.0, 3.0])
    assert apart.group == {1: 1, 2: 0}
    assert apart.splits == ((0, 1),)


def test_a_merge_keeps_the_heavier_id_and_the_other_is_never_used_again():
    first = form(Lasting(), [1, 2], [0, 1], weight=[1.0, 3.0])
    joined = form(first, [1, 2], [0, 0], weight=[1.0, 3.0])
    assert joined.group == {1: 1, 2: 1}
    assert joined.merges == ((1, 0),)
    again = form(joined, [1, 2], [0, 1], weight=[1.0, 3.0])
    assert again.group == {1: 2, 2: 1}


def test_the_parts_of_a_cluster_stay_in_its_group_when_all_old_ids_are_gone():
    first = form(Lasting(), [1, 2], [0, 1])
    later = first.follow(record(splits=((1, 8),))).follow(record(splits=((8, 9),)))
    assert form(later, [9, 2], [0, 1]).group == {9: 0, 2: 1}
    merged = first.follow(record(merges=((7, 2),)))
    assert form(merged, [7, 1], [0, 1]).group == {7: 1, 1: 0}


def test_a_newcomer_is_a_new_group_without_a_split():
    first = form(Lasting(), [1], [0])
    after = form(first, [1, 2], [0, 1])
    assert after.group == {1: 0, 2: 1}
    assert after.splits == ()
