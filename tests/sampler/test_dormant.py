"""Clusters that were forgotten and come back: they get their ids again, and nobody else does."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.metrics import normalized_mutual_info_score

from scstream import Rules, ScStream

RNG = np.random.default_rng
PLACES = 15.0 * np.array([[i, j] for i in range(3) for j in range(2)], dtype=float)
AWAY = 60  # batches: twelve half-lives


def rows(batch, alive, n=300, places=PLACES):
    rng = RNG(batch)
    y = rng.choice(alive, size=n)
    return places[y] + rng.normal(size=(n, places.shape[1])), y


def learn(model, batches, alive, places=PLACES):
    """Learn some batches, and return the truth and the labels of all."""
    y, z = [], []
    for b in batches:
        X, truth = rows(b, alive, places=places)
        y.append(truth)
        z.append(model.partial_fit(X).labels_)
    return np.concatenate(y), np.concatenate(z)


def away(model, places=PLACES, alive=(0, 1, 2)):
    """Let the last three of six clusters be away for long."""
    first = learn(model, range(10), [0, 1, 2, 3, 4, 5], places)
    second = learn(model, range(10, 10 + AWAY), list(alive), places)
    assert model.n_clusters_ == 3
    return first, second


@pytest.mark.parametrize(
    ("family", "seed"),
    [
        *(("gaussian", seed) for seed in range(3)),
        *(("diagonal", 0), ("spherical", 1)),
        *(
            pytest.param(family, seed, marks=pytest.mark.slow)
            for family, seed in (
                ("diagonal", 1),
                ("diagonal", 2),
                ("spherical", 0),
                ("spherical", 2),
            )
        ),
    ],
)
def test_those_who_come_back_get_their_ids_again(family, seed):
    model, told = ScStream(family, random_state=seed), []
    first, second = away(model)
    model.set_params(on_event=told.append)
    third = learn(model, range(80, 95), [0, 1, 2, 3, 4, 5])
    y, z = (np.concatenate(parts) for parts in zip(first, second, third, strict=True))
    assert normalized_mutual_info_score(y, z) > 0.99  # without: 0.9
    assert len([event for event in told if event.kind == "return"]) == 3
    late = np.concatenate([z[-600:], first[1]])  # the last batches, and the first
    assert len(np.unique(late)) == len(np.unique(first[1]))
    assert all(c.born == 0.0 for c in model.clusters_)


def learn_in_turns(turns, length, random_state, places=PLACES):
    """Return the ids of each place, one list a turn: those that are there in turn take turns."""
    model, ids = ScStream(random_state=random_state), {c: [] for turn in turns for c in turn}
    for t, alive in enumerate(turns):
        y, z = learn(model, range(length * t, length * (t + 1)), list(alive), places)
        for c in alive:
            ids[c].append(set(z[y == c].tolist()))
    return ids


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("length", [5, 50])
def test_clusters_that_take_turns_keep_their_ids(length, seed):
    """By day and night: the others may be remembered still, or forgotten by then."""
    ids = learn_in_turns([(0, 3), (2, 5), (0, 3), (2, 5)], length, seed)
    assert all(first == later for first, later in ids.values())
    assert len(set.union(*(own for turns in ids.values() for own in turns))) == 4


@pytest.mark.parametrize(
    ("seed", "places"), [(0, PLACES), (1, PLACES), (2, 8.0 * np.eye(8))], ids=["2-D", "2-D", "8-D"]
)
def test_clusters_that_come_one_after_another_have_ids_of_their_own(seed, places):
    """A file that is sorted by class, twice."""
    ids = learn_in_turns([(c,) for c in (0, 3, 4, 1, 0, 3, 4, 1)], 10, seed, places)
    assert all(first == later for first, later in ids.values())
    assert len(set.union(*(own for turns in ids.values() for own in turns))) == 4


@pytest.mark.parametrize("shift", [4.0, 7.0])
@pytest.mark.parametrize("seed", range(5))
def test_who_is_born_beside_an_old_place_is_somebody_else(shift, seed):
    model = ScStream(random_state=seed)
    away(model)
    old = {i for record in model.history_ for i in record.births}
    moved = PLACES.copy()
    moved[3:] += shift * np.array([np.cos(seed), np.sin(seed)])
    learn(model, range(80, 85), [0, 1, 2, 3, 4, 5], moved)
    assert not any(record.returns for record in model.history_)
    assert len(set(model.labels_.tolist()) - old) == 3


@pytest.mark.parametrize("family", ["gaussian", "diagonal", "spherical"])
def test_they_are_known_again_after_the_model_has_begun_anew_elsewhere(family):
    """Two long pauses: the stream goes on far away, in other units as it were, and comes back."""
    model, ids = ScStream(family, random_state=0), []
    for visit, (alive, shift) in enumerate([([0, 1, 2], 0.0), ([3, 4], 3e3), ([0, 1, 2], 0.0)]):
        for b in range(5):
            X, y = rows(10 * visit + b, alive)
            model.partial_fit(X + shift, time=1e5 * visit + b)
        ids.append({t: set(model.labels_[y == t].tolist()) for t in alive})
    assert ids[2] == ids[0]
    assert set.union(*ids[0].values()).isdisjoint(set.union(*ids[1].values()))
    assert all(len(own) == 1 for visit in ids for own in visit.values())


def test_counts_come_back_too():
    p = RNG(0).dirichlet(np.full(12, 0.3), size=4)

    def counts(batch, alive):
        rng = RNG(batch)
        return rng.multinomial(40, p[rng.choice(alive, size=200)])

    model = ScStream("multinomial", random_state=0)
    for b in range(10):
        model.partial_fit(counts(b, [0, 1, 2, 3]))
    ids = set(model.labels_.tolist())
    for b in range(10, 80):
        model.partial_fit(counts(b, [0, 1]))
    for b in range(80, 84):
        model.partial_fit(counts(b, [0, 1, 2, 3]))
    assert set(model.labels_.tolist()) == ids


def test_no_more_are_remembered_than_a_rule_says():
    model = ScStream(random_state=0, half_life=1.0, rules=Rules(dormant=4))
    for b in range(60):
        centre = 40.0 * (b // 12)
        X = RNG(b).normal(size=(200, 2))
        X[:, 0] += centre
        X[:100, 1] += 30.0
        model.partial_fit(X)
    dormant = model._learner.dormant
    assert len(dormant.ids) == len(dormant.sums) == 4
    assert set(dormant.ids.tolist()).isdisjoint(model._learner.state.ids.tolist())
    born = [i for record in model.history_ for i in record.births]
    assert dormant.ids.tolist() == sorted(dormant.ids.tolist())  # the latest are remembered
    assert dormant.ids.min() > min(born)


def test_they_are_kept_in_checkpoints(tmp_path):
    model = ScStream(random_state=0)
    away(model)
    assert len(model._learner.dormant.ids) == 3
    model.save(tmp_path / "model.scs")
    loaded = ScStream.load(tmp_path / "model.scs")
    for b in range(80, 84):
        X, _ = rows(b, [0, 1, 2, 3, 4, 5])
        assert_array_equal(loaded.partial_fit(X).labels_, model.partial_fit(X).labels_)
    assert loaded.history_ == model.history_
    assert sum(len(record.returns) for record in loaded.history_) == 3
