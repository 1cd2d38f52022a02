"""
Faults in a stream of sensor readings
=====================================

How unusual is each reading? Faults stand out, without a threshold in units of the data.

::

    python examples/sensors.py

A machine runs in three states, and it warms up over the day. What is normal is not given: the
model learns it and follows the drift. `anomaly` is the share of recent readings that were less
expected, so below 0.0001 are one ordinary reading in ten thousand, and the faults.
"""

import matplotlib.pyplot as plt
import numpy as np

from scstream import ScStream

STATES = np.array([[20.0, 1.0, 50.0], [60.0, 3.0, 80.0], [75.0, 6.0, 95.0]])  # idle, half, full
CALM = 10  # minutes without a fault at the start
ALARM = 1e-4  # a false alarm in ten thousand readings


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

    scores, faults = [], []
    for minute in range(CALM, minutes):
        X, fault = readings(minute, rng)
        score = model.anomaly(X)  # before learning from the batch
        alarm = score < ALARM
        for temperature, vibration, load in X[alarm]:
            print(
                f"minute {minute}: {temperature:.0f} degrees, vibration {vibration:.1f}, "
                f"load {load:.0f} %"
            )
        model.partial_fit(X[~alarm])  # a fault is not learned as a new normal
        scores.append(score)
        faults.append(fault)
    score, fault = np.concatenate(scores), np.concatenate(faults)
    found, false = (score[fault] < ALARM).sum(), (score[~fault] < ALARM).sum()
    print(f"{model.n_clusters_} states; {found} of {fault.sum()} faults; false alarms: {false}")
    return model, score, fault


def draw(score, fault):
    """Draw the scores in the order of the readings, the faults in red."""
    ax = plt.subplots(figsize=(7.0, 3.0), layout="constrained")[1]
    number = np.arange(len(score))
    ax.plot(number[~fault], score[~fault], ".", markersize=3, color="#4477AA", label="normal")
    ax.plot(number[fault], score[fault], "x", color="#CC3311", label="fault")
    ax.axhline(ALARM, color="#888888", linewidth=0.8)
    ax.set(xlabel="reading", ylabel="share that was less expected", yscale="log")
    ax.legend()


if __name__ == "__main__":
    draw(*main()[1:])
    plt.show()
