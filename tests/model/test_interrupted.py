"""An interrupt or an error, wherever it comes: a batch is learned as a whole or not at all."""

import contextlib
import io
import os
import pickle
import subprocess
import sys
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import scstream
from scstream import ScStream
from scstream.families.columns import columns_of
from scstream.pipeline import run
from scstream.river import StreamClusterer
from scstream.service.served import Served
from scstream.sources import SourceOptions, open_source

SOURCES = str(Path(scstream.__file__).parent)
FEW = 12  # lines of a path that are tried in the quick test, besides those of the last step
WHOLE = "learning.py", "buffered.py", "served.py", "loop.py"  # files whose lines are all tried


def lines_of(action, stop_at=None, error=KeyboardInterrupt):
    """Return the lines of the package that an action comes to, or raise an error at one of them."""
    lines = {}

    def trace(frame, event, argument):
        if not frame.f_code.co_filename.startswith(SOURCES):
            return None
        if event == "line":
            line = frame.f_code.co_filename, frame.f_lineno
            lines[line] = None
            if line == stop_at:
                sys.settrace(None)
                raise error
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        action()
    finally:
        sys.settrace(before)
    return list(lines)


def known(model):
    """Return all that a model knows, as bytes and text."""
    generator = getattr(model.random_state, "bit_generator", None)
    state = repr(generator and generator.state)
    if not model.n_batches_:
        return sorted(model.__dict__), state
    model.save("model.scs")
    shown = model.labels_.tolist(), model.history_, model.events_, model.time_, model._seen
    return Path("model.scs").read_bytes(), repr(shown), state


def check(make, learn, model_of, quick, errors=(KeyboardInterrupt, MemoryError)):
    """Check that `learn` does all or nothing at lines of its path, and that things go on so."""
    thing = make()
    before = known(model_of(thing))
    lines_of(lambda: learn(make(), 0))  # what is imported or compiled is so from now on
    lines = lines_of(partial(learn, thing, 0))
    after = known(model_of(thing))
    learn(thing, 1)
    later = known(model_of(thing))
    own = [line for line in lines if Path(line[0]).name in WHOLE]
    if quick:
        lines = [*own, *lines[:: max(len(lines) // FEW, 1)]]
    seen = set()
    for i, line in enumerate(lines):
        thing, error = make(), errors[i % len(errors)]
        with contextlib.suppress(*errors):
            lines_of(partial(learn, thing, 0), line, error)
        found = known(model_of(thing))
        assert found in (before, after), line
        seen.add(found == after)
        if quick and i % 5:
            continue
        if found == before:
            learn(thing, 0)
            assert known(model_of(thing)) == after, line
        learn(thing, 1)
        assert known(model_of(thing)) == later, line
    assert False in seen


def rows(batch, n=300):
    rng = np.random.default_rng(batch)
    return rng.normal(size=(n, 2)) + 9.0 * rng.integers(0, 3, size=(n, 1))


def table(batch):
    rng, X = np.random.default_rng(batch), rows(batch, 60)
    words = np.where(X[:, 0] > 4, "low", rng.choice(["b", "c", "d"], len(X)))
    frame = pd.DataFrame({"x": X[:, 0], "word": words, "n": rng.poisson(4, len(X)), "y": X[:, 1]})
    if batch == 1:
        frame.loc[3, "y"] = np.nan
        frame.loc[4, "word"] = "new"
    return frame


KINDS = {
    "gaussian": ({"random_state": 0}, rows),
    "groups": ({"random_state": 0, "group_level": 0.3, "outlier_weight": "auto"}, rows),
    "generator": ({"random_state": None}, rows),
    "few rows": ({"random_state": 0, "sweeps": 2}, lambda batch: rows(batch, 12)),
    "auto": ({"family": "auto", "random_state": 0}, table),
    "student": ({"family": "student", "random_state": 0}, rows),
}
CASES = [(kind, learned, False) for kind in KINDS for learned in (0, 1)]
SOME = [("generator", 0, True), ("groups", 1, True)]
SLOW = [pytest.param(*case, marks=pytest.mark.slow) for case in CASES]
FITS = [("gaussian", 1, True)]


@pytest.mark.parametrize(("kind", "learned", "quick"), [*SOME, *SLOW])
@pytest.mark.filterwarnings("ignore")
def test_a_batch_is_learned_as_a_whole_or_not_at_all(kind, learned, quick, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    check_kind(kind, learned, quick, ScStream.partial_fit)


@pytest.mark.parametrize(("kind", "learned", "quick"), FITS)
@pytest.mark.filterwarnings("ignore")
def test_a_fit_is_made_as_a_whole_or_not_at_all(kind, learned, quick, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    check_kind(kind, learned, quick, ScStream.fit)


def check_kind(kind, learned, quick, method):
    """Check a method that learns on a kind of model, which has learned so many batches."""
    parameters, batch = KINDS[kind]
    base = ScStream(**parameters)
    if kind == "generator":
        base.random_state = np.random.default_rng(5)
    for b in range(learned):
        base.partial_fit(batch(b))
    kept = pickle.dumps(base)
    check(
        lambda: pickle.loads(kept),
        lambda model, b: method(model, batch(learned + b)),
        lambda model: model,
        quick,
    )


def test_river_keeps_to_what_was_learned(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = [dict(enumerate(x)) for x in rows(0).tolist()]

    def make():
        clusterer = StreamClusterer(batch_size=100, seed=0)
        for row in found[:99]:
            clusterer.learn_one(row)
        return clusterer

    def learn(clusterer, part):
        done = clusterer.model.n_batches_ * 100 + len(clusterer._buffer)
        for row in found[done : 100 * (part + 1)]:
            clusterer.learn_one(row)

    check(make, learn, lambda clusterer: clusterer.model, quick=True)


def test_a_run_and_a_service_keep_to_what_was_learned(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savetxt("x.csv", np.vstack([rows(b) for b in range(4)]), delimiter=",")

    def go(folder):
        with open_source("x.csv", SourceOptions(batch_size=300)) as source:
            return run(source, ScStream(random_state=0), checkpoint=folder)

    plain = go("plain").model
    partial_fit, batches = ScStream.partial_fit, []

    def fails(model, *given, **more):
        batches.append(partial_fit(model, *given, **more) if len(batches) != 2 else None)
        if batches[-1] is None:
            raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(ScStream, "partial_fit", fails)
        with pytest.raises(MemoryError):
            go("kept")
    result = go("kept")
    assert result.resumed is not None
    assert known(result.model)[0] == known(plain)[0]

    served = Served(ScStream(random_state=0))
    monkeypatch.setattr(served, "observe", lambda *given: [][0])
    with pytest.raises(IndexError):
        served.learn(columns_of(rows(0)))
    assert served.model.n_batches_ == served._own.n_batches_ == 1
    served.close()


@pytest.mark.parametrize("how", ["closed", "none", "nobody reads"])
@pytest.mark.filterwarnings("default")
def test_a_closed_standard_error_stops_nothing(how, monkeypatch):
    end, other = os.pipe()
    os.close(end)
    with os.fdopen(other, "w", 1) as nobody_reads:
        closed = io.StringIO()
        closed.close()
        stream = {"closed": closed, "none": None, "nobody reads": nobody_reads}[how]
        copies = np.repeat(rows(0, 100), 10, axis=0)
        with monkeypatch.context() as patch, warnings.catch_warnings():
            warnings.showwarning = lambda message, *where: sys.stderr.write(str(message))
            patch.setattr(sys, "stderr", stream)
            patch.setattr(sys, "__stderr__", stream)
            model = ScStream("auto", random_state=0, verbose=True)
            for time in 0.0, 1.0, 1e9:
                model.partial_fit(copies, time=time)
        assert model.n_batches_ == 3
        with contextlib.suppress(OSError):
            nobody_reads.close()


@pytest.mark.skipif(os.name != "posix", reason="a shell closes the stream")
@pytest.mark.parametrize("end", ["2>&-", "2> >(true)"])
def test_a_command_goes_on_where_nobody_reads_its_messages(end, tmp_path):
    np.savetxt(tmp_path / "x.csv", rows(0), delimiter=",")
    command = f"{sys.executable} -m scstream run x.csv -o out.csv {end}"
    assert subprocess.run(["bash", "-c", command], cwd=tmp_path, check=True).returncode == 0
    assert len((tmp_path / "out.csv").read_text().splitlines()) == 301
