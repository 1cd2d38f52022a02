"""What is particular to one broker: partitions, trimming, streams made anew, restarts."""

import importlib
import itertools
import json
import sys

import pytest
from broker_servers import (
    RedisBroker,
    answers,
    kafka_broker,
    redis_broker,
    redis_command,
    running,
    wait_for,
)

from scstream.sources.messages import LostMessagesError, MessageSource

LONG = 30.0  # seconds of silence after which a test gives up hope of what must come


@pytest.fixture(scope="module")
def kafka(tmp_path_factory):
    with kafka_broker(tmp_path_factory.mktemp("kafka")) as broker:
        yield broker


@pytest.fixture(scope="module")
def redis(tmp_path_factory):
    with redis_broker(tmp_path_factory.mktemp("redis")) as broker:
        yield broker


def rows(*numbers):
    return [json.dumps([number]).encode() for number in numbers]


def take(source, n):
    return list(itertools.islice(source, n))


def numbers(batches):
    return [int(x) for batch in batches for x in batch.X[:, 0]]


# -- Kafka ----------------------------------------------------------------------------------------


def test_every_partition_is_read_once_and_resumed_at_its_own_offset(kafka):
    stream = kafka.new_stream()
    for partition in range(3):
        kafka.publish(stream, rows(*range(100 * partition, 100 * partition + 40)), partition)
    with kafka.source(stream, "model", batch_size=30, max_idle=LONG) as source:
        before = take(source, 2)
    assert sum(before[1].place["at"].values()) == 60
    with kafka.source(stream, "model", batch_size=30, max_idle=LONG) as source:
        source.seek(before[0].place)  # the second batch was never kept
        after = take(source, 3)
        source.commit(after[2].place)
    seen = numbers([before[0], *after])
    assert sorted(seen) == [100 * p + i for p in range(3) for i in range(40)]
    for partition in range(3):  # in order within a partition
        mine = [number for number in seen if number // 100 == partition]
        assert mine == sorted(mine)
    assert after[2].place["at"] == {"0": 40, "1": 40, "2": 40, "3": 0}


def test_partitions_that_are_added_are_read_from_their_beginning(kafka, monkeypatch):
    from scstream.sources import kafka as module

    stream = kafka.new_stream()
    kafka.publish(stream, rows(1, 2), 0)
    kafka.publish(stream, rows(3, 4), 1)
    with kafka.source(stream, batch_size=2, max_idle=LONG) as source:
        place = take(source, 1)[0].place
    with kafka.source(stream, batch_size=2, max_idle=LONG, start="new") as source:
        source.seek({**place, "at": {"0": 0}, "row": 0})
        existing = source._existing
        monkeypatch.setattr(source, "_existing", lambda: [0])
        batches = iter(source)
        assert numbers([next(batches)]) == [1, 2]
        monkeypatch.setattr(source, "_existing", existing)
        monkeypatch.setattr(module, "_REFRESH", 0.0)
        batch = next(batches)
    assert numbers([batch]) == [3, 4]
    assert batch.place["at"] == {"0": 2, "1": 2, "2": 0, "3": 0}


def test_a_topic_made_anew_is_noticed(kafka):
    stream = kafka.new_stream()
    kafka.publish(stream, rows(1, 2))
    with kafka.source(stream, batch_size=2, max_idle=LONG) as source:
        (batch,) = take(source, 1)
    place = {**batch.place, "at": {**batch.place["at"], "0": 17}}
    with kafka.source(stream, max_idle=LONG) as source:
        source.seek(place)
        with pytest.raises(LostMessagesError, match="ends at offset 2"):
            next(iter(source))
    with kafka.source(stream, batch_size=2, on_gap="warn", max_idle=LONG) as source:
        source.seek(place)
        with pytest.warns(RuntimeWarning, match="ends at offset 2"):
            batch = next(iter(source))
    assert numbers([batch]) == [1, 2]


def overflow(kafka, stream):
    """Publish more than this broker keeps of a partition, five million bytes."""
    kafka.publish(stream, [json.dumps([i, "x" * 200_000]).encode() for i in range(1, 41)])


def test_offsets_deleted_while_nobody_read_are_noticed(kafka):
    stream = kafka.new_stream()
    kafka.publish(stream, rows(0))
    options = {"batch_size": 1, "columns": ["0"], "max_idle": LONG}
    with kafka.source(stream, **options) as source:
        (batch,) = take(source, 1)
    overflow(kafka, stream)
    with kafka.source(stream, **options) as source:
        source.seek(batch.place)
        with pytest.raises(LostMessagesError, match="offsets 1 to"):
            next(iter(source))
    with kafka.source(stream, on_gap="warn", **options) as source:
        source.seek(batch.place)
        with pytest.warns(RuntimeWarning, match="offsets 1 to"):
            found = numbers(take(source, 5))
    assert found == list(range(found[0], found[0] + 5))
    assert found[0] > 1


@pytest.mark.parametrize("on_gap", ["raise", "warn"])
def test_offsets_deleted_while_reading_are_noticed(kafka, on_gap):
    from confluent_kafka import TopicPartition

    stream = kafka.new_stream()
    kafka.publish(stream, rows(0))
    options = {"batch_size": 1, "columns": ["0"], "max_idle": LONG}
    with kafka.source(stream, on_gap=on_gap, **options) as source:
        batches = iter(source)
        assert numbers([next(batches)]) == [0]
        source._consumer.pause([TopicPartition(stream, 0)])  # a reader that is too slow
        overflow(kafka, stream)
        source._consumer.resume([TopicPartition(stream, 0)])
        if on_gap == "raise":
            with pytest.raises(LostMessagesError, match="deleted"):
                next(batches)
        else:
            with pytest.warns(RuntimeWarning, match="deleted"):
                found = numbers(take(batches, 5))
            assert found == list(range(found[0], found[0] + 5))
            assert found[0] > 1


def test_a_message_without_a_value_is_malformed(kafka):
    stream = kafka.new_stream()
    kafka.publish(stream, [None, *rows(1)])
    with kafka.source(stream, batch_size=1, on_error="reject", max_idle=LONG) as source:
        (batch,) = take(source, 1)
    assert "no value" in batch.rejects[0].reason


# -- Redis ----------------------------------------------------------------------------------------


def test_entries_trimmed_before_they_were_read_are_noticed(redis):
    stream = redis.new_stream()
    redis.publish(stream, rows(*range(10)))
    with redis.source(stream, batch_size=3, max_idle=LONG) as source:
        (batch,) = take(source, 1)
        redis.client.xtrim(stream, minid="6-0", approximate=False)
        with pytest.raises(LostMessagesError, match="behind 3-0"):
            next(iter(source))
    with redis.source(stream, batch_size=5, on_gap="warn", max_idle=LONG) as source:
        source.seek(batch.place)
        with pytest.warns(RuntimeWarning, match="behind 3-0"):
            (batch,) = take(source, 1)
    assert numbers([batch]) == [5, 6, 7, 8, 9]


def test_a_commit_can_trim_what_is_done_with(redis):
    stream = redis.new_stream()
    redis.publish(stream, rows(*range(10)))
    with redis.source(stream, batch_size=4, trim=True, max_idle=LONG) as source:
        batches = iter(source)
        source.commit(next(batches).place)
        assert redis.client.xlen(stream) == 7  # the last one read stays: it proves there is no gap
        assert numbers([next(batches)]) == [4, 5, 6, 7]


def test_entries_without_the_field_are_malformed(redis):
    stream = redis.new_stream()
    redis.publish(stream, [None, *rows(1)])
    with redis.source(stream, batch_size=1, on_error="reject", max_idle=LONG) as source:
        (batch,) = take(source, 1)
    assert [reject.reason for reject in batch.rejects] == [f"{stream}/1-0: it has no value"]


def test_nothing_is_left_pending_in_the_group(redis):
    stream = redis.new_stream()
    redis.publish(stream, rows(*range(6)))
    with redis.source(stream, "model", batch_size=3, max_idle=LONG) as source:
        for batch in take(source, 2):
            source.commit(batch.place)
    (group,) = redis.client.xinfo_groups(stream)
    assert group["pending"] == 0
    assert group["last-delivered-id"] == b"6-0"


def test_a_redis_that_is_started_again_is_read_on(tmp_path):
    with redis_broker(tmp_path) as broker:  # skips where there is no server
        port = broker.client.connection_pool.connection_kwargs["port"]
        stream = broker.new_stream()
        broker.publish(stream, rows(0, 1))
        source = broker.source(stream, batch_size=2, max_idle=LONG)
        batches = iter(source)
        assert numbers([next(batches)]) == [0, 1]
    with running(redis_command(tmp_path, port)) as process:
        wait_for(lambda: answers(port), process)
        again = RedisBroker(port)
        again.publish(stream, rows(2, 3))
        assert numbers([next(batches)]) == [2, 3]
        source.close()
        again.client.close()


# -- without a server -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"batch_size": 0}, "batch_size must be"),
        ({"wait": 0}, "wait must be"),
        ({"max_idle": -1}, "max_idle is -1"),
        ({"start": "middle"}, "start is 'middle'"),
        ({"on_error": "drop"}, "on_error must be"),
        ({"on_gap": "ignore"}, "on_gap is 'ignore'"),
        ({"patience": -1}, "patience is -1"),
    ],
)
def test_settings_that_make_no_sense_are_refused(options, complaint):
    class Nowhere(MessageSource):
        _begin = _turn_to = _poll = _leave = None

    with pytest.raises(ValueError, match=complaint):
        Nowhere("nowhere", "nobody", **options)


FORGED = [
    {"row": "many"}, {"row": -1}, {"row": True}, {"clock": "noon"}, {"clock": {"x": 1}},
    {"clock": {"last": "noon"}}, {"clock": {"last": 1e999}}, {"at": []}, {"at": None},
    {"names": None}, {"kinds": ["colour"]},
]  # fmt: skip
POSITIONS = {
    "kafka": [{"zero": 1}, {"0": "1"}, {"0": -1}, {"0": None}, {"\u0661": 1}],
    "redis": [{}, {"id": 5}, {"id": "5"}, {"id": "x-1"}, {"id": "1-1", "anchored": "no"}],
}


@pytest.mark.parametrize("kind", list(POSITIONS))
def test_a_forged_place_is_refused(kind, request):
    broker = request.getfixturevalue(kind)
    stream = broker.new_stream()
    broker.publish(stream, [b'{"x": 1}', b'{"x": 2}'])
    with broker.source(stream, batch_size=2, max_idle=LONG) as source:
        place = next(iter(source)).place
    for forged in [*FORGED, *({"at": at} for at in POSITIONS[kind])]:
        with (
            broker.source(stream, batch_size=2, max_idle=LONG) as source,
            pytest.raises(ValueError, match="place"),
        ):
            source.seek({**place, **forged})
    with broker.source(stream, batch_size=2, max_idle=0.3) as source:
        source.seek(place)
        assert list(source) == []


@pytest.mark.parametrize(("name", "package"), [("Kafka", "confluent_kafka"), ("Redis", "redis")])
@pytest.mark.parametrize("side", ["Source", "Sink"])
def test_a_package_that_is_missing_is_named_with_its_extra(name, package, side, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    extra = name.lower()
    module = importlib.import_module(f"scstream.{side.lower()}s.{extra}")
    with pytest.raises(ImportError, match=rf"scstream\[{extra}\]"):
        getattr(module, name + side)("stream")
