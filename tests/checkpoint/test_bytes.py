"""Models as bytes: they go on bit for bit, are small, and wrong ones are refused."""

import contextlib
import pickle
import zlib

import numpy as np
import pytest
from forging import mutated
from streams import blob_stream, box, snapshot

from scstream import CheckpointError, ScStream
from scstream.datasets import gaussian_stream

FAST = {"random_state": 0, "max_sweeps": 3}
BATCHES = [X for X, _ in blob_stream(6, 60, drift=0.3)]


def learned(n_batches: int, **options) -> ScStream:
    model = ScStream(**{**FAST, **options})
    for X in BATCHES[:n_batches]:
        model.partial_fit(X)
    return model


@pytest.mark.parametrize(
    "options",
    [{}, {"kernel": box}, {"outlier_weight": "auto"}, {"group_level": 0.3}, {"half_life": None}],
    ids=["plain", "kernel", "background", "groups", "never forgets"],
)
def test_a_model_from_bytes_goes_on_bit_for_bit(options) -> None:
    model = learned(3, **options)
    kernel = {"kernel": box} if "kernel" in options else {}
    twin = ScStream.from_bytes(model.to_bytes(), **kernel)
    np.testing.assert_array_equal(twin.score_samples(BATCHES[0]), model.score_samples(BATCHES[0]))
    for X in BATCHES[3:]:
        model.partial_fit(X)
        twin = ScStream.from_bytes(twin.partial_fit(X).to_bytes(), **kernel)
        np.testing.assert_array_equal(twin.predict(X), model.predict(X))
        assert twin.history_[-1] == model.history_[-1]
        assert twin.groups_ == model.groups_
        assert snapshot(twin.clusters_) == snapshot(model.clusters_)
    twin = ScStream.from_bytes(model.to_bytes(), **kernel)
    mine, theirs = (m.partial_fit(BATCHES[0] + 0.5)._learner for m in (model, twin))
    assert snapshot(mine.state) == snapshot(theirs.state)
    assert snapshot(mine.scores) == snapshot(theirs.scores)


def test_twenty_clusters_in_five_columns_take_twenty_kilobytes() -> None:
    model = ScStream(**FAST)
    for batch in gaussian_stream(40, 500, n_features=5, random_state=1):
        model.partial_fit(batch.X)
    assert model.n_clusters_ >= 20
    assert len(model.to_bytes()) <= 20_000
    large = gaussian_stream(41, 10_000, n_features=5, random_state=1)[40]
    model.partial_fit(large.X)  # its labels are not in them
    assert len(model.to_bytes()) <= 20_000


def test_bytes_of_a_file_and_of_a_model_that_learned_nothing_are_read(tmp_path) -> None:
    model = learned(2)
    model.save(tmp_path / "m")
    twin = ScStream.from_bytes((tmp_path / "m").read_bytes())
    np.testing.assert_array_equal(twin.labels_, model.labels_)
    assert ScStream.from_bytes(ScStream(alpha=2.0).to_bytes()).alpha == 2.0


def test_changing_what_was_read_does_not_change_the_model() -> None:
    model = learned(2)
    labels, data = model.labels_.copy(), model.to_bytes()
    ScStream.from_bytes(data).partial_fit(BATCHES[2])
    np.testing.assert_array_equal(model.labels_, labels)
    assert model.to_bytes() == data


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (b"", "the end is missing"),
        (b"id,x,y\n", "Not an scstream checkpoint"),
        (pickle.dumps({"a": 1}), "Not an scstream checkpoint"),
        (zlib.compress(b"id,x,y\n" * 20), "the header is missing"),
        (zlib.compress(bytes(2**26)), "more than 200 bytes for each"),
        (learned(1).to_bytes()[:-9], "the end is missing"),
        (learned(1).to_bytes() + b"x", "something was added"),
    ],
)
def test_bytes_that_are_no_model_are_refused(data, match) -> None:
    with pytest.raises(CheckpointError, match=match):
        ScStream.from_bytes(data)


def test_text_is_refused_by_its_type() -> None:
    with pytest.raises(TypeError, match="read from bytes; got str"):
        ScStream.from_bytes("model")


def test_forged_bytes_raise_nothing_else() -> None:
    """The envelope within is the one that `test_hostile` tests; here it comes compressed."""
    data, other = (zlib.decompress(learned(n).to_bytes()) for n in (1, 2))
    rng = np.random.default_rng(0)
    for i in range(150):
        forged = zlib.compress(mutated(data, other, rng))
        if i % 3 == 0:
            forged = bytearray(forged)
            forged[rng.integers(len(forged))] ^= int(rng.integers(1, 256))
        with contextlib.suppress(CheckpointError):
            ScStream.from_bytes(forged)
