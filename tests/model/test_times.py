"""Times as people have them: dates, seconds, nanoseconds; half-lives with units; pauses."""

from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.metrics import adjusted_rand_score
from streams import blobs

from scstream import ScStream
from scstream.support.times import moment

CENTRES = np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0], [9.0, 9.0]])
BEGIN = datetime(2026, 3, 1, tzinfo=UTC)
BATCHES = [blobs(300, b, CENTRES) for b in range(14)]


def learned(times, **params):
    """Return the labels of every batch, and the model."""
    model = ScStream(random_state=0, **params)
    labels = [
        model.partial_fit(X, time=time).labels_ for (X, _), time in zip(BATCHES, times, strict=True)
    ]
    return labels, model


UNITS = {
    "seconds": [86400.0 * b + 1.7e9 for b in range(14)],
    "nanoseconds": [int(1.7e18) + 86400 * 10**9 * b for b in range(14)],
    "datetime": [BEGIN + timedelta(days=b) for b in range(14)],
    "datetime64": [np.datetime64("2026-03-01") + np.timedelta64(b, "D") for b in range(14)],
    "fractions": [b / 1024 for b in range(14)],
}


@pytest.mark.parametrize("unit", UNITS)
def test_the_unit_of_time_changes_nothing(unit):
    expected, _ = learned([None] * 14)
    got, model = learned(UNITS[unit])
    for ours, theirs in zip(got, expected, strict=True):
        assert_array_equal(ours, theirs)
    assert model.n_clusters_ == 4


def test_dates_may_be_text():
    got, model = learned([f"2026-03-{b + 1:02d} 00:00" for b in range(14)])
    assert model.time_ == datetime(2026, 3, 14, tzinfo=UTC).timestamp()
    assert model.dates_
    assert_array_equal(got[-1], learned([None] * 14)[0][-1])
    model.partial_fit(BATCHES[0][0], time="2026-03-15T01:00+02:00")
    assert model.time_ == datetime(2026, 3, 14, 23, tzinfo=UTC).timestamp()
    for wrong in ("soon", "16.03.2026", "5", ""):
        with pytest.raises(ValueError, match=r"a date, such as '2026-01-31 12:00', one for all"):
            model.partial_fit(BATCHES[0][0], time=wrong)
    with pytest.raises(ValueError, match="Times must increase: this batch has time 2026-03-01"):
        model.partial_fit(BATCHES[0][0], time="2026-03-01")


@pytest.mark.parametrize(
    "half_life",
    ["5d", "120h", "7200min", timedelta(days=5), "0.432e6s", "5 days", np.timedelta64(5, "D")],
)
def test_half_lives_have_units(half_life):
    expected, _ = learned([None] * 14, half_life=5.0)
    got, model = learned(UNITS["datetime"], half_life=half_life)
    for ours, theirs in zip(got, expected, strict=True):
        assert_array_equal(ours, theirs)
    assert model.get_params()["half_life"] == half_life


def test_one_who_forgets_everything_is_warned_once():
    model = ScStream(half_life=5, random_state=0).partial_fit(BATCHES[0][0], time=1.7e9)
    with pytest.warns(UserWarning, match="Use half_life='auto'") as told:
        model.partial_fit(BATCHES[1][0], time=1.7e9 + 3600)
    assert [one.filename for one in told] == [__file__]
    model.partial_fit(BATCHES[2][0], time=1.7e9 + 7200)
    ScStream(half_life=5).partial_fit(BATCHES[0][0]).partial_fit(BATCHES[1][0])  # nobody is


def test_a_pause_of_any_length_leaves_the_clusters_known():
    times = [*range(7), *(10.0**6 + np.arange(7))]
    labels, model = learned(times)
    assert model.n_clusters_ == 4
    for (_, y), z in zip(BATCHES, labels, strict=True):
        assert adjusted_rand_score(y, z) > 0.98
    # the ids before the pause are those after it
    before = [np.bincount(labels[6][BATCHES[6][1] == i]).argmax() for i in range(4)]
    after = [np.bincount(labels[7][BATCHES[7][1] == i]).argmax() for i in range(4)]
    assert before == after


def test_the_half_life_follows_batches_that_come_at_another_pace():
    """From one a second to one an hour: after some batches five of them count half again."""
    model, time = ScStream(random_state=0), 0.0
    for b in range(40):
        time += 1.0 if b < 10 else 3600.0
        model.partial_fit(BATCHES[b % 14][0], time=time)
    assert model._learner.state.window.forgetting.half_life == pytest.approx(5 * 3600.0, rel=0.05)


def test_moments_are_in_utc_unless_they_say_otherwise():
    assert moment(datetime(1970, 1, 1, 1)) == 3600.0
    assert moment(datetime(1970, 1, 1, 1, tzinfo=timezone(timedelta(hours=1)))) == 0.0
    assert moment(np.datetime64("1970-01-02T00:00:00.5")) == 86400.5
    assert moment(date(1970, 1, 2)) == 86400.0
    assert np.isnan(moment(np.datetime64("NaT")))
