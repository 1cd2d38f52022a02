"""
Topics of a stream of news
==========================

Topics appear and vanish, and their number is not given.

::

    python examples/topics.py

An online topic model in the four steps of BERTopic: embed the documents, reduce the embedding,
cluster, and describe each cluster by its typical words. ScStream is the cluster model.
"""

from collections import Counter

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from sklearn.random_projection import GaussianRandomProjection

from scstream import ScStream
from scstream.plot import plot_river

STORIES = {  # words of a story, and the hours in which it is told
    "football": (range(0, 24), "match goal team coach player league striker keeper penalty cup"),
    "markets": (
        range(0, 24),
        "shares bank investors profit bonds trading rates stocks dollar fund",
    ),
    "election": (
        range(0, 24),
        "parliament minister vote coalition party ballot poll senate speech",
    ),
    "storm": (range(5, 11), "storm flood rain wind coast damage rescue river evacuated shelter"),
    "space": (range(9, 24), "rocket launch orbit satellite crew capsule moon mission engine probe"),
}
COMMON = "said people today after first year new report week officials country city time"


def news(hour, rng, n=200):
    """Return the documents of an hour and what each is about."""
    told = [story for story, (hours, _) in STORIES.items() if hour in hours]
    about = rng.choice(told, n)
    docs = [
        " ".join([*rng.choice(STORIES[story][1].split(), 9), *rng.choice(COMMON.split(), 5)])
        for story in about
    ]
    return docs, about


class TopicModel:
    """An online topic model around any cluster model with ``partial_fit`` and ``labels_``."""

    def __init__(self, cluster_model, memory=0.7, seed=0):
        self.hashing = HashingVectorizer(n_features=4096, alternate_sign=False)
        # A fixed map: with one that is learned, old clusters would be left behind by new axes.
        self.reduce = GaussianRandomProjection(32, random_state=seed).fit(np.zeros((1, 4096)))
        self.cluster_model = cluster_model
        self.memory = memory
        self.words = {}  # topic -> how often each word was seen, older documents counting less
        self.split = CountVectorizer().build_analyzer()

    def partial_fit(self, docs):
        """Learn from a batch of documents; ``labels_`` are their topics, -1 for outliers."""
        self.cluster_model.partial_fit(self.embed(docs))
        self.labels_ = self.cluster_model.labels_
        for counts in self.words.values():
            for word in counts:
                counts[word] *= self.memory
        for topic, doc in zip(self.labels_.tolist(), docs, strict=True):
            self.words.setdefault(topic, Counter()).update(self.split(doc))
        return self

    def predict(self, docs):
        return self.cluster_model.predict(self.embed(docs))

    def embed(self, docs):
        return self.reduce.transform(self.hashing.transform(docs))

    def describe(self, topic, n=4):
        """Return a topic's words by class-based tf-idf: common in it, rare in the others."""
        everywhere = sum(self.words.values(), Counter())
        mean = sum(everywhere.values()) / len(self.words)
        weight = {w: f * np.log1p(mean / everywhere[w]) for w, f in self.words[topic].items()}
        return sorted(weight, key=weight.get, reverse=True)[:n]


def main(hours=24, seed=0):
    rng = np.random.default_rng(seed)
    model = TopicModel(ScStream(half_life=1, random_state=seed))
    before, history = set(), []
    for hour in range(hours):
        docs, about = news(hour, rng)
        model.partial_fit(docs)
        size = Counter(model.labels_.tolist())
        now = {topic for topic, n in size.items() if n >= 10}  # a few strays are not a topic
        for topic in sorted(now - before):
            print(f"{hour:02}:00  + topic {topic}: {' '.join(model.describe(topic))}")
        for topic in sorted(before - now):
            print(f"{hour:02}:00  - topic {topic}: {' '.join(model.describe(topic))}")
        before = now
        history.append((about, model.labels_))
    print(f"now: {', '.join(f'{topic} ({size[topic]} documents)' for topic in sorted(before))}")
    print(f"'moon rocket crew' is about topic {model.predict(['moon rocket crew'])[0]}")
    return model, history


def draw(history):
    """Draw how many documents each topic has in each hour."""
    sizes = [Counter(labels.tolist()) for _, labels in history]
    plot_river(range(len(sizes)), sizes, labels=("hour", "share of the documents"))


if __name__ == "__main__":
    draw(main()[1])
    plt.show()
