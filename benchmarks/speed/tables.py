"""What a section found, as tables in Markdown, and where they are written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
TABLES = ROOT / "benchmarks" / "published" / "speed.md"  # all tables of all sections
PAGE = ROOT / "docs" / "performance.md"  # what is judged
OURS, KMEANS = "ScStream", "MiniBatchKMeans"


@dataclass(frozen=True)
class Table:
    """Rows to be printed, and a sentence below them."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""

    def __str__(self) -> str:
        lines = [self.columns, ["---"] * len(self.columns), *self.rows]
        text = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        return f"{text}\n\n{self.note}" if self.note else text


@dataclass(frozen=True)
class Result:
    """What a section found: its tables, and all figures behind them."""

    tables: list[Table]
    figures: dict[str, Any] = field(default_factory=dict)


def ms(seconds: float) -> str:
    return f"{digits(1e3 * seconds)} ms"


def digits(value: float) -> str:
    """Write a quantity with three digits, without an exponent."""
    return f"{value:,.0f}" if value >= 99.5 else f"{value:.3g}"


def holds(reached: float, asked: float, *, at_least: bool) -> str:
    return "yes" if (reached >= asked if at_least else reached <= asked) else "no"


def marks(section: str) -> tuple[str, str]:
    """Return the lines of the page between which the tables of a section are."""
    return f"<!-- {section} -->", f"<!-- end of {section} -->"


def written(page: str, section: str, text: str) -> str:
    """Return the page with the tables of a section replaced."""
    begin, end = marks(section)
    if page.count(begin) != 1 or page.count(end) != 1 or page.index(begin) > page.index(end):
        raise ValueError(f"the page must hold the lines {begin!r} and {end!r} once each, in order")
    before, rest = page.split(begin)
    return f"{before}{begin}\n\n{text}\n\n{end}{rest.split(end)[1]}"


def told(where: Mapping[str, Any]) -> str:
    """Return the circumstances in a line."""
    m, versions = where["machine"], where["versions"]
    names = ("python", "numpy", "scikit-learn", "river")
    with_versions = ", ".join(f"{name} {versions[name]}" for name in names if versions[name])
    return (
        f"{m['processor']}, {m['cores']} cores, {m['system']}; {with_versions}; revision "
        f"{where['revision']}; {where['date']}; load of the machine before: {where['load'][0]:.1f}."
    )
