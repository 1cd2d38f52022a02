"""Files that a run adds to: cut back to a checkpoint, and numbers that are written alike."""

import json

import numpy as np
import pytest

from scstream.sinks import open_sink
from scstream.sinks.files import AddedFile
from scstream.sources import Batch


def test_what_came_after_a_checkpoint_is_cut_off(tmp_path):
    # broken on purpose (the file is not cut): it fails
    path = tmp_path / "out"
    path.write_bytes(b"kept, and some more")
    file = AddedFile(path)
    file.truncate({"bytes": 4})
    file.close()
    assert path.read_bytes() == b"kept"


def test_a_file_that_lacks_one_byte_of_what_the_checkpoint_knows_is_refused(tmp_path):
    # broken on purpose (one byte less is taken): it fails
    path = tmp_path / "out"
    path.write_bytes(b"kep")
    with pytest.raises(ValueError, match="has 3 bytes, but the checkpoint knows of 4"):
        AddedFile(path).truncate({"bytes": 4})
    assert path.read_bytes() == b"kep"


def test_a_score_is_written_alike_beside_one_that_is_infinite(tmp_path):
    # broken on purpose (other decimals where numbers are written one by one): it fails
    found = []
    for last in (2.0, np.inf):
        sink = open_sink(tmp_path / "out.jsonl", fields=["score"], overwrite=True)
        sink.truncate({})
        sink.write(Batch(np.zeros((2, 1)), {}), {"score": np.array([1.23456789, last])})
        sink.close()
        found.append(json.loads((tmp_path / "out.jsonl").read_text().splitlines()[0])["score"])
    assert found == [1.2346, 1.2346]
