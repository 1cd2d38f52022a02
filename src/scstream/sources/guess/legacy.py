"""Encodings from before UTF-8: those in which a text reads like words.

Nearly any bytes can be read as cp1252, so that bytes can be decoded says little. What is decoded
must look right: letters of one script, the usual ones often, no sign or capital inside a word.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice

_ODD = 0.02  # share of characters beyond ASCII that may be out of place
_FOREIGN = 0.6  # share of letters with accents in words that have some, at most
_OFTEN = 0.45  # share of the usual letters of a script, at least
_RARE = 0.1  # share of rare characters in East Asian text, at most
_SIGNS = "\u00a0\u00ad\u200b€£¥¢¤§°²³¹µ½¼¾«»‹›–—‘’“”‚„…•©®™±×÷·¿¡‰№†‡ºª¬´`¨¯¸¦"  # noqa: RUF001  # meant
_WORD = re.compile(r"[^\W\d_]+")
_FIELD = re.compile(rb"[^\x00-\x1f\x22,;]+")  # no East Asian letter has one of these bytes
_MOST_FIELDS = 5000
_MIXED = re.compile(r"[a-zA-Z][^\W\d_\x00-\x7f]|[^\W\d_\x00-\x7f][a-zA-Z]")
_LONE = re.compile(r"[a-z][^\x00-\x7f](?![^\x00-\x7f])")  # "gr批e"
_LATIN = ("\u00aa", "\u024f")


def _latin(text: str) -> bool:
    """Whether a text reads as words of Latin letters, some of them with accents."""
    letters = [letter for letter in _beyond(text) if letter not in _SIGNS]
    if not all(_LATIN[0] <= letter <= _LATIN[1] for letter in letters):
        return False
    length = sum(len(word) for word in _WORD.findall(text) if not word.isascii())
    few = len(letters) <= max(3.0, _FOREIGN * length)
    return few and _misplaced(text, camels=True) <= _ODD * len(letters)


def _script(low: str, high: str, usual: str) -> Callable[[str], bool]:
    """Return a test whether a text reads as words of letters in a range, usual ones often."""

    def reads(text: str) -> bool:
        letters = [letter for letter in _beyond(text) if letter not in _SIGNS]
        own = sum(low <= letter <= high for letter in letters)
        often = sum(letter.lower() in usual for letter in letters)
        if not letters or own < (1.0 - _ODD) * len(letters) or often < _OFTEN * own:
            return False
        return _misplaced(text) + len(_MIXED.findall(text)) <= _ODD * own

    return reads


def _common(
    encoding: str, first: int, last: int, *ranges: tuple[str, str]
) -> Callable[[str], bool]:
    """Return a test whether East Asian text has few rare characters.

    National standards list common characters before rare ones: the first byte of a common one in
    ``encoding`` is in a range. All letters in the other ``ranges`` are common, too.
    """
    whole = (("\u3000", "\u301f"), ("\uff01", "\uff5e"), *ranges)  # punctuation is

    def is_common(letter: str) -> bool:
        if any(low <= letter <= high for low, high in whole):
            return True
        code = letter.encode(encoding, "ignore")
        return len(code) == 2 and first <= code[0] <= last

    def reads(text: str) -> bool:
        letters = _beyond(text)
        common = sum(map(is_common, letters)) - len(_LONE.findall(text))
        return common >= (1.0 - _RARE) * len(letters) > 0

    return reads


_RUSSIAN = _script("\u0400", "\u04ff", "оеаинтсрвл")
_JAPANESE = _common("euc_jp", 0xB0, 0xCF, ("\u3041", "\u30ff"))
_READS: dict[str, Callable[[str], bool]] = {
    "cp1252": _latin,
    "cp1250": _latin,
    "cp850": _latin,
    "mac_roman": _latin,
    "cp1251": _RUSSIAN,
    "koi8_r": _RUSSIAN,
    "cp866": _RUSSIAN,
    "cp1253": _script("\u0370", "\u03ff", "αάοόιίεέτσςνηήρ"),
    "cp1255": _script("\u0590", "\u05ff", "יוהלארמתבשםן"),
    "cp1256": _script("\u0600", "\u06ff", "اليمونرتبةأ"),
    "cp874": _script("\u0e00", "\u0e7f", "านรอกเงยลมีิ้่ัวดทสตะใไแ"),
    "cp932": _JAPANESE,
    "euc_jp": _JAPANESE,
    "gb18030": _common("gb2312", 0xB0, 0xD7),
    "big5": _common("big5", 0xA4, 0xC6),
    "euc_kr": _common("euc_kr", 0xB0, 0xC8),
}


@dataclass(frozen=True)
class Reading:
    """Text in one of the encodings.

    Attributes
    ----------
    encoding : str
    sample : str
        The first words beyond ASCII, as this encoding reads them.
    """

    encoding: str
    sample: str


def readings(head: bytes) -> list[Reading]:
    """Return the encodings in which the first bytes of a text read like words.

    Examples
    --------
    >>> readings("größe,farbe 1,grün".encode("cp1252"))
    [Reading(encoding='cp1252', sample='größe grün')]
    >>> readings("名前,値,色".encode("cp932"))
    [Reading(encoding='cp932', sample='名前 値 色')]
    """
    fields = (field for field in _FIELD.findall(head) if not field.isascii())
    head = b"\n".join(islice(dict.fromkeys(fields), _MOST_FIELDS))
    out: list[Reading] = []
    for encoding, reads in _READS.items():
        text = decoded(head, encoding)
        if text is not None and reads(text):
            words = (w for w in re.findall(r"[^\s,;|\"]+", text) if not w.isascii())
            sample = " ".join(list(dict.fromkeys(words))[:3])[:40]
            if sample not in (reading.sample for reading in out):
                out.append(Reading(encoding, sample))
    return out


def best_reading(head: bytes) -> Reading:
    """Return the encoding of text that is not Unicode: cp1252 if it reads well in it.

    Raises
    ------
    ValueError
        If it reads well in several others, or in none.
    """
    found = readings(head)
    if found and (len(found) == 1 or found[0].encoding == "cp1252"):
        return found[0]
    if not found:
        raise ValueError(
            "its encoding is not UTF-8 and not one that can be recognised. Name it: --encoding "
            "NAME, such as cp932 (Japan), gb18030 (China) or latin-1 (which takes any bytes)"
        )
    listed = "\n".join(f"  --encoding {r.encoding:<9}  reads: {r.sample}" for r in found)
    raise ValueError(
        f"its encoding is not UTF-8, and {len(found)} others are possible. Name the right one:\n"
        f"{listed}"
    )


def decoded(head: bytes, encoding: str) -> str | None:
    """Return the first bytes of a text, None if they are not in this encoding."""
    try:
        return codecs.getincrementaldecoder(encoding)().decode(head, final=False)
    except UnicodeDecodeError:
        return None


def _beyond(text: str) -> list[str]:
    """Return the characters beyond ASCII."""
    return [character for character in text if character > "\x7f"]


def _misplaced(text: str, *, camels: bool = False) -> int:
    """Return how many signs beyond ASCII are inside words, and capitals behind small letters.

    With ``camels`` capitals are allowed there if a small letter follows, as in camelCase.
    """
    signs = sum(
        b in _SIGNS and b > "\x7f" and b not in "\u2019\u00ad" and a.isalpha() and c.isalpha()
        for a, b, c in zip(text, text[1:], text[2:], strict=False)
    )
    return signs + sum(
        a.islower() and b.isupper() and not (camels and c.islower()) and not (a + b).isascii()
        for a, b, c in zip(text, text[1:], text[2:] + " ", strict=False)
    )
