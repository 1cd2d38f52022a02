"""Colours of a page: named in its pictures, and given by its style sheet, light or dark."""

from __future__ import annotations

from collections.abc import Sequence

from scstream.plot.colors import OTHERS_COLOR, PALETTE

# Colours that matplotlib draws with, and the page's names for them: a style sheet decides what
# they are on a light and on a dark screen. Ink, grid and ground are odd on purpose: nothing else
# in a picture has them.
INK, GRID, GROUND = "#010203", "#dcdddf", "#fefdfc"
NAMES = {
    INK: "ink",
    GRID: "grid",
    GROUND: "ground",
    OTHERS_COLOR.lower(): "others",
    **{color.lower(): f"c{number}" for number, color in enumerate(PALETTE)},
}
# The palette on a dark screen: the same hues, the dark ones raised.
DARK = (
    "#9B8CF0", "#E08090", "#3DAA66", "#88CCEE", "#D0609A", "#DDCC77",
    "#44AA99", "#D079C4", "#B5B54A", "#4FA8E0", "#EE8844", "#A9A9A9",
)  # fmt: skip


def variables(palette: Sequence[str]) -> str:
    """Return the palette as variables of a style sheet."""
    return "; ".join(f"--c{number}: {color}" for number, color in enumerate(palette))
