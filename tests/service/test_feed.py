"""Pages that follow a run: they miss nothing, and never hold it up."""

import asyncio
import json
import re
import socket
from functools import partial
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
from serving import PATIENCE, ask, batches, follow, wait_until

from scstream import ScStream
from scstream.chronicle import Chronicle
from scstream.service.feed import Feed
from scstream.service.served import Served
from scstream.sources.base import Unread


def test_a_page_gets_the_run_so_far_and_then_every_batch(start):
    model = ScStream(random_state=0)
    served = Served(model, pause=0.0)
    live = start(served)
    stream = batches(6)
    for X in stream[:3]:
        live.observe(model.partial_fit(X))
    whole = ask(live, "/api/chronicle").json
    assert [moment["batch"] for moment in whole["moments"]] == [0, 1, 2]
    assert whole["totals"]["n_points"] == 600
    with follow(live, whole["next"]) as page:
        for b, X in enumerate(stream[3:], start=3):
            live.observe(model.partial_fit(X))
            _, kind, moment = page.next()
            assert (kind, moment["batch"]) == ("message", b)
            assert moment["ids"] == [cluster.id for cluster in model.clusters_]


def test_a_page_that_comes_back_misses_nothing(start):
    model = ScStream(random_state=0)
    live = start(Served(model, pause=0.0))
    stream = batches(6)
    live.observe(model.partial_fit(stream[0]))
    whole = ask(live, "/api/chronicle").json
    with follow(live, whole["next"]) as page:
        live.observe(model.partial_fit(stream[1]))
        last, _, _ = page.next()
    for X in stream[2:5]:
        live.observe(model.partial_fit(X))
    with follow(live, last) as page:
        assert [page.next()[2]["batch"] for _ in range(3)] == [2, 3, 4]


def test_a_page_of_an_earlier_server_loads_the_run_anew(start):
    model = ScStream(random_state=0).partial_fit(batches(1)[0])
    served = Served(model, pause=0.0)
    live = start(served)
    live.observe(model)
    for after in ("", "other-0", "x", "-1"):
        with follow(live, after) as page:
            assert page.next()[1] == "reload"


def test_a_page_too_far_behind_loads_the_run_anew():
    chronicle, model = Chronicle(), ScStream(random_state=0)
    feed = Feed(chronicle)
    first, _ = feed.whole()
    moment = chronicle.observe(model.partial_fit(batches(1)[0]))
    for _ in range(2000):
        feed.add(moment)

    async def first_event():
        events = feed.follow(first)
        return [await anext(events), await anext(events)][1]

    assert "event: reload" in asyncio.run(first_event())


def test_a_page_that_does_not_read_holds_up_nobody(start):
    """Its connection is full after some megabytes; the run goes on, and so do others."""
    model = ScStream(random_state=0).partial_fit(batches(1)[0])
    served = Served(model, pause=0.0)
    live = start(served)
    with socket.create_connection(("127.0.0.1", live.port)) as stuck:
        name = ask(live, "/api/chronicle").json["next"]
        stuck.sendall(f"GET /api/updates?after={name} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        wait_until(lambda: served.feed.n_pages == 1)
        moment = served.feed.chronicle.observe(model)
        for _ in range(5_000):  # some twenty megabytes: a run that waited would wait forever
            served.feed.add(moment)
        assert ask(live, "/health").status == 200
        assert len(served.feed._lines) <= 512


def test_only_so_many_pages_follow(start, model):
    live = start(Served(model, pause=0.0), most_pages=1)
    live.observe(model)
    name = ask(live, "/api/chronicle").json["next"]
    with follow(live, name) as first:
        assert first.status == 200
        with follow(live, name) as second:
            assert second.status == 503


def test_batches_that_come_too_fast_are_shown_together(start):
    """There is a long pause between moments here, and no batch is lost."""
    model = ScStream(random_state=0)
    live = start(Served(model, pause=1.0))
    name = ask(live, "/api/chronicle").json["next"]
    stream = batches(40)
    births, lowest = 0, np.inf
    for X in stream:
        scores = model.score_samples(X) if model.n_batches_ else None
        live.observe(model.partial_fit(X), scores, X)
        births += len(model.history_[-1].births)
        lowest = min(lowest, np.inf if scores is None else scores.min())
    figures = ask(live, "/metrics").body.decode()
    assert "scstream_rows_total 8000.0" in figures
    assert "scstream_batches_total 40.0" in figures
    with follow(live, name) as page:
        seen = [page.next()[2]]
        while seen[-1]["batch"] < 39:
            seen.append(page.next()[2])
    assert len(seen) < 40
    assert sum(moment["n_points"] for moment in seen) == 8000
    told = [event for moment in seen for event in moment.get("events", ())]
    assert sum(event["kind"] == "birth" for event in told) == births
    least = min(moment["score"][1] for moment in seen if "score" in moment)
    assert least == pytest.approx(lowest, rel=1e-6)
    assert seen[-1]["ids"] == [cluster.id for cluster in model.clusters_]
    whole = ask(live, "/api/chronicle").json
    assert (whole["totals"]["n_batches"], whole["totals"]["n_points"]) == (40, 8000)


def test_a_page_that_loads_sees_the_last_batch(start):
    model = ScStream(random_state=0)
    live = start(Served(model, pause=60.0))
    for b, X in enumerate(batches(30)):
        live.observe(model.partial_fit(X))
        if b % 7 == 0:
            assert ask(live, "/api/chronicle").json["moments"][-1]["batch"] == b


def test_metrics_count_what_was_learned(start):
    model = ScStream(random_state=0)
    live = start(Served(model, pause=0.0))
    for X in batches(3):
        live.observe(model.partial_fit(X))
    text = ask(live, "/metrics").body.decode()
    assert "scstream_rows_total 600.0" in text
    assert "scstream_batches_total 3.0" in text
    assert f"scstream_clusters {float(model.n_clusters_)}" in text
    births = sum(event["kind"] == "birth" for event in live.served.feed.chronicle.events)
    assert f'scstream_events_total{{kind="birth"}} {float(births)}' in text


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_the_service_listens_where_it_is_told(start, model, host):
    try:
        live = start(Served(model, pause=0.0), host=host)
    except OSError as error:  # no IPv6 here
        pytest.skip(f"this machine has no such address: {error}")
    with socket.create_connection((host, live.port), timeout=PATIENCE):
        pass


def test_a_port_that_is_taken_is_said(start, model):
    live = start(Served(model, pause=0.0))
    with pytest.raises(OSError, match="Choose another port"):
        start(Served(model, pause=0.0), port=live.port)


def test_the_dashboard_asks_for_figures_that_there_are(start, model):
    dashboard = json.loads((Path(__file__).parents[2] / "examples" / "grafana.json").read_text())
    live = start(Served(model, pause=0.0))
    live.observe(model, [1.0] * 200)
    ask(live, "/health")
    text = ""
    for unit in ("bytes", "rows", "messages", "seconds"):  # a source counts in one of them
        live.served.metrics.look = partial(Unread, 1, unit)
        text += ask(live, "/metrics").body.decode()
    asked = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    assert len(asked) >= 8
    for name in re.findall(r"(?:scstream|process)_\w+", " ".join(asked)):
        assert re.search(rf"^{name}[ {{]", text, re.MULTILINE), name


def fast(n, **more):
    """Return a model, what is served of it, and n batches that come without a pause."""
    model = ScStream(random_state=0)
    return model, Served(model, **more), batches(n)


def test_what_waits_to_be_shown_is_bounded():
    model, served, stream = fast(2, pause=60.0)
    served._shower = Thread()
    model.partial_fit(stream[0])
    for _ in range(2500):
        served.observe(model)
        assert len(served._waiting) <= 1000
    assert "scstream_batches_total 2500.0" in served.metrics_text().decode()
    served.close()
    assert served.feed.chronicle.totals.n_batches == 2500


def test_the_end_of_a_run_reaches_its_pages(start):
    """The last batch is shown before pages are let go, however short the time was."""
    model = ScStream(random_state=0)
    live = start(Served(model, pause=60.0))
    stream = batches(4)
    live.observe(model.partial_fit(stream[0]))
    name = ask(live, "/api/chronicle").json["next"]
    with follow(live, name) as page:
        for X in stream[1:]:
            live.observe(model.partial_fit(X))
        live.close()
        _, _, moment = page.next()
    assert (moment["batch"], moment["n_batches"]) == (3, 3)
