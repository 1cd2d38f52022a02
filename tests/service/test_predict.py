"""Predictions and learning over HTTP."""

import copy
import http.client
import io
import time
import warnings

import numpy as np
import pytest
from serving import PATIENCE, ask, batches

from scstream import ScStream
from scstream.service.served import Served


@pytest.fixture
def live(start, model):
    return start(Served(model))


def test_labels_are_those_of_the_model(live, model):
    X = batches(seed=0)[-1]
    found = ask(live, "/predict", {"rows": X.tolist()}).json
    assert found == {"label": model.predict(X).tolist()}
    assert ask(live, "/predict", X.tolist()).json == found


def test_fields_are_those_asked_for(live, model):
    X = batches()[-1]
    found = ask(live, "/predict?fields=score,probability", {"rows": X.tolist()}).json
    assert set(found) == {"score", "probability"}
    np.testing.assert_allclose(found["score"], model.score_samples(X))
    np.testing.assert_allclose(found["probability"], model.predict_proba(X).max(axis=1))


def test_arrow_goes_in_and_out(live, model):
    pa = pytest.importorskip("pyarrow", reason="PyArrow is not installed")
    X = batches()[-1]
    table, out = pa.table({"a": X[:, 0], "b": X[:, 1]}), io.BytesIO()
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    kind = "application/vnd.apache.arrow.stream"
    answer = ask(live, "/predict", raw=out.getvalue(), content_type=kind, accept=kind)
    assert answer.status == 200
    with pa.ipc.open_stream(answer.body) as reader:
        assert reader.read_all()["label"].to_pylist() == model.predict(X).tolist()


def test_rows_with_names_are_taken_by_their_names(start, named):
    live = start(Served(named))
    X = batches()[-1][:20]
    words = np.where(X[:, 0] > 0, "high", "low").tolist()
    plain = [[a, b, c] for (a, b), c in zip(X.tolist(), words, strict=True)]
    rows = [{"c": c, "b": b, "more": 1, "a": a} for a, b, c in plain]
    found = ask(live, "/predict?fields=label,score", plain).json
    assert len(set(found["label"])) > 1
    assert ask(live, "/predict?fields=label,score", {"rows": rows}).json == found
    rows[3] = {"a": rows[3]["a"], "c": rows[3]["c"]}  # one that is missing
    changed = ask(live, "/predict?fields=score", rows).json["score"]
    assert [i for i in range(20) if changed[i] != found["score"][i]] == [3]
    answer = ask(live, "/predict", [{"a": 1.0, "c": "low"}])
    assert (answer.status, "'b'" in answer.json["error"]) == (422, True)
    answer = ask(live, "/predict", [{"a": 1.0, "b": [2], "c": "low"}])
    assert (answer.status, "numbers, words or null" in answer.json["error"]) == (422, True)


def test_names_of_plain_numbers_may_come_in_any_order(start):
    from scstream.families.columns import Columns

    model, X = ScStream(random_state=0, family="gaussian"), batches()[-1]
    model.partial_fit(Columns(list(X.T), ["a", "b"], len(X), X))
    live = start(Served(model))
    expected = model.predict(Columns(list(X.T), ["a", "b"], len(X), X)).tolist()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # scikit-learn's of names that are missing
        assert ask(live, "/predict", X.tolist()).json["label"] == expected
    rows = [{"b": b, "a": a} for a, b in X.tolist()]
    assert ask(live, "/predict", rows).json["label"] == expected
    rows[1::2] = [{"a": row["a"], "b": row["b"]} for row in rows[1::2]]
    assert ask(live, "/predict", rows).json["label"] == expected


def test_what_is_learned_by_name_first_is_known_by_name(start):
    model = ScStream(random_state=0)
    live = start(Served(model), learning=True)
    rows = [{"a": a, "b": b} for a, b in batches()[0].tolist()]
    assert ask(live, "/learn", {"rows": rows}).status == 200
    assert model.feature_names_in_.tolist() == ["a", "b"]
    assert ask(live, "/api/chronicle").json["columns"] == ["a", "b"]


def test_answers_are_sent_at_once(live):
    """Two small writes must not wait for each other: 40 ms each, where they do."""
    connection = http.client.HTTPConnection("127.0.0.1", live.port, timeout=PATIENCE)
    times = []
    for _ in range(30):
        begun = time.perf_counter()
        connection.request("GET", "/health")
        connection.getresponse().read()
        times.append(time.perf_counter() - begun)
    connection.close()
    assert min(times[5:]) < 0.035


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        (b"{", 400, "not JSON"),
        (b"[" * 100_000, 400, "not JSON"),
        (b"3", 422, "list of rows"),
        (b"[]", 422, "no rows"),
        (b'{"rows": [1, 2]}', 422, "Each row"),
        (b'{"rows": [[1, 2], [3]]}', 422, "same number"),
        (b'{"rows": [[1, [2]]]}', 422, ""),
        (b'{"rows": [[1, 2, 3]]}', 422, "3 features"),
        (b'{"rows": [[1, "x"]]}', 422, "Column 1"),
        (b'{"rows": [[1, Infinity]]}', 422, ""),
    ],
)
def test_bad_rows_are_refused_in_words(live, body, status, words):
    answer = ask(live, "/predict", raw=body)
    assert answer.status == status
    assert words in answer.json["error"]


def test_another_kind_of_body_is_refused(live):
    assert ask(live, "/predict", raw=b"1,2", content_type="text/plain").status == 415


def test_an_unknown_field_is_refused(live):
    answer = ask(live, "/predict?fields=colour", {"rows": [[1, 2]]})
    assert (answer.status, "colour" in answer.json["error"]) == (422, True)


def test_too_many_rows_are_refused(start, model):
    live = start(Served(model), most_rows=10)
    assert ask(live, "/predict", np.zeros((11, 2)).tolist()).status == 413
    assert ask(live, "/predict", np.zeros((10, 2)).tolist()).status == 200


def test_learning_is_off_unless_asked_for(live):
    assert ask(live, "/learn", {"rows": [[1, 2]]}).status == 404
    described = ask(live, "/openapi.json").json["paths"]
    assert {"/predict", "/metrics", "/health"} < described.keys()
    assert "/learn" not in described


def test_learning_over_http_equals_learning_in_python(start):
    here, there = ScStream(random_state=1), ScStream(random_state=1)
    live = start(Served(there), learning=True)
    for X in batches(3):
        found = ask(live, "/learn", {"rows": X.tolist()}).json
        assert found["label"] == here.partial_fit(X).labels_.tolist()
        assert ask(live, "/predict", X.tolist()).json["label"] == here.predict(X).tolist()


def test_a_batch_that_is_refused_changes_nothing(start, model):
    live = start(Served(copy.deepcopy(model)), learning=True)
    X = batches()[-1].tolist()
    before = ask(live, "/predict", X).json
    assert ask(live, "/learn", {"rows": [[1.0, "x"]]}).status == 422
    assert ask(live, "/predict", X).json == before


def test_a_model_that_knows_names_learns_rows_without(start, named):
    live = start(Served(copy.deepcopy(named)), learning=True)
    assert ask(live, "/learn", {"rows": [[1.0, 2.0, "low"]] * 20}).status == 200
    assert ask(live, "/learn", {"rows": [[1.0, 2.0]]}).status == 422


def test_before_the_first_batch_there_is_nothing_to_predict_with(start):
    live = start(Served(ScStream()))
    answer = ask(live, "/predict", [[1.0, 2.0]])
    assert answer.status == 422
    assert "not fitted" in answer.json["error"]
