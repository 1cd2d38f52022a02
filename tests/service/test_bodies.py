"""Bodies that ask for too much, or are not what they seem: refused before much is done."""

import asyncio
import copy
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from serving import ask, batches

from scstream import ScStream
from scstream.families.columns import Columns
from scstream.service.json_rows import read_json
from scstream.service.refused import Refused, shortened
from scstream.service.served import Served
from scstream.service.settings import Settings

ARROW = "application/vnd.apache.arrow.stream"


def small(**more):
    return Settings(**{"most_rows": 1000, "most_columns": 50, "most_values": 10_000, **more})


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        (json.dumps([{f"name {i}": 1} for i in range(900)]), 413, "too many"),
        ("[" + ",".join(["[]"] * 2000) + "]", 413, "rows"),
        ("[[" + "1," * 60 + "1]]", 413, "columns"),
        (json.dumps([[1.0] * 20] * 600), 413, "values"),
        ("[[" + "1," * 200_000 + "1]]", 400, "too long"),
        ("[" * 1_000_000, 400, "not JSON"),
        ('{"rows":' * 100_000, 400, "not JSON"),
        ("[[1e999]]", 422, "too large"),
        ("[[1" + "0" * 400 + "]]", 422, "too large"),
        ("[[1" + "0" * 5000 + "]]", 400, "not JSON"),
        ("[[-Infinity]]", 422, "infinite"),
        ('[{"a": 1, "a": 2}]', 422, "same name"),
        ('{"rows": [[1]], "rows": [[2]]}', 422, "same name"),
        ("{" + ",".join(f'"f{i}": 1' for i in range(100)) + "}", 422, "too many fields"),
        ('[["\\ud800"]]', 422, "half a character"),
        ('[{"\\udfff": 1}]', 422, "half a character"),
        ('[["' + "a" * 2000 + '"]]', 422, "longer than"),
        ('[{"' + "a" * 2000 + '": 1}]', 422, "longer than"),
        ("[[1]] [[2]]", 400, "not JSON"),
        ("[[1],]", 400, "not JSON"),
        ("[[1]", 400, "not JSON"),
        ('[[1], {"a": 1}]', 422, "Each row"),
        ("", 400, "not JSON"),
    ],
)
def test_json_that_asks_for_too_much_is_refused(body, status, words):
    with pytest.raises(Refused, match=words) as refused:
        read_json(body.encode(), small(), None)
    assert refused.value.status == status


def test_json_that_is_not_unicode_is_refused():
    with pytest.raises(Refused, match="JSON"):
        read_json(b'[["\xff"]]', small(), None)


@pytest.mark.parametrize("seed", range(4))
def test_rows_read_in_pieces_are_those_of_the_whole_text(seed):
    """Wherever a piece ends: blanks and words of random lengths move its end."""
    rng = np.random.default_rng(seed)
    rows = [
        {"a": float(rng.normal()), "b": None, "c": 'x"\\é' * int(rng.integers(99)), "d": i}
        for i in range(9000)
    ]
    body = json.dumps({"more": [1, {"x": 2}], "rows": rows, "time": 12.5}, indent=seed or None)
    columns, more = read_json(body.encode(), Settings(), None)
    assert more == {"more": [1, {"x": 2}], "time": 12.5}
    found = dict(zip(columns.labels, columns.values, strict=True))
    assert found["c"].tolist() == [row["c"] for row in rows]
    assert found["a"].tolist() == [row["a"] for row in rows]
    assert np.isnan(found["b"]).all()
    plain = [[row["a"], row["d"], None] for row in rows]
    X, _ = read_json(json.dumps(plain).encode(), Settings(), None)
    np.testing.assert_array_equal(X.matrix, np.array(plain, dtype=float))


def test_errors_show_little_of_a_value():
    for value in ("x" * 1000, "it's " + "y" * 1000, "a b " * 1000, "'\"" * 500):
        text = shortened(f"Column 'a' holds {value!r}, which doesn't fit.")
        assert len(text) < 130
        assert text.startswith("Column 'a' holds ")
    assert (
        shortened("A model's clusters, and its rows' " * 3)
        == "A model's clusters, and its rows' " * 3
    )
    assert len(shortened("z" * 10_000)) < 60


def test_a_model_is_asked_for_each_field_once(start, named):
    live = start(Served(named))
    answer = ask(live, "/predict?fields=" + ",".join(["group"] * 400), [[1, 2, "low"]])
    assert (answer.status, "twice" in answer.json["error"]) == (422, True)


def test_names_that_a_model_does_not_know_cost_nothing(start, named):
    live = start(Served(named))
    rows = [{"a": 1.0, "b": 2.0, "c": "low", f"name {i}": i} for i in range(9000)]
    labels = ask(live, "/predict", rows).json["label"]
    assert len(labels) == 9000
    assert len(set(labels)) == 1
    assert ask(live, "/predict", [{f"name {i}": i} for i in range(9000)]).status == 422


def test_an_answer_of_many_rows_is_that_of_the_model(start, named):
    live = start(Served(named))
    X = np.random.default_rng(0).normal(size=(9000, 2))
    rows = [[a, b, "low"] for a, b in X.tolist()]
    found = ask(live, "/predict?fields=label,score", rows).json
    table = Columns(
        [X[:, 0], X[:, 1], np.array(["low"] * 9000, dtype=object)], ["a", "b", "c"], 9000
    )
    assert found["label"] == named.predict(table).tolist()
    np.testing.assert_allclose(found["score"], named.score_samples(table))


async def longest_wait(app, path, body):
    """Return the seconds of processor time that others wait beside a request, at most."""
    headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
    scope = {
        "type": "http",
        "method": "POST",
        "path": path,
        "query_string": b"",
        "headers": headers,
    }
    said = []

    async def receive():
        return {"type": "http.request", "body": body}

    async def send(message):
        said.append(message)

    request, longest = asyncio.ensure_future(app(scope, receive, send)), 0.0
    while not request.done():
        begun = time.process_time()
        await asyncio.sleep(0.001)
        longest = max(longest, time.process_time() - begun)
    assert said[0]["status"] == 200, said
    return longest


def test_others_are_answered_beside_large_requests(model):
    from scstream.service.app import make_app

    app = make_app(Served(copy.deepcopy(model)), Settings(learning=True))
    rows = json.dumps({"rows": np.random.default_rng(0).normal(size=(60_000, 2)).tolist()})
    for path in ("/predict", "/learn"):
        assert asyncio.run(longest_wait(app, path, rows.encode())) < 0.1


def refusals(settings, body):
    from scstream.service.arrow_rows import read_arrow

    with pytest.raises(Refused) as refused:
        read_arrow(body, settings)
    return refused.value.status, refused.value.reason


def test_arrow_that_asks_for_too_much_is_refused():
    pa = pytest.importorskip("pyarrow", reason="PyArrow is not installed")
    from arrow_bodies import body_of

    settings = small(most_bytes=2**16)
    words = pa.array(["x" * 900] * 900)
    growing = pa.array(["x" * 5000]).dictionary_encode()
    extension = pa.field("a", pa.float64(), metadata={"ARROW:extension:name": "arrow.opaque"})
    for table, status, reason in (
        (pa.table({"a": pa.nulls(750_000_000)}), 413, "rows"),
        (pa.table({"a": np.zeros(2000)}), 413, "rows"),
        (pa.table({f"c{i}": np.zeros(900) for i in range(20)}), 413, "values"),
        (pa.table({f"c{i}": [0.0] for i in range(60)}), 413, "columns"),
        (pa.table({"a": words}), 413, "decompressed"),
        (pa.table({"a": ["x" * 5000]}), 422, "longer"),
        (pa.table({"a": pa.array(["x" * 5000], pa.string_view())}), 422, "longer"),
        (pa.table({"a": growing}), 422, "longer"),
        (pa.table({"a": [[1.0]]}), 422, "not accepted"),
        (pa.table([[1.0], [2.0]], names=["a", "a"]), 422, "same name"),
        (pa.table([[1.0]], schema=pa.schema([extension])), 422, "extension"),
    ):
        found = refusals(settings, body_of(table, compression="zstd"))
        assert (found[0], reason in found[1]) == (status, True), found


def test_arrow_of_all_plain_kinds_is_read(start, named):
    pa = pytest.importorskip("pyarrow", reason="PyArrow is not installed")
    from arrow_bodies import body_of

    live = start(Served(named))
    X = batches()[-1]
    words = np.where(X[:, 0] > 0, "high", "low").tolist()
    expected = ask(live, "/predict", [[*x, c] for x, c in zip(X.tolist(), words, strict=True)]).json
    for kind in (pa.string(), pa.large_string(), pa.string_view(), "dictionary"):
        c = pa.array(words).dictionary_encode() if kind == "dictionary" else pa.array(words, kind)
        table = pa.table({"c": c, "when": pa.array([0] * 200, pa.timestamp("s")), "b": X[:, 1]})
        table = pa.concat_tables(
            [table.append_column("a", [X[:, 0]]).slice(a, 50) for a in range(0, 200, 50)]
        )
        for compression in (None, "lz4"):
            body = body_of(table, compression=compression)
            assert ask(live, "/predict", raw=body, content_type=ARROW).json == expected


def read_mutated(n):
    pytest.importorskip("pyarrow", reason="PyArrow is not installed")
    script = Path(__file__).parents[1] / "arrow_bodies.py"
    done = subprocess.run([sys.executable, script, str(n)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited as on Linux")
def test_mutated_arrow_is_read_or_refused():
    read_mutated(1000)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited as on Linux")
def test_much_mutated_arrow_is_read_or_refused():
    read_mutated(20_000)


@pytest.mark.parametrize("time", [1e300, -1e300, 1e18, "9999-12-31", 10**400, float("nan")])
def test_times_that_no_later_one_can_follow_are_refused(start, time):
    live = start(Served(ScStream(random_state=0)), learning=True)
    rows = batches()[0].tolist()
    assert ask(live, "/learn", {"rows": rows, "time": time}).status in (400, 422)
    assert ask(live, "/learn", {"rows": rows, "time": "1900-01-01"}).status == 200
    assert ask(live, "/learn", {"rows": rows, "time": time}).status in (400, 422)
    assert ask(live, "/learn", {"rows": rows}).status == 200
