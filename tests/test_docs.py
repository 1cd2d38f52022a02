"""The documentation holds: its code runs, its commands run, its links lead somewhere."""

import logging
import re
import runpy
import shlex
import sys
from importlib import import_module
from pathlib import Path

import pytest

from scstream import ScStream
from scstream.cli import COMMANDS, main, make_parser

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.skipif(not (ROOT / "docs").exists(), reason="the pages are not here")

# Pages whose blocks run from top to bottom, each in a folder of its own.
WHOLE = (
    "README.md",
    "docs/first-csv.md",
    "docs/first-stream.md",
    "docs/remember.md",
    "docs/topics.md",
    "docs/coming-from.md",
    "docs/running-for-months.md",
)
PAGES = [
    page
    for folder in (".", "docs", "examples", "benchmarks/published")
    for page in sorted((ROOT / folder).glob("*.md"))
]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)\s]*)\)")


@pytest.fixture(autouse=True)
def same_log():
    """Let what a page does to the log end with it."""
    logger = logging.getLogger("scstream")
    level = logger.level
    yield
    logger.setLevel(level)


def blocks(page):
    return BLOCK.findall((ROOT / page).read_text())


@pytest.mark.parametrize("page", WHOLE)
def test_a_page_runs_from_top_to_bottom(page, tmp_path, monkeypatch):
    if "river" in (ROOT / page).read_text():
        pytest.importorskip("river", reason="river is not installed")
    monkeypatch.chdir(tmp_path)
    if page == "README.md":
        make_events = next(code for kind, code in blocks("docs/first-csv.md") if kind == "python")
        exec(make_events, {})
    space = {}
    ran = 0
    for kind, code in blocks(page):
        if kind == "python":
            exec(compile(code, page, "exec"), space)
            ran += 1
        elif kind == "sh":
            for line in code.replace("\\\n", " ").splitlines():
                words = shlex.split(line, comments=True)
                if words[:1] == ["scstream"]:
                    assert main(words[1:]) == 0, line
                    ran += 1
    assert ran


def test_the_first_example_runs_with_what_the_first_lines_install(tmp_path, monkeypatch):
    """`pip install .` brings no data frames: only `summary` needs them, and they are installed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "pandas", None)
    monkeypatch.setitem(sys.modules, "polars", None)
    shell, code = (next(code for kind, code in blocks("README.md") if kind == wanted)
                   for wanted in ("sh", "python"))  # fmt: skip
    assert "pip install . pandas" in shell
    lines = [line for line in code.splitlines() if not line.startswith("model.summary()")]
    assert len(lines) == len(code.splitlines()) - 1
    exec("\n".join(lines), {})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}/{page.name}")
def test_every_command_on_a_page_is_one(page):
    """Commands that need a server, a video or a stream without end are parsed, not run."""
    for kind, code in BLOCK.findall(page.read_text()):
        if kind not in ("", "sh"):
            continue
        for line in code.replace("\\\n", " ").splitlines():
            if not line.startswith("scstream "):
                continue
            words = shlex.split(line, comments=True)
            words = [word for word in words if word != "..."]
            words = words[: words.index("|")] if "|" in words else words
            if len(words) > 1 and words[1] in COMMANDS:
                make_parser(words[1]).parse_args(words[1:])  # or the test ends here


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}/{page.name}")
def test_every_block_of_python_is_python(page):
    for kind, code in BLOCK.findall(page.read_text()):
        if kind == "python":
            compile(code, str(page), "exec")


def anchors(page):
    """Return the names of a page's headings, as links have them."""
    heads = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}/{page.name}")
def test_every_link_leads_somewhere(page):
    for link in LINK.findall(re.sub(BLOCK, "", page.read_text())):
        path, _, anchor = link.partition("#")
        target = page if not path else (page.parent / path).resolve()
        assert target.exists(), f"{page.name}: {link}"
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target), f"{page.name}: {link}"


@pytest.mark.parametrize("address", [None, "https://example.org/scstream"])
def test_the_long_description_has_no_link_into_a_checkout(address):
    describe = runpy.run_path(str(ROOT / "package_metadata.py"))["long_description"]
    readme = (ROOT / "README.md").read_text()
    text = describe(readme, address, "1.2.3")
    links = re.findall(r"\]\(([^)]*)\)", text)
    assert all(link.startswith("https://") for link in links)
    of_ours = [link for link in links if link.startswith("https://example.org/")]
    assert len(of_ours) == (len(LINK.findall(readme)) if address else 0)
    assert len(text.split()) > 300


def test_every_page_is_in_the_site():
    index = (ROOT / "docs" / "index.md").read_text()
    listed = set(re.findall(r"^([\w-]+)$", index, re.MULTILINE))
    for page in (ROOT / "docs").glob("*.md"):
        assert page.stem in listed | {"index"}, f"{page.name} is not in docs/index.md"


PUBLIC = (
    "", "bertopic", "checkpoint", "chronicle", "datasets", "engines", "evaluate", "groups",
    "metrics", "mlflow", "plot", "report", "river", "service", "spark", "tuning", "video",
)  # fmt: skip


def in_the_reference():
    return set(re.findall(r"^   ([\w.]+)$", (ROOT / "docs" / "api.rst").read_text(), re.MULTILINE))


def test_every_name_in_the_reference_exists_and_says_what_it_is():
    for name in in_the_reference():
        module, _, last = f"scstream.{name}".rpartition(".")
        for extra, package in (("river", "river"), ("spark", "pyspark")):
            if module.endswith(f".{extra}"):
                pytest.importorskip(package, reason=f"{package} is not installed")
        assert getattr(import_module(module), last).__doc__, name


@pytest.mark.parametrize("module", PUBLIC)
def test_every_public_name_is_in_the_reference(module):
    listed = in_the_reference()
    if module == "spark":
        pytest.importorskip("pyspark", reason="pyspark is not installed")
    home = import_module(f"scstream.{module}".rstrip("."))
    names = [name for name in home.__all__ if callable(getattr(home, name))]
    absent = [n for n in names if n not in listed and f"{module}.{n}" not in listed]
    assert set(absent) <= {"require_matplotlib"}


def test_the_reference_has_the_methods_of_all_parts_of_the_estimator():
    """`ScStream` inherits most of them; those of scikit-learn's classes are left out."""
    template = (ROOT / "docs" / "_templates" / "autosummary" / "class.rst").read_text()
    left_out = set(re.findall(r":inherited-members: (.*)", template)[0].split(", "))
    ours = {kind for kind in ScStream.__mro__ if kind.__module__.startswith("scstream.")}
    others = {kind.__name__ for kind in set(ScStream.__mro__) - ours - {object}
              if any(not name.startswith("_") for name in vars(kind))}  # fmt: skip
    assert others <= left_out
    assert not left_out & {kind.__name__ for kind in ours}


def test_the_pictures_that_the_build_draws_are_drawn():
    page = (ROOT / "docs" / "how-it-works.md").read_text()
    drawn = runpy.run_path(str(ROOT / "docs" / "pictures" / "how_it_works.py"))["PICTURES"]
    assert re.findall(r"{figure} drawn/(\S+)", page) == list(drawn)
    for draw in drawn.values():
        axes = draw().axes
        assert axes
        assert all(ax.has_data() for ax in axes)


def test_the_first_pages_are_short():
    assert len((ROOT / "README.md").read_text().split("## The method")[0].split()) < 700
    comparison = (ROOT / "docs" / "comparison.md").read_text().splitlines()
    text = [line for line in comparison if not line.startswith("|")]  # all but its one table
    assert len(" ".join(text).split()) < 900
    assert sum(line.startswith("| --- ") for line in comparison) == 1


@pytest.mark.parametrize("name", ["BROWSER", "CHROMIUM", "SCSTREAM_DATA"])
def test_variables_that_users_set_are_not_taken_by_make(name):
    """A variable of the Makefile would hide one of the same name in the environment."""
    text = (ROOT / "Makefile").read_text()
    assert not re.search(rf"^{name} *[:?]?=", text, re.MULTILINE)
