"""How much of a stream lies behind a place."""

import json
import os

import numpy as np
from broker_servers import kafka_broker, redis_broker

from scstream.sources import SourceOptions, open_source
from scstream.sources.base import Unread

LONG = 30.0  # seconds of silence after which a test gives up hope of what must come


def rows(*numbers):
    return [json.dumps([number]).encode() for number in numbers]


def test_of_a_file_the_bytes_that_are_left(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("x,y\n" + "1,2\n" * 10)
    with open_source(path, SourceOptions(4, keep=True, follow=True)) as source:
        batches = iter(source)
        place = next(batches).place
        assert source.unread(place) == Unread(6 * 4, "bytes")
        with open(path, "a") as file:
            file.write("3,4\n" * 5)
        assert source.unread(place) == Unread(11 * 4, "bytes")
        assert source.unread(next(batches).place) == Unread(7 * 4, "bytes")


def test_of_a_rotated_file_those_of_the_later_ones_too(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("x,y\n" + "1,2\n" * 10)
    with open_source(path, SourceOptions(4, keep=True, follow=True)) as source:
        place = next(iter(source)).place
        for k in range(1, 3):  # twice: log.csv.1 is the one between
            if k == 2:
                os.rename(f"{path}.1", f"{path}.2")
            os.rename(path, f"{path}.1")
            path.write_text("3,4\n" * 5)
        assert source.unread(place) == Unread(6 * 4 + 2 * 5 * 4, "bytes")


def test_of_a_table_the_rows(tmp_path):
    np.save(tmp_path / "rows.npy", np.zeros((10, 2)))
    with open_source(tmp_path / "rows.npy", SourceOptions(4, keep=True)) as source:
        left = [source.unread(batch.place) for batch in source]
    assert left == [Unread(6, "rows"), Unread(2, "rows"), Unread(0, "rows")]


def test_of_compressed_text_nobody_knows(tmp_path):
    import gzip

    with gzip.open(tmp_path / "rows.csv.gz", "wt") as file:
        file.write("x,y\n" + "1,2\n" * 10)
    with open_source(tmp_path / "rows.csv.gz", SourceOptions(4, keep=True)) as source:
        assert source.unread(next(iter(source)).place) is None


def test_of_a_broker_the_messages(tmp_path):
    with kafka_broker(tmp_path) as server:
        stream = server.new_stream()
        server.publish(stream, rows(*range(10)))
        with server.source(stream, batch_size=4, max_idle=LONG) as source:
            batches = iter(source)
            left = [source.unread(next(batches).place) for _ in range(2)]
            server.publish(stream, rows(*range(4)))
            left.append(source.unread(next(batches).place))
    assert [one.unit for one in left] == ["messages"] * 3
    assert [one.amount for one in left] == [6, 2, 2]


def test_of_redis_the_seconds_to_the_newest_entry(tmp_path):
    with redis_broker(tmp_path) as server:
        stream = server.new_stream()
        for i in range(6):
            entry = f"{1_700_000_000_000 + 1000 * i}-0"
            server.client.xadd(stream, {"data": json.dumps([i])}, id=entry)
        with server.source(stream, batch_size=2, max_idle=LONG) as source:
            batches = iter(source)
            assert source.unread(next(batches).place) == Unread(4.0, "seconds")
            assert source.unread(next(batches).place) == Unread(2.0, "seconds")
        numbered = server.new_stream()
        server.publish(numbered, rows(1, 2, 3))
        with server.source(numbered, batch_size=2, max_idle=LONG) as source:
            place = next(iter(source)).place
            assert source.unread(place) is None
    with server.source(stream, batch_size=2, max_idle=LONG) as source:
        assert source.unread(place) is None  # the server is gone: it is not waited for
