"""All that keeps a table from being learned, in the words of the command line."""

from __future__ import annotations

from collections.abc import Sequence

from scstream.sources.guess.looks import Role, option_word, short
from scstream.sources.options import SourceOptions
from scstream.sources.rows import find_column

TEXTS = (
    "To cluster texts, or lines of a log, turn them into counts of words first: docs/topics.md "
    "shows how, in a few lines of Python (HashingVectorizer, then multinomial clusters)."
)


def listed_problems(problems: Sequence[str]) -> str:
    """Return one problem as it is, several as a list."""
    if len(problems) == 1:
        return problems[0]
    return f"There are {len(problems)} problems:\n" + "\n".join(f"  - {p}" for p in problems)


def problems_of(roles: Sequence[Role], options: SourceOptions) -> list[str]:
    """Return all that keeps the table from being learned."""
    out = []
    used = [role for role in roles if role.kind in ("number", "truth", "text")]
    texts = [role for role in roles if role.why.startswith("free text")]
    if not used:
        reasons = "; ".join(f"{short(role.name)!r}: {role.why}" for role in roles[:20])
        options_ = " ".join(dict.fromkeys(r.option for r in roles[:20] if r.kind == "out"))
        hint = f" Options that change this: {options_.strip()}." if options_.strip() else ""
        hint += f" {TEXTS}" if texts else ""
        out.append(f"There is no column to learn from ({reasons}).{hint}")
    elif texts and not options.numeric and not _asked_for(used, roles, options):
        out.append(
            f"There is nothing to learn from but words in {short(used[0].name)!r}, with free text "
            f"in {', '.join(repr(short(role.name)) for role in texts[:5])}. {TEXTS}"
        )
    asked = options.columns if options.columns is not None else options.include
    if asked:
        for role in roles:
            if role.kind == "out" and role.why not in ("not named by --columns",):
                if role.why == "named by --exclude" or not _names(role, asked, roles):
                    continue
                out.append(f"Column {role.name!r} cannot be learned from: {_advice(role, roles)}.")
    if options.period is not None and not any(role.kind == "time" for role in roles):
        out.append("--period needs times, and no column of times was found: --time-column NAME.")
    return out


def _asked_for(used: Sequence[Role], roles: Sequence[Role], options: SourceOptions) -> bool:
    """Whether there is more than one column of words, or the user wants just this one."""
    names = [role.name for role in roles]
    asked = [*(options.columns or ()), *options.include, *options.text]
    wanted = {names[find_column(column, names)] for column in asked}
    return len(used) > 1 or any(r.kind != "text" or r.name in wanted for r in used)


def _advice(role: Role, roles: Sequence[Role]) -> str:
    """Return why a column that an option names cannot be learned from, and what may help."""
    if not role.option.startswith("--time-column"):
        return role.why
    word = option_word([r.name for r in roles], roles.index(role))
    return f"it holds dates. As the clock: {role.option}. As categories: --text {word}"


def _names(role: Role, asked: Sequence[str | int], roles: Sequence[Role]) -> bool:
    """Whether a column is among those that an option names."""
    names = [r.name for r in roles]
    return any(names[find_column(column, names)] == role.name for column in asked)
