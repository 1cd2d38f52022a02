"""One model in several threads and processes, and its copies: nothing is lost or shared."""

import copy
import os
import threading

import numpy as np
import pytest
from streams import blobs

from scstream import ScStream
from scstream.support.turns import turn_of

BATCHES = [blobs(60, seed)[0] for seed in range(40)]


def test_no_batch_is_lost_that_another_thread_gives():
    model = ScStream(random_state=0, max_sweeps=5).partial_fit(blobs(300, 99)[0])

    def learn(some):
        for X in some:
            model.partial_fit(X)

    threads = [threading.Thread(target=learn, args=(BATCHES[i::2],)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert model.n_batches_ == len(model.history_) == 41


@pytest.mark.parametrize("wrong", [np.full((3, 2), np.inf), np.zeros((3, 5))])
def test_who_predicts_never_meets_a_model_that_failed_to_learn(wrong):
    model = ScStream(random_state=0, max_sweeps=5).partial_fit(BATCHES[0])
    right, held = model.predict(BATCHES[1]), model.__dict__
    before = dict(held)
    with pytest.raises(ValueError, match=r"infinity|5 features"):
        model.partial_fit(wrong)
    assert model.__dict__ is held
    assert all(held[name] is before[name] for name in (*held, *before))
    assert np.array_equal(model.predict(BATCHES[1]), right)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_new_process_does_not_wait_for_a_thread_that_stayed_behind():
    model = ScStream(random_state=0, max_sweeps=5).partial_fit(BATCHES[0])
    held, done = threading.Event(), threading.Event()

    def hold():
        with turn_of(model):
            held.set()
            done.wait(30)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(30)
    child = os.fork()
    if child == 0:
        free = turn_of(model).acquire(timeout=5)
        os._exit(0 if free else 1)
    assert os.waitpid(child, 0)[1] == 0
    done.set()
    thread.join()


def test_a_shallow_copy_has_a_history_of_its_own():
    model = ScStream(random_state=0, max_sweeps=5).partial_fit(BATCHES[0])
    other = copy.copy(model).partial_fit(BATCHES[1])
    assert (len(model.history_), len(other.history_)) == (1, 2)
