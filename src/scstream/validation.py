"""Checks of what the user gives, with errors that say how to mend them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

from scstream.engines.choose import NAMES, is_engine_choice
from scstream.engines.dask.rows import is_collection
from scstream.families import BY_NAME, Family
from scstream.families.auto import choose_family
from scstream.families.columns import (
    LARGEST,
    Columns,
    check_dense,
    check_is_table,
    check_numeric,
    columns_of,
    finite_numbers,
    holds_counts,
    is_frame,
)
from scstream.families.contract import Array
from scstream.families.gaps import are_finite
from scstream.families.scores import Labels, Points
from scstream.families.widening import Widening
from scstream.sampler.rules import Rules
from scstream.support.memory import ones
from scstream.support.messages import note
from scstream.support.printable import printable_name
from scstream.support.threads import cores, over_rows
from scstream.support.times import as_date, is_length, is_moment, length, moment

_FEW = 2**13  # numbers whose squares BLAS sums up sooner; for more it would wake its threads
_ONE = np.ones(1).tobytes()  # it cannot be changed
_TOLD = 5  # columns that are named in a message
AUTO = "auto"  # in place of a family's name: the columns' types decide


def _is_real(value: Any) -> bool:
    other = _is_flag(value) or isinstance(value, np.timedelta64)  # which NumPy takes for a number
    return isinstance(value, Real) and not other and math.isfinite(value)


def _is_count(value: Any, least: int) -> bool:
    return isinstance(value, Integral) and not _is_flag(value) and int(value) >= least


def _is_level(value: Any) -> bool:
    return _is_real(value) and value >= 0 and (value <= 1 or value == int(value))


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool | np.bool_)


# What each parameter of the estimator must be: a test, and the words for it.
CONSTRAINTS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "family": (
        lambda v: isinstance(v, Family) or (isinstance(v, str) and (v in BY_NAME or v == AUTO)),
        f"one of {sorted(BY_NAME)}, {AUTO!r}, or a family object such as Gaussian(cov=1.0)",
    ),
    "alpha": (lambda v: _is_real(v) and v > 0, "a positive number"),
    "half_life": (
        lambda v: (
            v is None
            or (isinstance(v, str) and v == AUTO)
            or ((_is_real(v) or is_length(v)) and half_life_of(v) > 0)
        ),
        f"a positive number, {AUTO!r}, a length of time such as '12h', '5d' or a timedelta, or "
        "None to never forget",
    ),
    "kernel": (
        lambda v: v is None or callable(v),
        "None or a function of the age of a batch that returns its weight",
    ),
    "epsilon": (lambda v: _is_real(v) and 0 <= v < 1, "a number in [0, 1)"),
    "sweeps": (lambda v: _is_count(v, 1), "a whole number of at least 1"),
    "max_sweeps": (lambda v: _is_count(v, 1), "a whole number of at least 1"),
    "max_clusters": (
        lambda v: v is None or _is_count(v, 1),
        "None or a whole number of at least 1",
    ),
    "splits": (_is_flag, "True or False"),
    "merges": (_is_flag, "True or False"),
    "group_level": (
        lambda v: v is None or _is_level(v),
        "None, a level in [0, 1], or a whole number of groups",
    ),
    "outlier_weight": (
        lambda v: (isinstance(v, str) and v == "auto") or (_is_real(v) and 0 <= v < 1),
        'a number in [0, 1) or "auto"',
    ),
    "random_state": (
        lambda v: (
            v is None
            or _is_count(v, 0)
            or isinstance(v, np.random.Generator | np.random.RandomState)
        ),
        "None, a whole number of at least 0, or a NumPy random generator",
    ),
    "n_jobs": (
        lambda v: v is None or (_is_count(v, -1) and v != 0),
        "None or -1 for all cores, or a positive whole number",
    ),
    "engine": (
        is_engine_choice,
        f"one of {list(NAMES)}, a distributed.Client, or a function that returns an engine",
    ),
    "device": (
        lambda v: v is None or isinstance(v, str),
        "None or the name of a PyTorch device such as 'cuda' or 'cpu'",
    ),
    "verbose": (lambda v: _is_flag(v) or _is_count(v, 0), "True, False or a whole number"),
    "rules": (
        lambda v: v is None or isinstance(v, Rules),
        "None or scstream.Rules, such as Rules(restarts=False)",
    ),
    "on_event": (lambda v: v is None or callable(v), "None or a function of an event"),
}


def half_life_of(value: Any) -> float:
    """Return a half-life as a number; a length of time as seconds."""
    seconds = length(value)
    return float(value) if seconds is None else seconds


def fits(name: str, value: Any) -> bool:
    """Whether a parameter may have that value."""
    return CONSTRAINTS[name][0](value)


def check_parameters(params: dict[str, Any]) -> None:
    """Raise `ValueError` for the first invalid parameter."""
    for name, value in params.items():
        if not fits(name, value):
            raise ValueError(f"{name} must be {CONSTRAINTS[name][1]}; got {value!r}.")
    if params["max_clusters"] is not None and not params["merges"]:
        raise ValueError("max_clusters needs merges=True: the first batch starts from many.")
    if params["device"] is not None and (params["engine"] == "cpu" or callable(params["engine"])):
        raise ValueError(
            f"device={params['device']!r} is for PyTorch: use it with engine='torch', 'auto', or a "
            f"Dask cluster whose workers have it; got engine={params['engine']!r}."
        )


def check_level(level: Any) -> float:
    """Return a level of the tree of groups, above 1 a number of groups; or raise `ValueError`."""
    if not _is_level(level):
        raise ValueError(
            "level must be a number in [0, 1], how deep a valley may be within a group, or a whole "
            f"number of groups; got {level!r}."
        )
    return float(level)


def resolve_family(
    family: str | Family, X: Any, before: Family | None, *, noise: bool = False,
    verbose: bool = False,
) -> Family:  # fmt: skip
    """Return the family object for a name.

    "auto" is what the first batch calls for, which is noted, and stays that; one that distinguishes
    ``noise`` from clusters if this is asked for.
    """
    if not isinstance(family, str):
        return family
    if family != AUTO:
        return _named(family)
    if before is not None:
        return before
    if is_collection(X):
        raise TypeError("family='auto' looks at all rows at once: name the family of a Dask batch.")
    as_they_are = is_frame(X) or holds_counts(X)
    chosen, words = choose_family(X if as_they_are else read_columns(X, 1), noise=noise)
    note(printable_name(f"family='auto' takes {words}."), shown=verbose)
    return chosen


@cache
def _named(family: str) -> Family:
    """Return a family as its constructor makes it, which is never changed."""
    return BY_NAME[family]()


def say_widened(changes: Sequence[Widening]) -> None:
    """Say which columns are taken for something wider from now on, in one line."""
    if changes:
        more = f" and {len(changes) - _TOLD} more" if len(changes) > _TOLD else ""
        told = "; ".join(map(str, changes[:_TOLD]))
        note(printable_name(f"{told}{more}."), shown=True)


def check_complete(X: Any, family: Family) -> None:
    """Raise `ValueError` for entries that a family of rows cannot take, by column."""
    check_numeric(X)
    array = isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "fO"
    named = is_frame(X) or isinstance(X, Columns)
    if not (array or named):
        return
    rows = finite_numbers(X, family)
    if named:  # whose names `family.check` does not see
        for j, x in enumerate(rows.T):
            complaint = family.refusal(x[~np.isnan(x)])
            if complaint is not None:
                raise columns_of(X).refuse(j, complaint)


def read_columns(X: Any, least: int) -> Columns:
    """Return a table's columns as they are, text and missing entries included."""
    check_is_table(X)
    check_dense(X)
    if not is_frame(X) and not isinstance(X, Columns):
        if not isinstance(X, np.ndarray):
            X = _array(X)
        X = check_array(X, dtype=None, ensure_all_finite=False, ensure_min_samples=least)
    table = columns_of(X)
    if table.n < least:
        raise ValueError(
            f"Found array with {table.n} sample(s) while at least {least} is required."
        )
    if not table.values:
        raise ValueError("Found array with 0 feature(s) while a minimum of 1 is required.")
    return table


def sound_rows(X: Any, family: Family) -> Points:
    """Return a chunk of a batch as the family takes it, checked as a whole batch would be."""
    if family.tabular:
        return family.check(read_columns(X, 0))
    if is_plain_and_finite(X):
        return family.check(X)  # what most chunks are
    check_complete(X, family)
    rows = check_array(
        X,
        accept_sparse="csr" if family.sparse else False,
        dtype=[np.float64, np.float32],
        ensure_all_finite="allow-nan" if family.missing else True,
        ensure_min_samples=0,
    )
    return family.check(rows)


def check_readable(family: Family) -> None:
    """Raise `TypeError` for a family that has to see a whole batch to read its rows."""
    if type(family).meet is not Family.meet:
        raise TypeError(
            f"The family {family.name!r} learns what columns hold from all rows at once and cannot "
            "read a Dask collection. Give X.compute(); engine='dask' takes local rows too."
        )


def positive_weight(weight: Any) -> Array:
    """Return a chunk's row weights, every one of which counts."""
    out = check_weight(weight, len(weight))
    if np.any(out == 0):
        raise ValueError(
            "sample_weight must be positive for a Dask collection: leave rows without weight out."
        )
    return out


def _array(X: Any) -> NDArray[Any]:
    """Return nested sequences as an array, of objects where text is among numbers."""
    out: NDArray[Any] = np.asarray(X)
    return np.asarray(X, dtype=object) if out.dtype.kind in "US" else out


def resolve_threads(n_jobs: int | None) -> int:
    """Return the number of threads; None and -1 mean all cores this process may use."""
    return cores() if n_jobs is None or n_jobs < 0 else int(n_jobs)


def is_finite(X: NDArray[np.floating[Any]], n_jobs: int | None = 1) -> bool:
    """Whether all numbers are finite, and so are their squares."""
    threads = resolve_threads(n_jobs) if X.size > _FEW else 1
    return are_finite(X, threads) or all(
        over_rows(lambda rows: _have_squares(X[rows]), len(X), threads, X.shape[1])
    )


def is_plain_and_finite(X: Any, n_jobs: int | None = 1) -> bool:
    """Whether rows are an array of real numbers, some, that need no other check than this."""
    plain = type(X) is np.ndarray and X.ndim == 2 and X.dtype.char in "fd"
    return plain and X.size > 0 and is_finite(X, n_jobs)


def _have_squares(X: NDArray[np.floating[Any]]) -> bool:
    return bool((np.abs(X) <= LARGEST).all())


def make_rng(random_state: Any) -> np.random.Generator:
    """Return a generator of our own, seeded by the user's choice."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(0, 2**31, size=4))
    if isinstance(random_state, np.random.Generator):
        return np.random.default_rng(random_state.integers(0, 2**31, size=4))
    return np.random.default_rng(random_state)


def set_back(random_state: Any, before: Any) -> None:
    """Set a generator of the user's to what a copy of it was."""
    if isinstance(before, np.random.RandomState):
        random_state.set_state(before.get_state())
    elif isinstance(before, np.random.Generator):
        random_state.bit_generator.state = before.bit_generator.state


def check_weight(sample_weight: Any, n: int, *, shared: bool = False) -> Array:
    """Return row weights (n,), ones by default, which may share the memory of a single one."""
    if sample_weight is None:
        if shared:
            return np.ndarray(n, np.float64, _ONE, strides=(0,))
        return ones(n)
    try:
        weight = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"sample_weight must be numbers, one for each row: {error}.") from None
    if weight.ndim == 0:
        weight = np.full(n, float(weight))
    if weight.shape != (n,):
        raise ValueError(
            f"sample_weight must have one entry for each of the {n} rows; "
            f"it has shape {weight.shape}."
        )
    if not np.all(np.isfinite(weight)) or np.any(weight < 0):
        raise ValueError("sample_weight must be finite and not negative.")
    return weight


def check_same_family(now: Family, before: Family) -> None:
    """Raise `ValueError` if the family is not the one that the stream began with."""
    if type(now) is not type(before):
        raise ValueError(
            f"The family cannot change within a stream: it was {before.name!r} and is now "
            f"{now.name!r}. Use fit, or a new model."
        )


def check_labels(labels: Any, n: int, max_clusters: int | None) -> Labels:
    """Return starting labels (n,) renumbered from 0 without gaps."""
    array: NDArray[Any] = np.asarray(labels)
    if array.shape != (n,):
        raise ValueError(
            f"labels must have one entry for each of the {n} rows; they have shape {array.shape}."
        )
    if not np.issubdtype(array.dtype, np.integer) or array.min(initial=0) < 0:
        raise ValueError("labels must be whole numbers of at least 0, one for each row.")
    used, out = np.unique(array, return_inverse=True)
    if max_clusters is not None and len(used) > max_clusters:
        raise ValueError(
            f"labels hold {len(used)} clusters, more than max_clusters={max_clusters} allows."
        )
    return out.astype(np.int64)


def check_time(time: Any, last: float | None) -> float:
    """Return the time of a batch; by default one after the last."""
    if time is None:
        time = 0.0 if last is None else last + 1.0
        if last is None or last < time < math.inf:
            return float(time)
    dates = is_moment(time)
    time = moment(time) if dates else time
    if not _is_real(time):
        got = type(time).__name__ if np.ndim(time) else repr(time)
        raise ValueError(
            "time must be a finite number or a date, such as '2026-01-31 12:00', one for all rows; "
            f"got {got}."
        )
    if last is not None and not float(time) > last:
        now, then = map(as_date if dates else repr, (float(time), float(last)))
        raise ValueError(
            f"Times must increase: this batch has time {now}, the last one had {then}. "
            "Give each batch a later one."
        )
    return float(time)
