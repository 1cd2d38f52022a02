"""
Faults in a stream of sensor readings
=====================================

How unlikely is each reading? Faults stand out.

::

    python examples/sensors.py

A machine runs in three states, and it warms up over the day. What is normal is not given: the
model learns it, follows the drift, and a reading far from everything seen lately stands out.
"""

import matplotlib.pyplot as plt
import numpy as np

from scstream import ScStream

STATES = np.array([[20.0, 1.0, 50.0], [60.0, 3.0, 80.0], [75.0, 6.0, 95.0]])  # idle, half, full
CALM = 10  # minutes without a fault at the start
MARGIN = 3.0  # an alarm is this much less likely, in nats, than anything in the minute before


def readings(minute, rng, n=120):
    """Return temperature, vibration and load (n, 3), and which readings are faults."""
    X = STATES[rng.integers(3, size=n)] + rng.normal(size=(n, 3)) * [1.0, 0.2, 2.0]
    X[:, 0] += 0.1 * minute  # the drift
    fault = np.zeros(n, dtype=bool)
    if minute >= CALM and minute % 7 == 0:
        fault[rng.choice(n, 3, replace=False)] = True
        X[fault, 1] += 4.0  # it shakes as it should not in any state
    return X, fault


def main(minutes=60, seed=0):
    rng = np.random.default_rng(seed)
    model = ScStream(random_state=seed)
    for minute in range(CALM):
        X, _ = readings(minute, rng)
        model.partial_fit(X)
    level = -model.score_samples(X).min() + MARGIN

    scores, faults = [], []
    for minute in range(CALM, minutes):
        X, fault = readings(minute, rng)
        score = -model.score_samples(X)  # before learning from the batch
        alarm = score > level
        for temperature, vibration, load in X[alarm]:
            print(
                f"minute {minute}: {temperature:.0f} degrees, vibration {vibration:.1f}, "
                f"load {load:.0f} %"
            )
        model.partial_fit(X[~alarm])  # a fault is not learned as a new normal
        level = score[~alarm].max() + MARGIN
        scores.append(score)
        faults.append(fault)
    score, fault = np.concatenate(scores), np.concatenate(faults)
    found = (score[fault] > score[~fault].max()).mean()
    print(f"{model.n_clusters_} states; {found:.0%} of {fault.sum()} faults score above all else")
    return model, score, fault


def draw(score, fault):
    """Draw the scores in the order of the readings, the faults in red."""
    ax = plt.subplots(figsize=(7.0, 3.0), layout="constrained")[1]
    number = np.arange(len(score))
    ax.plot(number[~fault], score[~fault], ".", markersize=3, color="#4477AA", label="normal")
    ax.plot(number[fault], score[fault], "x", color="#CC3311", label="fault")
    ax.set(xlabel="reading", ylabel="minus log density", yscale="symlog")
    ax.legend()


if __name__ == "__main__":
    draw(*main()[1:])
    plt.show()
