"""What is said of a cluster's columns lies within what these columns held."""

import numpy as np
import pandas as pd
import pytest

from scstream import ScStream
from scstream.families import BY_NAME


@pytest.fixture
def rng():
    return np.random.default_rng(7)


NUMBERS = {"mean", "median", "low", "high", "rate", "common_value"}
NUMBERS |= {f"other_{name}" for name in NUMBERS}


def check(model, frame):
    """Assert that all places lie between the least and the largest number of their column."""
    for cluster in model.clusters_:
        for name, about in cluster.columns.items():
            x = np.asarray(frame[name], dtype=float) if NUMBERS & about.keys() else []
            for key in NUMBERS & about.keys():
                assert np.nanmin(x) <= about[key] <= np.nanmax(x), (name, key, about)
            if "low" in about:
                assert about["low"] <= about.get("median", about.get("mean", about["low"]))
                assert about["low"] <= about["high"]


@pytest.mark.parametrize("name", BY_NAME)
def test_places_of_every_family_are_within_what_was_seen(name, rng):
    for _ in range(3):
        family = BY_NAME[name]()
        rows = np.concatenate([np.asarray(part) for part in family.example(rng)])
        if name == "directional":
            rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        if name == "multinomial":
            continue  # shares of a row
        frame = pd.DataFrame(rows).rename(columns=str)
        model = ScStream(family, random_state=0, max_sweeps=10)
        check(model.partial_fit(frame.iloc[::2]).partial_fit(frame.iloc[1::2]), frame)


def amounts(rng, n, spread):
    """Return a table as people have them: skewed amounts, clock times, many gaps and zeros."""
    z = rng.integers(3, size=n)
    budget = np.exp(rng.normal(10.0 + 3.0 * z, spread))
    clock = 100.0 * np.floor(rng.uniform(0, 24, n)) + np.floor(rng.uniform(0, 60, n))
    frame = pd.DataFrame(
        {
            "budget": np.where(rng.random(n) < 0.9, np.nan, np.minimum(budget, 2e8)),
            "gross": np.where(rng.random(n) < 0.3, 0.0, budget),
            "debt": -budget,
            "arr_time": np.where(rng.random(n) < 0.02, np.nan, clock + 1.0),
            "pages": 1.0 + np.floor(rng.exponential(5.0**z)),
            "rating": rng.uniform(1.0, 10.0, n),
            "year": 1950.0 + rng.integers(60, size=n),
            "capped": np.minimum(rng.normal(4.0 * z, spread), 5.0),
        }
    )
    return frame.loc[rng.permutation(n)]


@pytest.mark.parametrize("spread", [0.3, 4.0])
@pytest.mark.parametrize("family", ["auto", "hurdle", "gaussian"])
def test_places_of_skewed_amounts_are_within_what_was_seen(family, spread, rng, tmp_path):
    frame = amounts(rng, 300, spread)
    model = ScStream(family, random_state=0, max_sweeps=5)
    for rows in np.array_split(np.arange(300), 3):
        model.partial_fit(frame.iloc[rows])
    check(model, frame)
    model.save(tmp_path / "m.scstream")
    again = ScStream.load(tmp_path / "m.scstream")
    assert [c.columns for c in again.clusters_] == [c.columns for c in model.clusters_]
    check(again.partial_fit(frame.iloc[:300]), frame)


def test_medians_of_skewed_amounts_are_those_of_the_rows(rng):
    z = rng.integers(2, size=4000)
    spent = np.exp(rng.normal(2.0 + 8.0 * z, 1.5))
    spent[rng.random(4000) < 0.3] = 0.0
    frame = pd.DataFrame({"spent": spent, "x": rng.normal(9.0 * z)})
    model = ScStream("auto", random_state=0).fit(frame)
    labels = model.predict(frame)
    for cluster in model.clusters_:
        own, about = spent[labels == cluster.id], cluster.columns["spent"]
        if len(own) > 500:
            assert about["median"] == pytest.approx(np.median(own), rel=0.3)
            assert about["other_median"] == pytest.approx(np.median(own[own > 0]), rel=0.2)
            low, high = np.quantile(own, [0.16, 0.84])
            assert about["low"] == pytest.approx(low, abs=1e-9)
            assert about["high"] == pytest.approx(high, rel=0.3)
