"""The examples of docs/merge.md in frameworks for streams, where these are installed."""

import importlib

import numpy as np
import pytest

import scstream
from scstream.datasets import gaussian_stream

pytestmark = pytest.mark.filterwarnings("ignore")  # those of the frameworks
BATCHES = [batch.X for batch in gaussian_stream(8, 1000, 4, 2, random_state=1)]


def test_a_combiner_of_apache_beam() -> None:
    beam = pytest.importorskip("apache_beam", reason="Apache Beam is not installed")

    class Clusters(beam.CombineFn):
        def create_accumulator(self):
            return scstream.ScStream(random_state=0).to_bytes()

        def add_input(self, state, X):
            return scstream.ScStream.from_bytes(state).partial_fit(X).to_bytes()

        def merge_accumulators(self, states):
            return scstream.merge(states).to_bytes()

        def extract_output(self, state):
            return scstream.ScStream.from_bytes(state).n_clusters_

    with beam.Pipeline(runner="DirectRunner") as pipeline:
        found = pipeline | beam.Create(BATCHES) | beam.CombineGlobally(Clusters())
        checked = importlib.import_module("apache_beam.testing.util")
        checked.assert_that(found, checked.equal_to([4]))


def test_messages_of_quix_streams() -> None:
    """Messages go through the data frame's steps as they do behind a broker."""
    quixstreams = pytest.importorskip("quixstreams", reason="Quix Streams is not installed")
    app = quixstreams.Application("localhost:1", consumer_group="clusters")
    buffer = scstream.Buffer(scstream.ScStream(random_state=0), batch_size=1000)

    def labelled(row):
        buffer.add(row)
        return {**row, "cluster": int(buffer.predict([row])[0])}

    topic = quixstreams.models.Topic("rows", create_config=quixstreams.models.TopicConfig(1, 1))
    rows = app.dataframe(topic).apply(labelled)
    out = [rows.test(dict(zip("xy", row, strict=True))) for X in BATCHES[:2] for row in X.tolist()]
    assert buffer.model.n_batches_ == 2
    labels = np.array([found[0][0]["cluster"] for found in out])
    assert set(labels[:999]) == {-1}
    assert set(labels[999:]) == {0, 1, 2, 3} == {one.id for one in buffer.model.clusters_}
