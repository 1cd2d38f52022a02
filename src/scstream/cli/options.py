"""Options that commands share: how rows are read, and the parameters of the model."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from scstream.cli.errors import UsageError
from scstream.cli.names import SOURCE_FORMATS
from scstream.support.times import is_length

if TYPE_CHECKING:
    from scstream.model import ScStream
    from scstream.sources import SourceOptions
    from scstream.sources.access import Access

_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


# -- readers of values --------------------------------------------------------------------------


def whole(least: int) -> Callable[[str], int]:
    """Return a reader of whole numbers that are at least so large."""

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


def half_life(text: str) -> float | str | None:
    """Read a number, a length of time such as 12h, auto or none."""
    word = text.lower()
    if word == "none":
        return None
    return word if word == "auto" or is_length(word) else real(text)


def duration(text: str) -> float:
    """Read a length of time: a number, or one with s, m, h or d behind it."""
    match = re.fullmatch(r"([0-9.eE+-]+)([smhd]?)", text)
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no length of time such as 60, 10s, 5m or 1h")
    return real(match[1]) * _UNITS[match[2]]


def listed(text: str) -> list[str]:
    """Read names or numbers between commas; a range of numbers is written 2-5."""
    out: list[str] = []
    for part in text.split(","):
        span = re.fullmatch(r"(\d+)-(\d+)", part.strip())
        if span is not None and int(span[1]) <= int(span[2]):
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


def add_source(parser: argparse.ArgumentParser, *, batches: bool = True) -> None:
    """Add where rows come from and how they are read."""
    parser.add_argument(
        "source",
        action=_TakeSource,
        help="a file (CSV, TSV, JSON lines, Parquet, npy), - for standard input, or a URL: "
        "kafka://server/topic, redis://server/stream, nats://server/stream",
    )
    group = parser.add_argument_group("reading")
    group.add_argument("--format", choices=SOURCE_FORMATS, help="default: by the file's name")
    group.add_argument(
        "--columns",
        type=listed,
        metavar="A,B,...",
        help="learn from these, by name or by number from 0 (2-5 is a range); default: all but "
        "the time column",
    )
    group.add_argument(
        "--exclude", type=listed, default=[], metavar="A,B,...", help="leave these columns out"
    )
    group.add_argument(
        "--text",
        type=listed,
        default=[],
        metavar="A,B,...",
        help="these columns hold words, even where they look like numbers. By default the first "
        "row that has a value decides",
    )
    group.add_argument(
        "--header",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="whether the first line of CSV and TSV names the columns; default: if its fields "
        "differ and none is a number or empty",
    )
    group.add_argument(
        "--separator", type=separator, metavar="C", help="between fields; default: , or a tab"
    )
    group.add_argument("--decimal", default=".", metavar="C", help="decimal point; default: .")
    group.add_argument(
        "--missing",
        action="append",
        default=[],
        metavar="WORD",
        help="a word for a missing value besides the empty field, NA, N/A, NaN, null and none; "
        "may be given more than once",
    )
    group.add_argument(
        "--on-error",
        choices=("stop", "reject"),
        default="stop",
        help="a row that cannot be read ends the run with its line number, or goes to the file of "
        "--rejects; default: stop",
    )
    group.add_argument(
        "--rejects", metavar="FILE", help="JSON lines with line, row, reason and text of each"
    )
    group.add_argument(
        "--access",
        metavar="FILE",
        help="a TOML file with user, password, ca, certificate and key for a broker. A password "
        "is better there, or in a variable such as SCSTREAM_REDIS_PASSWORD, than in a URL",
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
        "--batch-size", type=whole(1), metavar="N", help="rows of a batch; default: 1000"
    )
    group.add_argument(
        "--time-column",
        metavar="COLUMN",
        help="times of the rows: numbers, or dates in ISO 8601, which count in seconds. The "
        "half-life is then in these units",
    )
    group.add_argument(
        "--period",
        type=duration,
        metavar="T",
        help="a batch holds the rows of so much time: 60, 10s, 5m, 1h, 1d; needs --time-column. "
        "A row that comes late counts with the batch that is open",
    )


def source_options(args: argparse.Namespace, **more: Any) -> SourceOptions:
    """Return how rows are read, from the command line."""
    from scstream.families import BY_NAME
    from scstream.sources.options import SourceOptions

    family = getattr(args, "family", "auto")
    plain = isinstance(family, str) and family in BY_NAME
    if args.rejects is not None and args.on_error != "reject":
        raise UsageError("--rejects needs --on-error reject.")
    if args.on_error == "reject" and args.rejects is None:
        raise UsageError("--on-error reject needs a file for the rejected rows: --rejects FILE.")
    if getattr(args, "batch_size", None) and getattr(args, "period", None):
        raise UsageError("Batches are cut by --batch-size or by --period, not by both.")
    given = {
        "batch_size": getattr(args, "batch_size", None) or 1000,
        "time_column": getattr(args, "time_column", None),
        "period": getattr(args, "period", None),
        "columns": args.columns,
        "exclude": args.exclude,
        "format": args.format,
        "header": args.header,
        "separator": args.separator,
        "decimal": args.decimal,
        "missing": args.missing,
        "text": args.text,
        "numeric": plain and family != "categorical",
        "complete": plain and not BY_NAME[family].missing,
        "table": not isinstance(family, str),
        "on_error": args.on_error,
        "access": _access(args),
    }
    try:
        return SourceOptions(**(given | more))
    except ValueError as error:
        raise UsageError(str(error)) from None


def _access(args: argparse.Namespace) -> Access | None:
    """Return how to get into a broker, as far as the command line says."""
    login: Access | None = args.login
    if args.access is None:
        return login
    if login is None:
        raise UsageError("--access is for brokers, and the source is none.")
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
                f"there is no family {text!r}; there are auto, {', '.join(sorted(BY_NAME))}"
            )
        return text
    blocks = []
    for part in filter(None, (part.strip() for part in text.split(";"))):
        name, _, columns = part.partition("=")
        if name.strip() not in BY_NAME:
            raise argparse.ArgumentTypeError(f"there is no family {name.strip()!r}")
        keys = [int(c) if c.isdecimal() else c for c in listed(columns)]
        blocks.append((name.strip(), keys))
    return Product(blocks)


def kernel(text: str) -> Callable[[float], float]:
    """Read a kernel: ``window:5`` or ``linear:5``."""
    name, _, rest = text.partition(":")
    length = real(rest) if rest else 0.0
    if name not in ("window", "linear") or not length > 0:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no kernel; there are window:LENGTH and linear:LENGTH"
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
    "alpha": {"type": real, "help": "more makes new clusters likelier"},
    "half_life": {
        "type": half_life,
        "metavar": "T",
        "help": "age at which a batch counts half: a number of batches, or of the time column's "
        "units, or a length of time such as 12h or 5d; auto is 5 times the usual spacing of "
        "batches, and longer if they have fewer than 100 rows; none never forgets",
    },
    "kernel": {
        "type": kernel,
        "metavar": "K:T",
        "help": "in place of the half-life: window:T (all of the last T counts in full) or "
        "linear:T (counts less and less, and nothing at the age of T)",
    },
    "epsilon": {"type": real, "help": "with a kernel, batches of at most this weight are dropped"},
    "sweeps": {"type": whole(1), "help": "sampled sweeps of each batch after the first"},
    "max_sweeps": {"type": whole(1), "help": "sampled sweeps of the first batch at most"},
    "max_clusters": {"type": whole(1), "help": "no more clusters than this"},
    "splits": {"action": argparse.BooleanOptionalAction, "help": "whether clusters may split"},
    "merges": {"action": argparse.BooleanOptionalAction, "help": "whether clusters may merge"},
    "outlier_weight": {
        "type": real,
        "help": "weight of a component as wide as the first batch; its rows are labelled -1",
    },
    "random_state": {"type": whole(0), "metavar": "SEED", "help": "the same seed, the same labels"},
    "n_jobs": {"type": int, "metavar": "N", "help": "threads for large batches"},
    "engine": {
        "choices": ("cpu", "torch", "auto"),
        "help": "where rows are passed over: this machine's cores, PyTorch, or what suits; "
        "a Dask cluster is for Python",
    },
    "device": {"metavar": "NAME", "help": "for PyTorch, such as cuda or cpu"},
    "verbose": {
        "action": argparse.BooleanOptionalAction,
        "help": "report the sweeps of the first batch",
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
        help="auto (by the first batch's columns; the default), gaussian, diagonal, spherical, "
        "directional, multinomial, poisson, bernoulli, categorical, gamma, exponential, or "
        "blocks of columns: 'gaussian=x,y;poisson=clicks'",
    )
    for name, how in _MODEL.items():
        option = f"--{name.replace('_', '-')}"
        group.add_argument(option, dest=name, default=argparse.SUPPRESS, **_shown(name, how))


def _shown(name: str, how: dict[str, Any]) -> dict[str, Any]:
    """Return an option with its default in its help."""
    defaults = {
        "alpha": "1", "half_life": "auto", "epsilon": "1e-8", "sweeps": "1", "max_sweeps": "100",
        "splits": "yes", "merges": "yes", "outlier_weight": "0", "random_state": "by chance",
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
        "batch_size", "columns", "exclude", "format", "header", "separator", "decimal", "missing",
        "text", "time_column", "period", "on_error",
    )  # fmt: skip
    from scstream.sources.message_urls import identity

    return {"source": identity(args.source)} | {
        name: list(value) if isinstance(value, list | tuple) else value
        for name, value in ((name, getattr(options, name)) for name in names)
    }
