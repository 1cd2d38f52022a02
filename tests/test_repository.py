"""What lies around the package: workflows, and what they rely on."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
pytestmark = pytest.mark.skipif(not WORKFLOWS, reason="the workflows are not here")


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_every_action_is_pinned_by_commit(path):
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    assert yaml.safe_load(path.read_text())["jobs"]
    used = re.findall(r"uses: (.*)", path.read_text())
    assert used
    for action in used:
        assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}  # v\d+\.\d+\.\d+", action), action


def test_every_version_of_python_that_the_package_names_is_tested():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = {kind.rpartition(" ")[2] for kind in project["classifiers"] if ":: 3." in kind}
    tested = set(re.findall(r'"(3\.\d+)"', (ROOT / ".github" / "workflows" / "ci.yml").read_text()))
    assert named == tested
