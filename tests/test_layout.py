"""No modules import each other in a circle; which folder may import which is import-linter's."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import scstream

ROOT = Path(scstream.__file__).parent


def name_of(path):
    parts = ("scstream", *path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts).removesuffix(".__init__")


def test_no_modules_import_each_other_in_a_circle():
    modules = {name_of(path): path for path in ROOT.rglob("*.py")}
    imports = {}
    for name, path in modules.items():
        used = set()
        for node in ast.parse(path.read_text()).body:  # those in functions are late on purpose
            if isinstance(node, ast.ImportFrom):
                used |= {f"{node.module}.{alias.name}" for alias in node.names} | {node.module}
            elif isinstance(node, ast.Import):
                used |= {alias.name for alias in node.names}
        imports[name] = (used & set(modules)) - {name, name.rpartition(".")[0]}
    TopologicalSorter(imports).prepare()
