"""What is said of rows that count less than others."""

from __future__ import annotations

from scstream.sampler.alike import Alike
from scstream.support.messages import note


def say_repeated() -> None:
    """Say what rows count that came before."""
    note(
        "nearly all rows of this batch came before. Several passes over a data set count as one; "
        "Rules(watched_batches=0) takes all rows for new ones.",
        shown=True,
    )


def say_alike(alike: Alike) -> None:
    """Say what rows count that resemble the row before."""
    note(
        "successive rows are alike: within a cluster the deviation of a row has a correlation of "
        f"{alike.likeness.correlation:.2f} with that of the next. So each counts as "
        f"{alike.weight:.2g} of a row; Rules(alike=1) takes rows for independent, and rows that "
        "come with sample_weight count what that says.",
        shown=True,
    )
