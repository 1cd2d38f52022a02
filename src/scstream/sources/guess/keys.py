"""Whether a column's name, or how its numbers are written, says that it is a key or a code."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

_HUMP = re.compile(r"(?<=[a-z\d])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORD = re.compile(r"[^\W\d_]+")
_CODES = {
    "id", "ids", "uid", "uuid", "guid", "pid", "code", "zip", "zipcode", "postcode", "postalcode",
    "postal", "plz", "postleitzahl", "pincode", "cep", "identifier", "identifiers", "fips", "ssn",
    "vin", "sku", "upc",
}  # fmt: skip
_ROWS = {
    "idx", "index", "row", "rows", "rownum", "rownames", "rowname", "nr", "no", "num", "number",
    "serial", "key", "hash", "record", "phone", "telephone", "tel", "telefon", "mobile", "fax",
    "account", "konto", "iban", "isbn", "ean", "gtin", "imei", "barcode", "respondent",
}  # fmt: skip
_ANYWHERE = {"unnamed", "phone", "telephone", "mobile"}
_YEARS = {
    "year", "years", "yr", "jahr", "annee", "année", "año", "ano", "anno", "jaar", "rok", "år",
}  # fmt: skip
_OF_YEARS = {"fiscal", "calendar", "survey", "report", "reporting", "data", "time", "observation"}
_ANY_ID = re.compile(
    r"(user|usr|customer|cust|client|order|product|prod|item|session|transaction|trans|tx|account|acct"
    r"|device|event|row|record|patient|subject|person|store|shop|visitor|member|employee|emp|student"
    r"|player|team|game|match|movie|film|song|track|artist|book|author|invoice|ticket|trip|ride|flight"
    r"|vehicle|sensor|station|site|node|host|case|sample|test|group|company|firm|doc|document|page|msg"
    r"|message|post|comment|tweet|video|image|photo|file|job|task|run|batch|lot|unit|object|obj|entity)"
    r"(id|key|code)|\w+(nummer|nr)"
)
_PADDED = re.compile(r"\d{3,}", re.ASCII)
_TIME_OF_DAY = re.compile(r"([01]\d|2[0-3])[0-5]\d", re.ASCII)
_MOSTLY = 0.9  # share of numbers that have the same number of digits


def words_of_name(name: str) -> list[str]:
    """Return the words of a name in small letters.

    Examples
    --------
    >>> words_of_name("CustomerID"), words_of_name("zip_code.1"), words_of_name("ORDER NO")
    (['customer', 'id'], ['zip', 'code'], ['order', 'no'])
    """
    return [word.lower() for word in _WORD.findall(_HUMP.sub(" ", name))]


def is_code_name(name: str) -> bool:
    """Whether a name says that a column holds codes, whatever their number.

    Examples
    --------
    >>> [is_code_name(n) for n in ("ID", "userid", "PostalCode", "zip", "humid", "width")]
    [True, True, True, True, False, False]
    """
    words = words_of_name(name)
    if not words:
        return False
    return words[-1] in _CODES or words[0] == "id" or _ANY_ID.fullmatch(words[-1]) is not None


def is_row_name(name: str, place: int) -> bool:
    """Whether a name says that a column holds the rows' numbers or names, if these all differ."""
    words = words_of_name(name)
    unnamed = place == 0 and name == "column 0"
    return unnamed or (bool(words) and (words[-1] in _ROWS or words[0] in _ANYWHERE))


def is_year_name(name: str) -> bool:
    """Whether a name says in which year a row was observed; years of other things are measures.

    Examples
    --------
    >>> [is_year_name(n) for n in ("YEAR", "Fiscal Year", "year_built", "birth_year")]
    [True, True, False, False]
    """
    words = words_of_name(name)
    return bool(words) and words[-1] in _YEARS and {*words[:-1]} <= _OF_YEARS


def are_padded(values: Sequence[Any]) -> bool:
    """Whether numbers are written with zeros in front, all equally long, as postcodes are.

    Times of day are, too, and are numbers.

    Examples
    --------
    >>> are_padded(["01067", "80331"]), are_padded(["0930", "1745"]), are_padded(["0.5", "1"])
    (True, False, False)
    """
    texts = [value.strip() for value in values if isinstance(value, str)]
    if not texts or not all(_PADDED.fullmatch(text) for text in texts):
        return False
    longest = max(map(len, texts))
    return (
        any(text[0] == "0" for text in texts)
        and sum(len(text) == longest for text in texts) >= _MOSTLY * len(texts)
        and not all(_TIME_OF_DAY.fullmatch(text) for text in texts)
    )
