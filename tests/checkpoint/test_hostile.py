"""Files that are cut, changed, full of lies or too large to write: a clear error, nothing worse."""

import copy
import errno
import os
import pickle
import subprocess
import sys
import time
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
import pytest
from forging import forged, mutated, parts
from scipy import sparse
from streams import blob_stream, blobs, counts, snapshot

from examples import EXAMPLES
from scstream import Product, ScStream
from scstream.checkpoint import CheckpointError, read
from scstream.support import atomic

FAST = {"random_state": 0, "max_sweeps": 3, "n_jobs": 1}
WORDS = np.array([["ash", "oak"], ["elm", "fir"]])


def words(n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.column_stack([pair[rng.integers(2, size=n)] for pair in WORDS])


def mixed(n: int, seed: int) -> np.ndarray:
    return np.hstack([blobs(n, seed)[0], counts(n, seed)[0][:, :2]])


def box(age: float) -> float:
    return float(age < 3.0)


MIXED = Product([("gaussian", [0, 1]), ("poisson", [2]), ("categorical", [3])])
EXAMPLE = {name: EXAMPLES[name] for name in ("bernoulli", "gamma", "directional", "spherical")}
# A model's arguments, and what makes a batch of n rows.
KINDS = {
    "gaussian": ({}, lambda n, seed: blobs(n, seed)[0]),
    "outliers": ({"outlier_weight": 0.1}, lambda n, seed: blobs(n, seed)[0]),
    "kernel": ({"kernel": box}, lambda n, seed: blobs(n, seed)[0]),
    "twister": (
        {"random_state": np.random.RandomState(1), "half_life": None},
        lambda n, seed: blobs(n, seed)[0],
    ),
    "multinomial": ({"family": "multinomial"}, lambda n, s: sparse.csr_array(counts(n, s)[0])),
    "categorical": ({"family": "categorical"}, words),
    "product": ({"family": MIXED}, mixed),
    **{
        name: (
            {"family": name},
            lambda n, seed, make=make: np.concatenate(make(np.random.default_rng(seed)))[-n:],
        )
        for name, make in EXAMPLE.items()
    },
}


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> dict[str, tuple[bytes, str]]:
    """Return small checkpoints of all kinds, and what kind each is of; some keep early rows."""
    out, path = {}, tmp_path_factory.mktemp("files") / "m"
    for kind, (options, make) in KINDS.items():
        for size in (6, 24):
            model = ScStream(**{**FAST, **copy.deepcopy(options)})
            for seed in range(2):
                model.partial_fit(make(size, seed))
            model.save(path, extra={"place": [1, 2]})
            out[f"{kind}-{size}"] = path.read_bytes(), kind
    ScStream(random_state=np.random.Generator(np.random.Philox(1))).save(path)
    out["new"] = path.read_bytes(), "gaussian"
    return out


def load(data: bytes, folder: Path) -> ScStream:
    (folder / "forged").write_bytes(data)
    return ScStream.load(folder / "forged")


# -- damage -------------------------------------------------------------------------------------


def test_a_file_cut_anywhere_is_refused(files, tmp_path) -> None:
    data = files["gaussian-24"][0]
    for n in [*range(0, 70), *range(70, len(data), 97), len(data) - 1]:
        with pytest.raises(CheckpointError, match="cut short"):
            load(data[:n], tmp_path)
    with pytest.raises(CheckpointError, match="something was added"):
        load(data + b"x", tmp_path)


def test_any_flipped_bit_is_found_and_is_damage(files, tmp_path) -> None:
    data = files["gaussian-24"][0]
    rng = np.random.default_rng(0)
    for i in [*range(64), *rng.integers(64, len(data), size=100).tolist()]:
        raw = bytearray(data)
        raw[i] ^= 1 << int(rng.integers(8))
        with pytest.raises(CheckpointError) as error:
            load(bytes(raw), tmp_path)
        assert type(error.value) is CheckpointError


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (b"", "cut short"),
        (b"\x89SCS", "cut short"),
        (pickle.dumps({"a": list(range(99))}), "Not an scstream checkpoint"),
        (b"id,x,y\n" * 40, "Not an scstream checkpoint"),
    ],
)
def test_other_files_are_no_checkpoints(data, match, tmp_path) -> None:
    with pytest.raises(CheckpointError, match=match) as error:
        load(data, tmp_path)
    assert str(tmp_path / "forged") in "".join(error.value.__notes__)


def test_what_cannot_be_read_is_the_systems_error(tmp_path) -> None:
    with pytest.raises(FileNotFoundError):
        ScStream.load(tmp_path / "none")
    with pytest.raises(IsADirectoryError):
        ScStream.load(tmp_path)


# -- lies behind a right checksum ---------------------------------------------------------------


def fitted(header):
    return header["content"]["fitted"]


def learner(header):
    return fitted(header)["learner"]


def given(header):
    return header["content"]["parameters"]


def learned_family(header):
    return learner(header)["family"]["of"]


def record(header):
    return fitted(header)["history"][-1]


def early(header):
    return learner(header)["warmup"]["of"][0]


def change(header, arrays, place, value):
    """Return the arrays with one number of one of them changed."""
    sizes = [np.dtype(k).itemsize * int(np.prod(s)) for k, s, _ in header["arrays"]]
    start = sum(size + -size % 8 for size in sizes[:place])
    kind = np.dtype(header["arrays"][place][0])
    new = np.array([value], dtype=kind).tobytes()
    return arrays[:start] + new + arrays[start + len(new) :]


LIES = {
    "an object array": ("gaussian-24", lambda h: h["arrays"][0].__setitem__(0, "|O")),
    "a huge array": ("gaussian-24", lambda h: h["arrays"][0].__setitem__(1, [2**40])),
    "an array of nothing": ("gaussian-24", lambda h: h["arrays"][0].__setitem__(1, [0, 2**60])),
    "a negative length": ("gaussian-24", lambda h: h["arrays"][0].__setitem__(1, [-1])),
    "a wrong shape": ("gaussian-24", lambda h: h["arrays"][0][1].append(1)),
    "axes twice": ("gaussian-24", lambda h: h["arrays"][-1].__setitem__(2, [0, 0])),
    "no arrays": ("gaussian-24", lambda h: h.__setitem__("arrays", {})),
    "no content": ("gaussian-24", lambda h: h.__setitem__("content", [])),
    "an array beyond": ("gaussian-24", lambda h: fitted(h)["labels"].update(of=10**6)),
    "a negative array": ("gaussian-24", lambda h: fitted(h)["labels"].update(of=-1)),
    "true for one": ("gaussian-24", lambda h: fitted(h)["labels"].update(of=True)),
    "a family of no name": (
        "gaussian-24",
        lambda h: learned_family(h).__setitem__("name", "os"),
    ),
    "another family": (
        "gaussian-24",
        lambda h: given(h).__setitem__("family", "poisson"),
    ),
    "a parameter": ("gaussian-24", lambda h: given(h).__setitem__("alpha", -1)),
    "no parameter": ("gaussian-24", lambda h: given(h).pop("alpha")),
    "a seed": ("gaussian-24", lambda h: learner(h).__setitem__("seed", 2**64)),
    "an even increment": ("gaussian-24", lambda h: learner(h)["rng"]["of"]["state"].update(inc=2)),
    "an infinite number": ("gaussian-24", lambda h: learner(h).__setitem__("alpha", 10**400)),
    "another generator": (
        "gaussian-24",
        lambda h: learner(h)["rng"]["of"].update(bit_generator="MT19937"),
    ),
    "a place in a buffer": (
        "twister-24",
        lambda h: given(h)["random_state"]["of"]["state"].__setitem__("pos", 10**9),
    ),
    "a place before a buffer": (
        "new",
        lambda h: given(h)["random_state"]["of"].__setitem__("buffer_pos", -9),
    ),
    "columns": ("gaussian-24", lambda h: fitted(h).__setitem__("n_features", 3)),
    "names": ("gaussian-24", lambda h: fitted(h).__setitem__("feature_names", ["a"])),
    "no clusters known": ("gaussian-24", lambda h: learner(h)["state"].__setitem__("next_id", 1)),
    "places beyond": (
        "product-24",
        lambda h: learned_family(h)["learned"].__setitem__("_places", [[0, 1], [2], [9]]),
    ),
    "places twice": (
        "product-24",
        lambda h: learned_family(h)["learned"].__setitem__("_places", [[0, 1], [2], [2]]),
    ),
    "too many places": (
        "product-24",
        lambda h: learned_family(h)["learned"].__setitem__("_places", [[0, 1], [2, 3], [4]]),
    ),
    "categories twice": (
        "categorical-24",
        lambda h: learned_family(h)["learned"]["_known"]["of"].__setitem__(0, ["ash", "ash"]),
    ),
    "blocks that are none": (
        "product-24",
        lambda h: learned_family(h)["parameters"].__setitem__("blocks", [5]),
    ),
    "blocks of no family": (
        "product-24",
        lambda h: given(h)["family"]["of"]["parameters"].__setitem__(
            "blocks", [[["gaussian"], [0]]]
        ),
    ),
    "an output": ("gaussian-24", lambda h: h["content"].__setitem__("output", "os.system")),
    "ids of a batch": ("gaussian-24", lambda h: record(h)["births"].update(of=[-1])),
    "a pair of three": ("gaussian-24", lambda h: record(h)["splits"].update(of=[[1, 2, 3]])),
    "another object": ("gaussian-24", lambda h: learner(h).update(scores=learner(h)["alike"])),
    "a generator's place": ("gaussian-24", lambda h: learner(h).update(alpha=learner(h)["rng"])),
    "extra": ("gaussian-24", lambda h: h["content"].__setitem__("extra", [1])),
}


@pytest.mark.parametrize("what", LIES)
def test_a_lie_behind_a_right_checksum_is_refused(what, files, tmp_path) -> None:
    name, tell = LIES[what]
    header, arrays = parts(files[name][0])
    assert snapshot(load(forged(header, arrays), tmp_path))  # the forger's tool is sound
    tell(header)
    with pytest.raises(CheckpointError):
        load(forged(header, arrays), tmp_path)


@pytest.mark.parametrize("start", [{"version": 0}, {"zero": 1}])
def test_first_bytes_of_no_known_format_are_refused(start, files, tmp_path) -> None:
    with pytest.raises(CheckpointError, match="no known format"):
        load(forged(*parts(files["gaussian-24"][0]), **start), tmp_path)


NUMBERS = {
    "ids": ("gaussian-24", lambda h: learner(h)["state"]["ids"], -5),
    "past": ("gaussian-24", lambda h: learner(h)["state"]["past"], np.nan),
    "fewer than none": ("gaussian-24", lambda h: learner(h)["state"]["now"]["current"], -1e9),
    "sums": ("gaussian-24", lambda h: learner(h)["state"]["window"]["sums"], np.inf),
    "labels": ("gaussian-24", lambda h: fitted(h)["labels"], -7),
    "indices": ("multinomial-6", lambda h: early(h)["batch"]["X"]["of"][1], 10**6),
    "before the first": ("multinomial-6", lambda h: early(h)["batch"]["X"]["of"][1], -1),
    "pointers": ("multinomial-6", lambda h: early(h)["batch"]["X"]["of"][2], 5),
    "negative counts": ("multinomial-6", lambda h: early(h)["batch"]["X"]["of"][0], -3),
    "negative codes": ("categorical-6", lambda h: early(h)["batch"]["X"], -3),
    "codes between": ("categorical-6", lambda h: early(h)["batch"]["X"], 0.5),
    "no zeros or ones": ("bernoulli-6", lambda h: early(h)["batch"]["X"], 7),
    "no directions": ("directional-6", lambda h: early(h)["batch"]["X"], 1e300),
    "early ids": ("gaussian-6", lambda h: early(h)["ids"], 10**6),
    "labels of no cluster": ("gaussian-24", lambda h: fitted(h)["labels"], 10**6),
    "negative weight": ("gaussian-6", lambda h: early(h)["batch"]["weight"], -1),
    "width": (
        "categorical-24",
        lambda h: learned_family(h)["learned"]["_width"],
        10**9,
    ),
    "scale": ("gaussian-24", lambda h: learned_family(h)["learned"]["_scale"], 0.0),
}


@pytest.mark.parametrize("what", NUMBERS)
def test_a_number_that_cannot_be_is_refused(what, files, tmp_path) -> None:
    name, find, value = NUMBERS[what]
    header, arrays = parts(files[name][0])
    with pytest.raises(CheckpointError):
        load(forged(header, change(header, arrays, find(header)["of"], value)), tmp_path)


BOMBS = {
    "deep lists": b"[" * 200_000 + b"]" * 200_000,
    "deep objects": b'{"a":' * 200_000 + b"1" + b"}" * 200_000,
    "many lists": b"[" + b"[]," * 1_500_000 + b"[]]",
    "a long number": b"1" * 10_000_000,
    "no ASCII": b'"\xff\xfe"',
    "not a number": b'{"arrays": [], "content": {"a": NaN}}',
    "nothing": b"",
}


@pytest.mark.parametrize("what", BOMBS)
def test_a_header_that_would_blow_up_is_refused(what, tmp_path) -> None:
    data = forged(BOMBS[what], b"")
    tracemalloc.start()
    try:
        with pytest.raises(CheckpointError):
            load(data, tmp_path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2**25 + 4 * len(data)


def test_a_length_that_the_file_does_not_have_is_not_asked_for(files, tmp_path) -> None:
    raw = bytearray(files["gaussian-24"][0])
    raw[24:32] = (2**50).to_bytes(8, "little")
    tracemalloc.start()
    with pytest.raises(CheckpointError, match="bytes where"):
        load(bytes(raw), tmp_path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**22


# -- fuzzing ------------------------------------------------------------------------------------


def use(model: ScStream, kind: str) -> None:
    """Predict and learn: a `ValueError` is fine, nothing else is."""
    options, make = KINDS[kind]
    model.set_params(sweeps=1, max_sweeps=1, n_jobs=1, verbose=False)
    if "kernel" in options and model.kernel is not None:
        model.set_params(kernel=box)
    X = make(12, 9)
    for step in (model.predict, model.score_samples, model.partial_fit):
        try:
            step(X)
        except ValueError:
            continue
    try:
        _ = model.clusters_, model.events_, repr(model)
    except ValueError:
        return


def fuzz(files, folder: Path, n: int, seed: int) -> tuple[int, int]:
    """Return how many mutated files were refused and how many loaded, and used them."""
    rng = np.random.default_rng(seed)
    names = list(files)
    refused = fine = 0
    for _ in range(n):
        (data, kind), (other, _) = (files[names[i]] for i in rng.integers(len(names), size=2))
        bad = mutated(data, other, rng)
        tracemalloc.start()
        try:
            model = load(bad, folder)
        except CheckpointError:
            refused += 1
            continue
        finally:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert peak < 2**22 + 64 * len(bad)
        fine += 1
        use(model, kind)
    return refused, fine


@pytest.mark.parametrize(("n", "seed"), [(200, 0), pytest.param(10_000, 1, marks=pytest.mark.slow)])
def test_mutated_files_are_refused_or_harmless(n, seed, files, tmp_path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # as in use: what odd numbers come to is no error
        refused, fine = fuzz(files, tmp_path, n, seed)
    assert refused + fine == n
    assert refused > n / 2
    assert fine > n / 50  # so the use of what loads is tried too


# -- writing ------------------------------------------------------------------------------------


@pytest.fixture
def old(tmp_path) -> Path:
    """Return a good checkpoint, the only file in its folder."""
    path = tmp_path / "model.scs"
    ScStream(**FAST).fit(blobs(30, 0)[0]).save(path, extra={"old": True})
    return path


def assert_untouched(path: Path) -> None:
    assert os.listdir(path.parent) == [path.name]
    assert read(path)[1] == {"old": True}


@pytest.mark.parametrize("step", ["open", "fsync", "replace"])
def test_a_write_that_fails_leaves_the_old_file(step, old, monkeypatch) -> None:
    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    where = {"open": (atomic, "open"), "fsync": (atomic.os, "fsync"), "replace": (atomic.os, step)}
    with monkeypatch.context() as patch:
        patch.setattr(*where[step], full, raising=False)
        with pytest.raises(OSError, match="No space left"):
            ScStream(**FAST).fit(blobs(30, 1)[0]).save(old)
    assert_untouched(old)


def test_an_interrupt_while_writing_leaves_the_old_file(old) -> None:
    def chunks():
        yield b"something"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        atomic.write_atomically(old, chunks())
    assert_untouched(old)


def test_a_file_that_the_system_cuts_short_leaves_the_old_one(old) -> None:
    """Past its limit a file takes no more bytes, as on a full disk."""
    resource = pytest.importorskip("resource", reason="needs limits on file sizes")
    model = ScStream(**FAST).fit(blobs(30, 1)[0])
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, hard))
    try:
        with pytest.raises(OSError, match="File too large"):
            model.save(old)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert_untouched(old)


def test_the_order_of_writing_is_safe(old, monkeypatch) -> None:
    """The new file is on the disk before it takes the old one's name, the name after."""
    done, sync, replace = [], os.fsync, os.replace
    monkeypatch.setattr(
        atomic.os, "fsync", lambda f: (done.append(os.fstat(f).st_mode & 0o170000), sync(f))
    )
    monkeypatch.setattr(atomic.os, "replace", lambda a, b: (done.append("replace"), replace(a, b)))
    ScStream().save(old)
    assert done == [0o100000, "replace", 0o040000]


def test_permissions_and_links_stay(old) -> None:
    os.chmod(old, 0o640)
    link = old.with_name("link")
    link.symlink_to(old.name)
    ScStream().save(link)
    assert link.is_symlink()
    assert old.stat().st_mode & 0o777 == 0o640
    assert read(old)[1] == {}


def test_what_a_killed_process_left_is_removed_later(old) -> None:
    stale, fresh, other = (
        old.with_name(name) for name in (".a.1.scstream-tmp", ".b.2.scstream-tmp", ".a.1.tmp")
    )
    for path in (stale, fresh, other):
        path.write_bytes(b"half")
    past = time.time() - 7200
    for path in (stale, other):
        os.utime(path, (past, past))
    ScStream().save(old)
    assert sorted(os.listdir(old.parent)) == sorted([old.name, fresh.name, other.name])


KILLED = """
import sys
import numpy as np
from scstream import ScStream
model = ScStream(random_state=0, max_sweeps=2).fit(np.random.default_rng(0).normal(size=(300, 2)))
print("ready", flush=True)
number = 0
while True:
    number += 1
    model.save(sys.argv[1], extra={"number": number})
"""


@pytest.mark.slow  # for the time that processes take to start
def test_a_process_killed_while_it_saves_leaves_a_whole_file(tmp_path) -> None:
    path = tmp_path / "m"
    numbers = []
    for wait in (0.02, 0.033, 0.05):
        child = subprocess.Popen(
            [sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE, text=True
        )
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        while not path.exists():
            time.sleep(0.001)
        time.sleep(wait)
        child.kill()
        child.wait()
        child.stdout.close()
        model, extra = read(path)
        assert model.n_batches_ == 1
        numbers.append(extra["number"])
    assert all(number >= 1 for number in numbers)


def test_a_folder_that_is_not_there_is_the_systems_error(tmp_path) -> None:
    path = tmp_path / "none" / "m"
    with pytest.raises(FileNotFoundError) as error:
        ScStream().save(path)
    assert str(error.value).endswith(f": {str(path)!r}")
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError) as error:
        ScStream().save(tmp_path / "folder")
    assert str(error.value).endswith("folder'")


def test_saving_costs_nothing_of_the_stream(tmp_path) -> None:
    one, two = (ScStream(**FAST) for _ in range(2))
    for X, _ in blob_stream(3, 60):
        one.partial_fit(X)
        two.partial_fit(X).save(tmp_path / "m")
    assert snapshot(one) == snapshot(two)
