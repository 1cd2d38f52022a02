"""The report: one table and one picture on the page, all others in the raw tables.

Both are made from stored rows alone and stand between two marks; what is written by hand around
the marks stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from os.path import relpath
from pathlib import Path

import numpy as np

from benchmarks.catalogue import DATASETS
from benchmarks.paper import figures
from benchmarks.results import OURS, Entry, best_first, entries_of
from benchmarks.store import Row

BEGIN, END = "<!-- tables -->", "<!-- end of tables -->"
GROUPS = f"{OURS}, groups"
SCORES = ("ari", "nmi", "purity", "f")
_COLUMNS = (
    "method",
    "ARI",
    "NMI",
    "purity",
    "F",
    "full NMI",
    "K found / true",
    "ms a batch",
    "first batch, s",
    "batches",
    "ARI of seeds",
    "status",
)
_LEGEND = (
    "Scores are means ± standard deviations over batches; full NMI is that of the whole stream's "
    "labels. A batch's time, to learn and to predict it, is the median; the first batch is timed "
    "apart and not scored. The last column but one has the mean ± standard deviation over seeds, "
    "and their number. A star marks a method that is told the true number of clusters; *tuned* "
    "settings were chosen on the first ten batches, with the same budget for every method. Lines "
    "in italics are from the paper, tuned. The oracle knows the true mixture."
)


def write(rows: list[Row], page: Path, tables_page: Path) -> list[Path]:
    """Write the page's table and picture and the raw tables; return the files written."""
    from benchmarks.pictures import draw

    entries = entries_of(rows)
    picture = draw(entries, tables_page.with_suffix(".png"))
    parts = [summary(entries), _SUMMARY_LEGEND]
    if picture is not None:
        parts.append(f"![ARI of every method on every data set]({_link(picture, page)})")
    _between_marks(page, "\n\n".join(parts))
    _between_marks(tables_page, tables(rows))
    return [page, tables_page, *([picture] if picture is not None else [])]


def _link(file: Path, page: Path) -> str:
    return Path(relpath(file, page.parent)).as_posix()


def _between_marks(page: Path, text: str) -> None:
    old = page.read_text() if page.exists() else f"# The comparison\n\n{BEGIN}\n{END}\n"
    if old.count(BEGIN) != 1 or old.count(END) != 1:
        raise ValueError(f"{page} must hold the lines {BEGIN!r} and {END!r} once each")
    before, rest = old.split(BEGIN)
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{rest.split(END)[1]}")


# The page: one line for each data set.

_SUMMARY_LEGEND = (
    "Mean ARI over batches ± standard deviation over seeds, where there are several. The best "
    "others are those that came to their end; a star marks a method that is told the number of "
    "clusters. The paper's figures are of tuned methods."
)


def summary(entries: Sequence[Entry]) -> str:
    """Return the table of the page: ours beside the best of the others on each data set."""
    columns = (
        "data set",
        "ScStream",
        "its groups",
        "tuned",
        "best other",
        "best told K",
        "best tuned",
        "paper's ScStream",
        "paper's best other",
    )
    body = []
    for name in dict.fromkeys(entry.dataset for entry in entries):
        here = [entry for entry in entries if entry.dataset == name]
        ours = {(entry.contestant, entry.settings_kind): entry for entry in here}
        others = [entry for entry in here if not entry.is_ours and entry.is_complete]
        untuned = [entry for entry in others if entry.settings_kind == "default"]
        stated = {method: scores["ari"] for method, scores in figures().get(name, {}).items()}
        paper = [f"{stated.pop(OURS):.2f}".lstrip("0") if OURS in stated else ""]
        best = max(stated, key=stated.__getitem__, default=None)
        paper += [f"{stated[best]:.2f}, {best}".lstrip("0") if best is not None else ""]
        body.append(
            [
                _title(name),
                _of_seeds(ours.get((OURS, "default"))),
                _of_seeds(ours.get((GROUPS, "default"))),
                _of_seeds(ours.get((OURS, "tuned"))),
                _best([entry for entry in untuned if not entry.told_k]),
                _best([entry for entry in untuned if entry.told_k]),
                _best([entry for entry in others if entry.settings_kind == "tuned"]),
                *paper,
            ]
        )
    return markdown(columns, body)


def _best(entries: Sequence[Entry]) -> str:
    scored = [entry for entry in entries if entry.values("ari").size]
    if not scored:
        return ""
    best = max(scored, key=lambda entry: entry.mean("ari"))
    return f"{_of_seeds(best)}, {best.contestant}{'*' * best.told_k}"


def _of_seeds(entry: Entry | None) -> str:
    """Write the mean over seeds and their deviation, marked if runs were stopped."""
    if entry is None or not entry.seeds("ari").size:
        return ""
    seeds = entry.seeds("ari")
    spread = f" ± {score(seeds.std(ddof=1))}" if seeds.size > 1 else ""
    return f"{score(seeds.mean())}{spread}{'' if entry.is_complete else ' (unfinished)'}"


# The raw tables.


def tables(rows: list[Row]) -> str:
    """Return all tables of the raw page as Markdown."""
    entries = entries_of(rows)
    parts = ["## Contestants beside the paper", against_paper(entries), _AGAINST_NOTE]
    for mode in dict.fromkeys(entry.mode for entry in entries):
        parts += [f"## All methods ({mode} version)", _LEGEND]
        of_mode = [entry for entry in entries if entry.mode == mode]
        for name in dict.fromkeys(entry.dataset for entry in of_mode):
            of_dataset = [entry for entry in of_mode if entry.dataset == name]
            here = {"what": "tuning", "dataset": name, "mode": mode}
            tunings = [row for row in rows if here.items() <= row.items()]
            parts += _section(name, of_dataset, tunings)
    return "\n\n".join([*parts, _circumstances(rows)])


_AGAINST_NOTE = (
    "The better of our two rows, untuned or tuned, beside the paper's tuned one, mean ± standard "
    "deviation over batches: *within* if the difference is at most the larger of the two."
)


def against_paper(entries: Sequence[Entry]) -> str:
    """Return what the paper has of each contestant beside what is measured here."""
    body = []
    for name, methods in figures().items():
        for method, stated in methods.items():
            mine = [
                entry
                for entry in entries
                if entry.dataset == name and entry.contestant == method and entry.values("ari").size
            ]
            if not mine:
                continue
            best = max(mine, key=lambda entry: entry.mean("ari"))
            away = best.mean("ari") - stated["ari"]
            spread = max(stated.get("ari_sd", 0.0), float(best.values("ari").std()))
            verdict = "within" if abs(away) <= spread else "better" if away > 0 else "worse"
            theirs = f"{score(stated['ari'])} ± {score(stated['ari_sd'])}"
            stopped = "" if best.is_complete else ", unfinished"
            body.append([_title(name), method, theirs, f"{_spread(best, 'ari')} ({best.label})",
                         verdict + stopped])  # fmt: skip
    return markdown(("data set", "method", "the paper's ARI", "here", ""), body)


def _section(name: str, entries: list[Entry], tunings: list[Row]) -> list[str]:
    """Return the parts about one data set."""
    sources = dict.fromkeys(
        row["source"] for entry in entries for row in entry.rows if row.get("source")
    )
    facts = [f"Source: {next(iter(sources))}."] if sources else []
    facts += [DATASETS[name].note] if name in DATASETS and DATASETS[name].note else []
    limits = sorted({row["limit"] for entry in entries for row in entry.rows})
    facts += [f"Limit of a run: {' or '.join(f'{limit:g}' for limit in limits)} s."]
    budgets = {(t["budget"]["trials"], t["budget"]["seconds"]) for t in tunings}
    facts += [f"A tuning: {trials} trials in {seconds:g} s." for trials, seconds in budgets]
    ordered = best_first(entries)
    body = [_row(entry) for entry in ordered]
    body += _oracle(ordered)
    body += [_paper_row(method, stated) for method, stated in figures().get(name, {}).items()]
    parts = [f"### {_title(name)}", " ".join(facts), markdown(_COLUMNS, body)]
    return [*parts, _tuned_settings(tunings)] if tunings else parts


def _title(name: str) -> str:
    return DATASETS[name].title if name in DATASETS else name


def _row(entry: Entry) -> list[str]:
    """Return the cells of an entry's line."""
    name = f"**{entry.label}**" if entry.is_ours else entry.label
    if not entry.values("batch").size:
        return [name, *[""] * (len(_COLUMNS) - 2), entry.status]
    done = sum(len(row.get("batch") or []) for row in entry.rows)
    there = sum((row.get("n_batches") or 1) - 1 for row in entry.rows)
    return [
        name,
        *(_spread(entry, column) for column in SCORES),
        score(entry.fact("full_nmi")),
        f"{entry.mean('n_clusters'):.1f} / {entry.mean('n_true'):.1f}",
        _quantity(float(np.median(entry.milliseconds))),
        _quantity(entry.fact("seconds_first")),
        str(done) if entry.is_complete else f"{done} of {there}",
        f"{_of_seeds(entry)}; {len(entry.rows)}",
        entry.status,
    ]


def _spread(entry: Entry, column: str) -> str:
    values = entry.values(column)
    return f"{score(values.mean())} ± {score(values.std())}" if values.size else ""


def score(value: float) -> str:
    """Write a score without the zero before the point, NaN as nothing."""
    if np.isnan(value):
        return ""
    text = f"{value:.3f}"
    return text.replace("0.", ".", 1) if abs(value) < 0.9995 else text


def _quantity(value: float) -> str:
    """Write a quantity to three digits, without an exponent."""
    if np.isnan(value):
        return ""
    return f"{value:,.0f}" if value >= 99.5 else f"{value:.3g}"


def _oracle(entries: list[Entry]) -> list[list[str]]:
    """Return the line of the oracle, from the entry that went farthest; none on real data."""
    entry = max(entries, key=lambda entry: entry.values("oracle_ari").size)
    if not entry.values("oracle_ari").size:
        return []
    cells = {"ARI": _spread(entry, "oracle_ari"), "NMI": _spread(entry, "oracle_nmi")}
    return [["*oracle*", *(cells.get(column, "") for column in _COLUMNS[1:])]]


def _paper_row(method: str, stated: dict[str, float]) -> list[str]:
    cells = []
    for column in (*SCORES, "full_nmi"):
        spread = stated.get(f"{column}_sd")
        text = f"{stated[column]:.2f}" if column in stated else ""
        cells.append(text if spread is None else f"{text} ± {spread:.2f}")
    return [f"*the paper's {method}*", *cells, *[""] * (len(_COLUMNS) - 6)]


def _tuned_settings(tunings: list[Row]) -> str:
    """Return the settings that tuning chose, folded away."""
    body = []
    for row in tunings:
        settings = row.get("settings")
        written = ", ".join(f"{key} = {value}" for key, value in (settings or {}).items())
        chosen = "" if settings is None else written or "the defaults"
        ari = score(row["ari"]) if row.get("ari") is not None else ""
        body.append([row["contestant"], chosen, ari, str(len(row.get("trials", []))),
                     row["status"]])  # fmt: skip
    table = markdown(("method", "settings", "ARI of ten batches", "trials", "status"), body)
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
    dates = sorted(row["date"] for row in runs)
    lines = [
        f"- Machine: {machines}",
        f"- Versions: {versions}",
        f"- Revision: {all_of(row['revision'] for row in runs)}",
        f"- Threads of each method: {all_of(str(row['threads']) for row in runs)}; seconds of the "
        f"{all_of(row['clock'] for row in runs)}",
        f"- Run between {dates[0]} and {dates[-1]}" if dates else "- No runs",
    ]
    return "## Where these figures come from\n\n" + "\n".join(lines)


def markdown(columns: Sequence[str], body: Sequence[Sequence[object]]) -> str:
    """Return a Markdown table; a bar within a cell would end it."""
    lines = [columns, ["---"] * len(columns), *body]
    return "\n".join(
        f"| {' | '.join(str(cell).replace('|', '/') for cell in line)} |" for line in lines
    )
