"""What each column of a table is: learned from, the clock, or left out; and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from scstream.encoders.keys import names_rows, never_repeats, too_many_words
from scstream.sources.guess.clock import Clock, clocks, is_clock_name
from scstream.sources.guess.dates import date_format, is_moment_text
from scstream.sources.guess.keys import are_padded, is_code_name, is_row_name
from scstream.sources.guess.looks import (
    FREE_TEXT,
    Look,
    Role,
    column_key,
    form_of,
    kind_of,
    numbers_in,
    range_of,
    short,
    units_in,
)
from scstream.sources.guess.values import MOSTLY, is_truth
from scstream.sources.options import SourceOptions, find_column
from scstream.support.advice import Advice, advised

_FIRST = 100  # rows that certainly follow each other
_MOST_KEYS = 3  # of a table
_FEW = 10  # rows: fewer say nothing about constants and identifiers
_RARE = 100  # rows for each value, of columns with few of these: fields of odd objects in JSON
_NO_CLOCK = (Advice("time_column", "none"),)


def columns_of_look(look: Look, options: SourceOptions, source: str = "") -> list[Role]:
    """Return what each column is taken for, and report it through ``options.on_columns``.

    Raises `ValueError`, with all that is wrong, if the options name what does not exist, or no
    column is left.
    """
    if options.kinds is not None:
        options = _as_learned(look, options, options.kinds, source)
    places, problems = _places(look, options)
    if problems:
        raise ValueError(listed_problems(problems))
    keys = _keys(look)
    roles = [_role(look, j, places, options, keys) for j in range(len(look.names))]
    roles = _with_clock(look, roles, places, options)
    roles = [_with_form(look, j, role) for j, role in enumerate(roles)]
    if options.on_columns is not None:
        options.on_columns(roles)
    problems, advice = _problems_of(roles, places, options)
    if problems:
        raise advised(ValueError(listed_problems(problems)), *advice)
    return roles


def used_roles(roles: Sequence[Role], options: SourceOptions) -> tuple[list[int], int | None]:
    """Return the columns to learn from, in the order that was asked for, and the clock."""
    used = [j for j, role in enumerate(roles) if role.kind in ("number", "truth", "text")]
    time = next((j for j, role in enumerate(roles) if role.kind == "time"), None)
    columns = options.columns if options.kinds is None else list(options.kinds)
    if columns is not None:
        names = [role.name for role in roles]
        order = [find_column(column, names) for column in columns]
        if len(set(order)) < len(order):
            raise ValueError(f"A column is named twice: {[names[j] for j in order]}.")
        used = [j for j in order if j in used]
    return used, time


def _as_learned(
    look: Look, options: SourceOptions, kinds: Mapping[str, str], source: str
) -> SourceOptions:
    """Return the options with the columns, and their kinds, that a model has learned from."""
    missing = [name for name in kinds if name not in look.names]
    if missing:
        raise advised(
            ValueError(
                f"The model learned from {', '.join(map(repr, missing))}, and {source} has no such "
                f"column{'s' * (len(missing) > 1)}. It has {', '.join(map(repr, look.names[:20]))}"
                f"{' ...' * (len(look.names) > 20)}. If they have other names there, list them in "
                "the order of the model."
            ),
            Advice("columns"),
        )
    numbers = [
        name for j, name in enumerate(look.names)
        if kinds.get(name) == "number" and not all(is_truth(str(v)) for v in look.values[j])
    ]  # fmt: skip
    words = [name for name, kind in kinds.items() if kind == "text"]
    return replace(options, columns=list(kinds), text=words, number=numbers)


def _places(look: Look, options: SourceOptions) -> tuple[dict[str, list[int]], list[str]]:
    """Return the columns that each option names, and the names that are not there."""
    asked: dict[str, Sequence[str | int]] = {
        "columns": options.columns or (),
        "include": options.include,
        "exclude": options.exclude,
        "text": options.text,
        "number": options.number,
    }
    if options.time_column not in (None, "none"):
        asked["time_column"] = [options.time_column]
    places: dict[str, list[int]] = {}
    problems = []
    for option, columns in asked.items():
        places[option] = []
        for column in columns:
            try:
                places[option].append(find_column(column, look.names))
            except ValueError as error:
                problems.append(f"{option}: {error}")
    return places, problems


def _role(
    look: Look, j: int, places: dict[str, list[int]], options: SourceOptions, keys: set[int]
) -> Role:
    """Return what a column is taken for, except for the clock."""
    name, key = look.names[j], column_key(look.names, j)
    if j in places.get("time_column", ()):
        return Role(name, "time", "named as the clock", _NO_CLOCK)
    if j in places["exclude"]:
        return Role(name, "out", EXCLUDED)
    if options.columns is not None and j not in places["columns"]:
        return Role(name, "out", NOT_NAMED)
    role = _kind(look, j, options)
    if j in places["text"]:
        return Role(name, "text", "named as text", (Advice("exclude", key),))
    if j in places["number"]:
        return Role(name, "number", "named as numbers", (Advice("exclude", key),), unit=role.unit)
    wanted = j in places["include"] or j in places["columns"]
    if wanted and role.kind == "text" and _holds_dates(look, j):
        return Role(name, "out", "dates", (Advice("time_column", key),))
    if wanted and role.kind != "out":
        return replace(role, changes=(Advice("exclude", key),))
    if options.numeric and role.kind == "text":
        why = f"{role.why}; the family takes numbers only"
        return Role(name, "out", why, (Advice("family", "auto"),))
    if wanted or role.kind == "out" or options.numeric or options.keep:
        return role
    return _left_out(look, j, role, keys) or role


def _with_form(look: Look, j: int, role: Role) -> Role:
    """Return the role of a column of words, which says so if they are free text."""
    if role.kind != "text" or form_of(look.values[j]) != FREE_TEXT:
        return role
    return replace(role, why=f"{FREE_TEXT}: {role.why}")


def _keys(look: Look) -> set[int]:
    """Return the columns of whole numbers that hardly come again; many such are ranks."""
    found = set()
    for j, name in enumerate(look.names):
        named = is_code_name(name) or is_row_name(name, j) or is_clock_name(name)
        if not named and all(kind_of(value, look) == "number" for value in look.values[j]):
            x = np.array(numbers_in(look, j))
            if np.all(x == np.floor(x)) and never_repeats(x):
                found.add(j)
    return found if len(found) <= _MOST_KEYS else set()


def _kind(look: Look, j: int, options: SourceOptions) -> Role:
    """Return what a column holds."""
    name, values, key = look.names[j], look.values[j], column_key(look.names, j)
    if not values:
        why = f"empty in {look.n:,} rows"
        if options.numeric or options.keep:
            return Role(name, "number", why, (Advice("exclude", key),))
        return Role(name, "out", why, (Advice("number", key),))
    kinds = [kind_of(value, look) for value in values]
    share = kinds.count("number") / len(kinds)
    if "other" in kinds:
        lists = all(isinstance(value, list) for value in values)
        return Role(name, "out", "holds nested values" + " (lists)" * lists)
    if "date" in kinds:
        return Role(name, "out", "dates", (Advice("time_column", key),))
    if kinds.count("truth") == len(kinds):
        return Role(name, "truth", "True and False", (Advice("exclude", key),))
    units = [] if look.typed else units_in(look, j)
    numbers = share >= MOSTLY or (share >= 0.5 and len({*_words(values, kinds)}) == 1)
    if numbers and len(units) < 2:
        why = range_of(np.array(numbers_in(look, j)))
        changes = [Advice("exclude", key), *[Advice("text", key)] * why.startswith("whole")]
        said = " ".join([why, *units])
        return Role(name, "number", said, tuple(changes), unit="".join(units))
    distinct = len({str(value) for value in values})
    why = f"{distinct:,} different words" if distinct > 1 else "one word"
    return Role(name, "text", why, (Advice("exclude", key),))


def _holds_dates(look: Look, j: int) -> bool:
    """Whether the text of a column is dates."""
    texts = [value for value in look.values[j][:_FIRST] if isinstance(value, str)]
    return not look.typed and date_format(texts) is not None


def _words(values: Sequence[Any], kinds: Sequence[str]) -> list[str]:
    """Return the values that are not numbers."""
    return [str(v) for v, kind in zip(values, kinds, strict=True) if kind != "number"]


def _left_out(look: Look, j: int, role: Role, keys: set[int]) -> Role | None:
    """Return the role of a column that cannot be clustered, None for all others."""
    name, values, key = look.names[j], look.values[j], column_key(look.names, j)
    distinct, n = len({str(value) for value in values}), len(values)
    back = (Advice("include", key),)
    if n < _FEW:
        rare = look.n >= _RARE * n
        return (
            Role(name, "out", f"{n} value{'s' * (n > 1)} in {look.n:,} rows", back)
            if rare
            else None
        )
    if distinct == 1:
        return Role(name, "out", f"always {short(values[0])}", back)
    if role.kind == "text":
        if not names_rows(distinct, n):
            return _grouped(look, j, role)
        words = _words(values, [kind_of(value, look) for value in values])
        if 0 < 2 * len(words) < n:
            why = f"numbers, and words such as {short(words[0])!r}"
            return Role(name, "out", why, (Advice("number", key),))
        return Role(
            name, "out", f"{form_of(look.values[j])}: {distinct:,} different in {n:,} rows", back
        )
    if role.kind != "number" or is_clock_name(name):
        return None
    return _numbered(look, j, distinct, j in keys)


def _grouped(look: Look, j: int, role: Role) -> Role | None:
    """Return the role of words that are too many to group by, None for all others."""
    counts = Counter(str(value) for value in look.values[j])
    if not too_many_words(np.array([*counts.values()]), look.total):
        return None
    why = f"{len(counts):,} different words in {look.n:,} rows, too many for groups"
    if form_of(look.values[j]) == FREE_TEXT:
        why = f"{FREE_TEXT}: {len(counts):,} different in {look.n:,} rows"
    return Role(role.name, "out", why, (Advice("include", column_key(look.names, j)),))


def _numbered(look: Look, j: int, distinct: int, unique: bool) -> Role | None:
    """Return the role of whole numbers that are names, None for numbers that measure or count."""
    n = len(look.values[j])
    name, key = look.names[j], column_key(look.names, j)
    numbers = np.array(numbers_in(look, j))
    if not len(numbers) or np.any(numbers != np.floor(numbers)):
        return None
    if np.all(np.diff(numbers[:_FIRST]) == 1.0):
        return Role(name, "out", "counts the rows", (Advice("include", key),))
    code, row = is_code_name(name) or are_padded(look.values[j]), is_row_name(name, j)
    if ((code or row) and distinct > MOSTLY * n) or (code and names_rows(distinct, n)) or unique:
        why = f"identifiers: {distinct:,} different in {n:,} rows"
        return Role(name, "out", why, (Advice("include", key),))
    if not code:
        return None
    why = f"a code, by its name or zeros in front; {distinct:,} different ones"
    role = Role(name, "text", why, (Advice("number", key), Advice("exclude", key)))
    return _grouped(look, j, role) or role


def _with_clock(
    look: Look, roles: list[Role], places: dict[str, list[int]], options: SourceOptions
) -> list[Role]:
    """Return the roles with the column of the times among them, and other dates left out."""
    named = places.get("time_column", [None])[0]
    found = {}
    for j, role in enumerate(roles):
        chosen = j == named
        if chosen or (role.kind != "truth" and j not in _said(places)):
            clock = Clock.of(look.names[j], look.values[j], look.decimal, chosen=chosen)
            if look.typed and clock is not None and not clock.is_date and role.kind == "text":
                clock = None
            if clock is not None:
                found[j] = clock
    if named is not None and named not in found and look.values[named]:
        odd = next((v for v in look.values[named] if not is_moment_text(str(v))), "")
        raise ValueError(
            f"time_column: {look.names[named]!r} holds {str(odd)!r}, which cannot be read "
            "as a time. Times are numbers, or dates such as 2026-01-31 12:00:00."
        )
    best = named if named is not None else clocks(found, look.total, options)
    fixed = options.numeric or options.keep  # by the family
    for j, clock in found.items():
        if j == best:
            undo = _NO_CLOCK if named is None else ()
            roles[j] = Role(look.names[j], "time", clock.why, undo, clock.dates)
        elif clock.is_date or (
            roles[j].kind == "number" and not fixed and (clock.years or best is not None)
        ):
            why = clock.reason_not(look.total, options, taken=best is not None)
            key = column_key(look.names, j)
            include = (Advice("include", key),)
            of_clock = clock.changes(key, look.total, options)
            changes = of_clock if clock.is_date else include
            roles[j] = Role(look.names[j], "out", why, changes)
    return roles


def _said(places: dict[str, list[int]]) -> set[int]:
    """Return the columns whose kind or use the user has settled."""
    names = ("exclude", "text", "number", "include", "columns")
    return {j for name in names for j in places[name]}


EXCLUDED, NOT_NAMED = "excluded", "not among the columns that were named"

TEXTS = (
    "To cluster texts, or lines of a log, turn them into counts of words first: docs/topics.md "
    "shows how, in a few lines of Python (HashingVectorizer, then multinomial clusters)."
)


def listed_problems(problems: Sequence[str]) -> str:
    """Return one problem as it is, several as a list."""
    if len(problems) == 1:
        return problems[0]
    return f"There are {len(problems)} problems:\n" + "\n".join(f"  - {p}" for p in problems)


def _problems_of(
    roles: Sequence[Role], places: Mapping[str, Sequence[int]], options: SourceOptions
) -> tuple[list[str], list[Advice]]:
    """Return all that keeps the table from being learned, and what may be done about it."""
    out = []
    advice: list[Advice] = []
    used = [j for j, role in enumerate(roles) if role.kind in ("number", "truth", "text")]
    texts = [role for role in roles if role.why.startswith("free text")]
    asked = {*places["columns"], *places["include"], *places["text"]}
    if not used:
        reasons = "; ".join(f"{short(role.name)!r}: {role.why}" for role in roles[:20])
        advice += [one for role in roles[:20] if role.kind == "out" for one in role.changes]
        hint = f" {TEXTS}" if texts else ""
        out.append(f"There is no column to learn from ({reasons}).{hint}")
    elif len(used) == 1 and roles[used[0]].kind == "text" and texts and not {*used} & asked:
        out.append(
            f"There is nothing to learn from but words in {short(roles[used[0]].name)!r}, with "
            f"free text in {', '.join(repr(short(role.name)) for role in texts[:5])}. {TEXTS}"
        )
    for j in dict.fromkeys(places["columns"] or places["include"]):
        role = roles[j]
        if role.kind == "out" and role.why != EXCLUDED:
            dates = [one for one in role.changes if one.option in ("time_column", "period")]
            if dates:
                key = column_key([r.name for r in roles], j)
                advice += [replace(one, when="as the clock") for one in dates]
                advice.append(Advice("text", key, "as categories"))
            why = "it holds dates" if dates else role.why
            out.append(f"Column {role.name!r} cannot be learned from: {why}.")
    if options.period is not None and not any(role.kind == "time" for role in roles):
        out.append("A period needs times, and no column of times was found.")
        advice.append(Advice("time_column"))
    return out, advice
