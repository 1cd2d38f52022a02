"""The page in a real browser: it shows what the model is, and hostile names stay names."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from serving import batches

pytest.importorskip("starlette", reason="Starlette is not installed")
pytest.importorskip("uvicorn", reason="uvicorn is not installed")
pytest.importorskip("prometheus_client", reason="prometheus_client is not installed")

from scstream import ScStream
from scstream.chronicle import Chronicle
from scstream.families.columns import Columns
from scstream.report import write_report
from scstream.service.live import Live
from scstream.service.served import Served
from scstream.service.settings import Settings

HOSTILE = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'


def drawn(tab):
    """Return the ids on the page's list, with the largest first."""
    return [int(t) for t in tab.page.locator("#cluster-list .name").all_text_contents()]


def test_the_page_shows_what_the_model_is(tab, run):
    model, live, learn = run
    stream = batches(6)
    for X in stream[:3]:
        learn(X)
    page = tab().open_run(live.link)
    for b, X in enumerate(stream[3:], start=4):
        learn(X)
        page.wait(f"document.getElementById('batches').textContent === '{b}'")
        assert page.text("#clusters") == str(model.n_clusters_)
        assert page.text("#rows") == f"{200 * b:,}"
        weights = {cluster.id: cluster.weight for cluster in model.clusters_}
        assert drawn(page) == sorted(weights, key=lambda i: -weights[i])
    assert page.text("#status") == "live"
    assert page.complaints == []


def test_a_birth_appears(tab, run):
    model, live, learn = run
    X = batches(1)[0]
    learn(X)
    page = tab().open_run(live.link)
    before = set(drawn(page))
    learn(np.vstack([X, X[:80].mean(axis=0) + 60 + np.random.default_rng(0).normal(size=(80, 2))]))
    born = {cluster.id for cluster in model.clusters_} - before
    assert born
    page.wait("document.querySelector('#batches').textContent === '2'")
    assert set(drawn(page)) >= born
    assert f"birth{min(born)}" in page.text("#event-list").replace(" ", "")


def test_clicking_and_scrubbing_show_the_past(tab, run):
    model, live, learn = run
    sizes = []
    for X in batches(5):
        learn(X)
        sizes.append([cluster.id for cluster in model.clusters_])
    page = tab().open_run(live.link)
    page.click("#cluster-list button")
    assert page.text("#detail h2").startswith("Cluster ")
    assert "Latest rows" in page.text("#detail")
    page.page.locator("#scrub").focus()
    page.page.keyboard.press("Home")
    page.wait("document.getElementById('time').textContent === '0'")
    assert page.text("#status") == "paused"
    assert sorted(drawn(page)) == sorted(sizes[0])
    learn(batches(1)[0])
    page.wait("document.getElementById('batches').textContent === '6'")
    assert page.text("#time") == "0"  # what is looked at stays, while the run goes on
    page.click("#pause")
    page.wait("document.getElementById('time').textContent === '5'")


def test_a_click_on_the_map_finds_the_cluster(tab, run):
    model, live, learn = run
    learn(batches(1)[0])
    page = tab().open_run(live.link)
    largest = max(model.clusters_, key=lambda cluster: cluster.weight)
    spot = page.page.evaluate(
        """(id) => { const {map, store} = scstream; const {k, left, top} = map.scale();
        const at = store.current.places[store.current.ids.indexOf(id)];
        return [left + k * at[0], top - k * at[1]]; }""",
        largest.id,
    )
    page.click("#map", position={"x": spot[0], "y": spot[1]})
    assert page.text("#detail h2") == f"Cluster {largest.id}"


def test_search_finds_a_cluster_by_its_number(tab, run):
    model, live, learn = run
    learn(batches(1)[0])
    wanted = model.clusters_[-1].id
    page = tab().open_run(live.link)
    page.page.keyboard.press("/")
    page.page.keyboard.type(str(wanted))
    page.wait(f"document.querySelector('#detail h2')?.textContent === 'Cluster {wanted}'")


def test_after_a_restart_the_page_goes_on(tab, run):
    model, live, learn = run
    stream = batches(5)
    learn(stream[0])
    page = tab().open(live.link)
    page.wait("document.getElementById('status').textContent === 'live'")
    live.close()
    page.wait("document.getElementById('status').textContent === 'reconnecting'")
    again = Live(Served(model, pause=0.0), Settings(port=live.port))
    try:
        for X in stream[1:3]:
            again.observe(model.partial_fit(X))
        page.wait("document.getElementById('status').textContent === 'live'")
        page.wait(f"document.getElementById('clusters').textContent === '{model.n_clusters_}'")
        again.observe(model.partial_fit(stream[3]))
        page.wait("document.getElementById('time').textContent === '3'")
    finally:
        again.close()


def test_names_from_the_data_never_run(tab, tmp_path):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    model, chronicle = ScStream(random_state=0), Chronicle()
    for X in batches(3):
        frame = pandas.DataFrame(X, columns=[HOSTILE, "b"])
        chronicle.observe(model.partial_fit(frame), np.arange(200.0), np.asarray(frame))
    path = tmp_path / "report.html"
    write_report(chronicle, path, title=HOSTILE)
    page = tab().open_run(path.as_uri())
    page.click("#cluster-list button")
    assert HOSTILE in page.text("#detail")
    assert page.text("h1 >> nth=0") == HOSTILE
    assert page.page.evaluate("window.hacked") is None


def test_the_report_is_the_page_and_needs_nothing_else(tab, tmp_path):
    model, chronicle = ScStream(random_state=0), Chronicle()
    for X in batches(4):
        chronicle.observe(model.partial_fit(X), np.arange(200.0), X)
    path = tmp_path / "report.html"
    write_report(chronicle, path, title="A run")
    text = path.read_text()
    assert "http://" not in text.replace("http://www.w3.org", "")
    page = tab()
    asked = []
    page.page.on("request", lambda request: asked.append(request.url))
    page.open_run(path.as_uri())
    assert page.text("#status") == "finished"
    assert page.text("#rows") == "800"
    assert page.complaints == []
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []


def test_the_report_can_be_read_without_script(tab, tmp_path):
    model, chronicle = ScStream(random_state=0), Chronicle()
    for X in batches(3):
        chronicle.observe(model.partial_fit(X))
    path = tmp_path / "report.html"
    write_report(chronicle, path, title="A run")
    page = tab(java_script_enabled=False).open(path.as_uri())
    assert page.page.locator(".tables table").first.is_visible()
    assert "what is different" in page.text(".tables")
    assert not page.page.locator(".page").is_visible()


def test_a_table_of_one_batch_shows_no_stream(tab, tmp_path):
    """Its log columns have marks at powers of ten, and its clusters can be saved."""
    rng = np.random.default_rng(0)
    z = np.arange(600) % 3
    pay, wait = np.exp(
        np.array([[1.0, 5.0, 9.0], [2.0, -4.0, 6.0]])[:, z] + rng.normal(size=600) / 2
    )
    kind = np.array(["day", "=night", "late, very"], dtype=object)[z]
    table = Columns([pay, wait, kind], ["pay", "wait", "kind"], 600)
    model, chronicle = ScStream("auto", random_state=0).fit(table), Chronicle()
    chronicle.observe(model, model.score_samples(table), table)
    path = tmp_path / "report.html"
    write_report(chronicle, path, title="A table")
    page = tab(width=390).open_run(path.as_uri())
    for name in ("replay", "river", "count", "scores", "event-list", "batches", "rate"):
        assert not page.page.locator(f"#{name}").is_visible()
    page.click("#cluster-list button")
    assert "Share over time" not in page.text("#detail")
    marks = page.page.evaluate(
        """() => { const {k, left} = scstream.map.scale();
        return scstream.store.plane.marks(0, -left / k, (300 - left) / k).map((m) => m.text); }"""
    )
    assert (
        {"1", "10", "100", "1k", "10k"}
        <= set(marks)
        <= {"0.1", "1", "10", "100", "1k", "10k", "100k"}
    )
    with page.page.expect_download() as saved:
        page.click("#csv")
    rows = list(csv.DictReader(Path(saved.value.path()).read_text("utf-8-sig").splitlines()))
    assert {int(row["cluster"]) for row in rows} == {cluster.id for cluster in model.clusters_}
    assert sum(float(row["share"]) for row in rows) == pytest.approx(1.0, abs=0.01)
    assert {row["kind"][:3] for row in rows} == {"day", "'=n", "lat"}
    assert all(row["different"] in page.text("#cluster-list") for row in rows)
    assert "born" not in rows[0]
    assert page.complaints == []


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1280, "light")])
def test_nothing_is_wider_than_the_screen(tab, run, width, scheme):
    _, live, learn = run
    for X in batches(3):
        learn(X)
    page = tab(width=width, color_scheme=scheme).open_run(live.link)
    assert page.page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.complaints == []


def test_text_can_be_read_on_its_ground(tab, run):
    """Contrast of at least 4.5 between ink and ground, light and dark (WCAG AA)."""
    _, live, learn = run
    learn(batches(1)[0])
    for scheme in ("light", "dark"):
        page = tab(color_scheme=scheme).open(live.link)
        colors = page.page.evaluate(
            """() => { const s = getComputedStyle(document.documentElement);
            return ['--ink', '--soft', '--alarm', '--good', '--accent', '--ground', '--page']
            .map((n) => s.getPropertyValue(n).trim()); }"""
        )
        *inks, ground, base = colors
        for ink in inks:
            assert contrast(ink, ground) >= 4.5
            assert contrast(ink, base) >= 4.5


def contrast(first: str, second: str) -> float:
    light, dark = sorted((luminance(first), luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(color: str) -> float:
    parts = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(parts <= 0.03928, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def test_the_description_of_the_service_is_drawn(tab, run):
    _, live, learn = run
    learn(batches(1)[0])
    page = tab().open(live.link + "docs")
    page.wait("document.querySelectorAll('#docs section').length > 3")
    assert "POST /predict" in page.text("#docs")
    assert page.complaints == []


def test_the_data_on_the_page_are_plain_json(run):
    from serving import ask

    _, live, learn = run
    learn(batches(1)[0])
    whole = json.loads(ask(live, "/api/chronicle").body)
    assert len(whole["moments"][0]["rows"]["labels"]) == 50
