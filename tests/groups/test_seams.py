"""What is remembered of seams from batch to batch."""

import numpy as np
import pytest

from scstream.groups.seams import Seams
from scstream.records import BatchRecord


def record(splits=(), merges=()):
    names = BatchRecord.__dataclass_fields__
    values = dict.fromkeys(names, 0) | {"splits": tuple(splits), "merges": tuple(merges)}
    return BatchRecord(**values)


def known(whole):
    """Return seams of clusters 10, 11, ... with what each was a part of."""
    return Seams(ids=10 + np.arange(len(whole)), whole=np.array(whole))


def wholes_of(seams):
    return dict(zip(seams.ids.tolist(), seams.whole.tolist(), strict=True))


def test_parts_of_a_piece_are_pieces_of_the_same_whole():
    after = wholes_of(known([0, 0, 1]).follow(record([(10, 20)])))
    assert after[20] == after[10] == after[11]


@pytest.mark.parametrize("splits", [[(12, 20)], [(12, 20), (12, 21)]])
def test_parts_of_a_cluster_that_was_a_whole_by_itself_are_wholes(splits):
    # broken on purpose (all parts inherit the whole): Gaussians that move apart stay one for long
    after = wholes_of(known([0, 0, 1]).follow(record(splits)))
    assert len(set(after.values())) == 2 + len(splits)
    assert after[10] == after[11]


def test_parts_of_a_cluster_that_nobody_knows_are_not_known():
    assert wholes_of(known([0]).follow(record([(15, 16)]))) == {10: 0}
