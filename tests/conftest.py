"""Fixtures that several test modules share."""

import pytest

from scstream import learner


@pytest.fixture
def settled_at_once(monkeypatch):
    """Let the first batch of a stream be its start for good, however few its rows are."""
    monkeypatch.setattr(learner, "_SETTLED_ROWS", 0)
