"""Frames of a video: from a folder of images, an animated image, or a video file."""

from __future__ import annotations

import contextlib
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from scstream.video._extra import require_av, require_pillow

if TYPE_CHECKING:
    from PIL.Image import Image

IMAGES = frozenset({".bmp", ".jpeg", ".jpg", ".png", ".ppm", ".tif", ".tiff", ".webp"})
ANIMATED = frozenset({".apng", ".gif", ".png", ".tif", ".tiff", ".webp"})

_MOST_PIXELS = 89_478_485  # of a frame: what Pillow takes for an attack

Pixels = NDArray[np.uint8]


@dataclass(frozen=True)
class Frame:
    """A frame.

    Attributes
    ----------
    name : str
        The image's file name without its ending, or the frame's number.
    pixels : ndarray (height, width, 3) of uint8
        Red, green and blue.
    """

    name: str
    pixels: Pixels


def count_frames(source: str | Path) -> int | None:
    """Return how many frames there are, None for a video file, which does not say for sure."""
    path = Path(source)
    return len(_images(path)) if path.is_dir() else None


def read_frames(source: str | Path, *, scale: float = 1.0) -> Iterator[Frame]:
    """Return the frames of a video, one after the other.

    Parameters
    ----------
    source : path
        A folder of images, sorted by name (``2.png`` before ``10.png``); an
        animated image, such as a GIF; or a video file.
    scale : float
        The frames' size as a share of the original's: 0.5 halves width and height.

    Yields
    ------
    Frame
        All of the same size.

    Raises
    ------
    FileNotFoundError
        If there is no such folder or file.
    ValueError
        If a folder has no images, a file is not a video, or frames differ in size.
    """
    require_pillow()
    if not 0.0 < scale <= 1.0:
        raise ValueError(f"scale must be more than 0 and at most 1; got {scale}")
    path = Path(source)
    if not path.exists():
        raise FileNotFoundError(f"there is no folder or file {path}")
    if path.is_dir():
        pictures = _from_folder(path)
    elif path.suffix.lower() in ANIMATED:
        pictures = _from_image(path)
    else:
        pictures = _from_video(path)
    return _alike(pictures, scale, path)


def _alike(pictures: Iterator[tuple[str, Image]], scale: float, source: Path) -> Iterator[Frame]:
    """Scale the pictures, and see that they are of one size."""
    size: tuple[int, int] | None = None
    for name, picture in pictures:
        if size is None:
            size = picture.size
        elif picture.size != size:
            raise ValueError(
                f"frame {name} of {source} is {_by(picture.size)} pixels, the first one "
                f"{_by(size)}: all frames must have the same size"
            )
        yield Frame(name, _scaled(picture, scale))
    if size is None:
        raise ValueError(f"{source} holds no frames")


def _scaled(picture: Image, scale: float) -> Pixels:
    from PIL.Image import Resampling

    if scale < 1.0:
        width, height = (max(1, round(scale * side)) for side in picture.size)
        picture = picture.resize((width, height), Resampling.BOX)
    return np.array(picture, dtype=np.uint8)


def _images(folder: Path) -> list[Path]:
    """Return the images of a folder sorted by name, numbers by their value."""
    return sorted(
        (path for path in folder.iterdir() if path.suffix.lower() in IMAGES and path.is_file()),
        key=lambda path: natural_key(path.name),
    )


def natural_key(name: str) -> list[tuple[int, int, str]]:
    """Return what to sort names by, so that 2 comes before 10.

    Examples
    --------
    >>> sorted(["b10.png", "b2.png", "a.png"], key=natural_key)
    ['a.png', 'b2.png', 'b10.png']
    """
    parts = re.findall(r"[0-9]+|[^0-9]+", name)
    # A number comes before text, as in plain sorting; equal values by how they are written.
    return [(0, int(part), part) if part[0] in "0123456789" else (1, 0, part) for part in parts]


def _from_folder(folder: Path) -> Iterator[tuple[str, Image]]:
    from PIL import Image

    paths = _images(folder)
    if not paths:
        raise ValueError(
            f"{folder} holds no images: frames end in one of {', '.join(sorted(IMAGES))}"
        )
    for before, path in pairwise(sorted(paths, key=lambda path: path.stem)):
        if before.stem == path.stem:
            raise ValueError(
                f"{before.name} and {path.name} in {folder} differ only in their file extension: "
                "their segments would have the same name, too"
            )
    for path in paths:
        with _blaming(path), Image.open(path) as picture:
            frame = picture.convert("RGB")
        yield path.stem, frame


def _from_image(path: Path) -> Iterator[tuple[str, Image]]:
    from PIL import Image

    with _blaming(path):
        picture = Image.open(path)
    with picture:
        for number in count():
            with _blaming(path):
                try:
                    picture.seek(number)
                except EOFError:
                    return
                frame = picture.convert("RGB")
            yield f"{number:05d}", frame


@contextlib.contextmanager
def _blaming(path: Path) -> Iterator[None]:
    """Turn whatever an image provokes into an error that names it; a huge one is an error, too."""
    from PIL import Image

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            yield
    except (Image.DecompressionBombWarning, Image.DecompressionBombError) as error:
        raise ValueError(f"{path} is too large for a frame: {error}") from error
    except (MemoryError, ImportError):
        raise
    except Exception as error:  # Pillow's readers raise what broken bytes lead to
        raise ValueError(f"{path} cannot be read as an image: {error}") from error


def _from_video(path: Path) -> Iterator[tuple[str, Image]]:
    require_av()
    import av

    try:
        with av.open(str(path)) as container:
            for number, frame in enumerate(_decoded(container, path)):
                if frame.width * frame.height > _MOST_PIXELS:
                    raise ValueError(f"{path} has frames of {_by((frame.width, frame.height))}")
                yield f"{number:05d}", frame.to_image()
    except av.FFmpegError as error:
        raise ValueError(f"{path} cannot be read as a video: {error}") from error


def _decoded(container: Any, path: Path) -> Iterator[Any]:
    """Return the frames of a container's first stream of pictures."""
    if not container.streams.video:
        raise ValueError(f"{path} holds no pictures, only sound or text")
    decoded: Iterator[Any] = container.decode(video=0)
    return decoded


def _by(size: tuple[int, int]) -> str:
    return f"{size[0]} x {size[1]}"
