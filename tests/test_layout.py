"""Imports run one way, as the guide for contributors draws them."""

import ast
from pathlib import Path

import pytest

import scstream

ROOT = Path(scstream.__file__).parent
# Who may import whom, from the bottom up. A module may import what is below it, and within its
# own package what it likes.
BELOW = {
    "_blas": set(),
    "_compile": set(),
    "_frozen": set(),
    "_secrets": set(),
    "_threads": set(),
    "_gamma": {"_compile"},
    "_room": {"_compile"},
    "_draws": {"_compile"},
    "families": {"_compile", "_threads", "_gamma"},
    "engines": {"_blas", "_compile", "_frozen", "_room", "_threads", "families"},
    "_kernels": {"_compile", "_gamma"},
    "window": {"_frozen", "_kernels", "families"},
    "state": {"_frozen", "_kernels", "_threads", "families", "engines", "window"},
    "_series": {"_compile"},
    "_leaders": {"_compile", "_series"},
    "_rows": {"_compile", "_leaders", "_room", "_series"},
    "sweep": {"_draws", "_kernels", "families", "engines", "window", "state"},
    "_judge": {"_compile", "_gamma", "_kernels", "_room", "families"},
    "judge": {"_judge", "_room", "families", "engines", "window", "state", "sweep"},
    "moves": {"_kernels", "families", "engines", "window", "state", "sweep", "judge"},
    "_fused": {
        "_compile", "_draws", "_gamma", "_judge", "_kernels", "_room", "_rows", "families",
        "engines",
    },
    "fused": {
        "_draws", "_fused", "_judge", "_room", "_rows", "families", "engines", "window", "state",
        "sweep", "judge", "moves",
    },
    "seeding": {"families"},
    "chain": {
        "_kernels", "families", "engines", "window", "state", "sweep", "moves", "fused", "seeding",
    },
    "starts": {
        "families", "engines", "window", "state", "sweep", "moves", "fused", "seeding", "chain",
    },
    "early": {"_frozen", "families", "engines", "window", "state", "chain"},
    "records": {"_frozen", "families"},
    "learner": {
        "_draws", "_frozen", "families", "engines", "window", "state", "sweep", "moves", "seeding",
        "chain", "starts", "early", "records",
    },
    "events": {"_frozen", "families", "state", "learner", "records"},
    "_validation": {"_threads", "families", "engines"},
    "inputs": {"_validation", "families", "engines", "early", "learner"},
    "report": {"chronicle", "plot"},
    "datasets": set(),
    "metrics": set(),
    "evaluate": {"datasets", "metrics"},
}  # fmt: skip


def room(path):
    """Return the part of the package that a file belongs to."""
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported(path):
    """Return the parts of the package that a file imports, wherever it does so."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name} imports relatively"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            package, *parts = name.split(".")
            if package == "scstream":
                found.add(parts[0] if parts else "the whole package")
    return found


FILES = sorted(ROOT.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_run_one_way(path):
    here = room(path)
    if here in BELOW:
        above = imported(path) - BELOW[here] - {here}
        assert not above, f"{here} must not import {sorted(above)}"


def test_nothing_below_the_model_imports_it():
    users = {room(path) for path in FILES if "model" in imported(path)}
    assert users.isdisjoint(BELOW)


def test_every_room_of_the_sampler_is_drawn():
    drawn = set(BELOW) | {"__init__", "__main__", "model"}
    sampler = {"families", "engines"} | {path.stem for path in ROOT.glob("*.py")}
    users = {room(path) for path in FILES if {"model", "ScStream"} & imported(path)}
    assert sampler - users <= drawn


def test_the_test_sees_imports():
    assert {"families", "engines", "learner", "sweep"} <= imported(ROOT / "model.py")
    assert "families" in imported(ROOT / "engines" / "base.py")
