"""What users read is plain English: phrases that read as translated do not come back."""

import ast
import re
from pathlib import Path

import pytest

from scstream.cli import COMMANDS, make_parser
from scstream.families import BY_NAME

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "src" / "scstream").rglob("*.py"))
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").glob("*.md")),
]
TRANSLATED = re.compile(
    r"\b(is|are|was|were) no (?!longer\b|more\b|one\b)[a-z]+|\bhangs? on\b|\bpassed over\b"
    r"|\bforetold\b|\banew\b|\bcannot be[.,;]",
    re.IGNORECASE,
)
EXISTS = re.compile(r"\b[Tt]here (is|are|was|were) no\b")  # which is English
CALLS = {"warn", "note", "UsageError", "ArgumentTypeError", "print", "add_note"}


def translated(text):
    """Return the turns of phrase in a text that read as translated."""
    return [found[0] for found in TRANSLATED.finditer(EXISTS.sub("", " ".join(text.split())))]


def messages(path):
    """Return the texts of errors, warnings and notes in a file, by line."""
    for node in ast.walk(ast.parse(path.read_text())):
        named = isinstance(node, ast.Call) and getattr(node.func, "id", "") in CALLS
        if named or isinstance(node, ast.Raise):
            parts = (n for n in ast.walk(node) if isinstance(n, ast.Constant))
            yield node.lineno, " ".join(n.value for n in parts if isinstance(n.value, str))


def test_the_pattern_finds_what_it_is_for():
    for text in ("it is no JSON", "which is no number", "hangs on it", "begin anew"):
        assert translated(text)
    for text in ("There is no column 'x'", "it is no longer there", "it is not a number"):
        assert not translated(text)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT / "src")))
def test_messages(path):
    found = {line: translated(text) for line, text in messages(path)}
    assert {line: words for line, words in found.items() if words} == {}


@pytest.mark.parametrize("command", COMMANDS)
def test_help(command):
    parser = make_parser(command)
    sub = next(a for a in parser._actions if a.dest == "command").choices[command]
    assert translated(sub.format_help()) == []


def test_help_names_every_family():
    parser = make_parser("run")
    sub = next(a for a in parser._actions if a.dest == "command").choices["run"]
    told = next(action.help for action in sub._actions if action.dest == "family")
    assert [name for name in BY_NAME if not re.search(rf"(?<![\w-]){name}\b(?!-)", told)] == []


@pytest.mark.skipif(not (ROOT / "docs").exists(), reason="the pages are not here")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages(page):
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    assert translated(text) == []
