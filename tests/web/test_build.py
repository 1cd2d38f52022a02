"""The page that is shipped is the one that its sources build."""

import shutil
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest

WEB = Path(__file__).parents[2] / "web"


def test_the_shipped_page_is_built_from_its_sources(tmp_path):
    if shutil.which("npm") is None or not WEB.is_dir():
        pytest.skip("Node and npm are not here: the page cannot be built anew")
    work = tmp_path / "web"
    shutil.copytree(WEB, work, ignore=shutil.ignore_patterns("node_modules"))
    installed = subprocess.run(
        ["npm", "ci", "--no-audit", "--no-fund"], cwd=work, capture_output=True, check=False
    )
    if installed.returncode:
        pytest.skip("npm cannot install what the build needs: is there a network?")
    subprocess.run(["npm", "run", "check"], cwd=work, check=True, capture_output=True)
    subprocess.run(["node", "build.mjs", str(tmp_path / "page")], cwd=work, check=True)
    shipped = files("scstream.web").joinpath("page")
    built = {path.name: path.read_bytes() for path in (tmp_path / "page").iterdir()}
    assert built == {entry.name: entry.read_bytes() for entry in shipped.iterdir()}
