"""ScStream for river: one row at a time, or a data frame (needs ``scstream[river]``).

`StreamClusterer` is a clusterer of river, `StreamDetector` an anomaly detector. Rows are buffered
and learned in mini-batches; a label or a score uses what has been learned so far.
"""

try:
    import river as _river  # noqa: F401 - what is missing is named here
except ImportError as error:
    raise ImportError(
        "scstream.river needs river, which is not installed: pip install 'scstream[river]'"
    ) from error

from scstream.river.clusterer import StreamClusterer
from scstream.river.detector import StreamDetector

__all__ = ["StreamClusterer", "StreamDetector"]
