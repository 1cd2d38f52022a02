"""The code and the commands of the guide run, with the files and names that a page talks about.

The first pages run as they stand, see test_docs.py. What needs a server, a cluster or a model from
the network is listed here with the test that runs its like.
"""

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from scstream import Family, Gaussian, Product, ScStream
from scstream.cli import main

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.skipif(not (ROOT / "docs").exists(), reason="the pages are not here")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)

# Pages whose blocks run here or, as they stand, in other tests.
RUN = ("adapters", "anomalies", "batch-size", "checkpoints", "command-line", "exporting",
       "families", "groups", "heavy-tails", "merge", "pictures", "tables", "troubleshooting",
       "tuning", "video")  # fmt: skip
ELSEWHERE = {
    "add-a-family": "tests/families/test_check.py",
    "bertopic": "tests/test_bertopic.py",
    "brokers": "tests/sources/test_brokers.py",
    "live": "tests/service/test_feed.py",
    "scaling": "tests/engines/test_dask.py",
    "spark": "tests/spark/test_by_key.py",
}
NOT_HERE = (
    "from scstream.mlflow import log_model",  # tests/test_mlflow.py, with a store of its own
)
NEEDS = {
    "adapters": ["river"], "exporting": ["onnx", "onnxruntime", "mlflow.pyfunc"],
    "pictures": ["matplotlib"], "tuning": ["optuna"],
}  # fmt: skip
ENDLESS = ("--follow", "film.mp4")


def squares(seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(6, size=900)
    return 12.0 * np.column_stack([y % 3, y // 3]) + rng.uniform(-3.0, 3.0, size=(900, 2))


def names():
    """Return what pages take for granted: a model, batches, rows."""
    rng = np.random.default_rng(0)
    z = rng.integers(2, size=300)
    table = {
        "x": rng.normal(9.0 * z), "y": rng.normal(size=300), "clicks": rng.poisson(3 + 9 * z),
        "country": np.where(z, "NL", "DE"),
    }  # fmt: skip
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    mixed = ScStream("auto", random_state=0).partial_fit(pandas.DataFrame(table))
    return {
        "np": np, "ScStream": ScStream, "Gaussian": Gaussian, "Product": Product, "Family": Family,
        "model": mixed, "X": pandas.DataFrame(table), "batches": [squares(i) for i in range(3)],
        "rows": [{"a": float(a), "b": float(b)} for a, b in squares(0)[:250]],
    }  # fmt: skip


def make_files():
    """Write the files that pages name."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(600, 6)) + 9.0 * (np.arange(600) % 3)[:, None]
    np.savetxt("data.csv", X, fmt="%.4f", delimiter=",")
    lines = [{"when": 60.0 * i, "x": x[0], "y": x[1]} for i, x in enumerate(X.tolist())]
    Path("log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def make_film():
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    rng = np.random.default_rng(2)
    frames = []
    for i in range(3):
        pixels = np.full((40, 60, 3), 40, np.uint8)
        pixels[10:30, 10 + 4 * i : 30 + 4 * i] = (200, 80, 40)
        noise = rng.integers(-5, 6, pixels.shape)
        frames.append(image.fromarray(np.clip(pixels + noise, 0, 255).astype(np.uint8)))
    Path("frames").mkdir()
    for i, frame in enumerate(frames):
        frame.save(f"frames/{i}.png")
    frames[0].save("film.gif", save_all=True, append_images=frames[1:])


def test_no_page_is_forgotten():
    from tests.test_docs import WHOLE

    whole = {Path(page).stem for page in WHOLE}
    for page in (ROOT / "docs").glob("*.md"):
        kinds = {kind for kind, _ in BLOCK.findall(page.read_text())}
        if "python" in kinds:
            assert page.stem in {*RUN, *ELSEWHERE, *whole}, page.name
    assert all((ROOT / test).exists() for test in ELSEWHERE.values())


@pytest.mark.parametrize("page", RUN)
@pytest.mark.filterwarnings("ignore")
def test_the_blocks_of_a_page_run(page, tmp_path, monkeypatch):
    for module in NEEDS.get(page, []):
        pytest.importorskip(module, reason=f"{module} is not installed")
    monkeypatch.chdir(tmp_path)
    make_files()
    if page == "video":
        make_film()
    space, ran = names(), 0
    if page == "anomalies":
        space["model"] = ScStream(random_state=0)
    for kind, code in BLOCK.findall((ROOT / "docs" / f"{page}.md").read_text()):
        if kind == "python" and not code.startswith(NOT_HERE):
            for earlier in ("out", "labels.csv", "run.html"):
                make_room(earlier)
            short = code.replace("n_trials=10", "n_trials=2").replace("(60, 600,", "(60, 100,")
            exec(compile(short, page, "exec"), space)
            ran += 1
        elif kind in ("", "sh"):
            ran += sum(run_line(line) for line in code.replace("\\\n", " ").splitlines())
    assert ran


def run_line(line):
    """Run a line if it is a command of ours that ends; return whether it was."""
    words = shlex.split(line, comments=True)
    if words[:1] != ["scstream"] or any(word in words for word in ENDLESS):
        return False
    for option in ("-o", "--chronicle"):
        if option in words:
            make_room(words[words.index(option) + 1])
    assert main(words[1:]) == 0, line
    return True


def make_room(name):
    """Take an earlier output away: every line of a page is a run of its own."""
    path = Path(name)
    if path.is_dir():
        for file in sorted(path.rglob("*"), reverse=True):
            file.rmdir() if file.is_dir() else file.unlink()
        path.rmdir()
    elif path.exists():
        path.unlink()
