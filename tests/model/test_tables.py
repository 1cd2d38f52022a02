"""Tables: data frames of mixed columns, missing entries, names, and what is refused."""

import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score
from streams import snapshot

from scstream import Diagonal, Gaussian, Poisson, Product, Rules, ScStream

BLOCKS = {
    "diagonal": ["x", "y"],
    "poisson": ["clicks"],
    "categorical": ["country"],
    "bernoulli": ["member"],
}
COUNTRIES = np.array(["NL", "FR", "DE"], dtype=object)


def table(n, seed, missing=0.0):
    """Return columns of three kinds of visitors, and which each is."""
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    columns = {
        "x": rng.normal(4.0 * y),
        "y": rng.normal(-3.0 * (y == 1)),
        "clicks": rng.poisson(1 + 6 * (y == 2)),
        "country": COUNTRIES[(y + (rng.random(n) < 0.1)) % 3],
        "member": rng.random(n) < 0.2 + 0.7 * (y == 0),
    }
    if missing:
        columns = {
            name: np.where(rng.random(n) < missing, None, values.astype(object))
            for name, values in columns.items()
        }
    return columns, y


def numbers(columns):
    """Return the same table as a matrix of numbers, NaN for what is missing."""
    code = {name: float(i) for i, name in enumerate(COUNTRIES)} | {None: np.nan}
    country = np.array([code[v] for v in columns["country"]])
    rest = [np.array(columns[c], dtype=float) for c in ("x", "y", "clicks", "member")]
    return np.column_stack([*rest[:3], country, rest[3]])


FRAMES = {"pandas": pd.DataFrame, "polars": lambda columns: pl.DataFrame(columns, strict=False)}


@pytest.fixture(params=FRAMES)
def frame(request):
    return FRAMES[request.param]


@pytest.fixture(scope="module")
def learned():
    model = ScStream(Product(BLOCKS), random_state=0, max_sweeps=5)
    for seed in range(2):
        model.partial_fit(pd.DataFrame(table(500, seed)[0]))
    return model


# -- frames and arrays --------------------------------------------------------------------------


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_frames_of_any_make_and_arrays_give_the_same_labels(missing):
    batches = [table(200, seed, missing)[0] for seed in range(3)]
    by_number = Product({"diagonal": [0, 1], "poisson": [2], "categorical": [3], "bernoulli": [4]})
    made = {
        "pandas": (Product(BLOCKS), pd.DataFrame),
        "polars": (Product(BLOCKS), FRAMES["polars"]),
        "array": (by_number, numbers),
        "objects": (by_number, lambda c: np.array(list(c.values()), dtype=object).T),
    }
    labels = {}
    for name, (family, make) in made.items():
        model = ScStream(family, random_state=0, max_sweeps=6)
        found = [model.partial_fit(make(batch)).labels_ for batch in batches]
        labels[name] = np.concatenate([*found, model.predict(make(batches[0]))])
    for name in ("polars", "array", "objects"):
        np.testing.assert_array_equal(labels[name], labels["pandas"], err_msg=name)
    truth = np.concatenate([table(200, seed, missing)[1] for seed in (0, 1, 2, 0)])
    assert adjusted_rand_score(truth, labels["pandas"]) > (0.95 if missing == 0 else 0.8)


def test_blocks_may_take_columns_in_any_order_and_leave_some_out(frame):
    columns, y = table(300, 0)
    columns["note"] = np.array(["free text"] * 300, dtype=object)
    family = Product([("poisson", ["clicks"]), (Gaussian(), ["y", "x"])])
    model = ScStream(family, random_state=0).fit(frame(columns))
    assert adjusted_rand_score(y, model.labels_) > 0.9
    assert list(model.clusters_[0].columns) == ["x", "y", "clicks"]
    by_x = sorted(cluster.columns["x"]["mean"] for cluster in model.clusters_)
    np.testing.assert_allclose(by_x, [0.0, 4.0, 8.0], atol=0.3)


def test_clusters_carry_the_names_of_columns(learned):
    for cluster in learned.clusters_:
        assert list(cluster.columns) == ["x", "y", "clicks", "country", "member"]
        assert set(cluster.columns["x"]) == {"mean", "variance", "low", "high"}
        shares = cluster.columns["country"]["probabilities"]
        assert set(shares) == {"NL", "FR", "DE", "(other)"}
        assert sum(shares.values()) == pytest.approx(1.0)
        assert cluster.columns["clicks"]["rate"] == pytest.approx(cluster.rate[0])
    rates = sorted(cluster.columns["clicks"]["rate"] for cluster in learned.clusters_)
    np.testing.assert_allclose(rates, [1.0, 1.0, 7.0], atol=0.7)


def test_a_table_without_names_is_known_by_numbers():
    model = ScStream("poisson", random_state=0).fit(table(60, 0)[0]["clicks"][:, None])
    assert list(model.clusters_[0].columns) == [0]


def test_the_model_clones_pickles_and_goes_on(learned):
    again = pickle.loads(pickle.dumps(learned))
    batch = pd.DataFrame(table(80, 9)[0])
    np.testing.assert_array_equal(
        again.partial_fit(batch).labels_, copy.deepcopy(learned).partial_fit(batch).labels_
    )
    assert repr(clone(learned).family) == repr(learned.family)
    assert repr(learned.family) == f"Product({BLOCKS!r})"


DTYPES = {
    "pandas": lambda c: pd.DataFrame(c).astype(
        {"x": "Float64", "clicks": "Int64", "country": "category", "member": "boolean"}
    ),
    "pandas strings": lambda c: pd.DataFrame(c).astype(
        {"x": "float32", "y": "float64", "clicks": "float64", "country": "string"}
    ),
    "polars": lambda c: pl.DataFrame(
        {name: values.tolist() for name, values in c.items()},
        schema={
            "x": pl.Float64,
            "y": pl.Float64,
            "clicks": pl.Int32,
            "country": pl.Categorical,
            "member": pl.Boolean,
        },
    ),
}


@pytest.mark.parametrize("name", DTYPES)
def test_columns_of_every_type_are_read_with_their_gaps(name, capsys):
    columns, y = table(300, 0, missing=0.1)
    X = DTYPES[name](columns)
    model = ScStream("auto", random_state=0, verbose=True).fit(X)
    assert (
        "x, y as gaussian; clicks as negative-binomial; country as categorical; member as "
        "bernoulli." in capsys.readouterr().err
    )
    assert adjusted_rand_score(y, model.labels_) > 0.85
    assert set(model.clusters_[0].columns["country"]["probabilities"]) == {
        "NL", "FR", "DE", "(other)",
    }  # fmt: skip


# -- categories that come later -----------------------------------------------------------------


def test_a_category_that_comes_later_is_learned(learned):
    model = copy.deepcopy(learned)
    width = model.family_.prior.shape
    unseen, y = table(200, 5)
    unseen["country"] = np.where(y == 2, "BE", unseen["country"])
    assert adjusted_rand_score(y, model.predict(pd.DataFrame(unseen))) > 0.9
    for _ in range(3):
        model.partial_fit(pd.DataFrame(unseen))
    assert model.family_.prior.shape == width
    shares = [cluster.columns["country"]["probabilities"]["BE"] for cluster in model.clusters_]
    assert sorted(shares)[-1] > 0.5
    assert sorted(shares)[-2] < 0.05


def test_endless_new_categories_do_not_grow_the_model():
    model = ScStream("categorical", random_state=0, max_sweeps=3, rules=Rules(warmup_rows=0))
    rng = np.random.default_rng(0)
    sizes = []
    for b in range(12):
        words = np.array([f"word {b} {i}" for i in range(40)], dtype=object)
        X = np.column_stack([words, rng.choice(["p", "q"], 40).astype(object)])
        model.partial_fit(X, time=float(b if b < 8 else b + 10_000))  # and all is forgotten once
        sizes.append(len(model.family_.prior))
    assert len(set(sizes[:8])) == 1
    assert max(sizes) <= 1 + 1001 + (2 * 2 + 8 + 1)


# -- missing entries ----------------------------------------------------------------------------


@pytest.mark.parametrize("family", ["directional", "multinomial"])
def test_families_of_whole_rows_refuse_gaps_and_name_those_that_do_not(family, frame):
    columns = {"x": np.array([1.0, 2.0, 3.0]), "y": np.array([1.0, np.nan, 0.0])}
    for X in (frame(columns), np.column_stack(list(columns.values()))):
        with pytest.raises(
            ValueError, match=r"Column ('y'|1) contains NaN.*'diagonal'.*'gaussian'.*'spherical'"
        ):
            ScStream(family).fit(X)


def test_a_row_without_entries_gets_a_label_and_teaches_nothing(learned):
    model = copy.deepcopy(learned)
    empty = pd.DataFrame({name: [None] * 3 for name in table(1, 0)[0]})
    assert set(model.predict(empty)) <= {cluster.id for cluster in model.clusters_}
    np.testing.assert_allclose(model.score_samples(empty), 0.0, atol=1e-6)


# -- auto ---------------------------------------------------------------------------------------


def test_auto_reads_the_columns_and_says_what_it_chose(frame, capsys):
    columns, y = table(300, 0)
    columns["score"] = np.round(np.random.default_rng(1).normal(500.0, 50.0, 300))
    ScStream("auto", random_state=0, max_sweeps=1).fit(frame(columns))
    assert "auto" not in capsys.readouterr().err  # quiet unless asked
    model = ScStream("auto", random_state=0, verbose=True).fit(frame(columns))
    said = capsys.readouterr().err
    assert (
        "family='auto' takes x, y, score as gaussian; clicks as negative-binomial; country as "
        "categorical; member as bernoulli." in said
    )
    assert repr(model.family_) == (
        "Product({'gaussian': ['x', 'y', 'score'], 'negative-binomial': ['clicks'], "
        "'categorical': ['country'], 'bernoulli': ['member']})"
    )
    assert adjusted_rand_score(y, model.labels_) > 0.95


def test_auto_stays_with_what_it_chose_and_says_it_once(capsys):
    columns, _ = table(200, 0, missing=0.1)
    model = ScStream("auto", random_state=0, max_sweeps=3).partial_fit(pd.DataFrame(columns))
    chosen = "Product({'gaussian': ['x', 'y'], 'negative-binomial': ['clicks']"
    assert repr(model.family_).startswith(chosen)
    capsys.readouterr()
    model.partial_fit(pd.DataFrame(table(200, 1)[0]))
    assert "auto" not in capsys.readouterr().err
    assert model.n_batches_ == 2


# -- what is refused ----------------------------------------------------------------------------

DATE = np.array(["2020-01-01", "2020-01-02"] * 40, dtype="datetime64[D]")
BAD = {
    "text among numbers": ("x", np.array(["tall"] * 80, dtype=object), "could not .*'tall'.*categ"),
    "negative counts": ("clicks", np.full(80, -1), "-1: counts cannot be negative.*'gaussian'"),
    "fractions of counts": ("clicks", np.full(80, 1.5), "1.5: counts are whole.*'diagonal'"),
    "dates": ("x", DATE, "(could not convert|holds no numbers).*hour of the day"),
    "dates as categories": ("country", DATE, "date.*Turn it into such, or leave it out"),
    "fractions as categories": ("country", np.full(80, 0.5), "0.5: categories are words"),
    "numbers as truth": ("member", np.full(80, 7.0), "7: 'bernoulli' takes 0 and 1"),
    "infinity": ("y", np.full(80, np.inf), "contains infinity. Leave such rows out"),
}


@pytest.mark.parametrize("what", BAD)
def test_a_column_that_cannot_be_is_named_and_the_model_stays(learned, what, frame):
    name, values, match = BAD[what]
    columns, _ = table(80, 7)
    columns[name] = values
    model = copy.deepcopy(learned)
    before = snapshot(model)
    for use in (model.partial_fit, model.fit, model.predict, model.score_samples):
        with pytest.raises(ValueError, match=f"Column '{name}' .*{match}"):
            use(frame(columns))
    assert snapshot(model) == before
    good = pd.DataFrame(table(80, 8)[0])
    np.testing.assert_array_equal(
        model.partial_fit(good).labels_, copy.deepcopy(learned).partial_fit(good).labels_
    )


def test_text_in_a_frame_of_numbers_is_named(frame):
    X = frame({"x": np.arange(3.0), "size": np.array(["big", "small", "big"], dtype=object)})
    with pytest.raises(ValueError, match=r"Column 'size' holds no numbers.*'big'.*'categorical'"):
        ScStream().fit(X)


@pytest.mark.parametrize(("value", "match"), [(-1, "negative"), (0.5, "whole numbers")])
def test_columns_of_no_counts_are_named(value, match, frame):
    columns = {"tea": np.full(9, 2.0), "milk": np.full(9, float(value))}
    for family in ("multinomial", "poisson"):
        with pytest.raises(ValueError, match=f"Column 'milk' holds {value}: counts .*{match}"):
            ScStream(family).fit(frame(columns))
    with pytest.raises(ValueError, match=f"column 1 holds {value}"):
        ScStream("multinomial").fit(np.column_stack(list(columns.values())))


@pytest.mark.parametrize(
    "written",
    ["{},5", "€{},000.00", "-{}.25 kg", "{} %", "1'0{}'000", "2024-01-01 {:05}", "$ {}.00", "0{}"],
)
def test_numbers_written_as_text_are_called_that(written):
    """Data frames get such columns from files whose numbers were not recognised."""
    words = [written.format(i) for i in range(80)]
    words[3] = "N/A"
    with pytest.raises(ValueError, match=r"'b' holds text that looks like numbers .*into numbers"):
        ScStream("auto").fit(pd.DataFrame({"x": np.arange(80.0), "b": words}))


def test_names_of_rows_are_no_categories():
    X = pd.DataFrame({"x": np.arange(80.0), "user": [f"user {i}" for i in range(80)]})
    with pytest.raises(ValueError, match=r"Column 'user' looks like free text or an identifier"):
        ScStream("auto").fit(X)


@pytest.mark.parametrize(
    ("family", "match"),
    [
        (Product({}), "at least one block"),
        (Product({"poisson": []}), "at least one column"),
        (Product({"weibull": ["x"]}), "family must be one of .*got 'weibull'"),
        (Product({"poisson": ["z"]}), r"no column 'z'; the columns are \['x', 'y'"),
        (
            Product({"poisson": ["clicks"], "gaussian": ["x", "clicks"]}),
            "'clicks' is in two blocks",
        ),
        (Product({Poisson(mean=-1.0): ["clicks"]}), "mean must be positive"),
    ],
    ids=repr,
)
def test_impossible_products_are_refused(family, match):
    with pytest.raises(ValueError, match=match):
        ScStream(family).fit(pd.DataFrame(table(50, 0)[0]))


def test_blocks_cannot_change_within_a_stream(learned):
    model = copy.deepcopy(learned)
    model.set_params(family=Product({"diagonal": ["x"], "poisson": ["clicks"]}))
    with pytest.raises(ValueError, match="blocks of a Product cannot change"):
        model.partial_fit(pd.DataFrame(table(50, 0)[0]))


def test_other_columns_than_before_are_refused(learned):
    columns, _ = table(50, 0)
    del columns["clicks"]
    with pytest.raises(ValueError, match="learned from 'clicks', but the table has no such column"):
        copy.deepcopy(learned).partial_fit(pd.DataFrame(columns))


@pytest.mark.parametrize("family", ["gaussian", "diagonal", "auto"])
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_columns_are_put_in_the_order_of_the_first_batch(family, frame):
    rng = np.random.default_rng(0)
    batches = [dict(zip("abc", rng.normal(size=(3, 80)), strict=True)) for _ in range(3)]
    model = ScStream(family, random_state=0).partial_fit(frame(batches[0]))
    other = copy.deepcopy(model)
    for columns in batches[1:]:
        model.partial_fit(frame(columns))
        other.partial_fit(frame({name: columns[name] for name in "bca"}))
    assert list(other.feature_names_in_) == ["a", "b", "c"]
    X = frame({name: batches[2][name] for name in "cab"})
    for ask in ("predict", "score_samples"):
        assert_array_equal(getattr(other, ask)(X), getattr(model, ask)(frame(batches[2])))


def test_columns_that_the_model_does_not_know_are_left_out(learned):
    X = pd.DataFrame(table(50, 0)[0])
    with pytest.warns(UserWarning, match="learned without 'new': such columns are left out"):
        labels = learned.predict(X.assign(new=1.0))
    assert_array_equal(labels, learned.predict(X))


@pytest.mark.parametrize("family", ["diagonal", "poisson", "categorical"])
def test_tables_must_be_dense(family):
    with pytest.raises(TypeError, match=r"Sparse data was passed.*multinomial"):
        ScStream(family).fit(sparse.csr_array(np.eye(5)))


@pytest.mark.parametrize("X", [np.ones(5), np.ones((2, 2, 2)), np.ones((0, 2)), np.ones((5, 0))])
def test_what_is_no_table_is_refused(X):
    with pytest.raises(ValueError, match=r"2D array|dim 3|0 (sample|feature)"):
        ScStream(Diagonal()).fit(X)


@pytest.mark.parametrize("family", ["gaussian", "diagonal", "auto"])
def test_names_that_occur_twice_and_dictionaries_are_refused(family):
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 3)), columns=["a", "b", "c"])
    model = ScStream(family, random_state=0).fit(X)
    for use in (ScStream(family).fit, model.predict, model.partial_fit):
        with pytest.raises(ValueError, match=r"The column name 'a' occurs 2 times: give every"):
            use(X.set_axis(["a", "b", "a"], axis=1))
        for rows in (X.to_dict("records"), X.to_dict("list")):
            with pytest.raises(TypeError, match=r"dictionaries, not as a table: .*DataFrame"):
                use(rows)


# -- sparse counts ------------------------------------------------------------------------------


def newsgroups(n, d, seed=0):
    """Return rows of counts as compressed rows: 20 kinds of texts of about 60 words each."""
    rng = np.random.default_rng(seed)
    y = rng.integers(20, size=n)
    common = (1.0 / np.arange(1, d + 1)) / np.sum(1.0 / np.arange(1, d + 1))
    words = np.where(
        rng.random((n, 60)) < 0.5, rng.choice(d, (n, 60), p=common), (50 * y[:, None] + 7) % d
    )
    words = np.where(words % 50 == 7, words + rng.integers(40, size=(n, 60)), words) % d
    row = np.repeat(np.arange(n), 60)
    return sparse.csr_array((np.ones(60 * n), (row, words.ravel())), shape=(n, d)), y


@pytest.mark.parametrize(
    "d", [1000, pytest.param(20_000, marks=pytest.mark.slow)], ids="{:,} words".format
)
def test_sparse_counts_never_become_dense(d, monkeypatch):
    n = 18_846
    X, y = newsgroups(n, d)
    to_dense = sparse.csr_array.toarray

    def toarray(self, *args, **options):
        assert self.shape[0] < n / 10, "rows of the batch were made dense"
        return to_dense(self, *args, **options)

    for kind in (sparse.csr_array, sparse.csc_array, sparse.coo_array):
        monkeypatch.setattr(kind, "toarray", toarray)
        monkeypatch.setattr(kind, "todense", toarray)
    model = ScStream("multinomial", random_state=0, max_sweeps=1, sweeps=1)
    model.partial_fit(X[: n // 2], labels=y[: n // 2])
    model.partial_fit(X[n // 2 :])
    assert adjusted_rand_score(y[n // 2 :], model.labels_) > 0.9
    assert len(model.predict(X)) == len(model.score_samples(X)) == n
