"""The chronicle of a run: what the clusters were after each batch, in bounded memory.

It is written as JSON lines, one a batch behind a first line that says what it is, and can be read
while it is being written. `scstream.report` draws it.
"""

from scstream.chronicle.book import Chronicle, ChronicleError
from scstream.chronicle.moment import Moment
from scstream.chronicle.outline import QUANTILES, Outline, Score, Totals
from scstream.chronicle.reading import Rewritten

__all__ = [
    "QUANTILES",
    "Chronicle",
    "ChronicleError",
    "Moment",
    "Outline",
    "Rewritten",
    "Score",
    "Totals",
]
