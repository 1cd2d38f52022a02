"""The page as one of a run's outputs: it takes scores where there are some."""

import json
from threading import Thread

import numpy as np
import pytest
from serving import batches

from scstream import ScStream
from scstream.pipeline import assess, run
from scstream.service import recorder
from scstream.service.served import Served
from scstream.sinks import open_sink
from scstream.sources import SourceOptions, open_source


@pytest.mark.parametrize("fields", [("label",), ("label", "probability"), ("label", "score")])
def test_a_page_asks_for_no_scores_but_of_what_it_shows(tmp_path, monkeypatch, fields):
    """They are by the model before the batch, whoever asks for them."""
    scored = []
    monkeypatch.setattr(recorder, "assess", lambda *rows: scored.append(rows) or assess(*rows))
    X = batches(8)
    np.save(tmp_path / "rows.npy", np.vstack(X))
    model = ScStream(random_state=0)
    shown = Served(model)
    shown._shower = Thread()  # that never comes: the last batch alone is shown, when asked for
    source = open_source(tmp_path / "rows.npy", SourceOptions(batch_size=200))
    sink = open_sink(tmp_path / "out.csv", fields=fields)
    run(source, model, {"labels": sink, "page": recorder.PageRecorder(shown)})
    (moment,) = json.loads(shown.whole_text())["moments"]
    assert moment["n_batches"] == 8
    assert len(scored) == (0 if "score" in fields else 1)
    before = ScStream(random_state=0)
    for rows in X[:-1]:
        before.partial_fit(rows)
    expected = before.score_samples(X[-1]).mean()
    assert moment["score"][0] == pytest.approx(expected, rel=1e-5)
