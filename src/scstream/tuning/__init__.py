"""Tuning: find settings for your stream on its first batches (``scstream[tune]``)."""

from scstream.tuning.result import Trial, TuningResult
from scstream.tuning.search import tune
from scstream.tuning.space import build, default_point, suggest

__all__ = ["Trial", "TuningResult", "build", "default_point", "suggest", "tune"]
