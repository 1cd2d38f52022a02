"""Texts with topics: templates with words filled in, and sentences of installed packages."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np

Texts = tuple[list[str], np.ndarray]

_PRODUCTS = [
    "laptop", "phone", "printer", "camera", "headset",
    "tablet", "router", "keyboard", "monitor", "watch",
]  # fmt: skip
_CITIES = [
    "Berlin", "Madrid", "Oslo", "Lisbon", "Vienna",
    "Dublin", "Prague", "Athens", "Warsaw", "Rome",
]  # fmt: skip
_DAYS = [
    "Monday", "Tuesday", "Wednesday", "Thursday", "Friday",
    "Saturday", "Sunday", "yesterday", "today", "tomorrow",
]  # fmt: skip
_NAMES = [
    "Anna", "Ben", "Clara", "David", "Emma",
    "Frank", "Grace", "Henry", "Irene", "Jack",
]  # fmt: skip

# topic: sentences, in which {a} and {b} are words of its two lists
_TEMPLATES: dict[str, tuple[tuple[str, ...], list[str], list[str]]] = {
    "refund": (("I want a refund for the {a} that I bought on {b}.",
                "Please give me my money back for this {a}, returned {b}."), _PRODUCTS, _DAYS),
    "broken": (("My {a} stopped working on {b}.",
                "The {a} does not turn on any more since {b}."), _PRODUCTS, _DAYS),
    "delivery": (("When will my {a} be delivered to {b}?",
                  "The parcel with the {a} has not arrived in {b}."), _PRODUCTS, _CITIES),
    "flight": (("Book a flight to {a} on {b}.", "Is there a plane to {a} {b}?"), _CITIES, _DAYS),
    "hotel": (("I need a hotel room in {a} from {b}.",
               "Reserve two nights at a hotel in {a}, {b}."), _CITIES, _DAYS),
    "weather": (("What is the weather like in {a} on {b}?",
                 "Will it rain in {a} {b}?"), _CITIES, _DAYS),
    "password": (("{a} cannot log in with the password of the {b} account.",
                  "Reset the password that {a} uses for the {b}."), _NAMES, _PRODUCTS),
    "meeting": (("Schedule a meeting with {a} on {b}.",
                 "Move the appointment with {a} to {b}."), _NAMES, _DAYS),
    "invoice": (("The invoice for the {a} of {b} has the wrong amount.",
                 "I was charged twice for the {a} that {b} ordered."), _PRODUCTS, _NAMES),
    "music": (("Play some songs that {a} listened to on {b}.",
               "Add this album to the playlist of {a} for {b}."), _NAMES, _DAYS),
    "recipe": (("How long does {a} cook the soup on {b}?",
                "Find a recipe for a cake that {a} can bake {b}."), _NAMES, _DAYS),
    "train": (("Which platform does the train to {a} leave from on {b}?",
               "The train from {a} was an hour late {b}."), _CITIES, _DAYS),
    "doctor": (("{a} has had a headache and a fever since {b}.",
                "Make an appointment at the dentist for {a} on {b}."), _NAMES, _DAYS),
    "football": (("{a} scored two goals in the match in {b}.",
                  "The team of {a} lost the final in {b}."), _NAMES, _CITIES),
    "jobs": (("{a} applied for a job as an engineer in {b}.",
              "Is the company in {b} hiring, asks {a}."), _NAMES, _CITIES),
}  # fmt: skip

# parts of packages that are about one thing each
_PACKAGES = (
    "scipy.stats", "scipy.signal", "scipy.linalg", "scipy.spatial", "matplotlib", "pandas",
    "sqlalchemy", "redis", "tornado", "distributed", "optuna", "PIL", "river", "polars",
    "sklearn.ensemble", "statsmodels",
)  # fmt: skip


def templated(n: int, seed: int = 0) -> Texts:
    """Return n sentences of fifteen topics, two templates each; few are repeated word by word."""
    rng = np.random.default_rng(seed)
    topics = list(_TEMPLATES)
    y = rng.integers(len(topics), size=n)
    texts = []
    for topic in y:
        templates, first, second = _TEMPLATES[topics[topic]]
        words = {"a": str(rng.choice(first)), "b": str(rng.choice(second))}
        texts.append(templates[rng.integers(len(templates))].format(**words))
    return texts, y


def documented(n: int, seed: int = 0) -> Texts:
    """Return the first sentences of docstrings of parts of packages, which are their topics."""
    rng = np.random.default_rng(seed)
    texts: list[str] = []
    y: list[int] = []
    each = 1 + n // (len(_PACKAGES) - 4)  # a few have fewer
    for topic, name in enumerate(_PACKAGES):
        found = sorted(set(_sentences(name)))
        rows = rng.permutation(len(found))[:each]
        texts += [found[row] for row in rows]
        y += [topic] * len(rows)
    order = rng.permutation(len(texts))[:n]
    return [texts[i] for i in order], np.array(y)[order]


def _sentences(name: str) -> Iterator[str]:
    """Yield the first paragraph of each docstring of a package, of 5 to 60 words."""
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        return
    for path in sorted(Path(spec.origin).parent.rglob("*.py")):
        if "tests" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                words = (ast.get_docstring(node) or "").partition("\n\n")[0].split()
                if 5 <= len(words) <= 60:
                    yield " ".join(words)
