"""Pixels as rows of a table: three columns of colour and two of place."""

from __future__ import annotations

import colorsys
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

ColorSpace = Literal["rgb", "lab"]
COLOR_SPACES: tuple[ColorSpace, ...] = ("rgb", "lab")

# sRGB's primaries under its white, D65, as CIE XYZ relative to that white.
_WHITE = np.array([0.95047, 1.0, 1.08883])
_TO_XYZ = (
    np.array(
        [
            [0.4124564, 0.3575761, 0.1804375],
            [0.2126729, 0.7151522, 0.0721750],
            [0.0193339, 0.1191920, 0.9503041],
        ]
    )
    / _WHITE[:, None]
)
_KNEE = 6.0 / 29.0  # of CIE Lab's cube root: below, it is a line
_GOLDEN = 0.6180339887498949  # a turn of hue by this share never comes back to where it was
# Hues nearly meet again after 8, 13, 21, 34, 55 or 89 ids; none of these is a multiple of six.
_SHADES = ((0.85, 0.95), (0.4, 0.95), (0.75, 0.55), (0.55, 0.75), (1.0, 0.75), (0.3, 0.6))


def pixel_rows(pixels: NDArray[np.uint8], color: ColorSpace = "lab") -> NDArray[np.float64]:
    """Return the pixels of a frame as rows: colour, then place.

    Places are in units of the frame's height, so that they do not depend on how a video was
    scaled. The units of the columns make no difference to a model whose prior comes from the data.

    Parameters
    ----------
    pixels : ndarray (height, width, 3) of uint8
    color : {"lab", "rgb"}
        CIE Lab, in which equal steps look equally large, or red, green and blue from 0 to 1.

    Returns
    -------
    ndarray (height * width, 5)
        Row by row of the frame.
    """
    if pixels.ndim != 3 or pixels.shape[2] != 3:
        raise ValueError(f"a frame has shape (height, width, 3); got {pixels.shape}")
    if color not in COLOR_SPACES:
        raise ValueError(f"color must be one of {', '.join(COLOR_SPACES)}; got {color!r}")
    height, width = pixels.shape[:2]
    out = np.empty((height, width, 5))
    rgb = pixels / 255.0
    out[..., :3] = rgb if color == "rgb" else rgb_to_lab(rgb)
    out[..., 3] = (np.arange(width) + 0.5) / height
    out[..., 4] = ((np.arange(height) + 0.5) / height)[:, None]
    return out.reshape(-1, 5)


def column_names(color: ColorSpace) -> list[str]:
    """Return the names of the columns of `pixel_rows`."""
    colors = (
        ["red", "green", "blue"] if color == "rgb" else ["lightness", "green-red", "blue-yellow"]
    )
    return [*colors, "right", "down"]


def to_pixels(colors: ArrayLike, color: ColorSpace) -> NDArray[np.uint8]:
    """Return colours (k, 3), in the columns of `pixel_rows`, as red, green and blue."""
    values = np.asarray(colors, dtype=float)
    rgb = values if color == "rgb" else lab_to_rgb(values)
    return np.round(255.0 * np.clip(rgb, 0.0, 1.0)).astype(np.uint8)


def id_colors(ids: ArrayLike) -> NDArray[np.uint8]:
    """Return a colour (n, 3) for each cluster id: always the same, and unlike its neighbours'.

    Made for many clusters. A dozen, in pictures for people who tell colours apart less well, have
    `scstream.plot.ClusterColors`.
    """
    values = np.asarray(ids)
    distinct, place = np.unique(values, return_inverse=True)
    table = np.array([_id_color(int(i)) for i in distinct], dtype=np.uint8).reshape(-1, 3)
    return table[place.reshape(values.shape)]


@lru_cache(maxsize=65536)
def _id_color(cluster_id: int) -> tuple[int, int, int]:
    if cluster_id < 0:
        return 187, 187, 187  # outliers are grey
    hue = cluster_id * _GOLDEN % 1.0
    strength, value = _SHADES[cluster_id % len(_SHADES)]
    red, green, blue = colorsys.hsv_to_rgb(hue, strength, value)
    return round(255 * red), round(255 * green), round(255 * blue)


def rgb_to_lab(rgb: ArrayLike) -> NDArray[np.float64]:
    """Return sRGB colours (..., 3) from 0 to 1 in CIE Lab.

    Examples
    --------
    >>> abs(rgb_to_lab([1.0, 1.0, 1.0]).round(2)).tolist()
    [100.0, 0.0, 0.0]
    >>> rgb_to_lab([1.0, 0.0, 0.0]).round(1).tolist()
    [53.2, 80.1, 67.2]
    """
    values = np.asarray(rgb, dtype=float)
    linear = np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)
    xyz = linear @ _TO_XYZ.T
    f = np.where(xyz > _KNEE**3, np.cbrt(xyz), xyz / (3.0 * _KNEE**2) + 4.0 / 29.0)
    x, y, z = f[..., 0], f[..., 1], f[..., 2]
    return np.stack([116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)], axis=-1)


def lab_to_rgb(lab: ArrayLike) -> NDArray[np.float64]:
    """Return CIE Lab colours (..., 3) as sRGB from 0 to 1; beyond where sRGB has none of them.

    Examples
    --------
    >>> lab_to_rgb(rgb_to_lab([0.2, 0.5, 0.9])).round(6).tolist()
    [0.2, 0.5, 0.9]
    """
    values = np.asarray(lab, dtype=float)
    y = (values[..., 0] + 16.0) / 116.0
    f = np.stack([y + values[..., 1] / 500.0, y, y - values[..., 2] / 200.0], axis=-1)
    xyz = np.where(f > _KNEE, f**3, 3.0 * _KNEE**2 * (f - 4.0 / 29.0))
    linear = np.linalg.solve(_TO_XYZ, xyz[..., None])[..., 0]
    curved = 1.055 * np.maximum(linear, 0.0031308) ** (1.0 / 2.4) - 0.055
    return np.where(linear <= 0.0031308, 12.92 * linear, curved)
