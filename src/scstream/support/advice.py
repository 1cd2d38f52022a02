"""What may be done about an error or a note, by names of Python; a door adds how it spells them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

E = TypeVar("E", bound=Exception)


@dataclass(frozen=True)
class Advice:
    """An option that helps.

    Attributes
    ----------
    option : str
        Its name in Python, such as a field of `SourceOptions`.
    value : optional
        What to set it to; None leaves that to the user.
    when : str
        In which case, or what for: "if they are data".
    """

    option: str
    value: Any = None
    when: str = ""


class Reason(str):
    """Why a row is refused, with advice."""

    advice: tuple[Advice, ...] = ()


def reason(text: str, *advice: Advice) -> Reason:
    """Return a reason with advice."""
    out = Reason(text)
    out.advice = advice
    return out


def advised(error: E, *advice: Advice) -> E:
    """Return an error whose attribute ``advice`` says what may be done."""
    error.advice = advice  # type: ignore[attr-defined]
    return error


def advice_of(about: object) -> tuple[Advice, ...]:
    """Return the advice that an error, or what caused it, or a reason carries."""
    found: tuple[Advice, ...] = getattr(about, "advice", ())
    cause = getattr(about, "__cause__", None)
    return found if found or cause is None else advice_of(cause)
