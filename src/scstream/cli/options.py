"""Options that commands share: how rows are read, and the parameters of the model."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from scstream.cli.errors import UsageError
from scstream.cli.names import SOURCE_FORMATS
from scstream.support.messages import warn
from scstream.support.times import is_length

if TYPE_CHECKING:
    from scstream.model import ScStream
    from scstream.sources import SourceOptions
    from scstream.sources.access import Access

_VARIABLES = {"rediss": "REDIS", "tls": "NATS"}  # where they are not called like the URL
_WIDEST = 1_000_000  # columns that a range may name: a slip of the finger must not fill the memory
_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


# -- readers of values --------------------------------------------------------------------------


def whole(least: int) -> Callable[[str], int]:
    """Return a reader of whole numbers with a lower limit."""

    def read(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if value < least:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least {least}")
        return value

    return read


def real(text: str) -> float:
    """Read a number."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None


def _weight(text: str) -> float | str:
    """Read a number, or auto."""
    return "auto" if text.lower() == "auto" else real(text)


def half_life(text: str) -> float | str | None:
    """Read a number, a length of time such as 12h, auto or none."""
    word = text.lower()
    if word == "none":
        return None
    return word if word == "auto" or is_length(word) else real(text)


def duration(text: str) -> float:
    """Read a length of time: a number, or one followed by s, m, h or d."""
    match = re.fullmatch(r"([0-9.eE+-]+)([smhd]?)", text)
    if match is None:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a length of time such as 60, 10s, 5m or 1h"
        )
    return real(match[1]) * _UNITS[match[2]]


def listed(text: str) -> list[str]:
    """Read names or numbers between commas; a range of numbers is written 2-5."""
    out: list[str] = []
    for part in text.split(","):
        span = re.fullmatch(r"(\d+)-(\d+)", part.strip())
        if span is not None and int(span[1]) <= int(span[2]):
            if int(span[2]) - int(span[1]) >= _WIDEST:
                raise argparse.ArgumentTypeError(
                    f"{part.strip()} is a range of more than {_WIDEST:,} columns"
                )
            out += [str(j) for j in range(int(span[1]), int(span[2]) + 1)]
        elif part.strip():
            out.append(part.strip())
    if not out:
        raise argparse.ArgumentTypeError("no column is named")
    return out


def separator(text: str) -> str:
    """Read a separator; a tab may be written as such, or by name, or with a backslash."""
    return "\t" if text in ("\\t", "tab") else text


# -- reading ------------------------------------------------------------------------------------


def add_quiet(parser: Any) -> None:
    """Add the option that turns messages and progress bars off."""
    parser.add_argument(
        "--quiet", action="store_true", help="print warnings and errors only, no progress"
    )


def add_source(parser: argparse.ArgumentParser, *, batches: bool = True) -> None:
    """Add where rows come from and how they are read."""
    parser.add_argument(
        "source",
        action=_TakeSource,
        help="a file (CSV, TSV, JSON lines, Parquet, npy), - for standard input, or a URL: "
        "kafka://server/topic, redis://server/stream, nats://server/stream",
    )
    group = parser.add_argument_group("reading")
    group.add_argument(
        "--format", choices=SOURCE_FORMATS, help="default: from the file's name, or its content"
    )
    group.add_argument(
        "--columns",
        type=listed,
        metavar="A,B,...",
        help="learn from these columns only, by name or by number from 0 (2-5 is a range); "
        "default: all that can be clustered",
    )
    group.add_argument(
        "--exclude", type=listed, default=[], metavar="A,B,...", help="leave these columns out"
    )
    group.add_argument(
        "--include",
        type=listed,
        default=[],
        metavar="A,B,...",
        help="also learn from these columns, which look like identifiers, free text or constants",
    )
    group.add_argument(
        "--text",
        type=listed,
        default=[],
        metavar="A,B,...",
        help="these columns hold categories, even if they look like numbers",
    )
    group.add_argument(
        "--number",
        type=listed,
        default=[],
        metavar="A,B,...",
        help="these columns hold numbers, even if their names look like codes",
    )
    group.add_argument(
        "--header",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="whether the first line of CSV and TSV names the columns; default: if it differs "
        "from the lines below it",
    )
    group.add_argument(
        "--separator",
        type=separator,
        metavar="C",
        help="between fields, such as ',' or tab; default: found in the first rows",
    )
    group.add_argument(
        "--decimal", metavar="C", help="decimal point; default: found in the first rows"
    )
    group.add_argument(
        "--encoding",
        metavar="NAME",
        help="such as utf-8, cp1252 or shift_jis; default: found in the first rows",
    )
    group.add_argument(
        "--missing",
        action="append",
        default=[],
        metavar="WORD",
        help="a word that stands for a missing value, besides empty fields, NA, NaN, null, -, ? "
        "and the like; may be given more than once",
    )
    group.add_argument(
        "--on-error",
        choices=("stop", "reject"),
        default="stop",
        help="what to do with rows that cannot be read: stop and list them, or write them to the "
        "file of --rejects and continue; default: stop",
    )
    group.add_argument(
        "--rejects", metavar="FILE", help="rejected rows, as JSON lines with line, reason and text"
    )
    group.add_argument(
        "--access",
        metavar="FILE",
        help="a TOML file with user, password, ca, certificate and key for a broker. Put a "
        "password there, or in a variable such as SCSTREAM_REDIS_PASSWORD, rather than in a URL",
    )
    if batches:
        _add_batches(parser)


class _TakeSource(argparse.Action):
    """Takes user and password out of a URL at once, so that nothing can write them down."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option: Any = None) -> None:
        namespace.source, namespace.login = values, None
        if "://" in values:
            from scstream.sources.message_urls import take_login

            try:
                namespace.source, namespace.login = take_login(values)
            except ValueError as error:
                parser.error(str(error))


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
    from scstream.sources.options import SourceOptions

    family = getattr(args, "family", "auto")
    if args.rejects is not None and args.on_error != "reject":
        raise UsageError("--rejects needs --on-error reject.")
    if args.on_error == "reject" and args.rejects is None:
        raise UsageError("--on-error reject needs a file for the rejected rows: --rejects FILE.")
    if getattr(args, "batch_size", None) and getattr(args, "period", None):
        raise UsageError("Give --batch-size or --period, not both.")
    given = {
        **_of_family(args, family),
        "batch_size": getattr(args, "batch_size", None) or 1000,
        "time_column": getattr(args, "time_column", None),
        "period": getattr(args, "period", None),
        "exclude": args.exclude,
        "include": args.include,
        "number": args.number,
        "on_columns": None if getattr(args, "quiet", False) else tell_columns,
        "encoding": args.encoding,
        "guess": True,
        "format": args.format,
        "header": args.header,
        "separator": args.separator,
        "decimal": args.decimal,
        "missing": args.missing,
        "text": args.text,
        "on_error": args.on_error,
        "access": _access(args),
    }
    try:
        return SourceOptions(**(given | more))
    except ValueError as error:
        raise UsageError(str(error)) from None


def _of_family(args: argparse.Namespace, family: Any) -> dict[str, Any]:
    """Return what a family that was named says about the columns."""
    from scstream.families import BY_NAME

    if isinstance(family, str):
        plain = family in BY_NAME
        return {
            "columns": args.columns,
            "numeric": plain and family != "categorical",
            "complete": plain and not BY_NAME[family].missing,
            "keep": plain and BY_NAME[family].text,
        }
    named = [column for _, columns in family.blocks for column in columns]
    by_name = all(isinstance(column, str) for column in named)
    return {
        "columns": named if args.columns is None and by_name else args.columns,
        "table": True,
        "keep": not by_name,
    }


def _access(args: argparse.Namespace) -> Access | None:
    """Return how to get into a broker, as far as the command line says."""
    login: Access | None = args.login
    if login is not None and login.password is not None:
        scheme = args.source.partition("://")[0]
        variable = f"SCSTREAM_{_VARIABLES.get(scheme, scheme.upper())}_PASSWORD"
        warn(
            "warning: others on this machine can see the password on the command line (ps), and "
            f"the shell may keep it. Give it in the variable {variable}, or in a file (--access)."
        )
    if args.access is None:
        return login
    if login is None:
        raise UsageError("--access is for brokers, and the source is not one.")
    from scstream.sources.access import Access

    try:
        return login.over(Access.from_file(args.access))
    except ValueError as error:
        raise UsageError(str(error)) from None


# -- the model ----------------------------------------------------------------------------------


def family(text: str) -> Any:
    """Read a family: a name, auto, or blocks such as ``gaussian=x,y;poisson=clicks``."""
    from scstream.families import BY_NAME, Product

    if "=" not in text:
        if text != "auto" and text not in BY_NAME:
            raise argparse.ArgumentTypeError(
                f"unknown family {text!r}; choose from auto, {', '.join(sorted(BY_NAME))}"
            )
        return text
    blocks = []
    for part in filter(None, (part.strip() for part in text.split(";"))):
        name, _, columns = part.partition("=")
        if name.strip() not in BY_NAME:
            raise argparse.ArgumentTypeError(f"unknown family {name.strip()!r}")
        keys = [int(c) if c.isdecimal() else c for c in listed(columns)]
        blocks.append((name.strip(), keys))
    return Product(blocks)


def kernel(text: str) -> Callable[[float], float]:
    """Read a kernel: ``window:5`` or ``linear:5``."""
    name, _, rest = text.partition(":")
    length = real(rest) if rest else 0.0
    if name not in ("window", "linear") or not length > 0:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a kernel; give window:LENGTH or linear:LENGTH"
        )
    return _Kernel(name, length)


class _Kernel:
    """A kernel that can be named on the command line."""

    def __init__(self, name: str, length: float) -> None:
        self.name = name
        self.length = length

    def __call__(self, age: float) -> float:
        if age >= self.length:
            return 0.0
        return 1.0 if self.name == "window" else 1.0 - age / self.length

    def __repr__(self) -> str:
        return f"{self.name}:{self.length:g}"


# Every parameter of the estimator, by its name; the family comes first and has another default.
_MODEL: dict[str, dict[str, Any]] = {
    "alpha": {"type": real, "help": "higher values make new clusters likelier"},
    "half_life": {
        "type": half_life,
        "metavar": "T",
        "help": "age at which a batch counts half: a length of time such as 12h or 5d, or a number "
        "in the time column's units (batches if there is none). auto: 5 times the usual spacing "
        "of batches, longer for batches of fewer than 100 rows. none: never forget",
    },
    "kernel": {
        "type": kernel,
        "metavar": "K:T",
        "help": "instead of a half-life: window:T (the last T counts in full) or linear:T (counts "
        "less with age, and nothing from the age T)",
    },
    "epsilon": {"type": real, "help": "with a kernel, drop batches of at most this weight"},
    "sweeps": {"type": whole(1), "help": "sampled sweeps of each batch after the first"},
    "max_sweeps": {"type": whole(1), "help": "sampled sweeps of the first batch, at most"},
    "max_clusters": {"type": whole(1), "help": "upper limit on the number of clusters"},
    "splits": {"action": argparse.BooleanOptionalAction, "help": "whether clusters may split"},
    "merges": {"action": argparse.BooleanOptionalAction, "help": "whether clusters may merge"},
    "outlier_weight": {
        "type": _weight,
        "metavar": "W",
        "help": "weight of a background as wide as the first batch, whose rows are labelled -1; "
        "auto learns its weight and its shape",
    },
    "random_state": {"type": whole(0), "metavar": "SEED", "help": "the same seed, the same labels"},
    "n_jobs": {"type": int, "metavar": "N", "help": "threads for large batches"},
    "engine": {
        "choices": ("cpu", "torch", "auto"),
        "help": "where rows are processed: cpu (this machine's cores), torch (PyTorch), or auto. "
        "A Dask cluster needs Python",
    },
    "device": {"metavar": "NAME", "help": "for PyTorch, such as cuda or cpu"},
    "verbose": {
        "action": argparse.BooleanOptionalAction,
        "help": "report how the first batch goes",
    },
}


NOT_IN_RESULTS = ("n_jobs", "engine", "device", "verbose")  # they may change when a run resumes


def add_model(parser: argparse.ArgumentParser) -> None:
    """Add the parameters of the model."""
    group = parser.add_argument_group("the model (names and meaning as in Python's ScStream)")
    group.add_argument(
        "--family",
        type=family,
        default="auto",
        metavar="NAME",
        help="auto (chosen from the first batch; the default), gaussian, diagonal, spherical, "
        "student, diagonal-student, directional, multinomial, poisson, bernoulli, categorical, "
        "gamma, exponential, or blocks of columns: 'gaussian=x,y;poisson=clicks'",
    )
    for name, how in _MODEL.items():
        option = f"--{name.replace('_', '-')}"
        group.add_argument(option, dest=name, default=argparse.SUPPRESS, **_shown(name, how))


def _shown(name: str, how: dict[str, Any]) -> dict[str, Any]:
    """Return an option with its default in its help."""
    defaults = {
        "alpha": "1", "half_life": "auto", "epsilon": "1e-8", "sweeps": "1", "max_sweeps": "100",
        "splits": "yes", "merges": "yes", "outlier_weight": "0", "random_state": "a random seed",
        "n_jobs": "all cores", "engine": "cpu", "verbose": "no",
    }  # fmt: skip
    default = f"; default: {defaults[name]}" if name in defaults else ""
    metavar = {} if {"action", "metavar", "choices"} & set(how) else {"metavar": "X"}
    return {**metavar, **how, "help": how["help"] + default}


def make_model(args: argparse.Namespace) -> ScStream:
    """Return the model that the command line asks for."""
    from scstream.model import ScStream
    from scstream.validation import check_parameters

    names = [name for name in (*_MODEL, "group_level") if name in args]
    model = ScStream(args.family, **{name: getattr(args, name) for name in names})
    try:
        check_parameters(model.get_params(deep=False))
    except ValueError as error:
        raise UsageError(str(error)) from None
    return model


def model_settings(args: argparse.Namespace) -> dict[str, Any]:
    """Return the parameters that results depend on, in plain JSON."""
    names = [name for name in (*_MODEL, "group_level") if name in args]
    given = {name: getattr(args, name) for name in names}
    for name in NOT_IN_RESULTS:
        given.pop(name, None)
    settings = {name: str(v) if name == "kernel" else v for name, v in given.items()}
    settings["family"] = args.family if isinstance(args.family, str) else repr(args.family)
    return settings


def source_settings(args: argparse.Namespace, options: SourceOptions) -> dict[str, Any]:
    """Return what the batches depend on, in plain JSON."""
    names = (
        "batch_size", "columns", "exclude", "include", "format", "encoding", "header", "separator",
        "decimal", "missing", "text", "number", "time_column", "period", "on_error",
    )  # fmt: skip
    from scstream.sources.message_urls import identity

    settings = {"source": identity(args.source)} | {
        name: list(value) if isinstance(value, list | tuple) else value
        for name, value in ((name, getattr(options, name)) for name in names)
    }
    return settings | {"decimal": options.decimal or "."}  # as it was before it could be found
