"""Details on the page: of clusters, of moments and of events; the pointer, replay, colours."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

pytest.importorskip("starlette", reason="Starlette is not installed")
pytest.importorskip("uvicorn", reason="uvicorn is not installed")
pytest.importorskip("prometheus_client", reason="prometheus_client is not installed")

from scstream import ScStream
from scstream.families.columns import Columns
from scstream.service.live import Live
from scstream.service.served import Served
from scstream.service.settings import Settings


@pytest.fixture(scope="module")
def shown():
    """Return a run of words and numbers, and the model: cluster by cluster another mode."""
    model = ScStream(random_state=0, family="auto")
    live = Live(Served(model, pause=0.0), Settings())
    rng = np.random.default_rng(0)
    centre = np.array([[0.0, 0.0], [12.0, 1.0], [0.0, 14.0]])
    for b in range(12):
        z = rng.integers(2 if b < 6 else 3, size=200)
        X = centre[z] + rng.normal(size=(200, 2))
        X[0] += 40.0 * (b == 4)  # a row that nobody expects
        words = np.array(["idle", "busy", "alarm"], dtype=object)[z]
        table = Columns([words, X[:, 0], X[:, 1]], ["mode", "speed", "heat"], 200)
        scores = model.score_samples(table) if model.n_batches_ else None
        live.observe(model.partial_fit(table), scores, table)
    yield model, live
    live.close()


def test_a_cluster_says_what_makes_it_different(tab, shown):
    _, live = shown
    page = tab().open_run(live.link)
    page.click("#cluster-list button")
    detail = page.text("#detail")
    for word in ("What makes it different", "Share over time", "mode", "Recent rows"):
        assert word in detail
    assert "mode mostly" in page.text("#detail .says")
    page.page.locator("#search").fill("ALARM")  # and the list says it, too
    page.wait("document.querySelectorAll('#cluster-list li').length === 1")
    assert "mode mostly alarm" in page.text("#cluster-list .says")


def test_rows_stand_under_the_names_of_their_columns(tab, shown):
    """The first column holds words, and has no mean."""
    _, live = shown
    page = tab().open_run(live.link)
    page.click("#cluster-list button")
    head = page.page.locator("#detail .scroll >> nth=0").locator("th").all_text_contents()
    assert head == ["mode", "speed", "heat"]
    first = page.page.locator("#detail .scroll >> nth=0").locator("tbody tr").first
    cells = first.locator("td").all_text_contents()
    assert cells[0] in ("idle", "busy", "alarm")
    assert all(_is_number(cell) for cell in cells[1:])


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", ""))
    except ValueError:
        return False
    return True


def test_a_moment_has_its_detail(tab, shown):
    """A click where the rows were most unusual shows that moment, and the row."""
    _, live = shown
    page = tab().open_run(live.link)
    page.wait("document.querySelector('#scores .u-over') !== null")
    page.click_in("#scores .u-over", 0.3, 0.2)  # batches 1 to 11 have scores: the fourth
    page.wait("document.getElementById('time').textContent === '4'")
    assert page.text("#detail h2") == "4"
    assert "Unusual rows" in page.text("#detail")
    first = page.page.locator("#detail .scroll >> nth=0").locator("tbody tr").first
    assert max(map(abs, map(float, first.locator("td").all_text_contents()[3:]))) > 30
    page.page.keyboard.press("Escape")
    page.wait("document.getElementById('detail').hidden")


def test_an_event_leads_to_its_moment_and_cluster(tab, shown):
    model, live = shown
    page = tab().open_run(live.link)
    births = [b for record in model.history_ for b in record.births if record.batch >= 6]
    assert births
    page.click("#event-list .event.birth")
    assert page.text("#detail h2").startswith("Cluster ")
    assert page.text("#status") == "paused"
    assert int(page.text("#time")) >= 6


def test_the_river_is_a_way_to_its_clusters(tab, shown):
    model, live = shown
    page = tab().open_run(live.link)
    page.wait("(document.querySelector('#river .u-over') || {}).clientWidth > 0")
    page.click_in("#river .u-over", 0.95, 0.9)
    lowest = min(cluster.id for cluster in model.clusters_)
    assert page.text("#detail h2") == f"Cluster {lowest}"
    page.page.locator("#river .u-over").hover()
    page.wait("!document.querySelector('#river .tip').hidden")
    assert "of the rows" in page.text("#river .tip")


def test_the_pointer_tells_which_cluster_it_is_over(tab, shown):
    model, live = shown
    page = tab().open_run(live.link)
    largest = max(model.clusters_, key=lambda cluster: cluster.weight)
    spot = page.page.evaluate(
        """(id) => { const {map, store} = scstream; const {k, left, top} = map.scale();
        const at = store.current.places[store.current.ids.indexOf(id)];
        return [left + k * at[0], top - k * at[1]]; }""",
        largest.id,
    )
    page.page.locator("#map").hover(position={"x": spot[0], "y": spot[1]})
    page.wait("!document.getElementById('tip').hidden")
    assert f"Cluster {largest.id}" in page.text("#tip")
    assert "of the rows" in page.text("#tip")
    page.page.mouse.move(2, 2)
    page.wait("document.getElementById('tip').hidden")


def test_a_replay_runs_from_the_beginning_to_the_end(tab, shown):
    _, live = shown
    page = tab().open_run(live.link)
    page.page.evaluate(  # a replay may be over before a slow machine has looked
        """() => { window.seen = []; const at = (id) => document.getElementById(id).textContent;
        new MutationObserver(() => seen.push([at('status'), at('time')]))
          .observe(document.body, {childList: true, characterData: true, subtree: true}); }"""
    )
    page.click("#replay")
    page.wait("seen.some((s) => s[0] === 'replay') && seen.at(-1)[0] === 'live'")
    times = [int(time) for status, time in page.page.evaluate("seen") if status == "replay"]
    assert times[0] < 11
    assert times == sorted(times)
    assert page.text("#time") == "11"
    page.page.evaluate(
        """() => { for (const key of ['r', 'r'])
        document.body.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true})); }"""
    )
    page.wait("document.getElementById('status').textContent === 'paused'")
    assert page.text("#time") == "0"


def test_neighbours_have_colours_of_their_own(tab, run):
    """On the map, in the list and in the river; of up to twenty-four clusters all."""
    _, live, learn = run
    learn(np.random.default_rng(1).normal(size=(300, 2)))
    page = tab().open_run(live.link)
    for k, different in ((20, 20), (60, 24)):
        page.page.evaluate(
            """(k) => { const batch = scstream.store.current.batch + 1;
            const ids = [...Array(k).keys()].map((i) => 2 * k + 7 * i);
            scstream.store.add({batch, time: batch, n_points: 9, ids, counts: ids, born: ids,
              weights: ids.map((i) => 1 / i), places: ids.map((i) => [i % 11, i % 13]),
              spreads: ids.map(() => [1, 0, 1])}); }""",
            k,
        )
        page.wait(f"document.querySelectorAll('#cluster-list li').length === {k}")
        colors = page.page.locator("#cluster-list .swatch").evaluate_all(
            "all => all.map((e) => e.style.background)"
        )
        assert len(set(colors)) == different
        assert all(one != other for one, other in pairwise(colors))


def test_the_page_can_be_used_by_keyboard(tab, shown):
    """Everything that can be clicked can be reached, and is seen when it is."""
    _, live = shown
    page = tab().open_run(live.link)
    reached = set()
    for _ in range(25):
        page.page.keyboard.press("Tab")
        reached.add(
            page.page.evaluate("document.activeElement.id || document.activeElement.className")
        )
    assert {"theme", "pause", "replay", "scrub", "map", "search"} <= reached
    page.page.locator("#cluster-list button").first.focus()
    page.page.keyboard.press("Enter")
    page.wait("!document.getElementById('detail').hidden")
    assert page.complaints == []


@pytest.mark.parametrize("width", [390, 820, 1360])
def test_nothing_moves_when_a_detail_opens(tab, shown, width):
    """The map stays where it is, and no screen is too narrow."""
    _, live = shown
    page = tab(width=width).open_run(live.link)
    before = page.page.locator("#map").bounding_box()
    page.click("#cluster-list button")
    page.wait("!document.getElementById('detail').hidden")
    page.page.evaluate("window.scrollTo(0, 0)")
    page.settle()
    after = page.page.locator("#map").bounding_box()
    assert abs(after["width"] - before["width"]) < 1
    assert abs(after["height"] - before["height"]) < 1
    assert page.page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_cluster_that_wanders_is_told_of(tab, run):
    """Of two clusters one moves by a deviation a batch: it drifts every third batch or so."""
    model, live, learn = run
    rng = np.random.default_rng(0)
    side = np.repeat([0.0, 1.0], 100)[:, None]
    for b in range(10):
        learn(rng.normal(size=(200, 2)) + side * [30.0 + b, 0.0] - (1.0 - side) * [30.0, 0.0])
    assert model.n_clusters_ == 2
    moving = max(model.clusters_, key=lambda cluster: cluster.mean[0])
    page = tab().open_run(live.link)
    page.wait("document.querySelectorAll('#event-list .event.drift').length > 0")
    told = page.page.locator("#event-list .event.drift").all_text_contents()
    assert 2 <= len(told) <= 3
    assert all(text.startswith(f"drift{moving.id}, by 3") for text in told)
    assert page.complaints == []


def test_groups_are_listed_and_unfold_to_their_clusters(tab):
    rng = np.random.default_rng(0)
    square = 14.0 * rng.integers(3, size=2000)
    X = rng.uniform(-3.0, 3.0, size=(2000, 2)) + square[:, None]
    model = ScStream(random_state=0, group_level=0.3)
    live = Live(Served(model, pause=0.0), Settings())
    for part in np.split(X, 4):
        live.observe(model.partial_fit(part), rows=part)
    try:
        page = tab().open_run(live.link)
        groups = {group.id: group.members for group in model.groups_}
        assert len(groups) == 3
        assert page.text("#groups") == "3"
        assert page.page.locator("#cluster-list li").count() == 3
        first = page.page.locator("#cluster-list .whole button").first
        own = groups[int(first.get_attribute("data-group"))]
        assert f"{len(own)} clusters. " in first.text_content()
        page.click(first)
        inside = page.page.locator("#cluster-list .inside button")
        assert {int(one.get_attribute("data-id")) for one in inside.all()} == set(own)
        page.click(inside)
        assert page.text("#detail h2").startswith("Cluster ")
        page.click(first)  # a chosen cluster stays in view
        assert inside.count() == len(own)
        page.click("#detail .close")
        assert inside.count() == 0
        page.page.locator("#search").fill(str(own[0]))
        page.wait("document.querySelectorAll('#cluster-list .whole').length === 0")
        assert page.complaints == []
    finally:
        live.close()
