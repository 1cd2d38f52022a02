"""A service on a free port."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from serving import batches

from scstream import ScStream
from scstream.families.columns import Columns

pytest.importorskip("starlette", reason="Starlette is not installed")
pytest.importorskip("uvicorn", reason="uvicorn is not installed")
pytest.importorskip("prometheus_client", reason="prometheus_client is not installed")

from scstream.service.live import Live
from scstream.service.served import Served
from scstream.service.settings import Settings


@pytest.fixture(scope="module")
def model() -> ScStream:
    """Return a model that has learned four batches."""
    model = ScStream(random_state=0)
    for X in batches():
        model.partial_fit(X)
    return model


@pytest.fixture(scope="module")
def named() -> ScStream:
    """Return a model of columns that it knows by name: two of numbers, one of words."""
    model = ScStream(random_state=0, family="auto")
    for X in batches():
        words = np.where(X[:, 0] > 0, "high", "low").astype(object)
        model.partial_fit(Columns([X[:, 0], X[:, 1], words], ["a", "b", "c"], len(X)))
    return model


@pytest.fixture
def start() -> Iterator[Callable[..., Live]]:
    """Return a way to start services, which end with the test."""
    started: list[Live] = []

    def begin(served: Served, **settings: Any) -> Live:
        started.append(Live(served, Settings(**settings)))
        return started[-1]

    yield begin
    for live in started:
        live.close()
