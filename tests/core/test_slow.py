"""The plain core says once that the other one would be faster."""

import pytest

from scstream import ScStream, core
from scstream.core import plain, slow


@pytest.fixture
def on_plain(monkeypatch, caplog):
    """Return the messages of a process with no other core, where every batch is slow."""
    monkeypatch.delenv("SCSTREAM_CORE", raising=False)
    monkeypatch.setattr(core, "_core", plain)
    monkeypatch.setattr(slow, "_said", [])
    monkeypatch.setattr(slow, "_SLOW", 0.0)
    return caplog


def test_the_first_slow_batch_says_what_would_be_faster(on_plain):
    model = ScStream(random_state=0)
    for _ in range(2):
        model.partial_fit([[0.0, 0.1], [0.2, 0.0], [5.0, 5.1]])
    told = [text for text in on_plain.messages if "plain core" in text]
    assert len(told) == 1
    assert "C++ compiler" in told[0]
    assert [r.levelname for r in on_plain.records if "plain core" in r.getMessage()] == ["WARNING"]


@pytest.mark.parametrize("why", ["quick", "chosen", "native"])
def test_nothing_is_said_without_need(on_plain, monkeypatch, why):
    if why == "quick":
        monkeypatch.setattr(slow, "_SLOW", 0.5)
    elif why == "chosen":
        monkeypatch.setenv("SCSTREAM_CORE", "plain")
    else:
        monkeypatch.setattr(core, "name", lambda: "native")
    slow.tell_if_slow(0.4)
    assert on_plain.messages == []
