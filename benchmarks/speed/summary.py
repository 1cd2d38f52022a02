"""The table of docs/performance.md: what is judged, read from the full tables of a run.

``python -m benchmarks.speed.summary`` writes it again without measuring anything.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from string import ascii_uppercase

from benchmarks.speed.tables import PAGE, TABLES, Table, marks, written

Row = Mapping[str, str]
COLUMNS = ("what", "takes", "against", "reached", "asked", "holds", "on")


@dataclass(frozen=True)
class Section:
    """The tables of a section, and the text between and below them."""

    tables: list[list[Row]]
    text: str

    @property
    def machine(self) -> str:
        """Return processor, cores and date, from the line below the tables."""
        found = re.search(r"^\*([^,]+), (\d+) cores.*?(\d{4}-\d\d-\d\d)", self.text, re.M | re.S)
        if found is None:
            raise ValueError("no line says on which machine a section was measured")
        return "{}, {} cores, {}".format(*found.groups())

    def said(self, pattern: str) -> tuple[str, ...]:
        """Return what the text says, by the groups of a pattern."""
        found = re.search(pattern, self.text)
        if found is None:
            raise ValueError(f"nothing in the text is like {pattern!r}")
        return found.groups()


def section(page: str, name: str) -> Section:
    """Return a section of the page of all tables."""
    begin, end = marks(name)
    body = page.split(begin)[1].split(end)[0]
    tables, lines = [], body.splitlines()
    while lines:
        line = lines.pop(0)
        if not line.startswith("|"):
            continue
        columns, rows = _cells(line), []
        lines.pop(0)  # the rule below the head
        while lines and lines[0].startswith("|"):
            row: dict[str, str] = {}
            for column, cell in zip(columns, _cells(lines.pop(0)), strict=True):
                row.setdefault(column, cell)  # a name that comes twice: the first
            rows.append(row)
        tables.append(rows)
    return Section(tables, body)


def summary(page: str) -> str:
    """Return the table of what is judged, as Markdown."""
    rows: list[list[str]] = []
    letters: dict[str, str] = {}  # of the machines, in the order in which they occur
    for name, judged in JUDGED.items():
        found = section(page, name)
        letter = letters.setdefault(found.machine, ascii_uppercase[len(letters)])
        rows += [[*row, letter] for row in judged(found)]
    note = "; ".join(f"{letter}: {machine}" for machine, letter in letters.items())
    return str(Table(COLUMNS, rows, f"{note}."))


def publish(name: str, text: str) -> None:
    """Write the tables of a section into the page of all tables, and the summary anew."""
    TABLES.write_text(written(TABLES.read_text(), name, text))
    refresh()


def refresh() -> None:
    """Write the summary anew from the page of all tables."""
    PAGE.write_text(written(PAGE.read_text(), "summary", summary(TABLES.read_text())))


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _number(text: str) -> float:
    return float(text.replace(",", "").split()[0])


def _small(found: Section) -> Iterator[list[str]]:
    ours = next(row for row in found.tables[0] if row["method"] == "**ScStream**")
    times, asked, holds = found.said(r"\*\*([\d.]+)\*\* in turns.*asked: ([\d.]+).*(yes|no)\)")
    yield ["1,000 points, 2-D, 20 clusters: predict and update", ours["a batch"],
           "the fastest of four Mini-Batch K-Means", f"{times} times as fast",
           asked, holds]  # fmt: skip


def _river(found: Section) -> Iterator[list[str]]:
    for row in found.tables[0]:
        if row["asked"]:
            times, holds = row["times ScStream's"], row["holds"]
            yield ["the same", found.tables[0][0]["in turns"], row["method"],
                   f"{times} times as fast", row["asked"],
                   "yes" if holds == "yes in turns, yes alone" else holds]  # fmt: skip


def _stream(found: Section) -> Iterator[list[str]]:
    (row,) = found.tables[0]
    yield [f"{row['points']} points, 1,000 at a time", f"{row['points a second']} a second",
           f"{row['MiB after a tenth']} MiB after a tenth",
           f"{row['MiB at the end']} MiB at the end", "", ""]  # fmt: skip


def _large(found: Section) -> Iterator[list[str]]:
    sweeps, threads = found.tables
    what = "409,600 points, 5-D, 80 clusters: a {} sweep"
    for kind in ("sampled", "deterministic"):
        worst = max((row for row in sweeps if row["sweep"] == kind),
                    key=lambda row: _number(row["sweep / product"]))  # fmt: skip
        yield [what.format(kind), f"{worst['sweep takes']}, threads: {worst['threads']}",
               "the bare product `T @ eta.T`", f"{worst['sweep / product']} products",
               worst["asked"], worst["holds"]]  # fmt: skip
    gain = next(name for name in threads[0] if "times as fast" in name)
    worst = min((row for row in threads if row["asked"]), key=lambda row: _number(row[gain]))
    yield ["the same on two threads", "", "one thread", f"{worst[gain]} times as fast",
           worst["asked"], worst["holds"]]  # fmt: skip


def _cores(found: Section) -> Iterator[list[str]]:
    shapes = re.findall(r"^(.*), milliseconds:$", found.text, re.M)
    for what, rows in zip(shapes, found.tables, strict=True):
        last = rows[-1]
        gain = last["update, predict, product: times one thread"].split(" / ")[0]
        others = sorted((row["K-Means / ours"] for row in rows), key=float)
        yield [f"{what}: update, on {last['threads']} threads", f"{last['update']} ms",
               "one thread; two bare products", f"{gain} times as fast; "
               f"{last['update / 2 products']} of them", "", ""]  # fmt: skip
        yield [f"the same with predict, on {rows[0]['threads']} to {last['threads']} threads", "",
               "Mini-Batch K-Means on as many", f"{others[0]} to {others[-1]} times as fast",
               "", ""]  # fmt: skip


def _plain(found: Section) -> Iterator[list[str]]:
    for row in found.tables[0]:
        yield [f"{row['batch']}: {row['step']} by the plain core", row["plain"], "the native core",
               f"{row['plain / native']} times as long", row["asked"], row["holds"]]  # fmt: skip


def _high(found: Section) -> Iterator[list[str]]:
    size = next(iter(found.tables[0][0]))
    for row in found.tables[0]:
        yield [f"{size}, {row[size].split(' (')[0]}: update", row["update"],
               "for each of two sweeps: product and Cholesky factors",
               f"{row['sweep / (product + factors)']} of them", row["asked"],
               row["holds"]]  # fmt: skip


def _counts(found: Section) -> Iterator[list[str]]:
    exponent, asked, holds = found.said(r"([\d.]+) between the last two.*at most ([\d.]+); (\w+)")
    yield ["rows of counts: update", "", "twice the non-zeros", f"exponent {exponent}", asked,
           holds]  # fmt: skip


def _growth(found: Section) -> Iterator[list[str]]:
    times, memory = found.tables
    for axis, of in {"n": "rows", "K, without the products": "clusters", "T": "sweeps"}.items():
        worst = max((row for row in times if row["against"] == axis),
                    key=lambda row: _number(row["between the last two"]))  # fmt: skip
        yield ["update", "", f"twice the {of}", f"exponent {worst['between the last two']}",
               worst["asked"], worst["holds"]]  # fmt: skip
    worst = max(memory, key=lambda row: _number(row["times chunk x K"]))
    yield ["memory of sweeps and moves", f"{worst['sweeps and moves, MiB']} MiB",
           "scores of one block of rows", f"{worst['times chunk x K']} of it", worst["asked"],
           worst["holds"]]  # fmt: skip


def _first(found: Section) -> Iterator[list[str]]:
    small, large = found.tables
    yield ["first batch, 1,000 points, 2-D", small[0]["seconds"], "a fit of Mini-Batch K-Means",
           f"{small[0]['times a fit of MiniBatchKMeans']} fits", "", ""]  # fmt: skip
    judged = next(name for name in large[0] if name.startswith("at most"))
    for row in large:
        yield [f"first batch, {row['first batch']}", row["takes"], "a later batch",
               f"{row['later ones that it takes']} later ones", judged.split()[-1],
               row[judged]]  # fmt: skip


def _anchors(found: Section) -> Iterator[list[str]]:
    for row in found.tables[0]:
        yield [f"{row['file']}: predict and update", f"{row['predict']} and {row['update']}",
               "the authors' Julia package", f"{row['times as fast']} times as fast", row["asked"],
               row["holds"]]  # fmt: skip


JUDGED: dict[str, Callable[[Section], Iterator[list[str]]]] = {
    "small": _small, "river": _river, "stream": _stream, "large": _large, "cores": _cores,
    "plain": _plain, "high": _high, "counts": _counts, "growth": _growth, "first": _first,
    "anchors": _anchors,
}  # fmt: skip


if __name__ == "__main__":
    refresh()
