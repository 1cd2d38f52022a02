"""Dates with words in them: months and days in several languages, made English, and zones."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_MONTHS = {  # without accents; their short forms below
    "Jan": "jan january januar janner jaenner janvier janv enero ene gennaio gen januari janeiro",
    "Feb": "feb february februar feber fevrier fevr fev febrero febbraio februari fevereiro",
    "Mar": "mar march marz maerz mrz mars marzo maart mrt marco",
    "Apr": "apr april avril avr abril abr aprile",
    "May": "may mai mayo maggio mag mei maio",
    "Jun": "jun june juni juin junio giugno giu junho",
    "Jul": "jul july juli juillet juil julio luglio lug julho",
    "Aug": "aug august aout agosto ago augustus",
    "Sep": "sep sept september septembre septiembre settembre set setembro",
    "Oct": "oct october oktober okt octobre octubre ottobre ott outubro out",
    "Nov": "nov november novembre noviembre novembro",
    "Dec": "dec december dezember dez decembre diciembre dic dicembre dezembro",
}
_ENGLISH = {word: month for month, words in _MONTHS.items() for word in words.split()}
_DAYS = (
    "mon tue tues wed thu thur thurs fri sat sun monday tuesday wednesday thursday friday saturday "
    "sunday mo di mi do fr sa so montag dienstag mittwoch donnerstag freitag samstag sonnabend "
    "sonntag lun mer jeu ven sam dim lundi mardi mercredi jeudi vendredi samedi dimanche lunes "
    "martes miercoles jueves viernes sabado domingo mie jue vie sab dom lunedi martedi mercoledi "
    "giovedi venerdi domenica gio maandag dinsdag woensdag donderdag vrijdag zaterdag zondag "
    "segunda terca quarta quinta sexta feira"
)
_SILENT = {*_DAYS.split(), "de", "del", "le", "den", "um", "uhr", "er", "st", "nd", "rd", "th"}
_ZONES = {  # names that mean one zone in most tables; those of America as in RFC 2822
    "UTC": "+0000", "GMT": "+0000", "WET": "+0000", "BST": "+0100", "WEST": "+0100",
    "CET": "+0100", "MEZ": "+0100", "CEST": "+0200", "MESZ": "+0200", "EET": "+0200",
    "EEST": "+0300", "MSK": "+0300", "JST": "+0900", "KST": "+0900", "AEST": "+1000",
    "AEDT": "+1100", "NZST": "+1200", "NZDT": "+1300", "EST": "-0500", "EDT": "-0400",
    "CST": "-0600", "CDT": "-0500", "MST": "-0700", "MDT": "-0600", "PST": "-0800", "PDT": "-0700",
}  # fmt: skip
_ZONE = re.compile(r"(?<=[0-9M] )(?:" + "|".join(_ZONES) + r")\b")
_WORD = re.compile(r"[^\W\d_]+\.?")
_HOURS = re.compile(r"(?<=\d) ?h ?(?=\d\d\b)")
_EAST = re.compile(r"(\d{4})\s?[年년]\s?(\d{1,2})\s?[月월]\s?(\d{1,2})\s?[日일]")
_AFTER_DAY = re.compile(r"(?<=\d)\.? ?(?=(?:" + "|".join(_MONTHS) + r")\b)")
_COMMA = re.compile(r",(?= \d{1,2}:\d\d)")
_FRACTION = re.compile(r"(?<=:\d\d),(?=\d{1,6}$)")


@lru_cache(maxsize=1 << 12)  # dates repeat, and are tried in several forms
def in_english(date: str) -> str:
    """Return a date with the short English names of months, and without those of days.

    A zone becomes its distance from UTC.

    Words that belong to no date stay as they are.

    Examples
    --------
    >>> in_english("2. Mai 2026"), in_english("lundi 1er février 2026 14h30"), in_english("soon")
    ('2 May 2026', '1 Feb 2026 14:30', 'soon')
    >>> in_english("2026年5月2日"), in_english("2 May 2026")
    ('2026/5/2', '2 May 2026')
    >>> in_english("02.Okt.2026, 14:30 Uhr"), in_english("mar. 3 mars 2026")
    ('02 Oct 2026 14:30', '3 Mar 2026')
    >>> in_english("Sa 2. Mai 2026 14:30 MESZ")
    '2 May 2026 14:30 +0200'
    """
    date = _FRACTION.sub(".", _COMMA.sub("", date.strip()))
    if not any(map(str.isalpha, date)):
        return date
    date = _EAST.sub(r"\1/\2/\3", _HOURS.sub(":", date))
    date = _ZONE.sub(lambda found: _ZONES[found[0]], date)
    months = [m for m in _WORD.finditer(date) if _bare(m[0]) in _ENGLISH]
    first = months[0].start() if len(months) > 1 else -1  # "mar." is short for a day, too

    def english(found: re.Match[str]) -> str:
        word = _bare(found[0])
        if word in _ENGLISH and found.start() != first:
            dotted = found[0].endswith(".") and date[found.end() :][:1].isdigit()
            return _ENGLISH[word] + " " * dotted
        return "" if found.start() == first or word in _SILENT else found[0]

    words = " ".join(_WORD.sub(english, date).split()).strip(" ,.")
    return _AFTER_DAY.sub(" ", words)


def _bare(word: str) -> str:
    """Return a word in small letters, without accents and a point at its end."""
    letters = unicodedata.normalize("NFKD", word.lower().removesuffix("."))
    return "".join(letter for letter in letters if not unicodedata.combining(letter))
