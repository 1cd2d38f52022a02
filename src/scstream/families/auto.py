"""The family that a table's columns call for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from scstream.encoders import HurdleEncoder
from scstream.encoders.constant_sums import runs_of_shares
from scstream.encoders.dependence import depend_on_each_other
from scstream.encoders.exclusive import exclusive_runs
from scstream.encoders.keys import FEW_WORDS, names_rows
from scstream.encoders.row_totals import of_one_total
from scstream.encoders.skew import GAIN, common_value, is_skewed
from scstream.encoders.whole_numbers import compared
from scstream.families.bernoulli import Bernoulli
from scstream.families.categorical import Categorical
from scstream.families.columns import (
    Column,
    Columns,
    absent,
    columns_of,
    holds_counts,
    is_frame,
    kind_of,
    numbers_of,
)
from scstream.families.composition import Composition
from scstream.families.contract import Family
from scstream.families.count_shares import CountShares
from scstream.families.diagonal import Diagonal
from scstream.families.gaussian import Gaussian
from scstream.families.hurdle import Hurdle
from scstream.families.idle import Idle
from scstream.families.multinomial import Multinomial
from scstream.families.negative_binomial import NegativeBinomial
from scstream.families.one_hot import OneHot
from scstream.families.product import Product
from scstream.families.scores import Array

_SMALL = 100.0  # whole numbers half of which do not exceed this may be counts
_ENOUGH = 20  # rows that show that a column is constant
_NUMBER = re.compile(r"\W{0,3}\d[\d\s.,:/'+-]*\W{0,2}[A-Za-z]{0,3}")  # with a sign or a unit
_AMOUNT = re.compile(  # one with a fraction, groups of digits, a percent sign or a currency's
    r"\W{0,3}(\d+[.,]\d+|\d{1,3}([.,' ]\d{3})+([.,]\d+)?|\d+\s?%|(?<=[$€£¥])\s?\d+)"
    r"\W{0,2}[A-Za-z]{0,3}"
)
_HALF = 0.5  # share of the words that look like numbers, above which all may be such
_TOLD = 12  # columns of a kind that are all named in a message

LOG_GAUSSIAN = "log-gaussian"  # skewed amounts without a common value,
_ROOT_GAUSSIAN = "root-gaussian"  # and those that go by their roots, as they are told

MAKE: dict[str, type[Family]] = {
    "gaussian": Gaussian,
    "diagonal": Diagonal,
    "negative-binomial": NegativeBinomial,
    "bernoulli": Bernoulli,
    "categorical": Categorical,
    "hurdle": Hurdle,
    LOG_GAUSSIAN: Hurdle,
    Idle.name: Idle,
    CountShares.name: CountShares,
}


def choose_family(X: Any, *, noise: bool = False) -> tuple[Family, str]:
    """Return a family for a first batch, and a description of the choice.

    Truth values and columns of 0 and 1 are Bernoulli, unless they exclude each other: these are one
    category, spread over columns. Real columns whose sum is the same in all rows are shares of a
    whole. Words are categories, small whole numbers
    are negative binomial counts (counts of real events vary more than Poisson ones), unless they
    are clearly codes or other numbers (`scstream.encoders.whole_numbers`); where one column
    clearly holds other numbers, those that are somewhat better described so do, too. All other
    numbers are Gaussian with a full covariance, their logarithms or fourth roots where these suit
    clusters better ("log-gaussian", "root-gaussian"); where many rows have one value exactly and
    the others are spread out, as amounts that are often 0, these others are. A frame's column of
    floating-point numbers is real-valued whatever it holds, unless it is whole and has gaps: so do
    frames hold counts with gaps. What a column turns out to be later, it becomes then, see
    `scstream.families.widening`.

    Columns of counts that go with what their row adds up to, as it varies within clusters, are
    taken by their shares (`scstream.encoders.row_totals`).

    Sparse counts, as those of words, are multinomial. Columns of one real number alone, and empty
    ones, are idle, if there are others. Where ``noise`` is to be distinguished from clusters
    amounts are Gaussian as they are: it is by such alone.
    """
    if holds_counts(X):
        return Multinomial(), "sparse counts for multinomial"
    table = columns_of(X)
    typed = is_frame(X) and not isinstance(X, Columns)
    runs = _spread_categories(table)
    coded = {j for run in runs for j in run}
    counted = set() if noise else _counted_together(table, coded, typed=typed)
    choices = [
        _Choice(CountShares.name) if j in counted else _choice(table, j, typed=typed)
        for j in range(len(table.values))
    ]
    clear = any(choice.gain > GAIN for choice in choices)
    names = [choice.settled(0.0 if clear else GAIN) for choice in choices]
    for j in _dependent(table, names, coded, typed=typed):
        names[j] = "gaussian"
    if noise:
        names = ["gaussian" if MAKE[name] is Hurdle else name for name in names]
    if all(name == "idle" for name in names):
        names = ["gaussian"] * len(names)
        empty = [j for j, values in enumerate(table.values) if absent(values).all()]
        if empty:
            raise table.refuse(
                empty[0], "is empty, so its kind is unknown. Leave it out, or give a family."
            )
    wholes = [] if noise else _shares(table, names, coded)
    taken = coded.union(*wholes)
    blocks: dict[str, list[Any]] = {}
    for j, (name, label) in enumerate(zip(names, table.labels, strict=True)):
        if j not in taken:
            blocks.setdefault(name, []).append(label)
    chosen: dict[Any, list[Any]] = dict(blocks)
    if Hurdle.name in blocks or LOG_GAUSSIAN in blocks:
        together = "gaussian", LOG_GAUSSIAN, Hurdle.name  # all real columns, which may vary so
        real = [label for name in together for label in chosen.pop(name, [])]
        real = [label for label in table.labels if label in real]
        chosen = {Hurdle(amount=Gaussian()): real, **chosen}
        blocks = _with_roots(table, blocks, real)
    words = "; ".join(_told(table, blocks, runs, wholes))
    for run in wholes:
        chosen[Composition()] = [table.labels[j] for j in run]
    if runs:
        chosen[OneHot([len(run) for run in runs])] = [table.labels[j] for r in runs for j in r]
    if len(chosen) == 1:
        (family,) = chosen
        return family if isinstance(family, Family) else MAKE[family](), words
    return Product(chosen), words


def _with_roots(
    table: Columns, blocks: dict[str, list[Any]], real: Sequence[Any]
) -> dict[str, list[Any]]:
    """Return the labels of columns by names, those apart that go by roots, as real ones will."""
    some = table.select([table.place(label) for label in real])
    known = HurdleEncoder().fitted(numbers_of(some), some.labels)
    roots = {label for label, root in zip(real, known.root_, strict=True) if root}
    out: dict[str, list[Any]] = {}
    for name, labels in blocks.items():
        for label in labels:
            apart = name == LOG_GAUSSIAN and label in roots
            out.setdefault(_ROOT_GAUSSIAN if apart else name, []).append(label)
    return out


def _told(
    table: Columns,
    blocks: dict[str, list[Any]],
    runs: Sequence[Sequence[int]],
    wholes: Sequence[Sequence[int]],
) -> list[str]:
    """Return what columns are taken for, in words."""
    told = [f"{_named(labels)} as {name}" for name, labels in blocks.items()]
    for several, name in ((wholes, "shares of a whole"), (runs, "one category")):
        told += [f"{table.labels[r[0]]} to {table.labels[r[-1]]} as {name}" for r in several]
    return told


def _named(labels: Sequence[Any]) -> str:
    """Return names for a message, the first of them if there are many."""
    few = labels if len(labels) <= _TOLD else labels[:3]
    more = f" and {len(labels) - 3:,} more columns" if len(labels) > _TOLD else ""
    return ", ".join(map(str, few)) + more


def _shares(table: Columns, names: Sequence[str], coded: set[int]) -> list[list[int]]:
    """Return the places of columns that are shares of a whole; half of them are real at least.

    Columns that are ``coded``, of 0 and 1, add up to 1 too, and are categories.
    """
    real = {"gaussian", LOG_GAUSSIAN, Hurdle.name}
    known = {*real, "negative-binomial"}
    at = [j for j, name in enumerate(names) if name in known and j not in coded]
    if len(at) < 2 or not real.intersection(names):
        return []
    runs = runs_of_shares(numbers_of(table.select(at)))
    found = [[at[i] for i in run] for run in runs]
    return [run for run in found if 2 * sum(names[j] in real for j in run) >= len(run)]


def _counted_together(table: Columns, coded: set[int], *, typed: bool) -> set[int]:
    """Return the places of columns of counts that go with what their row adds up to."""
    at = [
        j
        for j, values in enumerate(table.values)
        if j not in coded and _may_be_counted(values, typed=typed)
    ]
    if not at:
        return set()
    found = np.flatnonzero(of_one_total(numbers_of(table.select(at))))
    some = [at[i] for i in found[:: -(-max(len(found), 1) // _ENOUGH)]]
    others = [j for j in some if _choice(table, j).settled(GAIN) in ("gaussian", "categorical")]
    return set() if 2 * len(others) > len(some) else {at[i] for i in found}


def _dependent(table: Columns, names: Sequence[str], coded: set[int], *, typed: bool) -> list[int]:
    """Return the places of whole numbers of any shape that depend on each other within clusters."""
    alone = {"negative-binomial", "categorical", Hurdle.name}
    known = {*alone, "gaussian", LOG_GAUSSIAN}
    at = [
        j
        for j, (name, values) in enumerate(zip(names, table.values, strict=True))
        if name in known and j not in coded and _may_be_counted(values, typed=typed)
    ]
    if 2 * sum(names[j] in alone for j in at) < max(len(at), 1):
        return []
    return at if depend_on_each_other(numbers_of(table.select(at))) else []


def _may_be_counted(values: Column, *, typed: bool) -> bool:
    """Whether a column without gaps holds whole numbers from 0, of another type than real ones."""
    if kind_of(values) != "number" or (typed and values.dtype.kind == "f"):
        return False
    return not absent(values).any() and _is_whole(values.astype(np.float64))


def _is_whole(numbers: Array) -> bool:
    """Whether numbers (n,) are whole ones from 0."""
    return bool(np.all(numbers == np.floor(numbers))) and numbers.min(initial=0.0) >= 0


def _spread_categories(table: Columns) -> list[list[int]]:
    """Return the places of columns of 0 and 1 that are one category each (one-hot)."""
    flags = {}
    for j, values in enumerate(table.values):
        if kind_of(values) in ("number", "truth"):
            x = np.where(absent(values), np.nan, values).astype(np.float64)
            if np.all(np.isnan(x) | (x == 0.0) | (x == 1.0)):
                flags[j] = x
    places = list(flags)
    if len(places) < 2:
        return []
    return [[places[i] for i in run] for run in exclusive_runs(np.column_stack([*flags.values()]))]


class _Choice(NamedTuple):
    """The name of a column's family; of whole numbers as real ones, and the nats for these."""

    name: str
    otherwise: str = ""
    gain: float = -np.inf

    def settled(self, least: float) -> str:
        """Return the name, where whole numbers are real ones if the gain is more than the least."""
        return self.otherwise if self.gain > least else self.name


def choice_of(table: Columns, j: int, *, also: Array | None = None) -> str:
    """Return the name of the family for a column alone; ``also`` is what it held before."""
    return _choice(table, j, also=also).settled(GAIN)


def _choice(table: Columns, j: int, *, typed: bool = False, also: Array | None = None) -> _Choice:
    """Return what a column may be.

    ``typed`` says that its type was chosen for this column. ``also`` is what it held before, in
    mid-stream, where words are categories whatever they name.
    """
    values = table.values[j]
    kind, present = kind_of(values), values[~absent(values)]
    if kind in ("date", "other"):
        raise table.refuse(
            j,
            f"holds {'dates' if kind == 'date' else 'no plain values'}, which no family takes. "
            "Turn it into numbers or words, or leave it out.",
        )
    if len(present) == 0:
        return _Choice(Idle.name)
    if kind == "text":
        if also is None and not table.settled:
            _check_words(table, j, present)
        return _Choice("categorical")
    numbers = present.astype(np.float64)
    numbers = numbers if also is None else np.concatenate([numbers, also])
    if kind == "truth":
        return _Choice("bernoulli")
    whole = _is_whole(numbers)
    real = typed and values.dtype.kind == "f" and not (whole and len(present) < len(values))
    if whole and not real and np.median(numbers) <= _SMALL:
        return _choice_of_whole(numbers)
    return _Choice(_choice_of_real(numbers))


def _choice_of_whole(numbers: Array) -> _Choice:
    """Return what small whole numbers (n,) from 0 may be."""
    if np.all((numbers == 0.0) | (numbers == 1.0)):
        return _Choice("bernoulli")
    if not np.isnan(common_value(numbers)):
        return _Choice(Hurdle.name)
    found = compared(numbers)
    real = _choice_of_real(numbers) if found.gain > 0.0 else ""
    return _Choice("categorical" if found.codes else "negative-binomial", real, found.gain)


def _choice_of_real(numbers: Array) -> str:
    """Return the name of the family of real numbers (n,)."""
    if not np.isnan(common_value(numbers)):
        return Hurdle.name
    if len(numbers) >= _ENOUGH and np.all(numbers == numbers[0]):
        return Idle.name
    return LOG_GAUSSIAN if is_skewed(numbers) else "gaussian"


def _check_words(table: Columns, j: int, present: Column) -> None:
    """Raise `ValueError` for words that name rows, not kinds, or are numbers."""
    words = present.astype(str)
    distinct = len(np.unique(words))
    naming = names_rows(distinct, len(present))
    numbers = [] if distinct <= FEW_WORDS else [w for w in words.tolist() if _NUMBER.fullmatch(w)]
    amounts = [word for word in numbers if _AMOUNT.fullmatch(word)]
    if len(numbers if naming else amounts) > _HALF * len(words):
        raise table.refuse(
            j,
            f"holds text that looks like numbers or dates, such as {numbers[0]!r} ({distinct} "
            "distinct values). Turn it into numbers (missing ones into NaN), or leave it out if it "
            "is an identifier.",
        )
    if not naming:
        return
    raise table.refuse(
        j,
        f"looks like free text or an identifier ({distinct} distinct values in "
        f"{len(present)} rows). Leave it out, or name it in "
        "Product({'categorical': [...]}).",
    )
