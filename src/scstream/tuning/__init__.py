"""Tuning: find settings for your stream on its first batches (``scstream[tune]``)."""

from scstream.tuning.result import Trial, TuningResult
from scstream.tuning.search import tune

__all__ = ["Trial", "TuningResult", "tune"]
