"""``run --serve``, ``watch`` and ``serve``, as an operator starts and ends them."""

from __future__ import annotations

import re
import signal
import time
import urllib.request
from types import SimpleNamespace

import numpy as np
import pytest
from serving import Command, ask, batches

from scstream import ScStream
from scstream.cli import main
from scstream.cli.serving import settings_of

pytest.importorskip("starlette", reason="Starlette is not installed")
pytest.importorskip("uvicorn", reason="uvicorn is not installed")
pytest.importorskip("prometheus_client", reason="prometheus_client is not installed")


@pytest.fixture
def command():
    started = []

    def start(*words, **environment):
        started.append(Command(*map(str, words), **environment))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            one.process.kill()
        one.process.communicate()


@pytest.fixture
def saved(tmp_path):
    model = ScStream(random_state=0).partial_fit(batches(1)[0])
    path = tmp_path / "m.scstream"
    model.save(path)
    return SimpleNamespace(path=path, model=model)


def test_what_was_learned_over_http_is_saved_at_the_end(command, saved, tmp_path):
    later = tmp_path / "later.scstream"
    running = command("serve", saved.path, "--learn", "--save", later)
    X = batches(2)[1]
    assert ask(running, "/learn", {"rows": X.tolist()}).status == 200
    assert running.end() == 0
    assert ScStream.load(later).n_batches_ == 2
    expected = saved.model.partial_fit(X)
    np.testing.assert_array_equal(ScStream.load(later).predict(X), expected.predict(X))


def test_learning_needs_a_place_to_save(saved, capsys):
    assert main(["serve", str(saved.path), "--learn"]) == 2
    assert "--save" in capsys.readouterr().err


def test_an_existing_file_is_not_replaced(saved, tmp_path, capsys):
    there = tmp_path / "there"
    there.write_text("precious")
    assert main(["serve", str(saved.path), "--learn", "--save", str(there)]) == 1
    assert there.read_text() == "precious"


def test_serve_answers_with_labels_to_who_has_the_token_and_ends_when_asked(
    command, saved, tmp_path
):
    token = tmp_path / "token"
    token.write_text("from-the-file\n")
    environment = {"SCSTREAM_TOKEN": "from-the-environment"}
    running = command("serve", saved.path, "--token-file", token, **environment)
    assert ask(running, "/metrics").status == 401
    assert ask(running, "/metrics", authorization="Bearer from-the-environment").status == 401
    right = {"authorization": "Bearer from-the-file"}
    assert ask(running, "/metrics", **right).status == 200
    X = batches(1)[0]
    answer = ask(running, "/predict", X.tolist(), **right)
    assert answer.json["label"] == saved.model.predict(X).tolist()
    assert ask(running, "/learn", X.tolist(), **right).status == 404
    assert running.end() == 0


def test_a_token_comes_from_the_environment(monkeypatch):
    args = SimpleNamespace(allow_host=[], token_file=None)
    monkeypatch.setenv("SCSTREAM_TOKEN", "from-the-environment")
    assert settings_of(args, "127.0.0.1:0").token == "from-the-environment"


@pytest.mark.parametrize("address", ["127.0.0.1:x", "127.0.0.1:70000"])
def test_an_address_that_is_none_is_refused(saved, capsys, address):
    assert main(["serve", str(saved.path), "--serve", address]) == 2
    assert "Try: scstream serve --help" in capsys.readouterr().err


def lines(X: np.ndarray) -> str:
    return "".join(f"{a},{b}\n" for a, b in X.tolist())


def test_a_run_shows_itself_while_it_goes_on(command, tmp_path):
    table = tmp_path / "rows.csv"
    stream = batches(3)
    table.write_text("a,b\n" + "".join(map(lines, stream[:2])))
    running = command(
        "run", table, "--follow", "--batch-size", "200", "--serve", "--quiet",
        "-o", tmp_path / "out.csv", "--checkpoint", tmp_path / "state", "--every", "1",
    )  # fmt: skip
    wait_for(lambda: ask(running, "/api/chronicle").json["totals"]["n_batches"] == 2)
    with open(table, "a") as file:
        file.write(lines(stream[2]))
    wait_for(lambda: ask(running, "/api/chronicle").json["totals"]["n_batches"] == 3)
    whole = ask(running, "/api/chronicle").json
    assert whole["columns"] == ["a", "b"]
    assert ask(running, "/predict", stream[2].tolist()).status == 200
    assert 0 <= figure(running, "scstream_checkpoint_age_seconds") < 600
    wait_for(lambda: figure(running, "scstream_unread_bytes") == 0)
    with open(table, "a") as file:
        file.write("1.5,2\n" * 7)  # not enough for a batch
    assert figure(running, "scstream_unread_bytes") == 7 * 6
    assert running.end() == 143
    assert len((tmp_path / "out.csv").read_text().splitlines()) == 601


def figure(running, name: str) -> float:
    """Return a figure of the metrics."""
    text = ask(running, "/metrics").body.decode()
    return float(re.findall(rf"\n{name} (\S+)", text)[0])


def test_a_run_with_a_page_labels_as_one_without(tmp_path):
    table = tmp_path / "rows.csv"
    table.write_text("a,b\n" + "".join(map(lines, batches(3))))
    for name, more in (("with", ["--serve"]), ("without", [])):
        words = ["run", str(table), "--batch-size", "200", "--quiet", "--random-state", "0"]
        assert main([*words, "-o", str(tmp_path / f"{name}.csv"), *more]) == 0
    assert (tmp_path / "with.csv").read_text() == (tmp_path / "without.csv").read_text()


def test_watch_follows_a_file_that_grows(command, tmp_path):
    from scstream.chronicle import Chronicle

    model, chronicle, path = ScStream(random_state=0), Chronicle(), tmp_path / "run.jsonl"
    stream = batches(3)
    with open(path, "w") as file:
        for X in stream[:2]:
            file.write(chronicle.text(chronicle.observe(model.partial_fit(X))))
    running = command("watch", path)
    assert len(ask(running, "/api/chronicle").json["moments"]) == 2
    assert ask(running, "/predict", stream[0].tolist()).status == 404
    line = chronicle.text(chronicle.observe(model.partial_fit(stream[2])))
    with open(path, "a") as file:
        file.write(line[:50])
        file.flush()
        time.sleep(1.2)
        assert len(ask(running, "/api/chronicle").json["moments"]) == 2
        file.write(line[50:])
    wait_for(lambda: len(ask(running, "/api/chronicle").json["moments"]) == 3)
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:2]))  # begun anew
    wait_for(lambda: len(ask(running, "/api/chronicle").json["moments"]) == 1)
    assert running.end(signal.SIGINT) in (0, 130)


def test_what_is_no_chronicle_is_said(tmp_path, capsys):
    path = tmp_path / "other.jsonl"
    path.write_text('{"a": 1}\n')
    assert main(["watch", str(path)]) == 1
    assert "chronicle" in capsys.readouterr().err
    assert main(["watch", str(tmp_path / "none")]) == 1


def wait_for(condition) -> None:
    deadline = time.monotonic() + 120
    while True:
        try:
            if condition():
                return
        except (urllib.request.URLError, ConnectionError):
            pass
        assert time.monotonic() < deadline
        time.sleep(0.1)
