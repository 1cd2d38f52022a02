"""The cluster model for BERTopic: what BERTopic reads from it is there and right."""

import numpy as np
import pytest
from sklearn.base import clone

from scstream import ScStream
from scstream.bertopic import TopicClusterer
from scstream.datasets import gaussian_stream


def batches():
    stream = gaussian_stream(n_batches=4, n_clusters=4, batch_size=300, box=8.0, random_state=4)
    return [batch.X for batch in stream]


@pytest.mark.parametrize("outlier_weight", [0.0, 0.05])
def test_probabilities_are_those_of_the_labels(outlier_weight):
    model = TopicClusterer(outlier_weight=outlier_weight, random_state=0)
    for X in batches():
        assert model.partial_fit(X, y=None) is model
        table = model.predict_proba(X)
        table = np.column_stack([table, 1.0 - table.sum(axis=1)])  # the outliers' share
        ids = [*(cluster.id for cluster in model.clusters_), -1]
        places = [ids.index(label) for label in model.labels_.tolist()]
        expected = table[np.arange(len(X)), places]
        np.testing.assert_allclose(model.probabilities_, expected, atol=1e-9)
        assert model.probabilities_.min() < 0.999  # clusters overlap: not all rows are sure


def test_it_clusters_as_scstream_does():
    for X in batches()[:2]:
        ours, plain = (kind(random_state=1).fit(X) for kind in (TopicClusterer, ScStream))
        np.testing.assert_array_equal(ours.labels_, plain.labels_)
        assert len(ours.probabilities_) == len(X)


def test_parameters_and_clones():
    model = TopicClusterer("gaussian", alpha=3.0, random_state=0)
    assert model.get_params() == ScStream("gaussian", alpha=3.0, random_state=0).get_params()
    assert not hasattr(clone(model.fit(batches()[0])), "probabilities_")


def test_a_batch_that_is_refused_changes_nothing():
    model = TopicClusterer(random_state=0).partial_fit(batches()[0])
    before = model.probabilities_
    with pytest.raises(ValueError, match="3 features"):
        model.partial_fit(np.zeros((5, 3)))
    assert model.probabilities_ is before


def test_bertopic_has_the_probabilities():
    bertopic = pytest.importorskip("bertopic", reason="BERTopic is not installed")
    from sklearn.decomposition import PCA
    from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer

    rng = np.random.default_rng(0)
    words = ["goal match team", "rate stock bank", "storm coast wind"]
    docs = [" ".join(rng.permutation((words[i % 3] + " day").split())) for i in range(300)]
    topics = bertopic.BERTopic(
        embedding_model=None,
        umap_model=PCA(n_components=3, random_state=0),
        hdbscan_model=TopicClusterer(random_state=0),
        vectorizer_model=CountVectorizer(),
    )
    embeddings = HashingVectorizer(n_features=64).transform(docs).toarray()
    embeddings += rng.normal(scale=0.01, size=embeddings.shape)
    found, probabilities = topics.fit_transform(docs, embeddings=embeddings)
    assert len(set(found)) == 3
    assert probabilities.shape == (300,)
    assert topics.get_document_info(docs)["Probability"].between(0.5, 1.0).all()
