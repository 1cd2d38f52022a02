"""All that keeps a table from being learned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from scstream.sources.guess.looks import Role, column_key, short
from scstream.sources.options import SourceOptions, find_column
from scstream.support.advice import Advice

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


def problems_of(roles: Sequence[Role], options: SourceOptions) -> tuple[list[str], list[Advice]]:
    """Return all that keeps the table from being learned, and what may be done about it."""
    out = []
    advice: list[Advice] = []
    used = [role for role in roles if role.kind in ("number", "truth", "text")]
    texts = [role for role in roles if role.why.startswith("free text")]
    if not used:
        reasons = "; ".join(f"{short(role.name)!r}: {role.why}" for role in roles[:20])
        advice += [one for role in roles[:20] if role.kind == "out" for one in role.changes]
        hint = f" {TEXTS}" if texts else ""
        out.append(f"There is no column to learn from ({reasons}).{hint}")
    elif texts and not options.numeric and not _asked_for(used, roles, options):
        out.append(
            f"There is nothing to learn from but words in {short(used[0].name)!r}, with free text "
            f"in {', '.join(repr(short(role.name)) for role in texts[:5])}. {TEXTS}"
        )
    asked = options.columns if options.columns is not None else options.include
    if asked:
        for role in roles:
            if role.kind == "out" and role.why != NOT_NAMED:
                if role.why == EXCLUDED or not _names(role, asked, roles):
                    continue
                dates = [one for one in role.changes if one.option in ("time_column", "period")]
                if dates:
                    key = column_key([r.name for r in roles], roles.index(role))
                    advice += [replace(one, when="as the clock") for one in dates]
                    advice.append(Advice("text", key, "as categories"))
                why = "it holds dates" if dates else role.why
                out.append(f"Column {role.name!r} cannot be learned from: {why}.")
    if options.period is not None and not any(role.kind == "time" for role in roles):
        out.append("A period needs times, and no column of times was found.")
        advice.append(Advice("time_column"))
    return out, advice


def _asked_for(used: Sequence[Role], roles: Sequence[Role], options: SourceOptions) -> bool:
    """Whether there is more than one column of words, or the user wants just this one."""
    names = [role.name for role in roles]
    asked = [*(options.columns or ()), *options.include, *options.text]
    wanted = {names[find_column(column, names)] for column in asked}
    return len(used) > 1 or any(r.kind != "text" or r.name in wanted for r in used)


def _names(role: Role, asked: Sequence[str | int], roles: Sequence[Role]) -> bool:
    """Whether a column is among those that an option names."""
    names = [r.name for r in roles]
    return any(names[find_column(column, names)] == role.name for column in asked)
