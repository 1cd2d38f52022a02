"""Fixtures that several test modules share."""

import pytest

from scstream.sampler import warmup


@pytest.fixture
def settled_at_once(monkeypatch):
    """Let the first batch of a stream be its start for good, however few its rows are."""
    monkeypatch.setattr(warmup, "_SETTLED_ROWS", 0)
