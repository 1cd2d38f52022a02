"""Tuning: find settings for your stream on its first batches (``scstream[tune]``)."""

from scstream.tuning.search import Trial, TuningResult, tune

__all__ = ["Trial", "TuningResult", "tune"]
