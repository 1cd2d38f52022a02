"""The report: Markdown tables from stored results alone, between two marks of a page.

What is written by hand around the marks stays. Rows of experiments of their own are shown as
they come: ``{"what": "table", "title", "columns", "rows", "note"}``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from benchmarks.budgets import budgets
from benchmarks.paper import FIGURES
from benchmarks.results import OURS, Entry, best_first, entries_of, lead
from benchmarks.store import Row
from benchmarks.streams import DATASETS

BEGIN, END = "<!-- tables -->", "<!-- end of tables -->"
_NAMED = 4  # methods ahead that the summary names
_SCORES = ("ari", "nmi", "purity", "f")
_COLUMNS = (
    "method",
    "settings",
    "ARI",
    "NMI",
    "purity",
    "F",
    "full NMI",
    "K found / true",
    "ms a batch",
    "first batch, s",
    "MiB",
    "batches",
    "seeds: ARI",
    "status",
)
_LEGEND = (
    "Scores are means ± standard deviations over the batches; full NMI is that of the whole "
    "stream's labels. K is the mean over the batches. A batch's time, to learn and to predict "
    "it, is the median; the first batch is timed apart and not scored. The last column but one "
    "says how many seeds, and their least and greatest mean ARI. A star marks a method that is "
    "told the true number of clusters; *tuned* settings were chosen on the first ten batches, "
    "with the same budget for every method. The oracle knows the true mixture."
)


def write(rows: list[Row], page: Path) -> list[Path]:
    """Write tables and pictures of stored rows; return the files written."""
    from benchmarks.pictures import draw

    text = page.read_text() if page.exists() else f"# The comparison\n\n{BEGIN}\n{END}\n"
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        raise ValueError(f"{page} must hold the lines {BEGIN!r} and {END!r} once each")
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    pictures = draw(entries_of(rows), page.with_suffix(""))
    links = {key: path.relative_to(page.parent).as_posix() for key, path in pictures.items()}
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(f"{before}{BEGIN}\n\n{tables(rows, links)}\n\n{END}{after}")
    return [page, *pictures.values()]


def tables(rows: list[Row], pictures: dict[tuple[str, str], str] | None = None) -> str:
    """Return all tables as Markdown.

    Parameters
    ----------
    rows : list of dict
        Stored rows.
    pictures : dict, optional
        Addresses of pictures by mode and data set.

    Returns
    -------
    str
    """
    pictures = pictures or {}
    entries = entries_of(rows)
    parts = []
    for mode in dict.fromkeys(entry.mode for entry in entries):
        of_mode = [entry for entry in entries if entry.mode == mode]
        parts += [f"## Summary ({mode} version)", _summary(of_mode)]
        if (mode, "") in pictures:
            parts.append(f"![Quality against time]({pictures[mode, '']})")
        parts.append(_LEGEND)
        for name in dict.fromkeys(entry.dataset for entry in of_mode):
            of_dataset = [entry for entry in of_mode if entry.dataset == name]
            parts += _section(name, mode, of_dataset, rows, pictures.get((mode, name)))
    for row in rows:
        if row["what"] == "table":
            parts += [f"## {row['title']}", _markdown(row["columns"], row["rows"])]
            parts += [row["note"]] if row.get("note") else []
    parts.append(_circumstances(rows))
    return "\n\n".join(parts)


def _section(
    name: str, mode: str, entries: list[Entry], rows: list[Row], picture: str | None
) -> list[str]:
    """Return the parts about one data set."""
    title = DATASETS[name].title if name in DATASETS else name
    sources = dict.fromkeys(
        row["source"] for entry in entries for row in entry.rows if row.get("source")
    )
    parts = [f"### {title}" + (" (short version)" if mode == "short" else "")]
    facts = [f"Source: {'; '.join(_brief(list(sources)))}."] if sources else []
    facts += [DATASETS[name].note] if name in DATASETS and DATASETS[name].note else []
    parts += [" ".join(facts)] if facts else []
    ordered = best_first(entries)
    body = [_row(entry) for entry in ordered]
    body += _oracle(ordered)
    body += [_paper_row(method, figures) for method, figures in FIGURES.get(name, {}).items()]
    parts.append(_markdown(_COLUMNS, body))
    if picture is not None:
        parts.append(f"![{title}]({picture})")
    here = {"what": "tuning", "dataset": name, "mode": mode}
    tunings = [row for row in rows if here.items() <= row.items()]
    parts.append(budgets(ordered, tunings))
    return [*parts, _tuned_settings(tunings)] if tunings else parts


def _brief(sources: list[str]) -> list[str]:
    """Return the first few of the sources, which differ by their seeds."""
    return sources if len(sources) <= 3 else [*sources[:3], "..."]


def _row(entry: Entry) -> list[str]:
    """Return the cells of an entry's line."""
    name = f"**{entry.name}**" if entry.is_ours else entry.name
    done = entry.values("batch").size
    if not done:
        return [name, entry.settings_kind, *[""] * (len(_COLUMNS) - 3), entry.status]
    k = f"{entry.mean('n_clusters'):.1f} / {entry.mean('n_true'):.1f}"
    return [
        name,
        entry.settings_kind,
        *(_spread(entry, score) for score in _SCORES),
        _number(entry.facts("full_nmi")),
        k,
        _quantity(float(np.median(entry.milliseconds))),
        _quantity(_mean(entry.facts("seconds_first"))),
        _quantity(_mean(entry.facts("peak_memory_mib"))),
        _batches(entry),
        _seeds(entry),
        entry.status,
    ]


def _spread(entry: Entry, column: str) -> str:
    values = entry.values(column)
    return f"{_score(values.mean())} ± {_score(values.std())}"


def _score(value: float) -> str:
    """Write a score without the zero before the point, NaN as nothing."""
    if np.isnan(value):
        return ""
    text = f"{value:.3f}"
    return text.replace("0.", ".", 1) if abs(value) < 0.9995 else text


def _number(values: np.ndarray) -> str:
    return _score(_mean(values))


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if values.size else float("nan")


def _quantity(value: float) -> str:
    """Write a quantity to three digits, without an exponent."""
    if np.isnan(value):
        return ""
    return f"{value:,.0f}" if value >= 99.5 else f"{value:.3g}"


def _batches(entry: Entry) -> str:
    """Say how many batches were scored, and of how many."""
    done = [len(row.get("batch") or []) for row in entry.rows]
    there = [row["n_batches"] - 1 for row in entry.rows if row.get("n_batches")]
    total = f" of {sum(there)}" if there and sum(there) != sum(done) else ""
    return f"{sum(done)}{total}"


def _seeds(entry: Entry) -> str:
    means = [np.mean(row["ari"]) for row in entry.rows if row.get("ari")]
    if len(means) < 2:
        return str(len(entry.rows))
    return f"{len(entry.rows)}: {_score(min(means))} to {_score(max(means))}"


def _oracle(entries: list[Entry]) -> list[list[str]]:
    """Return the line of the oracle, from the entry that went farthest; none on real data."""
    entry = max(entries, key=lambda entry: entry.values("oracle_ari").size)
    if not entry.values("oracle_ari").size:
        return []
    cells = {"ARI": _spread(entry, "oracle_ari"), "NMI": _spread(entry, "oracle_nmi")}
    return [["*oracle*", *(cells.get(column, "") for column in _COLUMNS[1:])]]


def _paper_row(method: str, figures: dict[str, float]) -> list[str]:
    names = dict(zip(_COLUMNS[2:7], (*_SCORES, "full_nmi"), strict=True))
    cells = [f"{figures[names[c]]:.2f}".lstrip("0") if names.get(c) in figures else ""
             for c in _COLUMNS[1:]]  # fmt: skip
    return [f"*the paper's {method}*", *cells]


def _summary(entries: list[Entry]) -> str:
    """Compare ScStream with the best of the others on each data set."""
    columns = (
        "data set",
        "ScStream, default: ARI / NMI",
        "ScStream, tuned: ARI / NMI",
        "the paper's: ARI / NMI",
        "best other ARI",
        "best other NMI",
        "ahead of it untuned",
        "ahead of it tuned",
    )
    body = []
    for name in dict.fromkeys(entry.dataset for entry in entries):
        here = [entry for entry in entries if entry.dataset == name]
        others = [entry for entry in here if not entry.is_ours and entry.is_complete]
        ours = {entry.settings_kind: entry for entry in here if entry.contestant == OURS}
        figures = FIGURES.get(name, {}).get(OURS, {})
        body.append(
            [
                DATASETS[name].title if name in DATASETS else name,
                _pair(ours.get("default")),
                _pair(ours.get("tuned")),
                " / ".join(f"{figures[score]:.2f}".lstrip("0") for score in ("ari", "nmi"))
                if figures
                else "",
                _best(others, "ari"),
                _best(others, "nmi"),
                *(_ahead(here, ours.get(kind)) for kind in ("default", "tuned")),
            ]
        )
    note = (
        "The best others are those that finished. Whether one is ahead of ScStream is seen on the "
        "batches that both scored; it may be one that was stopped by its time limit, which is said."
    )
    return f"{_markdown(columns, body)}\n\n{note}"


def _pair(entry: Entry | None) -> str:
    if entry is None or not entry.values("ari").size:
        return ""
    unfinished = "" if entry.is_complete else " (unfinished)"
    return f"{_score(entry.mean('ari'))} / {_score(entry.mean('nmi'))}{unfinished}"


def _best(entries: list[Entry], column: str) -> str:
    if not entries:
        return ""
    best = max(entries, key=lambda entry: np.nan_to_num(entry.mean(column), nan=-np.inf))
    return f"{_score(best.mean(column))}, {best.label}"


def _ahead(entries: list[Entry], ours: Entry | None) -> str:
    """Name who is ahead of ours, by what, and whether it was stopped; of many the first few."""
    if ours is None or not ours.values("ari").size:
        return ""
    found = []
    for entry in entries:
        if entry.is_ours or not entry.values("ari").size:
            continue
        leads = {title: lead(entry, ours, title.lower()) for title in ("ARI", "NMI")}
        by = [title for title, value in leads.items() if value > 0.0]
        if by:
            stopped = "" if entry.is_complete else "; stopped"
            found.append((max(leads.values()), f"{entry.label} ({', '.join(by)}{stopped})"))
    found.sort(reverse=True)
    more = [f"{len(found) - _NAMED} more"] if len(found) > _NAMED else []
    return "; ".join([name for _, name in found[:_NAMED]] + more) or "nobody"


def _tuned_settings(tunings: list[Row]) -> str:
    """Return the settings that tuning chose, folded away."""
    body = []
    searches = Counter(row["contestant"] for row in tunings)
    for row in tunings:
        settings = row.get("settings")
        method = row["contestant"]
        if searches[method] > 1:
            method += f", seed {row['seed']}"
        written = ", ".join(f"{key} = {value}" for key, value in (settings or {}).items())
        chosen = "" if settings is None else written or "the defaults"
        ari = _score(row["ari"]) if row.get("ari") is not None else ""
        body.append([method, chosen, ari, str(len(row.get("trials", []))), row["status"]])
    table = _markdown(("method", "settings", "ARI of ten batches", "trials", "status"), body)
    return f"<details><summary>Tuned settings</summary>\n\n{table}\n\n</details>"


def _circumstances(rows: list[Row]) -> str:
    """Say where, when and with what the rows were made; differences are all named."""
    runs = [row for row in rows if row["what"] in ("run", "tuning")]

    def all_of(values: Iterable[str | None]) -> str:
        return "; ".join(dict.fromkeys(value for value in values if value)) or "unknown"

    machines = all_of(
        f"{m['processor']}, {m['cores']} cores, {m['memory_gib']} GiB, {m['system']}"
        for m in (row["machine"] for row in runs)
    )
    versions = all_of(
        ", ".join(f"{name} {version}" for name, version in row["versions"].items() if version)
        for row in runs
    )
    threads = all_of(str(row["threads"]) for row in runs)
    jobs = all_of(str(row["jobs"]) for row in runs if row["what"] == "run")
    dates = sorted(row["date"] for row in runs)
    lines = [
        f"- Machine: {machines}",
        f"- Versions: {versions}",
        f"- Revision: {all_of(row['revision'] for row in runs)}",
        f"- Threads of each method: {threads}; runs at the same time: {jobs}",
        f"- Run between {dates[0]} and {dates[-1]}" if dates else "- No runs",
    ]
    return "## Where these figures come from\n\n" + "\n".join(lines)


def _markdown(columns: Sequence[str], body: Sequence[Sequence[object]]) -> str:
    """Return a Markdown table; a bar within a cell would end it."""
    lines = [columns, ["---"] * len(columns), *body]
    return "\n".join(
        f"| {' | '.join(str(cell).replace('|', '/') for cell in line)} |" for line in lines
    )
