"""Checkpoints: every kind of model comes back, goes on bit for bit, and old formats are read."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from problems import PlainPoisson
from scipy import sparse
from sklearn.exceptions import NotFittedError
from streams import blob_stream, blobs, box, counts, hyperbola, snapshot

from examples import example
from scstream import (
    Bernoulli,
    Categorical,
    Diagonal,
    Directional,
    Exponential,
    Family,
    Gamma,
    Gaussian,
    Multinomial,
    Poisson,
    Product,
    Rules,
    ScStream,
    Spherical,
)
from scstream.checkpoint import (
    UnsupportedCheckpointError,
    envelope,
    read,
    register_family,
    registry,
)
from scstream.families import BY_NAME

DATA = Path(__file__).parents[1] / "data"
GOLDEN = [*BY_NAME, "auto"]
FAST = {"random_state": 0, "max_sweeps": 3}


def examples(name, n_batches: int, times: int = 2) -> list[np.ndarray]:
    """Return batches of a family's example."""
    rng = np.random.default_rng(3)
    return [
        np.concatenate([rows for _ in range(times) for rows in example(name, rng)])
        for _ in range(n_batches)
    ]


def tables(n_batches: int) -> list[pd.DataFrame]:
    """Return batches of columns of several kinds; words come that were not there before."""
    rng = np.random.default_rng(4)
    out = []
    for b in range(n_batches):
        y = rng.integers(2, size=60)
        out.append(
            pd.DataFrame(
                {
                    "x": rng.normal(7.0 * y),
                    "clicks": rng.poisson(2 + 9 * y),
                    "tree": np.where(rng.random(60) < 0.9, np.array(["ash", "oak"])[y], f"new {b}"),
                    "yes": rng.random(60) < 0.2 + 0.6 * y,
                    "wait": rng.gamma(2.0, 1.0 + 8.0 * y),
                    "left out": "?",
                }
            )
        )
        out[-1].loc[3, "clicks"] = np.nan
    return out


TABLES = tables(4)
MIXED = Product(
    [
        ("gaussian", ["x"]),
        (Poisson(mean=5.0), ["clicks"]),
        ("categorical", ["tree"]),
        ("bernoulli", ("yes",)),
        (Gamma(shape=2.0), ["wait"]),
    ]
)
BLOBS = [X for X, _ in blob_stream(4, 60)]
FEW = [X for X, _ in blob_stream(4, 5)]
WORDS = [sparse.csr_array(counts(60, seed)[0]) for seed in range(4)]
FEW_WORDS = [sparse.csr_array(counts(4, seed)[0]) for seed in range(4)]
GIVEN = {
    "gaussian": Gaussian(mean=[0.0, 1.0], mean_strength=0.5, cov=np.eye(2), cov_strength=5),
    "diagonal": Diagonal(mean=0.0, mean_strength=0.1, variance=(1.0, 2.0), variance_strength=4.0),
    "spherical": Spherical(mean=np.array([0.0, 0.0]), variance=1.5),
    "directional": (Directional(concentration=40.0, mean_strength=0.2), Directional),
    "multinomial": (Multinomial(concentration=[1.0, 2.0, 1.0, 0.5]), Multinomial),
    "poisson": (Poisson(mean=4.0, strength=1.0), Poisson),
    "bernoulli": (Bernoulli(mean=0.5, strength=2.0), Bernoulli),
    "categorical": (Categorical(concentration=0.7, max_categories=6), Categorical),
    "gamma": (Gamma(shape=2.0, mean=9.0, strength=1.0), Gamma),
    "exponential": (Exponential(mean=9.0, strength=1.0), Exponential),
}

# What a model is made from, and the batches of its stream.
MODELS: dict[str, tuple[dict, list]] = {
    **{name: ({"family": name}, examples(name, 4)) for name in BY_NAME},
    **{
        f"{name} given": (
            ({"family": given[0]}, examples(given[1].name, 4))
            if isinstance(given, tuple)
            else ({"family": given}, BLOBS)
        )
        for name, given in GIVEN.items()
    },
    "product": ({"family": MIXED}, TABLES),
    "product of numbers": (
        {"family": Product({"gaussian": [0], "diagonal": [1]})},
        BLOBS,
    ),
    "auto": ({"family": "auto"}, TABLES),
    "words": ({"family": "categorical"}, [frame[["tree", "yes"]] for frame in TABLES]),
    "frame": ({}, [pd.DataFrame(X, columns=["a", "b"]) for X in BLOBS]),
    "sparse": ({"family": "multinomial"}, WORDS),
    "early": ({}, FEW),
    "early sparse": ({"family": "multinomial"}, FEW_WORDS),
    "early missing": ({"family": "diagonal"}, [np.where(X > 12.0, np.nan, X) for X in FEW]),
    "early product": ({"family": MIXED}, [frame[:4] for frame in TABLES]),
    "never forgets": ({"half_life": None}, BLOBS),
    "box": ({"kernel": box}, BLOBS),
    "hyperbola": ({"kernel": hyperbola}, BLOBS),
    "early box": ({"kernel": box}, FEW),
    "outliers": ({"outlier_weight": 0.05}, BLOBS),
    "bounded": ({"max_clusters": np.int64(2), "alpha": np.float32(0.5), "n_jobs": 1}, BLOBS),
    "generator": ({"random_state": np.random.default_rng(5)}, BLOBS),
    "philox": ({"random_state": np.random.Generator(np.random.Philox(5))}, BLOBS),
    "sfc": ({"random_state": np.random.Generator(np.random.SFC64(5))}, BLOBS),
    "dxsm": ({"random_state": np.random.Generator(np.random.PCG64DXSM(5))}, BLOBS),
    "twister": ({"random_state": np.random.Generator(np.random.MT19937(5))}, BLOBS),
    "legacy": ({"random_state": np.random.RandomState(5)}, BLOBS),
    "no seed": ({"random_state": None}, BLOBS),
}


def learned(name: str, n_batches: int) -> tuple[ScStream, list]:
    """Return a model after some of its batches, and the rest."""
    options, batches = MODELS[name]
    model = ScStream(**{**FAST, **options})
    for X in batches[:n_batches]:
        model.partial_fit(X)
    return model, batches[n_batches:]


def loaded(model: ScStream, path: Path, **options) -> ScStream:
    if isinstance(model.kernel, type(box)):
        options = {"kernel": model.kernel, **options}
    return ScStream.load(path, **options)


def assert_same_model(mine: ScStream, theirs: ScStream, X) -> None:
    """Check that all that is seen of two models is the same, to the last bit."""
    assert mine.history_ == theirs.history_
    assert snapshot(mine.clusters_) == snapshot(theirs.clusters_)
    assert snapshot(mine.prior_) == snapshot(theirs.prior_)
    for name in ("labels_", "sublabels_"):
        np.testing.assert_array_equal(getattr(mine, name), getattr(theirs, name))
    for method in ("predict", "predict_proba", "score_samples"):
        np.testing.assert_array_equal(getattr(mine, method)(X), getattr(theirs, method)(X))
    shared = ("n_batches_", "n_clusters_", "time_", "n_features_in_")
    assert all(getattr(mine, name) == getattr(theirs, name) for name in shared)
    assert list(getattr(mine, "feature_names_in_", [])) == list(
        getattr(theirs, "feature_names_in_", [])
    )


# -- the same model -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
def test_a_loaded_model_goes_on_bit_for_bit(name, tmp_path, capsys) -> None:
    model, rest = learned(name, 2)
    model.save(tmp_path / "model.scs")
    twin = loaded(model, tmp_path / "model.scs")
    assert_same_model(twin, model, rest[0])
    for X in rest:
        model.partial_fit(X)
        twin.partial_fit(X)
        np.testing.assert_array_equal(twin.labels_, model.labels_)
        np.testing.assert_array_equal(twin.sublabels_, model.sublabels_)
        assert twin.events_ == model.events_
    assert_same_model(twin, model, rest[0])
    assert snapshot(twin._learner) == snapshot(model._learner)


@pytest.mark.parametrize("name", ["gaussian", "product", "early", "generator", "sparse"])
def test_saving_again_writes_the_same_bytes(name, tmp_path) -> None:
    model, _ = learned(name, 2)
    for path in ("one", "two"):
        model.save(tmp_path / path)
    loaded(model, tmp_path / "one").save(tmp_path / "three")
    first, second, third = ((tmp_path / p).read_bytes() for p in ("one", "two", "three"))
    assert first == second == third


CHILD = """
import sys
import numpy as np
from scstream import ScStream
for path in sys.argv[1:]:
    model = ScStream.load(path)
    for X in np.load(path + ".npy"):
        model.partial_fit(X)
    model.save(path + ".child")
"""


def test_a_loaded_model_goes_on_bit_for_bit_in_another_process(tmp_path) -> None:
    names = ["gaussian", "categorical", "product of numbers", "early", "outliers"]
    paths = []
    for name in names:
        model, rest = learned(name, 2)
        paths.append(str(tmp_path / name))
        model.save(paths[-1])
        np.save(f"{paths[-1]}.npy", np.stack(rest))
        for X in rest:
            model.partial_fit(X)
        model.save(f"{paths[-1]}.here")
    subprocess.run([sys.executable, "-c", CHILD, *paths], check=True, timeout=300)
    for path in paths:
        here, child = (Path(f"{path}.{who}").read_bytes() for who in ("here", "child"))
        assert here == child, path


@pytest.mark.parametrize("n_records", [3, 8])
def test_a_window_of_many_records_is_saved(n_records, tmp_path) -> None:
    model = ScStream(kernel=hyperbola, **FAST)
    batches = [X for X, _ in blob_stream(n_records + 3, 60, drift=0.3)]
    for X in batches[:n_records]:
        model.partial_fit(X)
    model.save(tmp_path / "m")
    twin = ScStream.load(tmp_path / "m", kernel=hyperbola)
    assert len(twin._learner.state.window.times) == n_records
    for X in batches[n_records:]:
        model.partial_fit(X), twin.partial_fit(X)
    assert snapshot(twin._learner) == snapshot(model._learner)


def test_it_can_be_saved_between_any_two_batches(tmp_path) -> None:
    """Clusters are born, split, merge and die on the way, and time jumps."""
    rng = np.random.default_rng(0)
    centres = rng.uniform(-20, 20, (6, 2))
    one, two = (ScStream(**FAST) for _ in range(2))
    time = 0.0
    for b in range(14):
        X = blobs(80 if b % 4 else 7, b, centres[b % 3 : b % 3 + 2 + b % 2] + 0.4 * b)[0]
        time += [1.0, 0.1, 7.0, 40.0][b % 4]
        X = X[:0] if b == 9 else X
        one.partial_fit(X, time=time)
        two.partial_fit(X, time=time)
        two.save(tmp_path / "m")
        two = ScStream.load(tmp_path / "m")
        assert_same_model(two, one, centres)
    assert one.history_[-1].n_clusters > 0
    happened = {kind for record in one.history_ for kind in ("births", "deaths", "splits")
                if getattr(record, kind)}  # fmt: skip
    assert happened == {"births", "deaths", "splits"}


def test_a_model_that_learned_nothing_is_saved_too(tmp_path) -> None:
    rng = np.random.default_rng(3)
    model = ScStream(Gaussian(cov=1.0), alpha=2.0, random_state=rng, max_sweeps=4)
    model.save(tmp_path / "m")
    twin = ScStream.load(tmp_path / "m")
    assert repr(twin.family) == "Gaussian(cov=1.0)"
    assert (twin.alpha, twin.n_batches_) == (2.0, 0)
    with pytest.raises(NotFittedError):
        twin.predict(BLOBS[0])
    np.testing.assert_array_equal(twin.fit(BLOBS[0]).labels_, model.fit(BLOBS[0]).labels_)
    assert snapshot(twin.random_state) == snapshot(rng)


def test_every_parameter_but_functions_comes_back(tmp_path) -> None:
    given = {
        "family": "poisson", "alpha": 3, "half_life": None, "epsilon": 1e-6, "sweeps": 2,
        "max_sweeps": 7, "max_clusters": 9, "splits": False, "merges": True,
        "outlier_weight": 0.125, "random_state": 2**70, "n_jobs": 2, "verbose": True,
        "group_level": 0.25,
        "rules": Rules(neighbours=4, keep_shares=(1.0, 0.5), follow=False),
    }  # fmt: skip
    ScStream(**given, engine="auto", device="cpu", on_event=print).save(tmp_path / "m")
    not_kept = {"kernel": None, "on_event": None, "engine": "cpu", "device": None}
    assert ScStream.load(tmp_path / "m").get_params() == {**given, **not_kept}


def test_the_output_format_comes_back(tmp_path) -> None:
    model = ScStream(**FAST).set_output(transform="pandas").fit(BLOBS[0])
    model.save(tmp_path / "m")
    out = ScStream.load(tmp_path / "m").transform(BLOBS[0])
    pd.testing.assert_frame_equal(out, model.transform(BLOBS[0]))


def test_a_subclass_loads_as_one(tmp_path) -> None:
    class Own(ScStream):
        pass

    ScStream(**FAST).fit(BLOBS[0]).save(tmp_path / "m")
    assert type(Own.load(tmp_path / "m")) is Own


def test_a_prepared_family_may_be_the_parameter(tmp_path) -> None:
    for name in ("gaussian", "product"):
        source, rest = learned(name, 2)
        model = ScStream(source.family_, **FAST).partial_fit(rest[0])
        model.save(tmp_path / "m")
        twin = ScStream.load(tmp_path / "m")
        assert snapshot(twin.family) == snapshot(model.family)
        assert_same_model(twin.partial_fit(rest[1]), model.partial_fit(rest[1]), rest[0])


@pytest.mark.parametrize(
    "family",
    [
        Diagonal(mean=pd.Series([0.0, 1.0]), variance=np.float32(1.5)),
        Diagonal(mean=np.array([0, 1], dtype=">i4"), variance=(np.int8(1), 2)),
        Product({"gaussian": np.array([0]), Spherical(mean=0.0): range(1, 2)}),
        Product([("gaussian", pd.Index([0])), ("diagonal", np.int64(1))]),
        Product([("gaussian", 0), ("diagonal", {1})]),
    ],
)
def test_arguments_of_families_may_be_anything_like_numbers_and_lists(family, tmp_path) -> None:
    model = ScStream(family, **FAST).partial_fit(BLOBS[0])
    model.save(tmp_path / "m")
    twin = ScStream.load(tmp_path / "m")
    for X in BLOBS[1:3]:
        model.partial_fit(X), twin.partial_fit(X)
        np.testing.assert_array_equal(twin.labels_, model.labels_)
    assert snapshot(twin._learner.state) == snapshot(model._learner.state)
    np.testing.assert_array_equal(twin.score_samples(X), model.score_samples(X))


@pytest.mark.parametrize("name", [*BY_NAME, "product"])
def test_all_that_a_family_knows_is_saved(name, tmp_path) -> None:
    model, _ = learned(name, 1)
    model.save(tmp_path / "m")
    family = ScStream.load(tmp_path / "m").family_
    assert snapshot(family) == snapshot(model.family_)


def test_the_layout_of_arrays_in_memory_is_kept(tmp_path) -> None:
    """A sum over another layout may round differently."""
    base = np.random.default_rng(0).normal(size=(3, 4, 5, 2))
    arrays = [
        base,
        base.T,
        base.transpose(1, 0, 3, 2),
        base.transpose(1, 2, 3, 0),  # not undone by the same exchange
        base[:, ::2],
        base[..., 0],
        base[0, 0, 0, 0],
    ]
    arrays = [np.asarray(a) for a in arrays] + [np.zeros((0, 3)), np.array([True, False, True])]
    envelope.write(tmp_path / "f", {}, arrays)
    for mine, theirs in zip(envelope.read(tmp_path / "f")[1], arrays, strict=True):
        np.testing.assert_array_equal(mine, theirs)
        assert mine.dtype == theirs.dtype
        assert mine.flags.writeable
        if mine.size > 0:
            assert np.argsort(mine.strides).tolist() == np.argsort(theirs.strides).tolist()


# -- beside the model ---------------------------------------------------------------------------

EXTRA = {"place": {"offset": 2**40, "topic": "a \u00e9 \ud800"}, "list": [1, None, True, 0.1, "x"]}


def test_what_is_kept_beside_the_model_comes_back(tmp_path) -> None:
    ScStream(**FAST).fit(BLOBS[0]).save(tmp_path / "m", extra=EXTRA)
    model, extra = read(tmp_path / "m")
    assert extra == EXTRA
    assert model.n_batches_ == 1
    model.save(tmp_path / "m")
    assert read(tmp_path / "m")[1] == {}


@pytest.mark.parametrize(
    "extra", [[1], {1: 2}, {"x": {2: 3}}, {"x": np.zeros(2)}, {"x": float("nan")}, {"x": b"y"}]
)
def test_what_is_no_json_is_refused_and_the_old_file_stays(extra, tmp_path) -> None:
    model = ScStream(**FAST).fit(BLOBS[0])
    model.save(tmp_path / "m", extra={"good": 1})
    with pytest.raises(ValueError, match="extra must be a dict of plain JSON"):
        model.save(tmp_path / "m", extra=extra)
    assert read(tmp_path / "m")[1] == {"good": 1}


# -- functions and families of the user's -------------------------------------------------------


def test_a_kernel_must_be_given_again_before_learning(tmp_path) -> None:
    model, rest = learned("box", 2)
    model.save(tmp_path / "m")
    twin = ScStream.load(tmp_path / "m")
    np.testing.assert_array_equal(twin.predict(rest[0]), model.predict(rest[0]))
    before = snapshot(twin)
    with pytest.raises(ValueError, match=r"kernel.*set_params\(kernel=f\)"):
        twin.partial_fit(rest[0])
    assert snapshot(twin) == before
    twin.set_params(kernel=box)
    for X in rest:
        model.partial_fit(X), twin.partial_fit(X)
    assert snapshot(twin._learner) == snapshot(model._learner)


def test_a_kernel_that_was_given_up_is_not_asked_for(tmp_path) -> None:
    model, rest = learned("hyperbola", 2)
    model.set_params(kernel=None)
    model.save(tmp_path / "m")
    twin = ScStream.load(tmp_path / "m")
    for X in rest:
        model.partial_fit(X), twin.partial_fit(X)
    assert snapshot(twin._learner) == snapshot(model._learner)


def test_a_kernel_for_a_model_that_has_none_is_refused(tmp_path) -> None:
    ScStream().save(tmp_path / "m")
    with pytest.raises(ValueError, match="The saved model has no kernel"):
        ScStream.load(tmp_path / "m", kernel=box)


class Keeping(PlainPoisson):
    name = "keeping"
    kept: ClassVar = {"_level": "", "_weights": "d+"}

    def prepare(self, X):
        new = type(self)(self.shape, self.rate)
        new._level, new._weights = float(X.mean()), np.ones(X.shape[1])
        return new


class Forgetful(Keeping):
    name = "forgetful"
    kept: ClassVar = {"_level": ""}


POISSONS = [np.random.default_rng(b).poisson(9.0, (60, 1)).astype(float) for b in range(4)]


@pytest.fixture
def registered(monkeypatch):
    monkeypatch.setattr(registry, "_REGISTERED", {})
    return register_family


@pytest.mark.parametrize("kind", [PlainPoisson, Keeping])
def test_a_family_of_the_users_is_saved_once_registered(kind, registered, tmp_path) -> None:
    model = ScStream(kind(2.0, 0.5), **FAST).partial_fit(POISSONS[0])
    with pytest.raises(ValueError, match=rf"register_family\({kind.__name__}\)"):
        model.save(tmp_path / "m")
    assert registered(kind) is kind
    model.save(tmp_path / "m")
    twin = ScStream.load(tmp_path / "m")
    for X in POISSONS[1:]:
        model.partial_fit(X), twin.partial_fit(X)
    assert snapshot(twin._learner) == snapshot(model._learner)
    registry._REGISTERED.clear()
    with pytest.raises(UnsupportedCheckpointError, match=f"{kind.name}.*not known here"):
        ScStream.load(tmp_path / "m")


def test_a_family_in_a_product_may_be_the_users(registered, tmp_path) -> None:
    registered(PlainPoisson)
    X = np.hstack([BLOBS[0][:60], POISSONS[0]])
    family = Product({"gaussian": [0, 1], PlainPoisson(2.0, 0.5): [2]})
    model = ScStream(family, **FAST).partial_fit(X)
    model.save(tmp_path / "m")
    twin = ScStream.load(tmp_path / "m")
    assert_same_model(twin.partial_fit(X[::-1]), model.partial_fit(X[::-1]), X)


def test_a_family_that_would_lose_something_is_refused(registered, tmp_path) -> None:
    registered(Forgetful)
    model = ScStream(Forgetful(), **FAST).partial_fit(POISSONS[0])
    with pytest.raises(ValueError, match="_weights would be lost"):
        model.save(tmp_path / "m")


def test_the_packages_names_cannot_be_taken(registered) -> None:
    class Impostor(Gaussian):
        pass

    with pytest.raises(ValueError, match="needs a name of its own"):
        registered(Impostor)
    with pytest.raises(ValueError, match="needs a name of its own"):
        registered(Family)


def test_a_subclass_of_a_family_is_not_taken_for_it(tmp_path) -> None:
    class Own(Gaussian):
        pass

    with pytest.raises(ValueError, match=r"register_family\(Own\)"):
        ScStream(Own()).save(tmp_path / "m")


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"family": Gaussian(cov=1j)}, "family cannot be saved: it holds 1j of type complex"),
        ({"family": Product({"gaussian": [pd.Timestamp(0)]})}, "type Timestamp"),
        ({"alpha": -1.0}, "alpha must be a positive number"),
    ],
)
def test_what_no_file_can_hold_is_refused_in_words(options, match, tmp_path) -> None:
    with pytest.raises(ValueError, match=match):
        ScStream(**options).save(tmp_path / "m")
    assert os.listdir(tmp_path) == []


def test_a_generator_of_no_known_kind_is_refused(tmp_path) -> None:
    class Own(np.random.PCG64):
        pass

    with pytest.raises(ValueError, match="bit generator Own is not one of NumPy's"):
        ScStream(random_state=np.random.Generator(Own(1))).save(tmp_path / "m")


def test_statistics_that_are_not_finite_are_not_saved(tmp_path) -> None:
    model = ScStream(**FAST).fit(BLOBS[0])
    model._learner.state.past[0, 0, 0] = np.inf
    with pytest.raises(ValueError, match="statistics are not finite"):
        model.save(tmp_path / "m")


# -- versions -----------------------------------------------------------------------------------


def write_golden(name) -> None:
    """Write a checkpoint with some rows and the labels that they get."""
    model, (X, *_) = learned(name, 2)
    some = pd.DataFrame(X).dropna().iloc[:20]
    frame = isinstance(X, pd.DataFrame)
    rows = some.to_dict("records") if frame else some.to_numpy().tolist()
    labels = model.predict(some if frame else np.array(rows)).tolist()
    DATA.mkdir(exist_ok=True)
    model.save(DATA / f"{name}.scstream", extra={"rows": rows, "labels": labels})


@pytest.mark.parametrize("name", GOLDEN)
def test_the_golden_file_of_each_family_is_read(name, tmp_path) -> None:
    """WRITE_GOLDEN=1 writes the files again: until a version is released, and never after it."""
    if os.environ.get("WRITE_GOLDEN"):
        write_golden(name)
    model, extra = read(DATA / f"{name}.scstream")
    rows = extra["rows"]
    X = np.array(rows) if model.family != "auto" else pd.DataFrame(rows)
    assert model.predict(X).tolist() == extra["labels"]
    model.save(tmp_path / "again", extra=extra)
    assert (tmp_path / "again").read_bytes() == (DATA / f"{name}.scstream").read_bytes()


def test_a_file_of_a_later_version_is_refused(tmp_path, monkeypatch) -> None:
    later = envelope.VERSION + 1
    with monkeypatch.context() as patch:
        patch.setattr(envelope, "VERSION", later)
        ScStream(**FAST).fit(BLOBS[0]).save(tmp_path / "m")
    words = f"format version {later}; this scstream reads"
    with pytest.raises(UnsupportedCheckpointError, match=words):
        ScStream.load(tmp_path / "m")


def test_the_file_is_what_the_documentation_says(tmp_path) -> None:
    ScStream(**FAST).fit(BLOBS[0]).save(tmp_path / "m", extra={"a": 1})
    data = (tmp_path / "m").read_bytes()
    assert data[:8] == b"\x89SCS\r\n\x1a\n"
    header_size, size = (int.from_bytes(data[a : a + 8], "little") for a in (16, 24))
    assert len(data) == 64 + header_size + size
    header = json.loads(data[64 : 64 + header_size])
    assert header["content"]["extra"] == {"a": 1}
    place = header["content"]["fitted"]["labels"]["of"]
    lengths = [8 * -(-np.dtype(k).itemsize * int(np.prod(s)) // 8) for k, s, _ in header["arrays"]]
    start = 64 + header_size + sum(lengths[:place])
    labels = np.frombuffer(data[start : start + lengths[place]], "<i8")
    np.testing.assert_array_equal(labels, ScStream.load(tmp_path / "m").labels_)
