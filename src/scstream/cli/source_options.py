"""Options on how rows are read."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from scstream.cli.errors import UsageError
from scstream.cli.names import SOURCE_FORMATS
from scstream.cli.values import duration, listed, separator, whole
from scstream.support.messages import warn

if TYPE_CHECKING:
    from scstream.sources import SourceOptions
    from scstream.sources.access import Access

_VARIABLES = {"rediss": "REDIS"}  # where they are not called like the URL

_COLUMNS = {
    "columns": "use only these columns, by name or by number from 0 (2-5 is a range); default: all "
    "that can be clustered",
    "exclude": "leave these columns out",
    "include": "also use these columns, which look like identifiers, free text or constants",
    "text": "these columns hold categories, even if they look like numbers",
    "number": "these columns hold numbers, even if their names look like codes",
}

# Every other option on how rows are read, by its name.
_READING: dict[str, dict[str, Any]] = {
    "format": {"choices": SOURCE_FORMATS, "help": "default: from the file's name, or its content"},
    "header": {
        "action": argparse.BooleanOptionalAction,
        "default": None,
        "help": "whether the first line of CSV and TSV names the columns; default: if it differs "
        "from the lines below it",
    },
    "separator": {
        "type": separator,
        "metavar": "C",
        "help": "between fields, such as ',' or tab; default: found in the first rows",
    },
    "decimal": {"metavar": "C", "help": "decimal point; default: found in the first rows"},
    "encoding": {
        "metavar": "NAME",
        "help": "such as utf-8, cp1252 or shift_jis; default: found in the first rows",
    },
    "missing": {
        "action": "append",
        "default": [],
        "metavar": "WORD",
        "help": "a word or number that stands for a missing value, as in --missing=-999, besides "
        "empty fields, NA, NaN, null, -, ? and the like; may be given more than once",
    },
    "on-error": {
        "choices": ("stop", "reject"),
        "default": "stop",
        "help": "what to do with rows that cannot be read: stop and list them, or write them to "
        "the file of --rejects and continue; default: stop",
    },
    "rejects": {
        "metavar": "FILE",
        "help": "rejected rows, as JSON lines with line, reason and text",
    },
    "access": {
        "metavar": "FILE",
        "help": "a TOML file with user, password, ca, certificate and key for a broker. Put a "
        "password there, or in a variable such as SCSTREAM_REDIS_PASSWORD, rather than in a URL",
    },
}

_AS_GIVEN = (  # of these, the ones that go to `SourceOptions` as they are
    "exclude", "include", "number", "encoding", "format", "header", "separator", "decimal",
    "missing", "text", "on_error",
)  # fmt: skip


def add_source(parser: argparse.ArgumentParser, *, batches: bool = True) -> None:
    """Add where rows come from and how they are read."""
    parser.add_argument(
        "source",
        nargs="+",
        action=TakeURL,
        help="files (CSV, TSV, JSON lines, Parquet, Arrow, npy), a folder, a quoted pattern, as "
        "'day*.csv', - for standard input, or a URL: s3://bucket/day*.csv, kafka://server/topic, "
        "redis://server/stream",
    )
    group = parser.add_argument_group("reading")
    for name, about in _COLUMNS.items():
        default: Any = None if name == "columns" else []
        how = {"type": listed, "default": default, "metavar": "A,B,..."}
        group.add_argument(f"--{name}", help=about, **how)
    for name, how in _READING.items():
        group.add_argument(f"--{name}", **how)
    if batches:
        _add_batches(parser)


class TakeURL(argparse.Action):
    """Takes user and password out of a URL at once, so that nothing can write them down."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option: Any = None) -> None:
        """Take the value of an argument."""
        logins = namespace.__dict__.setdefault("logins", {})
        given = values if isinstance(values, list) else [values]
        for i, text in enumerate(given):
            if "://" in text:
                from scstream.sources.listing import CLOUDS
                from scstream.sources.message_urls import take_login

                if text.partition("://")[0] in CLOUDS:
                    continue
                try:
                    given[i], logins[self.dest] = take_login(text)
                except ValueError as error:
                    parser.error(str(error))
        setattr(namespace, self.dest, given if isinstance(values, list) else given[0])


def _add_batches(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("batches")
    group.add_argument(
        "--batch-size", type=whole(1), metavar="N", help="rows in a batch; default: 1000"
    )
    group.add_argument(
        "--time-column",
        metavar="COLUMN",
        help="times of the rows: dates, which count in seconds, or numbers. The half-life is then "
        "in these units. Default: a column of dates that are in order, if there is one; none: "
        "count batches",
    )
    group.add_argument(
        "--period",
        type=duration,
        metavar="T",
        help="cut batches by time instead: 60, 10s, 5m, 1h, 1d; needs times. A late row counts "
        "with the current batch",
    )


def source_options(args: argparse.Namespace, **more: Any) -> SourceOptions:
    """Return how rows are read, from the command line."""
    from scstream.cli.columns import tell_columns
    from scstream.sources.options import SourceOptions, for_family

    family = getattr(args, "family", "auto")
    if args.access is not None and not args.logins:
        raise UsageError("--access is for brokers, and neither source nor output is one.")
    if args.rejects is not None and args.on_error != "reject":
        raise UsageError("--rejects needs --on-error reject.")
    if args.on_error == "reject" and args.rejects is None:
        raise UsageError("--on-error reject needs a file for the rejected rows: --rejects FILE.")
    if getattr(args, "batch_size", None) and getattr(args, "period", None):
        raise UsageError("Give --batch-size or --period, not both.")
    given = {
        **for_family(family, args.columns),
        "batch_size": getattr(args, "batch_size", None) or 1000,
        "time_column": getattr(args, "time_column", None),
        "period": getattr(args, "period", None),
        "on_columns": None if getattr(args, "quiet", False) else tell_columns,
        "access": access_of(args, "source"),
        **{name: getattr(args, name) for name in _AS_GIVEN},
    }
    try:
        return SourceOptions(**(given | more))
    except ValueError as error:
        raise UsageError(str(error)) from None


def access_of(args: argparse.Namespace, dest: str) -> Access | None:
    """Return how to get into a broker that is the source or the output, as far as is said here.

    A file with a login is for the source; for the output if the source is no broker.
    """
    logins: dict[str, Access] = args.logins
    login = logins.get(dest)
    if login is not None and login.password is not None:
        where = args.source[0] if dest == "source" else args.output
        scheme = where.partition("://")[0]
        variable = f"SCSTREAM_{_VARIABLES.get(scheme, scheme.upper())}_PASSWORD"
        warn(
            "warning: others on this machine can see the password on the command line (ps), and "
            f"the shell may keep it. Give it in the variable {variable}, or in a file (--access)."
        )
    if args.access is None or login is None or dest != next(iter(sorted(logins, reverse=True))):
        return login
    from scstream.sources.access import Access

    try:
        return login.over(Access.from_file(args.access))
    except ValueError as error:
        raise UsageError(str(error)) from None


def source_settings(args: argparse.Namespace, options: SourceOptions) -> dict[str, Any]:
    """Return what the batches depend on, in plain JSON."""
    names = ("batch_size", "columns", *_AS_GIVEN, "time_column", "period")
    from scstream.sources.message_urls import identity

    return {"source": identity(args.source[0])} | {
        name: list(value) if isinstance(value, list | tuple) else value
        for name, value in ((name, getattr(options, name)) for name in names)
    }
