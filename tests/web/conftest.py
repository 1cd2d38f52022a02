"""A browser, and a run that its pages show."""

from __future__ import annotations

import pytest
from browser import Tab, chromium

pytest.importorskip("starlette", reason="Starlette is not installed")
pytest.importorskip("uvicorn", reason="uvicorn is not installed")
pytest.importorskip("prometheus_client", reason="prometheus_client is not installed")

from scstream import ScStream
from scstream.service.live import Live
from scstream.service.served import Served
from scstream.service.settings import Settings


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


@pytest.fixture
def tab(browser):
    tabs = []

    def make(**more):
        tabs.append(Tab(browser, **more))
        return tabs[-1]

    yield make
    for one in tabs:
        one.close()


@pytest.fixture
def run():
    """Return a model with its page, and a way to learn batches."""
    model = ScStream(random_state=0)
    live = Live(Served(model, pause=0.0), Settings())

    def learn(X):
        scores = model.score_samples(X) if model.n_batches_ else None
        live.observe(model.partial_fit(X), scores, X)

    yield model, live, learn
    live.close()
