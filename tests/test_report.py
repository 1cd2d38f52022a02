"""The report: one page that needs nothing else, with tables for readers without scripts."""

import base64
import hashlib
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from scstream import ScStream
from scstream.chronicle import Chronicle, Moment, Score
from scstream.cli import main
from scstream.report import render_report, write_report

VOID = {"meta", "link", "br", "img", "path", "use", "rect", "input"}


class Page(HTMLParser):
    """A page taken apart: open tags must be closed, and what it asks of the network is noted."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.open, self.text, self.links = [], [], [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [v for k, v in attrs if k in ("src", "href", "xlink:href")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [v for k, v in attrs if k in ("src", "href", "xlink:href")]

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        if not self.open or self.open[-1] not in ("style", "script"):
            self.text.append(data)


@pytest.fixture(scope="module")
def chronicle():
    rng = np.random.default_rng(0)
    means = np.array([[0.0, 0, 0], [30, 0, 0], [0, 30, 0], [0, 0, 30]])
    model, chronicle = ScStream(random_state=0), Chronicle()
    for batch in range(5):
        here = means[: 3 + (batch > 2)] + batch
        X = here.repeat(40, axis=0) + rng.standard_normal((40 * len(here), 3))
        scores = model.score_samples(X) if model.n_batches_ else None
        chronicle.observe(model.partial_fit(X), scores)
    return chronicle


@pytest.fixture(scope="module")
def page(chronicle):
    return render_report(chronicle, title="Rain & <wind>")


def without_script(text):
    """Return the page's head and what readers without scripts see."""
    return text[: text.index('<div class="page">')]


def test_page_is_whole_and_asks_for_nothing(page):
    parsed = Page(page)
    assert not {"img", "iframe", "object"} & set(parsed.tags)
    assert parsed.links
    assert all(link.startswith("#") or link == "data:," for link in parsed.links)
    assert "@import" not in page
    assert not re.search(r"url\((?!#)", without_script(page))


def test_no_script_but_its_own_may_run(page):
    scripts = re.findall(r"<script>(.*?)</script>", page, flags=re.DOTALL)
    assert len(scripts) == 1
    digest = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    assert f"script-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy


def test_title_is_escaped(page):
    assert "<h1>Rain &amp; &lt;wind&gt;</h1>" in page
    assert "<wind>" not in page


def test_tables_say_what_the_chronicle_says(page, chronicle):
    text = " ".join(Page(page).text)
    assert "680" in text  # rows: three batches of 120, two of 160
    assert f"{chronicle[-1].n_clusters} at the end" in text
    for cluster_id in chronicle[-1].ids:
        assert f"<tr><td>{cluster_id}</td>" in page
    for share in chronicle[-1].weights:
        assert f"<td>{share:.1%}</td>" in page
    split_or_birth = [e for e in chronicle.events if e["time"] == 3.0]
    assert split_or_birth
    assert re.search(r"<td>3</td><td>(split|birth)", page)


def test_same_chronicle_gives_the_same_page(page, chronicle):
    assert render_report(chronicle, title="Rain & <wind>") == page


def small(batch, ids, score=None, events=()):
    k = len(ids)
    return Moment(
        batch, float(batch), 5, np.array(ids, dtype=int), np.full(k, 1 / max(k, 1)),
        np.ones(k), np.zeros(k), score=score, events=events,
    )  # fmt: skip


@pytest.mark.parametrize("ids", [[0, 1], []])
def test_clusters_without_a_place_or_score_are_listed(ids):
    chronicle = Chronicle()
    chronicle._add(small(0, ids))
    one = without_script(render_report(chronicle))
    assert f"Clusters</td><td>{len(ids)}</td>" in one
    assert "Events" not in one
    chronicle._add(small(1, ids))
    page = render_report(chronicle)
    assert f"{len(ids)} at the end" in page
    assert "Events</h2><p>None.</p>" in page


def test_many_clusters_and_events_are_cut_and_counted():
    chronicle = Chronicle()
    for batch in range(300):
        event = {"kind": "death", "time": float(batch), "cluster": batch}
        chronicle._add(small(batch, range(130), Score(1.0, (1.0,) * 6), (event,)))
    page = render_report(chronicle)
    assert "30 clusters, the lightest are not listed" in page
    assert "100 entries before them are not listed" in page
    assert len(page) < 2_000_000


def test_empty_chronicle_is_refused():
    with pytest.raises(ValueError, match="no batch yet"):
        render_report(Chronicle())


def test_failed_page_leaves_the_old_one(tmp_path):
    path = tmp_path / "page.html"
    path.write_text("old")
    with pytest.raises(ValueError, match="no batch yet"):
        write_report(Chronicle(), path)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["page.html"]


# -- the command ----------------------------------------------------------------------------------


def run(*arguments):
    return main(["report", *map(str, arguments)])


def test_command_writes_the_page(chronicle, tmp_path, capsys):
    source = tmp_path / "run.jsonl"
    chronicle.write(source)
    assert run(source) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'run.html'}\n"
    assert "<h1>run</h1>" in (tmp_path / "run.html").read_text()
    assert run(source, "-o", tmp_path / "page.html", "--title", "Mine") == 0
    assert "<h1>Mine</h1>" in (tmp_path / "page.html").read_text()
    assert "evenly spread over the run" in render_report(Chronicle.read(source, limit=4))


@pytest.mark.parametrize("text", [None, "no chronicle\n"])
def test_command_says_what_is_wrong(tmp_path, capsys, text):
    source = tmp_path / "run.jsonl"
    if text is not None:
        source.write_text(text)
    assert run(source) == 1
    assert capsys.readouterr().err.startswith("scstream report: error: ")
    assert not (tmp_path / "run.html").exists()
