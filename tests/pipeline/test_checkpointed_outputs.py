"""What a checkpoint says of outputs is on the disk before the checkpoint is."""

import numpy as np

from scstream import ScStream
from scstream.pipeline import run
from scstream.sinks.base import Sink
from scstream.sources import SourceOptions, open_source


class Watched(Sink):
    """A sink that takes down what is asked of it."""

    def __init__(self):
        self.asked = []

    def truncate(self, place):
        self.asked.append("truncate")

    def place(self):
        self.asked.append("place")
        return {}

    def sync(self):
        self.asked.append("sync")

    def write(self, batch, found):
        self.asked.append("write")


def test_outputs_are_synced_after_the_last_row_and_before_the_checkpoint(tmp_path):
    # broken on purpose (outputs are not synced): it fails
    np.save(tmp_path / "rows.npy", np.random.default_rng(0).normal(size=(250, 2)))
    watched = Watched()
    with open_source(tmp_path / "rows.npy", SourceOptions(50)) as source:
        run(
            source,
            ScStream(random_state=0),
            {"out": watched},
            checkpoint=tmp_path / "kept",
            every=2,
        )
    every_two = ["write", "write", "sync", "place"]
    assert watched.asked == ["truncate", *every_two, *every_two, "write", "sync", "place"]
