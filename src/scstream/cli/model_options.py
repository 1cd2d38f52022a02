"""Options that are the parameters of the model."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from scstream.cli.errors import UsageError
from scstream.cli.names import GROUP_LEVEL
from scstream.cli.outputs import level_asked
from scstream.cli.values import half_life, listed, real, weight, whole

if TYPE_CHECKING:
    from scstream.model import ScStream


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
    "alpha": {"type": real, "help": "higher values make new clusters likelier; default: 1"},
    "half_life": {
        "type": half_life,
        "metavar": "T",
        "help": "age at which a batch counts half: a length of time such as 12h or 5d, or a number "
        "in the time column's units (batches if there is none). auto: 5 times the usual spacing "
        "of batches, longer for batches of fewer than 100 rows (the default). none: never forget",
    },
    "kernel": {
        "type": kernel,
        "metavar": "K:T",
        "help": "instead of a half-life: window:T (the last T counts in full) or linear:T (counts "
        "less with age, and nothing from the age T)",
    },
    "epsilon": {
        "type": real,
        "help": "with a kernel, drop batches of at most this weight; default: 1e-8",
    },
    "sweeps": {
        "type": whole(1),
        "help": "sampled sweeps of each batch after the first; default: 1",
    },
    "max_sweeps": {
        "type": whole(1),
        "help": "sampled sweeps of the first batch, at most; default: 100",
    },
    "max_clusters": {"type": whole(1), "help": "upper limit on the number of clusters"},
    "splits": {
        "action": argparse.BooleanOptionalAction,
        "help": "whether clusters may split; default: yes",
    },
    "merges": {
        "action": argparse.BooleanOptionalAction,
        "help": "whether clusters may merge; default: yes",
    },
    "outlier_weight": {
        "type": weight,
        "metavar": "W",
        "help": "weight of a background as wide as the first batch, whose rows are labelled -1; "
        "auto learns its weight and its shape; default: 0",
    },
    "random_state": {
        "type": whole(0),
        "metavar": "SEED",
        "help": "the same seed, the same labels; default: 0",
    },
    "n_jobs": {
        "type": int,
        "metavar": "N",
        "help": "threads for large batches; default: all cores",
    },
    "engine": {
        "choices": ("cpu", "torch", "auto"),
        "help": "where rows are processed: cpu (this machine's cores), torch (PyTorch), or auto. "
        "A Dask cluster needs Python; default: cpu",
    },
    "device": {"metavar": "NAME", "help": "for PyTorch, such as cuda or cpu"},
}


NOT_IN_RESULTS = ("n_jobs", "engine", "device")  # they may change when a run resumes


def add_model(parser: argparse.ArgumentParser) -> None:
    """Add the parameters of the model."""
    group = parser.add_argument_group("the model (names and meaning as in Python's ScStream)")
    group.add_argument(
        "--family",
        type=family,
        default="auto",
        metavar="NAME",
        help="auto (chosen from the first batch; the default), gaussian, diagonal, spherical, "
        "student, diagonal-student, directional, multinomial, poisson, negative-binomial, "
        "bernoulli, categorical, one-hot, gamma, exponential, hurdle, composition, count-shares, "
        "or blocks of columns: "
        "'gaussian=x,y;poisson=clicks'",
    )
    for name, how in _MODEL.items():
        metavar: Any = {} if {"action", "metavar", "choices"} & set(how) else {"metavar": "X"}
        option = f"--{name.replace('_', '-')}"
        group.add_argument(option, dest=name, default=argparse.SUPPRESS, **metavar, **how)


def make_model(args: argparse.Namespace) -> ScStream:
    """Return the model that the command line asks for."""
    from scstream.model import ScStream
    from scstream.validation import check_parameters

    given = {"random_state": 0, "group_level": GROUP_LEVEL, **_given(args)}  # the same twice
    model = ScStream(args.family, verbose=args.verbose, **given)
    try:
        check_parameters(model.get_params(deep=False))
    except ValueError as error:
        raise UsageError(str(error)) from None
    return model


def _given(args: argparse.Namespace) -> dict[str, Any]:
    """Return the parameters that were given."""
    given = {name: getattr(args, name) for name in _MODEL if name in args}
    level = level_asked(args) if "clusters" in args else None
    return given if level is None else {**given, "group_level": level}


def model_settings(args: argparse.Namespace) -> dict[str, Any]:
    """Return the parameters that results depend on, in plain JSON."""
    given = {name: value for name, value in _given(args).items() if name not in NOT_IN_RESULTS}
    settings = {name: str(v) if name == "kernel" else v for name, v in given.items()}
    settings["family"] = args.family if isinstance(args.family, str) else repr(args.family)
    return settings
