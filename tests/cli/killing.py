"""Runs a command over and over, killed each time at a random moment, until it ends by itself.

Everything is imported and compiled once; each attempt is a fork of this process, so that a kill
hits the run. An attempt is left in peace until it has written none, one or two checkpoints, and
is killed some milliseconds later, wherever it is then. So it comes about as far on a slow machine
as on a fast one. Prints how many attempts were killed, and at how many different checkpoints.
"""

import json
import os
import pathlib
import random
import signal
import sys
import tempfile
import time

import numpy as np

from scstream.cli import main

PATIENCE = 300.0  # seconds for a checkpoint


def warm_up():
    """Load all kernels, which every attempt then has."""
    with tempfile.TemporaryDirectory() as folder:
        rows = pathlib.Path(folder) / "rows.csv"
        np.savetxt(rows, np.random.default_rng(0).normal(size=(200, 2)), delimiter=",")
        argv = ["run", str(rows), "-o", f"{folder}/out.csv", "--quiet", "--batch-size", "50"]
        more = ["--family", "gaussian", "--n-jobs", "1", "--checkpoint", f"{folder}/state"]
        assert main([*argv, *more, "--events", f"{folder}/e", "--chronicle", f"{folder}/c"]) == 0


def newest(state):
    return max((file.name for file in state.glob("*.scstream")), default="")


def begin(argv, source):
    child = os.fork()
    if child == 0:
        status = 70
        try:
            if source is not None:
                os.dup2(os.open(source, os.O_RDONLY), 0)
            status = main(argv)
        finally:
            os._exit(status)
    return child


def ended(child, options):
    """Return whether the child ended by itself; anything but success or a kill is an error."""
    done, status = os.waitpid(child, options)
    if not done or os.WIFSIGNALED(status):
        return False
    assert os.waitstatus_to_exitcode(status) == 0, f"exit status {status}"
    return True


def attempt(argv, source, state, checkpoints, delay):
    """Return whether the command ended by itself before it was killed."""
    child = begin(argv, source)
    seen, last, limit = 0, newest(state), time.monotonic() + PATIENCE
    while seen < checkpoints:
        if ended(child, os.WNOHANG):
            return True
        assert time.monotonic() < limit, "no checkpoint is written"
        now = newest(state)
        seen, last = seen + (now != last), now
    time.sleep(delay)
    os.kill(child, signal.SIGKILL)
    return ended(child, 0)


def killed(job, state):
    chance = random.Random(job["seed"])
    stood = set()
    for done in range(job["kills"]):
        checkpoints, delay = chance.randrange(3), chance.uniform(0.0, 0.05)
        if attempt(job["argv"], job["stdin"], state, checkpoints, delay):
            return done, len(stood)
        stood.add(newest(state))
    last = begin(job["argv"], job["stdin"])
    if job.get("last"):
        end_at(last, state, job["last"])
    else:
        assert ended(last, 0)
    return job["kills"], len(stood)


def end_at(child, state, checkpoint):
    """Ask a run that would go on forever to stop, once a checkpoint is there."""
    limit = time.monotonic() + PATIENCE
    while newest(state) != checkpoint:
        assert time.monotonic() < limit, "the last checkpoint is not written"
        time.sleep(0.01)
    os.kill(child, signal.SIGTERM)
    status = os.waitpid(child, 0)[1]
    assert os.waitstatus_to_exitcode(status) == 128 + signal.SIGTERM


if __name__ == "__main__":
    warm_up()
    job = json.loads(sys.argv[1])
    print(*killed(job, pathlib.Path(job["state"])))
