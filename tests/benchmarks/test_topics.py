"""The stream of real texts, and how new themes are counted as found."""

import numpy as np

from benchmarks.topics import BATCHES, THEMES, is_found, stream, texts


def test_documents_come_once_and_in_the_batches_of_their_themes():
    themes = np.arange(5000) % len(THEMES)
    batches = list(stream(themes, seed=0))
    rows = np.concatenate(batches)
    assert len(batches) == BATCHES
    assert len(set(rows.tolist())) == len(rows) > 2500
    for i, (_, first, last) in enumerate(THEMES.values()):
        inside = [at for at, batch in enumerate(batches) if np.any(themes[batch] == i)]
        assert inside == list(range(first, last + 1))


def test_texts_are_prose():
    found = list(texts("email"))
    assert len(found) > 20
    assert not [text for text in found if ">>>" in text or not 15 <= len(text.split()) <= 80]


def test_a_theme_is_found_by_new_topics_of_its_own():
    old, y = (np.array([0, 0]), np.array([1, 1])), np.array([0, 0, 2, 2, 2])
    cases = {
        (1, 1, 5, 5, 5): True,
        (1, 1, 1, 5, 6): True,  # most of its documents, in two new topics
        (1, 1, 1, 1, 1): False,  # in an old topic
        (5, 5, 5, 5, 5): True,  # mostly its own
        (5, 5, 5, 5, 1): False,  # half of the topic is another theme
        (1, 1, 1, 1, 5): False,  # a third of its documents
    }
    for z, expected in cases.items():
        late = [old, old, old, old, (y, np.array(z))]
        assert is_found([old, (y, np.array(z))], 2, 1) is expected, z
        assert not is_found(late, 2, 1)  # after three batches
