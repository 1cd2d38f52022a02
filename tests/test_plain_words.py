"""What users read is plain English: phrases that read as translated do not come back."""

import ast
import re
from pathlib import Path

from scstream.cli import COMMANDS, make_parser
from scstream.families import BY_NAME

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "src" / "scstream").rglob("*.py"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
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


def help_of(command):
    parser = make_parser(command)
    return next(a for a in parser._actions if a.dest == "command").choices[command]


def test_messages_help_and_pages():
    assert translated("it is no JSON, which hangs on it")
    texts = {f"{path.name}:{line}": text for path in SOURCES for line, text in messages(path)} | {
        command: help_of(command).format_help() for command in COMMANDS
    }
    for page in PAGES if (ROOT / "docs").exists() else []:
        text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
        texts[page.name] = text
    found = {place: translated(text) for place, text in texts.items()}
    assert {place: words for place, words in found.items() if words} == {}


def test_help_names_every_family():
    told = next(action.help for action in help_of("run")._actions if action.dest == "family")
    assert [name for name in BY_NAME if not re.search(rf"(?<![\w-]){name}\b(?!-)", told)] == []
