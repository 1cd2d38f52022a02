"""Imports run one way, as docs/architecture.md draws them."""

import ast
from functools import cache
from pathlib import Path

import pytest

import scstream

ROOT = Path(scstream.__file__).parent
# Who may import whom, from the bottom up. Within a folder files import each other, but never in a
# circle.
BELOW = {
    "support": set(),
    "kernels": {"support"},
    "families": {"kernels", "support"},
    "engines": {"families", "kernels", "support"},
    "records": {"families", "support"},
    "sampler": {"engines", "families", "kernels", "records", "support"},
    "groups": {"engines", "families", "kernels", "records", "sampler", "support"},
    "events": {"families", "groups", "records", "sampler", "support"},
    "validation": {"engines", "families", "sampler", "support"},
    "inputs": {"engines", "families", "sampler", "validation"},
    "estimator": {
        "engines",
        "events",
        "families",
        "groups",
        "inputs",
        "records",
        "sampler",
        "support",
        "validation",
    },
    "web": {"chronicle"},
    "report": {"chronicle", "plot", "support", "web"},
    "datasets": set(),
    "metrics": set(),
    "evaluate": {"datasets", "metrics"},
}


def part(path):
    """Return the part of the package that a file belongs to."""
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


@cache
def imported(path, *, at_the_top=False):
    """Return the modules of the package that a file imports."""
    tree = ast.parse(path.read_text())
    found = set()
    for node in tree.body if at_the_top else ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name} imports relatively"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        found |= {name for name in names if name.split(".")[0] == "scstream"}
    return found


def parts(path):
    """Return the parts of the package that a file imports, wherever it does so."""
    return {[*name.split("."), "the whole package"][1] for name in imported(path)}


FILES = sorted(ROOT.rglob("*.py"))
MODULES = {
    ".".join(("scstream", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(
        ".__init__"
    ): path
    for path in FILES
}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_run_one_way(path):
    here = part(path)
    if here in BELOW:
        above = parts(path) - BELOW[here] - {here}
        assert not above, f"{here} must not import {sorted(above)}"


def test_nothing_below_the_model_imports_it():
    users = {part(path) for path in FILES if "model" in parts(path)}
    assert users.isdisjoint(BELOW)


def circles(imports):
    """Return the modules that import themselves, by whatever way."""
    reached = {name: set(others) for name, others in imports.items()}
    for _ in reached:
        more = {
            name: set().union(to, *(reached[other] for other in to)) for name, to in reached.items()
        }
        if more == reached:
            break
        reached = more
    return sorted(name for name, to in reached.items() if name in to)


def test_no_modules_import_each_other_in_a_circle():
    imports = {}
    for name, path in MODULES.items():
        used = imported(path, at_the_top=True)
        known = {one if one in MODULES else one.rpartition(".")[0] for one in used}
        imports[name] = (known & set(MODULES)) - {name}
    assert circles(imports) == []


def test_the_test_sees_circles():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == ["a", "b", "c"]


def test_all_numba_code_is_in_one_folder():
    users = {part(path) for path in FILES if "numba.njit" in path.read_text()}
    assert users <= {"kernels"}


def test_the_test_sees_imports():
    assert {"families", "engines", "sampler"} <= parts(ROOT / "model.py")
    assert "families" in parts(ROOT / "engines" / "base.py")
