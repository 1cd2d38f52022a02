"""The run: what it writes, what it keeps, and what it does when something goes wrong."""

import errno
import json
import os

import numpy as np
import pytest

from scstream import Directional, Product, ScStream
from scstream.checkpoint import CheckpointError
from scstream.datasets import gaussian_stream
from scstream.pipeline import Interrupt, assess, find_checkpoint, learner_of, needed, run
from scstream.sinks import open_sink
from scstream.sinks.files import AddedFile
from scstream.sinks.journals import ChronicleJournal, EventJournal, RejectJournal
from scstream.sources import Batch, Source, SourceOptions, open_source

SIZE = 50


@pytest.fixture
def rows(tmp_path):
    """Return a file with a stream of 20 batches."""
    stream = gaussian_stream(20, SIZE, n_clusters=3, random_state=0)
    X = np.concatenate([batch.X for batch in stream])
    np.savetxt(tmp_path / "rows.csv", X, delimiter=",", header="x,y", comments="")
    return tmp_path / "rows.csv"


def model(**params):
    return ScStream(random_state=0, **params)


def follow(rows, outputs=None, options=None, of=None, **more):
    with open_source(rows, options or SourceOptions(SIZE)) as source:
        return run(source, of or model(), outputs, **more)


def data(rows):
    return np.loadtxt(rows, delimiter=",", skiprows=1)


class Stops(Source):
    """A source that asks the run to stop behind some batches."""

    def __init__(self, inner, interrupt, batches):
        self.inner, self.interrupt, self.batches = inner, interrupt, batches

    def __iter__(self):
        for i, batch in enumerate(self.inner, start=1):
            if i == self.batches:
                self.interrupt.stop("SIGTERM")
            yield batch

    def seek(self, place):
        self.inner.seek(place)


def stopped(rows, batches, outputs=None, **more):
    interrupt = Interrupt()
    with open_source(rows, SourceOptions(SIZE)) as source:
        stops = Stops(source, interrupt, batches)
        return run(stops, model(), outputs, interrupt=interrupt, **more)


# -- what is written ----------------------------------------------------------------------------


@pytest.mark.parametrize("score_by", ["before", "after"])
@pytest.mark.parametrize("outlier_weight", [0.0, 0.01])
def test_labels_probabilities_and_scores_are_the_models(rows, tmp_path, score_by, outlier_weight):
    of = model(outlier_weight=outlier_weight)
    follow(rows, {"out": open_sink(tmp_path / "out.csv")}, of=of, score_by=score_by)
    found = np.loadtxt(tmp_path / "out.csv", delimiter=",", skiprows=1)
    by_hand = model(outlier_weight=outlier_weight)
    expected = []
    for X in np.split(data(rows), 20):
        score = by_hand.score_samples(X) if by_hand.n_batches_ else None
        by_hand.partial_fit(X)
        if score is None or score_by == "after":
            score = by_hand.score_samples(X)
        of_each = by_hand.predict_proba(X)
        rest = 1.0 - of_each.sum(axis=1)
        ids = [cluster.id for cluster in by_hand.clusters_]
        probability = np.array(
            [p[ids.index(k)] if k >= 0 else r for p, k, r in
             zip(of_each, by_hand.labels_, rest, strict=True)]
        )  # fmt: skip
        expected.append(np.column_stack([by_hand.labels_, probability, score]))
    expected = np.concatenate(expected)
    np.testing.assert_array_equal(found[:, 0], np.arange(1, 1001))
    np.testing.assert_array_equal(found[:, 1], expected[:, 0])
    np.testing.assert_allclose(found[:, 2], expected[:, 1], atol=1.01e-6)
    np.testing.assert_allclose(found[:, 3], expected[:, 2], atol=1.01e-4)


def test_anomalies_are_written_if_asked_for(rows, tmp_path):
    sink = open_sink(tmp_path / "out.csv", fields=["label", "anomaly"])
    follow(rows, {"out": sink}, of=model())
    found = np.loadtxt(tmp_path / "out.csv", delimiter=",", skiprows=1)
    by_hand, expected = model(), []
    for X in np.split(data(rows), 20):
        before = by_hand.anomaly(X) if by_hand.n_batches_ else None
        by_hand.partial_fit(X)
        expected.append(by_hand.anomaly(X) if before is None else before)
    np.testing.assert_allclose(found[:, 2], np.concatenate(expected), atol=1.01e-9)


def test_an_assessment_is_what_the_model_predicts(rows):
    X = data(rows)
    of = model().partial_fit(X[:500])
    found = assess(learner_of(of), X[500:])
    np.testing.assert_array_equal(found.labels, of.predict(X[500:]))
    np.testing.assert_allclose(found.probability, of.predict_proba(X[500:]).max(axis=1))
    np.testing.assert_allclose(found.score, of.score_samples(X[500:]))
    np.testing.assert_allclose(found.anomaly, of.anomaly(X[500:]))
    unknown = assess(learner_of(of), X[500:], np.full(500, 99))
    np.testing.assert_array_equal(unknown.probability, 0.0)


def test_mixed_columns(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=600)
    lines = [
        f"{rng.normal(8 * k):.4f},{'red' if rng.random() < 0.9 - 0.8 * k else 'blue'},{k}"
        for k in y.tolist()
    ]
    (tmp_path / "rows.csv").write_text("x,colour,n\n" + "\n".join(lines) + "\n")
    result = follow(tmp_path / "rows.csv", options=SourceOptions(100), of=model(family="auto"))
    assert result.model.n_clusters_ == 2
    family = Product({"gaussian": ["x"], "categorical": ["colour"]})
    options = SourceOptions(100, exclude=["n"])
    result = follow(tmp_path / "rows.csv", options=options, of=model(family=family))
    assert "red" in result.model.clusters_[0].columns["colour"]["probabilities"]
    assert needed(result.model.family_, 2) == [False, False]
    assert needed(Directional(), 2) == [True, True]


def test_missing_values_are_refused_by_line_where_the_family_takes_none(tmp_path):
    rng = np.random.default_rng(0)
    lines = [f"{a:.3f},{b:.3f}" for a, b in rng.normal(size=(200, 2)).tolist()]
    lines[150] = "1.0,"
    (tmp_path / "rows.csv").write_text("x,y\n" + "\n".join(lines) + "\n")
    with pytest.raises(ValueError, match=r"line 152: column 'y' is missing"):
        follow(tmp_path / "rows.csv", of=model(family="directional"))
    for family in ("auto", "gaussian", "diagonal"):
        result = follow(tmp_path / "rows.csv", of=model(family=family))
        assert result.totals.rows == 200


def test_what_the_model_refuses_is_told_with_its_lines(rows):
    with pytest.raises(ValueError, match=r"rows\.csv, lines 2 to 51: .*negative"):
        follow(rows, of=model(family="poisson"))


def test_events_and_chronicle_are_written(rows, tmp_path):
    journals = {
        "events": EventJournal(tmp_path / "events.jsonl"),
        "chronicle": ChronicleJournal(tmp_path / "chronicle.jsonl"),
    }
    result = follow(rows, journals)
    events = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    births = [event for event in events if event["kind"] == "birth"]
    assert len(births) == result.totals.births > 0
    lines = (tmp_path / "chronicle.jsonl").read_text().splitlines()
    assert len(lines) == 21


# -- checkpoints --------------------------------------------------------------------------------


def all_outputs(folder):
    folder.mkdir(exist_ok=True)
    return {
        "out": open_sink(folder / "out.csv", append=False),
        "events": EventJournal(folder / "events.jsonl"),
    }


@pytest.mark.parametrize("batches", [1, 7, 19])
def test_a_run_that_was_stopped_goes_on_as_if_it_had_not(rows, tmp_path, batches):
    whole = follow(rows, all_outputs(tmp_path / "whole"))
    state, parts = tmp_path / "state", tmp_path / "parts"
    first = stopped(rows, batches, all_outputs(parts), checkpoint=state, every=4)
    assert first.interrupted == "SIGTERM"
    assert first.rows == batches * SIZE
    second = follow(rows, all_outputs(parts), checkpoint=state, every=4)
    assert second.rows == (20 - batches) * SIZE
    assert second.totals == whole.totals
    for name in ("out.csv", "events.jsonl"):
        assert (parts / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    third = follow(rows, all_outputs(parts), checkpoint=state, every=4)
    assert third.rows == 0
    assert third.totals == whole.totals


def test_a_clock_that_goes_back_is_an_event_and_a_resume_knows_it(rows, tmp_path):
    lines = [f"{i % 400},{x},{y}" for i, (x, y) in enumerate(data(rows))]
    rows.write_text("t,x,y\n" + "\n".join(lines) + "\n")
    options = SourceOptions(SIZE, time_column="t")
    whole, heard = tmp_path / "whole.jsonl", []
    follow(rows, {"events": EventJournal(whole)}, options, model(on_event=heard.append))
    told = [json.loads(line) for line in whole.read_text().splitlines()]
    clocks = [event for event in told if event["kind"] == "clock"]
    assert [(event["column"], event["was"]) for event in clocks] == [("t", "clock")]
    assert [event.kind for event in heard].count("clock") == 1
    for batches in (9, 11, 15):
        part, folder = tmp_path / f"{batches}.jsonl", tmp_path / f"state{batches}"
        interrupt, more = Interrupt(), {"checkpoint": folder}
        with open_source(rows, options) as source:
            stops = Stops(source, interrupt, batches)
            run(stops, model(), {"events": EventJournal(part)}, interrupt=interrupt, **more)
        result = follow(rows, {"events": EventJournal(part)}, options, **more)
        assert result.resumed is not None
        assert result.totals.widened == 0
        assert part.read_bytes() == whole.read_bytes()


def test_a_file_that_grew_is_read_on(rows, tmp_path):
    text = rows.read_bytes()
    half = text.index(b"\n", len(text) // 2) + 1
    state, out = tmp_path / "state", tmp_path / "out.csv"
    rows.write_bytes(text[:half])
    follow(rows, {"out": open_sink(out)}, checkpoint=state)
    rows.write_bytes(text)
    follow(rows, {"out": open_sink(out)}, checkpoint=state)
    numbers = np.loadtxt(out, delimiter=",", skiprows=1)[:, 0]
    np.testing.assert_array_equal(numbers, np.arange(1, 1001))


def test_two_checkpoints_are_kept_and_a_damaged_one_costs_only_itself(rows, tmp_path, caplog):
    state, out = tmp_path / "state", tmp_path / "out.csv"
    follow(rows, {"out": open_sink(out)})
    expected = out.read_bytes()
    for damage in ("cut", "flip", "empty"):
        for file in state.glob("*"):
            file.unlink()
        first = {"out": open_sink(out, overwrite=True)}
        stopped(rows, 13, first, checkpoint=state, every=4)
        files = sorted(state.glob("*.scstream"))
        assert len(files) == 2
        content = bytearray(files[-1].read_bytes())
        if damage == "flip":
            content[len(content) // 2] ^= 1
        files[-1].write_bytes(content[: {"cut": len(content) // 2, "empty": 0}.get(damage)])
        caplog.clear()
        again = follow(rows, {"out": open_sink(out)}, checkpoint=state, every=4)
        (warning,) = (text for text in caplog.messages if "cannot be used" in text)
        assert files[-1].name in warning
        assert again.resumed == files[0]
        assert out.read_bytes() == expected


def test_no_sound_checkpoint_is_an_error_and_nothing_is_touched(rows, tmp_path):
    state, out = tmp_path / "state", tmp_path / "out.csv"
    stopped(rows, 13, {"out": open_sink(out)}, checkpoint=state, every=4)
    before = out.read_bytes()
    for file in state.glob("*.scstream"):
        file.write_bytes(b"nothing")
    with pytest.raises(CheckpointError, match=r"No checkpoint in .* can be read"):
        follow(rows, {"out": open_sink(out)}, checkpoint=state)
    assert out.read_bytes() == before


def test_other_settings_and_changed_outputs_are_refused(rows, tmp_path):
    state, out = tmp_path / "state", tmp_path / "out.csv"
    stopped(rows, 5, {"out": open_sink(out)}, checkpoint=state, settings={"alpha": 1})
    with pytest.raises(ValueError, match="was made with alpha=1, and now it is 2"):
        follow(rows, {"out": open_sink(out)}, checkpoint=state, settings={"alpha": 2})
    both = r"with alpha=1, and now it is not given; without family, and now it is 'gamma'"
    with pytest.raises(ValueError, match=both):
        follow(rows, {"out": open_sink(out)}, checkpoint=state, settings={"family": "gamma"})
    out.write_text("gone")
    with pytest.raises(ValueError, match="has 4 bytes, but the checkpoint knows of"):
        follow(rows, {"out": open_sink(out)}, checkpoint=state, settings={"alpha": 1})


def test_a_folder_is_used_by_one_run_at_a_time(rows, tmp_path):
    state = tmp_path / "state"
    seen = []

    def another(result):
        if not seen:
            seen.append(True)
            with pytest.raises(ValueError, match="Another run uses the checkpoints"):
                follow(rows, checkpoint=state)

    follow(rows, checkpoint=state, progress=another)
    assert seen


def test_a_server_may_forget_only_what_two_checkpoints_hold(rows, tmp_path):
    told = []

    class Server(Source):
        def __init__(self):
            self.inner = open_source(rows, SourceOptions(SIZE))

        def __iter__(self):
            return iter(self.inner)

        def seek(self, place):
            self.inner.seek(place)

        def commit(self, place):
            told.append(place["row"])

        def close(self):
            self.inner.close()

    with Server() as source:
        run(source, model(), checkpoint=tmp_path / "state", every=6)
    assert told == [300, 600, 900]  # the last checkpoint is at 1,000


# -- trouble ------------------------------------------------------------------------------------


def test_a_malformed_row_ends_the_run_with_what_came_before_it_kept(rows, tmp_path):
    lines = rows.read_text().splitlines()
    good = lines[700]
    lines[700] = "1,two"
    rows.write_text("\n".join(lines) + "\n")
    state, out = tmp_path / "state", tmp_path / "out.csv"
    with pytest.raises(ValueError, match=r"line 701: column 'y' holds 'two'"):
        follow(rows, {"out": open_sink(out)}, checkpoint=state)
    assert find_checkpoint(state).extra["totals"]["rows"] == 650
    lines[700] = good
    rows.write_text("\n".join(lines) + "\n")
    follow(rows, {"out": open_sink(out)}, checkpoint=state)
    follow(rows, {"out": open_sink(tmp_path / "whole.csv")})
    assert out.read_bytes() == (tmp_path / "whole.csv").read_bytes()


def test_rejected_rows_are_written_and_counted(rows, tmp_path):
    lines = rows.read_text().splitlines()
    for i in (5, 501, 1000):
        lines[i] = "bad"
    rows.write_text("\n".join(lines) + "\n")
    rejects = tmp_path / "rejects.jsonl"
    options = SourceOptions(SIZE, on_error="reject")
    outputs = {"out": open_sink(tmp_path / "out.csv"), "rejects": RejectJournal(rejects)}
    result = follow(rows, outputs, options)
    assert result.totals.rejected == 3
    assert result.totals.rows == 997
    assert [json.loads(line)["line"] for line in rejects.read_text().splitlines()] == [6, 502, 1001]
    numbers = np.loadtxt(tmp_path / "out.csv", delimiter=",", skiprows=1)[:, 0]
    assert sorted(set(range(1, 1001)) - set(numbers.tolist())) == [5, 501, 1000]


@pytest.mark.parametrize("room", [100, 3000, 15000, 20000])
def test_a_full_disk_is_an_error_and_the_run_goes_on_later(rows, tmp_path, monkeypatch, room):
    """A disk with so much room: what is written beyond is cut off, as a file system does."""
    state, out = tmp_path / "state", tmp_path / "out.csv"
    left = [room]
    real = os.write

    def write(handle, data):
        if left[0] <= 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        done = real(handle, bytes(data)[: left[0]])
        left[0] -= done
        return done

    with monkeypatch.context() as patch:
        patch.setattr("scstream.sinks.files.os.write", write)
        with pytest.raises(OSError, match="No space left"):
            follow(rows, {"out": open_sink(out)}, checkpoint=state, every=3)
    follow(rows, {"out": open_sink(out)}, checkpoint=state, every=3)
    follow(rows, {"out": open_sink(tmp_path / "whole.csv")})
    assert out.read_bytes() == (tmp_path / "whole.csv").read_bytes()


def test_a_checkpoint_that_cannot_be_written_leaves_the_one_before(rows, tmp_path, monkeypatch):
    state, out = tmp_path / "state", tmp_path / "out.csv"
    real = os.fsync
    calls = []

    def fsync(handle):
        calls.append(handle)
        if len(calls) > 12:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(handle)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fsync)
        with pytest.raises(OSError, match="No space left"):
            follow(rows, {"out": open_sink(out)}, checkpoint=state, every=2)
    assert find_checkpoint(state).extra["totals"]["batches"] < 20
    follow(rows, {"out": open_sink(out)}, checkpoint=state, every=2)
    follow(rows, {"out": open_sink(tmp_path / "whole.csv")})
    assert out.read_bytes() == (tmp_path / "whole.csv").read_bytes()


def test_a_write_is_whole_or_an_error(tmp_path, monkeypatch):
    file = AddedFile(tmp_path / "file")
    file.truncate({})
    real = os.write
    monkeypatch.setattr("scstream.sinks.files.os.write", lambda h, d: real(h, bytes(d)[:3]))
    file.add(b"0123456789")
    file.close()
    assert (tmp_path / "file").read_bytes() == b"0123456789"


def test_what_a_sink_refuses_is_not_kept_as_learned(rows, tmp_path):
    class Refuses(type(open_sink(tmp_path / "out.csv"))):
        def write(self, batch, found):
            if batch.place["row"] == 400:
                raise ValueError("no")
            super().write(batch, found)

    state, out = tmp_path / "state", tmp_path / "out.csv"
    with pytest.raises(ValueError, match="no"):
        follow(rows, {"out": Refuses(out, "csv")}, checkpoint=state, every=3)
    assert find_checkpoint(state).extra["totals"]["batches"] == 6
    follow(rows, {"out": open_sink(out)}, checkpoint=state, every=3)
    follow(rows, {"out": open_sink(tmp_path / "whole.csv")})
    assert out.read_bytes() == (tmp_path / "whole.csv").read_bytes()


def test_wrong_use(rows, tmp_path):
    with pytest.raises(ValueError, match="every must be at least 1"):
        follow(rows, every=0)
    with pytest.raises(ValueError, match="score_by must be"):
        follow(rows, score_by="during")
    with pytest.raises(ValueError, match="checkpoints need a folder"):
        follow(rows, checkpoint=rows)
    model().partial_fit(data(rows)[:SIZE]).save(tmp_path / "checkpoint-000000000001.scstream")
    with pytest.raises(ValueError, match="it is not a checkpoint of a run"):
        follow(rows, checkpoint=tmp_path)


def test_empty_batches_only_carry_rejects():
    class Empty(Source):
        def __iter__(self):
            yield Batch(np.empty((0, 2)), {"row": 1})

        def seek(self, place):
            raise AssertionError

    result = run(Empty(), model())
    assert result.totals.batches == 0
    assert result.model.n_batches_ == 0
