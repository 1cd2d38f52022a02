"""The examples run, and show what they say."""

import importlib.util
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from scstream import ScStream
from scstream.metrics import adjusted_rand_index

FOLDER = Path(__file__).parents[1] / "examples"
pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason="the examples are not here")


def load(name):
    spec = importlib.util.spec_from_file_location(f"example_{name}", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_example_is_in_the_list_and_tested_here():
    listed = (FOLDER / "README.md").read_text()
    tested = Path(__file__).read_text()
    for program in FOLDER.glob("*.py"):
        assert f"[{program.name}]" in listed
        assert f'load("{program.stem}")' in tested


def test_topics_appear_and_vanish(capsys):
    topics = load("topics")
    model, history = topics.main(hours=18)
    told = capsys.readouterr().out
    for about, labels in history[14:]:  # the storm is over, the rocket has been news for a while
        names = np.unique(about, return_inverse=True)[1]
        assert adjusted_rand_index(names, labels) > 0.9
    lead = {hour: main_topic(history[hour], "storm") for hour in (7, 8, 9)}
    assert len(set(lead.values())) == 1  # one story, one label
    storm = lead[7]
    assert f"+ topic {storm}: " in told
    assert f"- topic {storm}: " in told
    assert set(model.describe(storm)) <= set(topics.STORIES["storm"][1].split())
    last = history[-1]
    assert {main_topic(last, story) for story in ("football", "markets", "election")} == {
        main_topic(history[2], story) for story in ("football", "markets", "election")
    }
    rocket = main_topic(last, "space")
    assert model.predict(["moon rocket crew"])[0] == rocket


def main_topic(hour, story):
    """Return the label that most documents of a story have."""
    about, labels = hour
    return Counter(labels[about == story].tolist()).most_common(1)[0][0]


def test_faults_of_a_sensor_stand_out(capsys):
    model, score, fault = load("sensors").main(minutes=30)
    assert fault.sum() == 9
    assert score[fault].max() < score[~fault].min()
    assert model.n_clusters_ == 3
    out = capsys.readouterr().out
    assert out.count("minute ") >= 9
    assert "9 of 9 faults" in out


def test_kinds_of_orders_are_told_apart(capsys):
    _, agreement = load("mixed_table").main(days=4)
    assert agreement > 0.9
    assert "voucher: probability" in capsys.readouterr().out


def test_streams_of_eight_shapes():
    pytest.importorskip("river", reason="river is not installed")
    plt = pytest.importorskip("matplotlib.pyplot", reason="Matplotlib is not installed")
    found = load("eight_streams").main(shapes=("still", "drifting"))
    plt.close("all")
    assert len(found) == 10
    assert found["still", "ScStream"] > 0.95
    assert found["drifting", "ScStream"] > 0.95


def test_a_pipeline_of_river(capsys):
    pytest.importorskip("river", reason="river is not installed")
    agreement, model, rows = load("river_pipeline").main(n_batches=4)
    assert agreement > 0.9
    assert rows.shape[1] == model.n_features_in_
    assert "clusters" in capsys.readouterr().out


# -- what an online topic model asks of its cluster model --------------------------------------


def documents(hour):
    return load("topics").news(hour, np.random.default_rng(hour))[0]


def test_the_protocol_of_an_online_topic_model():
    embed = load("topics").TopicModel(None).embed
    model = ScStream(random_state=0, outlier_weight=0.01)
    for hour in range(3):
        X = embed(documents(hour))
        assert model.partial_fit(X, y=None) is model  # y is passed and means nothing
        assert model.labels_.shape == (len(X),)  # of the last batch
        assert np.issubdtype(model.labels_.dtype, np.integer)
        assert model.labels_.min() >= -1
        np.testing.assert_array_equal(model.predict(X), model.labels_)
    rng = np.random.default_rng(9)
    odd = [" ".join(f"word{i}" for i in rng.integers(500, size=14)) for _ in range(50)]
    assert (model.predict(embed(odd)) == -1).mean() > 0.8  # about nothing that is told here


def test_bertopic_takes_it_as_its_cluster_model():
    bertopic = pytest.importorskip("bertopic", reason="BERTopic is not installed")
    from bertopic.vectorizers import OnlineCountVectorizer
    from sklearn.decomposition import IncrementalPCA

    embed = load("topics").TopicModel(None).embed
    model = bertopic.BERTopic(
        embedding_model=None,
        umap_model=IncrementalPCA(n_components=8),
        hdbscan_model=ScStream(random_state=0),
        vectorizer_model=OnlineCountVectorizer(decay=0.1),
    )
    for hour in range(3):
        docs = documents(hour)
        model.partial_fit(docs, embeddings=embed(docs))
        assert len(model.topics_) == len(docs)
    assert len(model.get_topic_info()) >= 3
