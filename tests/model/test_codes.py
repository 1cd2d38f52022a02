"""Numbers that stand for missing ones: the warning, who gets none, and that its advice helps."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score
from streams import CORNERS

from scstream import ScStream
from scstream.estimator.codes import code_in


def with_codes(seed, code, share=0.05, n=600):
    """Return rows of a few clusters, some of whose numbers were not known, and the clusters."""
    rng = np.random.default_rng(seed)
    y = rng.integers(len(CORNERS), size=n)
    X = CORNERS[y] + rng.normal(size=(n, 2))
    X[rng.random(X.shape) < share] = code
    return pd.DataFrame(X, columns=["heat", "load"]), y


def learned(code):
    model, scores = ScStream(random_state=0), []
    for seed in range(4):
        X, y = with_codes(seed, code)
        scores.append(adjusted_rand_score(y, model.partial_fit(X).labels_))
    return float(np.mean(scores))


def test_the_warning_comes_once_and_its_advice_helps() -> None:
    with pytest.warns(UserWarning, match="stands for a missing number") as told:
        before = learned(-999.0)
    (warning,) = told
    assert warning.filename == __file__
    message = str(warning.message)
    assert message.startswith("Column 'heat' holds -999 in ")
    assert "So does another." in message
    assert "na_values=[-999]" in message
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        after = learned(np.nan)
    assert after > before + 0.02


@pytest.mark.parametrize("share", [0.03, 0.2])
def test_of_a_mixed_table_the_column_is_named(share):
    """Also where the code is so common that its rows are no cluster."""
    X, y = with_codes(0, -999.0, share=share)
    table = X.assign(kind=np.array(["a", "b", "c", "d", "e"])[y % 5], load=X["load"].clip(-99.5))
    with pytest.warns(UserWarning, match="Column 'heat' holds -999 in [0-9.]+% of the rows"):
        ScStream("auto").fit(table[["kind", "load", "heat"]])


NO_CODES = {
    "nobody far away": np.append(np.random.default_rng(1).normal(900.0, 60.0, 500), [999.0] * 9),
    "a cluster far away": np.append(np.random.default_rng(2).normal(size=500), [-1000.0] * 30),
    "numbers about it": np.append(np.random.default_rng(3).normal(size=500), [-999.0, -998.5] * 9),
    "most of them": np.append(np.random.default_rng(4).normal(size=20), [-999.0] * 30),
    "once": np.append(np.random.default_rng(5).normal(size=500), -999.0),
    "nothing else": np.full(50, 99.0),
    "two numbers": np.repeat([0.0, 99.0], [40, 10]),
    "none": np.zeros(0),
    "no numbers": np.full(30, np.nan),
}


@pytest.mark.parametrize("column", NO_CODES.values(), ids=NO_CODES.keys())
def test_other_columns_have_none(column):
    assert code_in(column) == (0.0, 0.0)
