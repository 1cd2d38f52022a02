"""Dates as tables write them, and the form that the dates of a column have."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache, lru_cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

from scstream.sources.guess.values import MOSTLY, in_order

_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
_ZONES = {  # names that mean one zone in most tables; those of America as in RFC 2822
    "UTC": "+0000", "GMT": "+0000", "WET": "+0000", "BST": "+0100", "WEST": "+0100",
    "CET": "+0100", "MEZ": "+0100", "CEST": "+0200", "MESZ": "+0200", "EET": "+0200",
    "EEST": "+0300", "MSK": "+0300", "JST": "+0900", "KST": "+0900", "AEST": "+1000",
    "AEDT": "+1100", "NZST": "+1200", "NZDT": "+1300", "EST": "-0500", "EDT": "-0400",
    "CST": "-0600", "CDT": "-0500", "MST": "-0700", "MDT": "-0600", "PST": "-0800", "PDT": "-0700",
}  # fmt: skip
_ZONE = re.compile(r"(?<=[0-9M] )(?:" + "|".join(_ZONES) + r")\b")
_MONTH = re.compile(
    r"\b(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?",
    re.IGNORECASE,
)
_SILENT = re.compile(
    r"\b(?:mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:day)?\b\.?,?"
    r"|(?<=\d)(?:st|nd|rd|th)\b|\bof\b",
    re.IGNORECASE,
)
_AFTER_DAY = re.compile(r"(?<=\d)\.? ?(?=(?:" + "|".join(_MONTHS) + r")\b)")
_COMMA = re.compile(r",(?= \d{1,2}:\d\d)")
_FRACTION = re.compile(r"(?<=:\d\d),(?=\d{1,6}$)")


@lru_cache(maxsize=1 << 12)  # dates repeat, and are tried in several forms
def in_english(date: str) -> str:
    """Return a date with the short names of months, and without those of days.

    A zone becomes its distance from UTC.

    Examples
    --------
    >>> in_english("Saturday, 2nd of May 2026"), in_english("2. may. 2026"), in_english("soon")
    ('2 May 2026', '2 May 2026', 'soon')
    >>> in_english("Sat 2 May 2026, 14:30 CEST")
    '2 May 2026 14:30 +0200'
    """
    date = _FRACTION.sub(".", _COMMA.sub("", date.strip()))
    if not any(map(str.isalpha, date)):
        return date
    date = _ZONE.sub(lambda found: _ZONES[found[0]], date)
    if _MONTH.search(date) is None:
        return date
    date = _MONTH.sub(lambda found: found[1][:3].title(), _SILENT.sub("", date))
    return _AFTER_DAY.sub(" ", " ".join(date.split()).strip(" ,."))


ISO = "iso"
COMPACT = {8: "%Y%m%d", 12: "%Y%m%d%H%M", 14: "%Y%m%d%H%M%S"}  # by the number of digits
_DAYS = (  # with slashes the month may come first or the day
    "%d.%m.%Y", "%d.%m.%y", "%m/%d/%Y", "%d/%m/%Y", "%m/%d/%y", "%d/%m/%y", "%Y/%m/%d", "%Y.%m.%d",
    "%d-%m-%Y", "%d %b %Y", "%d-%b-%Y", "%d-%b-%y", "%b %d, %Y", "%b %d %Y", "%d/%b/%Y",
)  # fmt: skip
_CLOCKS = ("", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", " %I:%M %p", " %I:%M:%S %p")
_OTHERS = (
    "%d %B %Y", "%B %d, %Y", "%a, %d %b %Y %H:%M:%S %z", "%d/%b/%Y:%H:%M:%S %z",
    "%Y-%m-%d %H:%M:%S %Z", "%Y-%m-%d %H:%M:%S.%f %Z", "%d.%m.%Y %H:%M:%S %Z",
    "%a %b %d %H:%M:%S %Y", "%a %b %d %H:%M:%S %Z %Y", "%d-%b-%y %I.%M.%S %p",
    "%d-%b-%y %I.%M.%S.%f %p", "%d%b%Y:%H:%M:%S", "%d%b%Y", "%Y-%m", "%m/%Y",
    "%b %Y", "%B %Y", "%b-%y",
)  # fmt: skip
FORMATS = (*(day + clock for day in _DAYS for clock in _CLOCKS), *_OTHERS)
_NUMBERS, _WORDS, _FIELDS = re.compile(r"\d+"), re.compile(r"[^\W\d_]+"), re.compile(r"%[a-zA-Z]")
_BRACKETS = re.compile(r"\[(.*)\]|(.*[\dZ])\[[\w/+-]+\]")  # around a date; a zone behind it
_SOME = 5  # dates that are looked at together where not all have a form
_MOST_FORMS = 3  # of the dates of one column


def is_form(form: str) -> bool:
    """Whether dates may have this form, or these: several are separated by ``|``."""
    return {*form.split("|")} <= {ISO, *COMPACT.values(), *FORMATS}


def is_moment_text(field: str) -> bool:
    """Whether a field is a date in one of the forms that are known."""
    return date_format([field]) is not None


def date_format(texts: Sequence[str]) -> str | None:
    """Return the form that all dates have, None if there is none.

    If the month may come first or the day, the form in which the dates are in order is taken.
    Dates of a few forms, as when spreadsheets leave out midnight, have these, separated by ``|``.

    Examples
    --------
    >>> date_format(["2026-01-31", "2026-02-01T12:00Z"]), date_format(["31.01.2026 12:00"])
    ('iso', '%d.%m.%Y %H:%M')
    >>> date_format(["03/01/2026", "04/01/2026", "01/02/2026"]), date_format(["3 March 2026"])
    ('%d/%m/%Y', '%d %b %Y')
    >>> date_format(["[2026-01-31 12:00]"]), date_format(["2026-01-31 12:00:00 CET"])
    ('iso', '%Y-%m-%d %H:%M:%S %Z')
    >>> date_format(["31.01.2026 12:00", "01.02.2026"])
    '%d.%m.%Y %H:%M|%d.%m.%Y'
    """
    few = [_bare(text) for text in texts]
    if not few or any(len(text) < 6 or len(text) > 40 for text in few):
        return None
    if not any(map(str.isdigit, few[0])) or any(map(str.isdecimal, few)):
        return None
    if np.isfinite(seconds(few)).all():
        return ISO
    groups: dict[str, list[str]] = {}
    for text in few:
        groups.setdefault(_shape(in_english(text)), []).append(text)
    if len(groups) > _MOST_FORMS:
        return None
    fitting = [_fitting(shape, group) for shape, group in groups.items()]
    forms = [tuple(dict.fromkeys(forms)) for forms in product(*fitting)]
    joined = ["|".join(several) for several in forms if _one_order(several)]
    return max(joined, key=lambda form: in_order(seconds(few, form)), default=None)


def usual_format(texts: Sequence[str]) -> str | None:
    """Return the form that nearly all dates have, None if there is none.

    A date that cannot be, such as the noughts of some databases, does not hide a clock: the rows
    that have it are reported.

    Examples
    --------
    >>> usual_format(["0000-00-00", *["2026-01-31"] * 20]), usual_format(["soon", "2026-01-31"])
    ('iso', None)
    """
    form = date_format(texts)
    if form is not None:
        return form
    some = (date_format(texts[a : a + _SOME]) for a in range(0, len(texts), _SOME))
    fits = {form: np.isfinite(seconds(texts, form)) for form in some if form is not None}
    form = max(
        fits, key=lambda f: (fits[f].sum(), in_order(seconds(texts, f)[fits[f]])), default=None
    )
    return form if form is not None and fits[form].mean() >= MOSTLY else None


def compact_format(texts: Sequence[str]) -> str | None:
    """Return the form of dates that are written as one number, None if numbers are not dates.

    Examples
    --------
    >>> compact_format(["20260131", "20260201"]), compact_format(["20260131", "20261301"])
    ('%Y%m%d', None)
    """
    form = COMPACT.get(len(texts[0].strip())) if texts else None
    if form is None or not all(text.strip().isdecimal() for text in texts):
        return None
    if any(text.strip()[:2] not in ("19", "20") for text in texts):
        return None
    return form if np.isfinite(seconds(texts, form)).all() else None


def seconds(texts: Sequence[str], form: str = ISO) -> NDArray[np.float64]:
    """Return dates as seconds since 1970 (n,), NaN for other text; without a zone, in UTC."""
    out = np.full(len(texts), np.nan)
    forms = form.split("|")
    for i, text in enumerate(texts):
        for one in forms:
            when = _moment(_bare(text), one)
            if when is not None:
                out[i] = (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
                break
    return out


def _bare(text: str) -> str:
    """Return a date without brackets, and without a zone in brackets behind its distance."""
    text = text.strip()
    found = _BRACKETS.fullmatch(text) if text.endswith("]") else None
    return (found[1] or found[2] or "") if found else text


def _moment(text: str, form: str) -> datetime | None:
    """Return the moment that a text of this form is."""
    try:
        if form == ISO:
            return datetime.fromisoformat(text)
        if form in COMPACT.values():
            return datetime.strptime(text, form) if len(text) in COMPACT else None
        return datetime.strptime(in_english(text), _in_short(form))
    except ValueError:
        return None


def _in_short(form: str) -> str:
    """Return a form as `in_english` leaves its dates: short months, no days, zones as numbers."""
    for long, short in (("%B", "%b"), ("%a, ", ""), ("%a ", ""), ("%Z", "%z")):
        form = form.replace(long, short)
    return form


def _shape(text: str) -> str:
    """Return a text with all words alike, and all numbers."""
    return _WORDS.sub("a", _NUMBERS.sub("9", text))


def _shape_of_form(form: str) -> str:
    """Return the shape of dates of a form."""
    words = {"%b": "a", "%p": "a", "%z": "+9"}
    return _FIELDS.sub(lambda field: words.get(field[0], "9"), _in_short(form))


@cache
def _forms_by_shape() -> dict[str, list[str]]:
    """Return the known forms by the shape of their dates."""
    out: dict[str, list[str]] = {}
    for form in FORMATS:
        out.setdefault(_shape_of_form(form), []).append(form)
    return out


def _fitting(shape: str, group: Sequence[str]) -> list[str]:
    """Return the forms that all dates of a shape fit."""
    forms = [ISO, *_forms_by_shape().get(shape.replace(" -9", " +9"), ())]
    return [form for form in forms if np.isfinite(seconds(group, form)).all()]


def _one_order(forms: Sequence[str]) -> bool:
    """Whether forms agree on whether the month comes first or the day."""
    return not (
        any(form.startswith("%m/%d") for form in forms)
        and any(form.startswith("%d/%m") for form in forms)
    )
