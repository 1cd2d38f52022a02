"""Numbers as tables write them: with thousands set apart, a currency sign or a unit."""

from __future__ import annotations

import re
from functools import cache, lru_cache

_CURRENCY = (
    r"(?:[$€£¥₹₽₩]|(?:USD|EUR|GBP|CHF|JPY|CNY|INR|SEK|NOK|DKK|PLN|CZK|HUF|CAD|AUD|NZD|BRL|MXN|ZAR|TRY"
    r"|RUB|KRW|SGD|HKD)(?![A-Z]))"
)
_UNIT = r"(?:[$€£¥₹₽₩%‰°]|[%‰°]?[^\W\d_]{1,8}(?:/[^\W\d_]{1,4})?[²³]?)"
_PLAIN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_SPACES = str.maketrans(
    {"\u00a0": " ", "\u202f": " ", "\u2009": " ", "\u2212": "-", "\u2013": "-", "\u2019": "'"}
)
_BARE = re.compile(
    rf"\(?[+-]?\s?{_CURRENCY}?\s?([+-]?[.,]?\d[\d.,' ]*(?:[eE][+-]?\d+)?)\s?{_UNIT}?\)?"
)
_SET_APART = re.compile(r"(?<=\d)[' ](?=\d{3}(?!\d))")


@cache
def _form(decimal: str) -> re.Pattern[str]:
    """Return the form of a number with this decimal point, and of what may stand around it."""
    point, group = re.escape(decimal), {".": ",", ",": r"\."}.get(decimal)
    forms = [rf"[1-9][0-9]{{0,2}}(?:[ '][0-9]{{3}})+(?:{point}[0-9]+)?"]
    if group is not None:
        forms.append(rf"[0-9]{{1,3}}(?:{group}[0-9]{{3}})+(?:{point}[0-9]+)?")
    if group == ",":  # as in India: 12,34,567
        forms.append(r"[0-9]{1,2}(?:,[0-9]{2})+,[0-9]{3}(?:\.[0-9]+)?")
    forms.append(rf"(?:[0-9]+{point}?[0-9]*|{point}[0-9]+)(?:[eE][+-]?[0-9]+)?")
    number = "|".join(forms)
    return re.compile(
        rf"(?P<sign>[+-]?)\s?(?P<before>{_CURRENCY}?)\s?(?P<inner>[+-]?)(?P<number>{number})"
        rf"\s?(?P<unit>{_UNIT}?)"
    )


def amount(field: str, decimal: str = ".") -> tuple[float, str] | None:
    """Return the number in a field and its unit, "" for none; None if there is no number.

    Thousands may be set apart by a comma or a point, whichever is not the decimal point, by a
    space or by an apostrophe. Parentheses, or a minus sign at the end, mean minus, as in accounts.

    Examples
    --------
    >>> amount("12.5 kg"), amount("1.234,5 €", ","), amount("-$ 50"), amount("(3)")
    ((12.5, 'kg'), (1234.5, '€'), (-50.0, '$'), (-3.0, ''))
    >>> amount("1 2"), amount("12:30"), amount("n12"), amount("1_000")
    (None, None, None, None)
    """
    plain = field if decimal == "." else field.replace(".", "_").replace(decimal, ".")
    if _PLAIN.fullmatch(plain):  # as most are
        return float(plain), ""
    return _with_marks(field, decimal)


@lru_cache(maxsize=1 << 14)  # a column is looked at several times
def _with_marks(field: str, decimal: str) -> tuple[float, str] | None:
    """Return the number in a field that has more than plain digits, and its unit."""
    text = field.translate(_SPACES).strip()
    if len(text) > 2 and text[0] == text[-1] == "'":  # quoted, but not as CSV quotes
        text = text[1:-1]
    if text[-1:] == "-" and text[:1].isdigit():  # as some accounting systems write it
        text = f"-{text[:-1]}".rstrip()
    negative = text[:1] == "(" and text[-1:] == ")"
    found = _form(decimal).fullmatch(text[1:-1] if negative else text)
    if found is None or (found["sign"] and found["inner"]) or (negative and found["sign"]):
        return None
    digits = re.sub(r"[ ']", "", found["number"])
    digits = digits.replace({".": ",", ",": "."}.get(decimal, " "), "").replace(decimal, ".")
    minus = negative or "-" in (found["sign"], found["inner"])
    return (-float(digits) if minus else float(digits)), found["before"] + found["unit"]


def is_number(field: str, decimal: str = ".", *, grouped: bool = True) -> bool:
    """Whether a field is a number.

    Unless ``grouped`` is False, thousands may be set apart, and a currency sign or a unit may
    stand before or after it.

    Examples
    --------
    >>> is_number("1.5e3"), is_number("1.234,5", ","), is_number("1,234.5"), is_number("1_000")
    (True, True, True, False)
    """
    if grouped:
        return amount(field, decimal) is not None
    plain = field.strip(" \t")
    if decimal != ".":
        plain = plain.replace(".", "_").replace(decimal, ".")
    return _PLAIN.fullmatch(plain) is not None


def to_number(field: str, decimal: str = ".") -> float:
    """Return the number in a field that `is_number`, without its unit."""
    found = amount(field, decimal)
    assert found is not None
    return found[0]


def bare(field: str) -> str:
    """Return the digits and marks of a number without its unit, whatever the decimal point is.

    Examples
    --------
    >>> bare("1.234,5 €"), bare("10 000,5"), bare("red")
    ('1.234,5', '10000,5', '')
    """
    found = _BARE.fullmatch(field.translate(_SPACES).strip())
    return "" if found is None else _SET_APART.sub("", found[1].strip())
