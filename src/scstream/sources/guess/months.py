"""Dates with words in them: English names of months and days, and zones."""

from __future__ import annotations

import re
from functools import lru_cache

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
