"""Tables in other containers than arrays and data frames, and what holds no rows at all."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from streams import blobs

from scstream import ScStream

X, _ = blobs(120, 0)
GAPS = np.where(np.random.default_rng(0).random(X.shape) < 0.05, np.nan, X)


def arrow(rows, batch=False):
    pa = pytest.importorskip("pyarrow", reason="PyArrow is not installed")
    table = pa.table({"x": pa.array(rows[:, 0], from_pandas=True), "y": rows[:, 1]})
    return table.to_batches()[0] if batch else table


def masked(rows):
    """Return the rows with numbers that mean nothing where entries are missing."""
    hidden = np.isnan(rows)
    return np.ma.masked_array(np.where(hidden, 999.0, rows), mask=hidden)


KINDS = {
    "masked": masked,
    "fields": lambda rows: np.rec.fromarrays(rows.T, names="x,y"),
    "masked fields": lambda rows: np.ma.masked_array(
        np.rec.fromarrays(np.nan_to_num(rows).T, names="x,y"), [tuple(r) for r in np.isnan(rows)]
    ),
    "arrow": arrow,
    "arrow batch": lambda rows: arrow(rows, batch=True),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("family", ["gaussian", "auto"])
def test_missing_entries_are_missing_in_every_table(kind, family):
    table = KINDS[kind](GAPS)
    right = ScStream(family, random_state=0, max_sweeps=5).partial_fit(GAPS)
    model = ScStream(family, random_state=0, max_sweeps=5).partial_fit(table)
    assert_array_equal(model.labels_, right.labels_)
    assert_array_equal(model.predict(table), right.predict(GAPS))
    assert_array_equal(model.score_samples(table), right.score_samples(GAPS))


def test_categories_of_arrow_are_words():
    pa = pytest.importorskip("pyarrow", reason="PyArrow is not installed")
    words = np.where(np.arange(120) % 3, "a", None)
    table = pa.table({"x": X[:, 0], "word": pa.array(words.tolist()).dictionary_encode()})
    frame = {"x": X[:, 0], "word": words}
    right = ScStream("auto", random_state=0, max_sweeps=5).partial_fit(pd.DataFrame(frame))
    model = ScStream("auto", random_state=0, max_sweeps=5).partial_fit(table)
    assert model.clusters_[0].columns["word"] == right.clusters_[0].columns["word"]
    assert_array_equal(model.labels_, right.labels_)


def lazy():
    return pytest.importorskip("polars", reason="Polars is not installed").DataFrame(X).lazy()


@pytest.mark.parametrize(
    ("make", "match"),
    [(lazy, "X.collect()"), (lambda: iter(X), "an iterator"), (lambda: "a.csv", "'a.csv', not row"),
     (lambda: Path("a.csv"), "Read the file first")],
)  # fmt: skip
def test_what_has_no_rows_is_refused_in_words(make, match):
    model = ScStream(random_state=0, max_sweeps=5)
    with pytest.raises(TypeError, match=match):
        model.partial_fit(make())
    model.partial_fit(X)
    with pytest.raises(TypeError, match=match):
        model.predict(make())


def test_auto_takes_sparse_counts_for_rows_of_words(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=120)
    X = sparse.csr_array(rng.multinomial(30, rng.dirichlet(np.full(20, 0.3), 2)[y]))
    model = ScStream("auto", random_state=0).partial_fit(X)
    assert_array_equal(model.labels_, ScStream("multinomial", random_state=0).fit_predict(X))
    model.save(tmp_path / "model")
    loaded = ScStream.load(tmp_path / "model").partial_fit(X)
    assert_array_equal(loaded.labels_, model.partial_fit(X).labels_)
    with pytest.raises(TypeError, match="Weights such as tf-idf are not counts"):
        ScStream("auto").fit(0.5 * X)
