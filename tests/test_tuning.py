"""Tuning: what is tried, what is scored, and that the result is never worse than the start."""

import math
import sys

import numpy as np
import pytest
from scipy import sparse
from streams import blobs, counts

import scstream
from scstream import Gaussian, Multinomial, ScStream, tune
from scstream.datasets import gaussian_stream

optuna = pytest.importorskip("optuna", reason="Optuna is not installed")


def labelled(n, rows=120):
    return [blobs(rows, seed) for seed in range(n)]


def half_lives(trial, family, X):
    return {"half_life": trial.suggest_float("half_life", 0.05, 50.0, log=True)}


def test_a_bad_prior_is_left_behind() -> None:
    """Clusters expected as wide as everything: the given model finds one."""
    bad = ScStream(Gaussian(cov=400.0, cov_strength=1e4), random_state=0)

    def space(trial, family, X):
        cov = trial.suggest_float("cov", 0.1, 400.0, log=True)
        return {"family": Gaussian(cov=cov * np.eye(2))}

    found = tune(labelled(4), model=bad, n_batches=4, n_trials=6, space=space, random_state=0)
    assert found.objective == "ari"
    assert found.default_score < 0.1
    assert found.score > 0.9
    assert found.trials[0].settings == {}
    assert found.score == max(trial.score for trial in found.trials)
    model = found.best_model()
    assert model.n_batches_ == 0
    for X, _ in labelled(4):
        model.partial_fit(X)
    assert model.n_clusters_ == 3


def test_the_best_model_reaches_its_score() -> None:
    stream = labelled(3)
    found = tune(stream, n_batches=3, n_trials=3, random_state=1)
    again = scstream.evaluate.prequential(found.best_model(), stream)
    assert again.mean()["ari"] == found.score


def test_the_given_model_is_the_first_trial() -> None:
    found = tune(labelled(3), n_batches=3, n_trials=1, random_state=0)
    assert found.score == found.default_score
    plain = ScStream().get_params()
    tuned = found.best_model().get_params()
    assert {name for name in plain if plain[name] != tuned[name]} == {"random_state"}


def test_only_the_first_batches_are_taken() -> None:
    taken = []

    def spy():
        for b in range(20):
            taken.append(b)
            yield blobs(60, b)[0]

    stream = spy()
    tune(stream, n_batches=3, n_trials=2, random_state=0)
    assert taken == [0, 1, 2]
    next(stream)
    assert taken == [0, 1, 2, 3]


@pytest.mark.filterwarnings("ignore:Only .* of the weight of the last batch")
def test_without_labels_clusters_that_stay_are_remembered() -> None:
    """Few rows a batch: a model that forgets at once knows its clusters badly."""
    stream = [blobs(24, b)[0] for b in range(8)]
    hasty = ScStream(half_life=0.05, random_state=0)
    found = tune(stream, model=hasty, n_batches=8, n_trials=5, space=half_lives, random_state=0)
    assert found.objective == "log density"
    assert found.settings["half_life"] > 1.0
    assert found.score > found.default_score + 0.1


def test_without_labels_an_old_place_is_forgotten() -> None:
    """Clusters that leave where they were: a model that keeps everything is misled."""
    stream = [blobs(100, b)[0] + 3.0 * b for b in range(5)]
    keeper = ScStream(half_life=None, random_state=0)
    found = tune(stream, model=keeper, n_batches=5, n_trials=3, space=half_lives, random_state=0)
    assert found.settings["half_life"] < 50.0
    assert found.score > found.default_score + 0.3


@pytest.mark.parametrize("distance", [1e3, 1e9])
def test_an_outlier_does_not_decide(distance) -> None:
    """Under thin tails the log density of one row so far away would outweigh all others."""
    thin = ScStream(Gaussian(cov=1.0, cov_strength=1e4), alpha=1e-100, random_state=0)
    stream = [blobs(100, b)[0] for b in range(3)]
    clean = tune(stream, model=thin, n_trials=1)
    stream[-1] = np.vstack([stream[-1], [[distance, 0.0]]])
    soiled = tune(stream, model=thin, n_trials=1)
    assert 0.0 < clean.score - soiled.score < 0.7


@pytest.mark.parametrize("labels", [True, False])
def test_the_same_seed_finds_the_same(labels) -> None:
    stream = [(X, y if labels else None) for X, y in labelled(2, 60)]
    first, second = (tune(stream, n_batches=2, n_trials=4, random_state=3) for _ in range(2))
    assert first.settings == second.settings
    assert [t.score for t in first.trials] == [t.score for t in second.trials]
    other = tune(stream, n_batches=2, n_trials=4, random_state=4)
    assert [t.settings for t in first.trials] != [t.settings for t in other.trials]


def test_counts_in_compressed_rows() -> None:
    batches = [counts(80, b) for b in range(3)]
    stream = [(sparse.csr_array(X), y) for X, y in batches]
    bad = ScStream(Multinomial(1e6), random_state=0)

    def space(trial, family, X):
        return {"family": Multinomial(trial.suggest_float("concentration", 0.1, 10.0, log=True))}

    options = {"model": bad, "n_batches": 3, "n_trials": 3, "space": space, "random_state": 0}
    found = tune(stream, **options)
    assert found.default_score < 0.1
    assert found.score > 0.9
    unlabelled = tune([X for X, _ in stream], **options)
    assert unlabelled.score > unlabelled.default_score + 1.0


def test_times_are_the_unit_of_the_half_life() -> None:
    hour = 3600.0
    stream = [(*blobs(60, b), hour * b) for b in range(3)]
    found = tune(stream, n_batches=3, n_trials=5, random_state=0)
    tried = [trial.settings.get("half_life") for trial in found.trials[1:]]
    assert tried[0] == 5.0 * hour
    assert all(half_life is None or half_life >= 0.25 * hour for half_life in tried)


def test_a_stream_of_our_own_carries_labels_and_times() -> None:
    stream = gaussian_stream(n_batches=3, n_clusters=3, batch_size=100, random_state=0)
    assert tune(stream, n_trials=1, random_state=0).objective == "ari"


def test_a_model_that_cannot_be_is_a_failed_trial() -> None:
    def space(trial, family, X):
        return {"alpha": trial.suggest_float("alpha", -1.0, -0.5)}

    found = tune(labelled(2), n_batches=2, n_trials=3, space=space, random_state=0)
    assert [trial.error is None for trial in found.trials] == [True, False, False]
    assert "alpha must be a positive number" in found.trials[1].error
    assert math.isnan(found.trials[1].score)
    assert "failed" in found.table()
    assert found.settings == {}


def test_if_all_fail_it_says_why() -> None:
    broken = [np.full((30, 2), np.nan)] * 3
    with pytest.raises(ValueError, match=r"(?s)Every trial failed.*first batch is missing"):
        tune([(X, np.zeros(30, int)) for X in broken], n_trials=2)


@pytest.mark.filterwarnings("ignore:Only .* of the weight of the last batch")
def test_a_kernel_gives_way_to_a_half_life() -> None:
    asked = []

    def kernel(age: float) -> float:
        asked.append(age)
        return 1.0 / (1.0 + age) ** 4

    for n_trials in (1, 3):  # the first is the model as it was given
        asked.append(None)
        model = ScStream(kernel=kernel, random_state=0)
        found = tune(labelled(2), model=model, n_batches=2, n_trials=n_trials, space=half_lives)
        assert all(trial.error is None for trial in found.trials)
    of_one = asked.index(None, 1)
    assert of_one > 1
    assert len(asked) == 2 * of_one


def test_time_runs_out() -> None:
    found = tune(labelled(2), n_batches=2, n_trials=1000, timeout=0.2, random_state=0)
    assert 1 <= len(found.trials) < 1000


def test_progress(capsys) -> None:
    tune(labelled(2), n_batches=2, n_trials=2, random_state=0, verbose=True)
    lines = capsys.readouterr().err.splitlines()
    assert [line[: len("scstream: trial 1 of 2")] for line in lines] == [
        "scstream: trial 1 of 2",
        "scstream: trial 2 of 2",
    ]


def test_it_is_silent_unless_asked(capfd) -> None:
    tune(labelled(2), n_batches=2, n_trials=2, random_state=0)
    assert capfd.readouterr() == ("", "")


def test_without_optuna_the_error_names_the_extra(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(ImportError, match=r"pip install 'scstream\[tune\]'"):
        tune(labelled(2))


@pytest.mark.parametrize(
    ("batches", "options", "message"),
    [
        (labelled(1), {}, "at least 2 batches.*got 1"),
        (labelled(2), {"n_batches": 1}, "n_batches must be a whole number of at least 2"),
        (labelled(2), {"n_trials": 0}, "n_trials must be a whole number of at least 1"),
        ([np.zeros(5), np.zeros(5)], {}, r"Batch 0 must have rows and columns.*\(5,\)"),
        ([(1, 2, 3, 4)], {}, "Batch 0 has 4 parts"),
        ([blobs(9, 0), blobs(9, 1)[0]], {}, "all or none"),
    ],
)
def test_what_cannot_be_tuned(batches, options, message) -> None:
    with pytest.raises(ValueError, match=message):
        tune(batches, **options)


def test_a_family_that_the_first_batch_chooses_is_tuned_as_that(caplog):
    caplog.set_level("INFO", logger="scstream")
    X = [np.random.default_rng(b).normal(size=(80, 2)) for b in range(3)]
    model = ScStream("auto", random_state=0)
    found = tune(X, model=model, n_batches=3, n_trials=2, random_state=0)
    assert found.best_model().fit(X[0]).family_.name == "gaussian"
    assert "takes" in caplog.text
