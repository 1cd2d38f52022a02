"""Builds wheel and sdist, installs each into a fresh environment, and tries it: ``make dist``.

The environments see the packages of this one, so that only what builds is downloaded; with
``--alone`` they install the dependencies themselves.
"""

import argparse
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
SMOKE = """
import numpy as np, pathlib, subprocess, sys
import scstream
from scstream import ScStream
assert pathlib.Path(scstream.__file__).is_relative_to(sys.prefix), scstream.__file__
assert scstream.__version__ == sys.argv[1], scstream.__version__
rng = np.random.default_rng(0)
X = np.concatenate([rng.normal(size=(100, 2)), rng.normal(size=(100, 2)) + 20.0])
model = ScStream(random_state=0).partial_fit(X)
assert model.n_clusters_ == 2, model.n_clusters_
model.save("model.scs")
assert (ScStream.load("model.scs").predict(X) == model.labels_).all()
np.savetxt("rows.csv", X, delimiter=",", header="x,y", comments="")
command = [pathlib.Path(sys.executable).parent / "scstream"]
subprocess.run([*command, "run", "rows.csv", "-o", "labels.csv", "--quiet"], check=True)
assert len(pathlib.Path("labels.csv").read_text().splitlines()) == 201
said = subprocess.run([*command, "--version"], check=True, capture_output=True, text=True).stdout
assert said.strip() == f"scstream {sys.argv[1]} (native core)", said
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--alone", action="store_true", help="install the dependencies, too")
    parser.add_argument("--to", type=Path, default=ROOT / "dist", help="default: dist")
    args = parser.parse_args()
    run(sys.executable, "-m", "build", "--outdir", args.to, ROOT)
    version = version_of(ROOT)
    wheel = max(args.to.glob(f"scstream-{version}-*.whl"), key=lambda file: file.stat().st_mtime)
    source = args.to / f"scstream-{version}.tar.gz"
    check_content(wheel, source, version)
    for file in (wheel, source):
        try_out(file, version, alone=args.alone)
    print(f"{wheel.name} and {source.name} are sound")


def run(*words, **more):
    subprocess.run([str(word) for word in words], check=True, **more)


def version_of(root):
    """Return the version, which stands in one place."""
    text = (root / "src" / "scstream" / "__init__.py").read_text()
    return text.split('__version__ = "')[1].split('"')[0]


def check_content(wheel, source, version):
    """Make sure that all is in the files, and nothing else."""
    inside = set(zipfile.ZipFile(wheel).namelist())
    listed = subprocess.run(
        ["git", "ls-files", "src"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    ours = {name.removeprefix("src/") for name in listed.stdout.split()}
    assert {"scstream/py.typed", "scstream/web/page/index.html"} <= ours
    used = {name for name in ours if not name.endswith((".cpp", ".hpp", "CMakeLists.txt"))}
    assert used <= inside, sorted(used - inside)[:5]
    built = "scstream/core/native/_compiled."
    assert any(name.startswith(built) for name in inside)
    strange = {n for n in inside - used if ".dist-info/" not in n and not n.startswith(built)}
    assert not strange, sorted(strange)[:5]
    with tarfile.open(source) as archive:
        packed = {name.removeprefix(f"scstream-{version}/") for name in archive.getnames()}
    assert {
        "pyproject.toml",
        "README.md",
        "LICENSE",
        "docs/index.md",
        "tests/test_docs.py",
    } <= packed
    assert {f"src/{name}" for name in ours} <= packed
    assert not [name for name in packed if "__pycache__" in name or name.startswith("docs/gen")]


def try_out(file, version, *, alone):
    """Install a file into a fresh environment and use it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        venv.create(folder / "env", with_pip=True)
        python = folder / "env" / "bin" / "python"
        if not alone:  # see the packages of this environment, but never its scstream
            site = subprocess.run(
                [python, "-c", "import site; print(site.getsitepackages()[0])"],
                capture_output=True, text=True, check=True,
            ).stdout.strip()  # fmt: skip
            here = Path(next(path for path in sys.path if path.endswith("site-packages")))
            Path(site, "outer.pth").write_text(f"{here}\n")
        extra = [] if alone else ["--no-deps"]
        run(python, "-m", "pip", "install", "--quiet", "--force-reinstall", *extra, file)
        run(python, "-c", SMOKE, version, cwd=folder)
        print(f"{file.name}: installed and tried")


if __name__ == "__main__":
    main()
