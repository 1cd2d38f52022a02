"""The families that a checkpoint may name: the package's, and those that a user registers."""

from __future__ import annotations

from typing import Any, TypeVar

from scstream.checkpoint.errors import UnsupportedCheckpointError
from scstream.families import BY_NAME, Family, Product
from scstream.families.idle import Idle
from scstream.families.saved import restored, saved_of
from scstream.support.saved import parameters_of

_OWN: dict[str, type[Family]] = {**BY_NAME, Product.name: Product, Idle.name: Idle}
_REGISTERED: dict[str, type[Family]] = {}
_Kind = TypeVar("_Kind", bound=type[Family])


def register_family(kind: _Kind) -> _Kind:
    """Let checkpoints hold models of a family that is not the package's own.

    A file names its family and never brings code: the class must be there, and registered, when
    the model is saved and when it is loaded. May be used as a decorator.

    Parameters
    ----------
    kind : type
        A subclass of `scstream.Family` with a ``name`` of its own. What a prepared copy knows
        beyond its constructor's arguments must be named in ``kept``, or be set by ``remade``;
        see `scstream.Family`.

    Returns
    -------
    type
        The class itself.
    """
    name = getattr(kind, "name", None)
    if not isinstance(name, str) or name in _OWN:
        raise ValueError(
            f"{kind!r} needs a name of its own to be registered; it has {name!r}. "
            f"Taken are {sorted(_OWN)}."
        )
    _REGISTERED[name] = kind
    return kind


def name_of(family: Family) -> str:
    """Return the name by which a family's class is found again, or say how to register it."""
    kind = type(family)
    name = getattr(kind, "name", None)
    if kind is _OWN.get(str(name)):
        return str(name)
    if kind is not _REGISTERED.get(str(name)):
        raise ValueError(
            f"The family {kind.__name__} cannot be saved: it is not one of scstream's own. "
            f"Call scstream.checkpoint.register_family({kind.__name__}) before saving and loading."
        )
    _check_round_trip(family)
    return str(name)


def kind_named(name: Any) -> type[Family]:
    """Return the class of a name in a checkpoint."""
    kind = {**_REGISTERED, **_OWN}.get(name) if isinstance(name, str) else None
    if kind is None:
        raise UnsupportedCheckpointError(
            f"The checkpoint needs the family {str(name)[:80]!r}, which is not known here. If it "
            "is yours, call scstream.checkpoint.register_family with its class before loading."
        )
    return kind


def _check_round_trip(family: Family) -> None:
    """Raise `ValueError` if a user's family does not say of itself all that it knows."""
    given = {key: getattr(family, key) for key in parameters_of(type(family))}
    again = type(family)(**given)
    learned = saved_of(family)
    if learned:
        again = restored(again, learned)
    lost = sorted(set(vars(family)) - set(vars(again)) - {"alone"})
    if lost:
        raise ValueError(
            f"The family {type(family).__name__} cannot be saved: {', '.join(lost)} would be lost. "
            "Name them in its table `kept`, or set them in `remade`."
        )
