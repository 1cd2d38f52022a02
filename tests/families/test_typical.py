"""What is said of a cluster's columns lies within what these columns held."""

import json

import numpy as np
import pandas as pd
import pytest

from examples import example_rows
from scstream import ScStream
from scstream.cli import main
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
        rows = example_rows(name, rng)
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


def odd_tables(rng, n):
    """Return tables that people have, each with clusters or a row unlike all others."""
    z = rng.integers(3, size=n)
    real, counts = rng.normal(5.0 * z), rng.poisson(3.0 + 20.0 * z).astype(float)
    wide = np.exp(rng.normal(3.0 * z, 2.0))
    return {
        "log-normal": {"a": wide, "b": 1e-9 * wide[::-1], "c": 1e9 + wide, "d": real},
        "zeros": {
            "a": np.where(rng.random(n) < 0.8, 0.0, np.round(wide, 2)),
            "b": np.where(rng.random(n) < 0.5, 0.0, -wide),
            "c": real,
        },
        "one huge count": {"a": np.where(np.arange(n) == n // 2, 1e7, counts), "b": counts[::-1]},
        "shares": dict(zip("abc", rng.dirichlet([0.3, 2.0, 5.0], n).T, strict=True)),
        "per cent": {"a": rng.beta(0.3, 0.3, n), "b": rng.beta(5.0, 1.0 + z)},
        "days": {"a": 20_000.0 + rng.integers(300, size=n), "b": 1.7e9 + 864e2 * counts, "c": real},
        "constants": {"a": np.full(n, 7.3), "b": np.zeros(n), "c": np.full(n, -1e12), "d": real},
        "flags": {"a": rng.random(n) < 0.1 + 0.3 * z, "b": rng.random(n) < 0.01, "c": z < 9},
        "clusters of a row": {
            "a": np.append([1e4, 5e5], rng.normal(size=n - 2)),
            "b": np.append([-1e4, 1.0], rng.normal(size=n - 2)),
        },
        "gaps": {"a": np.where(rng.random(n) < 0.9, np.nan, wide), "b": real},
        "one row": {"a": wide[:1], "b": real[:1], "c": counts[:1]},
    }


TABLES = list(odd_tables(np.random.default_rng(0), 10))
KINDS = ["auto", *(name for name in BY_NAME if name not in ("multinomial", "directional"))]
SLOW = [
    pytest.param(k, marks=[] if k in ("auto", "count-shares") else pytest.mark.slow) for k in KINDS
]


@pytest.mark.parametrize("family", SLOW)
@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.filterwarnings("ignore")
def test_places_of_odd_tables_are_within_what_was_seen(kind, family, rng, tmp_path, capsys):
    parts = [pd.DataFrame(odd_tables(rng, 150)[kind]) for _ in range(2)]
    model, frame = ScStream(family, random_state=0, max_sweeps=5), pd.concat(parts)
    refused = () if family == "auto" else ValueError  # any table is fit for that alone
    try:
        model.partial_fit(parts[0]).partial_fit(parts[1])
    except refused:
        return
    check(model, frame)
    shown = model.summary()
    for name in frame:
        known = model.clusters_[0].columns.get(name, {})
        if NUMBERS & known.keys() and shown[name].dtype.kind == "f":
            assert shown[name].dropna().between(frame[name].min(), frame[name].max()).all()
    assert model.sample(5)[0].shape == (5, frame.shape[1])
    model.save(tmp_path / "m.scstream")
    assert main(["show", str(tmp_path / "m.scstream"), "--json"]) == 0
    for cluster in json.loads(capsys.readouterr().out)["clusters"]:
        for name, about in cluster["columns"].items():
            places = [about[key] for key in NUMBERS & about.keys() if about[key] is not None]
            assert all(frame[name].min() <= place <= frame[name].max() for place in places)
