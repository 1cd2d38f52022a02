"""How the documentation is built: ``make docs``. Needs no network."""

import os
import re
import runpy
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "src"))
os.environ.setdefault("OMP_NUM_THREADS", "1")

import scstream  # noqa: E402  # once it can be found
from scstream.families import BY_NAME  # noqa: E402

project = "scstream"
author = "the scstream authors"
copyright = "2026, the scstream authors"
version = release = scstream.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["pictures/*.py", "gallery/*.ipynb"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 4
# Pages link to files of the repository that are not pages; tests/test_docs.py checks every link.
suppress_warnings = ["myst.xref_missing", "config.cache"]

templates_path = ["_templates"]
autosummary_generate = True
# The methods of a family are those of `Family`, which has them all.
autosummary_context = {"families": sorted({"Product", *(f.__name__ for f in BY_NAME.values())})}
autodoc_typehints = "none"  # numpydoc's sections have the types
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

sphinx_gallery_conf = {
    "examples_dirs": [str(HERE.parent / "examples")],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"\.py$",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "abort_on_example_error": True,
    "min_reported_time": 600,
    "within_subsection_order": "FileNameSortKey",
}

html_theme = "pydata_sphinx_theme"
html_title = "scstream"
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_theme_options = {
    "navbar_align": "left",
    "show_toc_level": 2,
    "header_links_before_dropdown": 3,
    "navigation_with_keys": False,
}
html_sidebars = {page.stem: [] for page in HERE.glob("*.md")}  # they have no pages below them


def link_to_gallery(app, docname, source):
    """Let links to the examples lead to their pages in the gallery."""
    source[0] = re.sub(r"\]\(\.\./examples/(\w+)\.py\)", r"](gallery/\1.rst)", source[0])


def leave_out_absent_pages(app, docname, source):
    """Take pages that are listed but not here, as in a part of the repository, off the index."""
    if docname == "index":
        lines = source[0].splitlines()
        absent = {name for name in ("anomalies", "groups") if not (HERE / f"{name}.md").exists()}
        source[0] = "\n".join(line for line in lines if line not in absent)


def draw_pictures(app):
    """Draw the pictures of the page that explains the method."""
    script = HERE / "pictures" / "how_it_works.py"
    runpy.run_path(str(script))["main"](HERE / "drawn")


def setup(app):
    app.connect("builder-inited", draw_pictures)
    app.connect("source-read", leave_out_absent_pages)
    app.connect("source-read", link_to_gallery)
