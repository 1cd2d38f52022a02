"""Frame and segments side by side, as an animated GIF or as a video file."""

from __future__ import annotations

from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from scstream.support.paths import whole_file
from scstream.video._extra import require_av, require_pillow

if TYPE_CHECKING:
    from PIL.Image import Image

FORMATS = (".gif", ".mp4")


class _Writer(Protocol):
    """What takes the pictures of an animation, one after the other."""

    def add(self, picture: Image) -> None: ...

    def close(self) -> None: ...


class AnimationWriter:
    """Writes an animation picture by picture; use it in a ``with`` statement.

    Parameters
    ----------
    path : path
        The file to write: a ``.gif``, which is held in memory until it is closed, or an ``.mp4``,
        which is for long videos and needs PyAV.
    fps : float
        Pictures a second.
    width : int
        Wider pictures are scaled down to this.
    """

    def __init__(self, path: str | Path, *, fps: float = 12.0, width: int = 960) -> None:
        require_pillow()
        target = Path(path)
        if target.suffix.lower() not in FORMATS:
            raise ValueError(f"an animation ends in {' or '.join(FORMATS)}; got {target.name!r}")
        if not 0.0 < fps <= 100.0:
            raise ValueError(f"fps must be more than 0 and at most 100; got {fps}")
        if width < 16:
            raise ValueError(f"width must be at least 16 pixels; got {width}")
        self.width = width
        kind = _Gif if target.suffix.lower() == ".gif" else _Mp4
        self._writer: _Writer = kind(target, fps)

    def add(self, *pictures: NDArray[np.uint8]) -> None:
        """Add a picture: some of the same height, (height, width, 3) each, side by side."""
        from PIL import Image
        from PIL.Image import Resampling

        picture = Image.fromarray(np.concatenate(pictures, axis=1))
        if picture.width > self.width:
            height = max(1, round(picture.height * self.width / picture.width))
            picture = picture.resize((self.width, height), Resampling.BOX)
        self._writer.add(picture)

    def close(self) -> None:
        """Finish the file."""
        self._writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class _Gif:
    def __init__(self, path: Path, fps: float) -> None:
        self.path = path
        self.fps = fps
        self.pictures: list[Image] = []

    def add(self, picture: Image) -> None:
        from PIL.Image import Dither

        # Dithering would put noise into segments that are of one colour.
        self.pictures.append(picture.quantize(256, dither=Dither.NONE))

    def close(self) -> None:
        if self.pictures:
            first, *rest = self.pictures
            duration = round(1000.0 / self.fps)
            with whole_file(self.path) as part:
                first.save(part, save_all=True, append_images=rest, duration=duration, loop=0)


class _Mp4:
    def __init__(self, path: Path, fps: float) -> None:
        require_av()
        self.fps = Fraction(fps).limit_denominator(1000)
        self.container: Any = None
        self.stream: Any = None
        self._stack = ExitStack()
        self._path = path

    def add(self, picture: Image) -> None:
        import av

        # The codec halves the resolution of colours: sides must be even.
        width, height = (side - side % 2 for side in picture.size)
        if self.stream is None:
            part = self._stack.enter_context(whole_file(self._path))
            self.container = self._stack.enter_context(av.open(str(part), "w"))
            self.stream = self.container.add_stream("libx264", rate=self.fps)
            self.stream.width, self.stream.height = width, height
            self.stream.pix_fmt = "yuv420p"  # what every player knows
        pixels = np.asarray(picture.convert("RGB"))[:height, :width]
        frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(pixels), format="rgb24")
        self.container.mux(self.stream.encode(frame))

    def close(self) -> None:
        with self._stack:
            if self.stream is not None:
                self.container.mux(self.stream.encode(None))
