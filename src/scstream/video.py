"""Video: every frame is a batch of pixels, every cluster a segment that keeps its id.

Needs ``scstream[video]``: Pillow for images, PyAV for video files.
"""

from __future__ import annotations

import colorsys
import contextlib
import os
import re
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scstream.chronicle import Chronicle
from scstream.model import ScStream
from scstream.support.atomic import whole_file
from scstream.support.extras import need_package
from scstream.support.paths import check_file, exists, identity, look

ColorSpace = Literal["lab", "rgb"]
Paint = Literal["mean", "id"]
Pixels = NDArray[np.uint8]

__all__ = [
    "Frame", "FrameReport", "Segmenter", "id_colors", "pixel_rows", "read_frames", "segment_video",
]  # fmt: skip

COLUMNS = {
    "lab": ["lightness", "green-red", "blue-yellow", "right", "down"],
    "rgb": ["red", "green", "blue", "right", "down"],
}
HALF_LIFE = 0.5  # frames: what moves is soon elsewhere
SAMPLE = 20_000  # pixels of the first frame that the sampler settles on, and points of a frame

_IMAGES = {".bmp", ".jpeg", ".jpg", ".png", ".ppm", ".tif", ".tiff", ".webp"}
_WIDEST = 960  # pixels of the animation

# sRGB's primaries under its white, D65, as CIE XYZ relative to that white.
_TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.072175],
     [0.0193339, 0.119192, 0.9503041]]
) / np.array([[0.95047], [1.0], [1.08883]])  # fmt: skip
_KNEE = 6.0 / 29.0  # of CIE Lab's cube root: below, it is a line
_GOLDEN = 0.6180339887498949  # a turn of hue by this share never repeats
# Hues nearly meet again after 8, 13, 21, 34, 55 or 89 ids; none of these is a multiple of six.
_SHADES = ((0.85, 0.95), (0.4, 0.95), (0.75, 0.55), (0.55, 0.75), (1.0, 0.75), (0.3, 0.6))


class Frame(NamedTuple):
    """A frame: the name of its file, or its number, and its pixels (height, width, 3)."""

    name: str
    pixels: Pixels


class FrameReport(NamedTuple):
    """A segmented frame: its name, the model's seconds, clusters after it, and its pixels."""

    name: str
    seconds: float
    n_clusters: int
    n_pixels: int


def pixel_rows(pixels: Pixels, color: ColorSpace = "lab") -> NDArray[np.float64]:
    """Return the pixels (height, width, 3) of a frame as rows (height * width, 5).

    Three columns of colour, CIE Lab or red, green and blue from 0 to 1, and two of place in units
    of the frame's height. The units do not matter to a model whose prior comes from the data.
    """
    if pixels.ndim != 3 or pixels.shape[2] != 3:
        raise ValueError(f"a frame has shape (height, width, 3); got {pixels.shape}")
    if color not in COLUMNS:
        raise ValueError(f"color must be one of {', '.join(COLUMNS)}; got {color!r}")
    height, width = pixels.shape[:2]
    out = np.empty((height, width, 5))
    out[..., :3] = pixels / 255.0 if color == "rgb" else _to_lab(pixels / 255.0)
    out[..., 3] = (np.arange(width) + 0.5) / height
    out[..., 4] = ((np.arange(height) + 0.5) / height)[:, None]
    return out.reshape(-1, 5)


def _to_lab(rgb: ArrayLike) -> NDArray[np.float64]:
    """Return sRGB colours (..., 3) from 0 to 1 in CIE Lab."""
    values = np.asarray(rgb, dtype=float)
    linear = np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)
    xyz = linear @ _TO_XYZ.T
    f = np.where(xyz > _KNEE**3, np.cbrt(xyz), xyz / (3.0 * _KNEE**2) + 4.0 / 29.0)
    x, y, z = f[..., 0], f[..., 1], f[..., 2]
    return np.stack([116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)], axis=-1)


def _to_pixels(colors: ArrayLike, color: ColorSpace) -> Pixels:
    """Return colours (k, 3), in the columns of `pixel_rows`, as red, green and blue."""
    rgb = np.asarray(colors, dtype=float).reshape(-1, 3)
    if color == "lab":
        y = (rgb[:, 0] + 16.0) / 116.0
        f = np.stack([y + rgb[:, 1] / 500.0, y, y - rgb[:, 2] / 200.0], axis=1)
        xyz = np.where(f > _KNEE, f**3, 3.0 * _KNEE**2 * (f - 4.0 / 29.0))
        linear = np.linalg.solve(_TO_XYZ, xyz.T).T
        curved = 1.055 * np.maximum(linear, 0.0031308) ** (1.0 / 2.4) - 0.055
        rgb = np.where(linear <= 0.0031308, 12.92 * linear, curved)
    pixels: Pixels = np.round(255.0 * np.clip(rgb, 0.0, 1.0)).astype(np.uint8)
    return pixels


def id_colors(ids: ArrayLike) -> Pixels:
    """Return a colour (..., 3) for each cluster id: always the same, and unlike its neighbours'."""
    distinct, place = np.unique(np.asarray(ids), return_inverse=True)
    shades = [(i * _GOLDEN % 1.0, *_SHADES[i % len(_SHADES)]) for i in distinct.tolist()]
    table = np.round([255.0 * np.array(colorsys.hsv_to_rgb(*shade)) for shade in shades])
    table[distinct < 0] = 187  # outliers are grey
    colors: Pixels = table.astype(np.uint8)[place.reshape(np.shape(ids))]
    return colors


def read_frames(source: str | Path, *, scale: float = 1.0) -> Iterator[Frame]:
    """Return the frames of a video, one after the other, all of the same size.

    The source is a folder of images, sorted by name (``2.png`` before ``10.png``), an animated
    image, such as a GIF, or a video file. A scale of 0.5 halves width and height.
    """
    need_package("PIL", "video", "reading and writing images needs Pillow")
    if not 0.0 < scale <= 1.0:
        raise ValueError(f"scale must be more than 0 and at most 1; got {scale}")
    path = Path(source)
    if not path.exists():
        raise FileNotFoundError(f"there is no folder or file {path}")
    read = _from_image if path.suffix.lower() in (*_IMAGES, ".gif", ".apng") else _from_video
    return _of_one_size((_from_folder if path.is_dir() else read)(path), scale, path)


def _of_one_size(pictures: Any, scale: float, source: Path) -> Iterator[Frame]:
    size = None
    for name, picture in pictures:
        size = size or picture.size
        if picture.size != size:
            own, others = ("{} x {} pixels".format(*one) for one in (picture.size, size))
            raise ValueError(f"frame {name} of {source} is {own}; all others before are {others}")
        yield Frame(name, np.array(_resized(picture, scale)))
    if size is None:
        raise ValueError(f"{source} holds no images that can be read")


def _resized(picture: Any, scale: float) -> Any:
    """Return a picture that is smaller, if the scale is less than 1; pixels are means."""
    from PIL.Image import Resampling

    size = [max(1, round(scale * side)) for side in picture.size]
    return picture.resize(size, Resampling.BOX) if scale < 1.0 else picture


def images_of(folder: Path) -> list[Path]:
    """Return the images of a folder sorted by name, numbers by their value."""

    def natural(path: Path) -> list[tuple[int, str]]:
        return [(int(n or -1), word) for n, word in re.findall("([0-9]+)|([^0-9]+)", path.name)]

    return sorted(
        (path for path in folder.iterdir() if path.suffix.lower() in _IMAGES), key=natural
    )


def _from_folder(folder: Path) -> Iterator[tuple[str, Any]]:
    paths = {path.stem: path for path in reversed(images_of(folder))}
    for path in images_of(folder):
        if paths[path.stem] != path:
            both = f"{path.name} and {paths[path.stem].name}"
            raise ValueError(f"{both} in {folder}: their segments would have the same name")
        yield path.stem, next(_from_image(path))[1]


@contextlib.contextmanager
def _reading(path: Path, what: str) -> Iterator[None]:
    """Turn whatever broken bytes provoke into an error that names the file."""
    try:
        yield
    except (MemoryError, ImportError):
        raise
    except Exception as error:
        raise ValueError(f"{path} cannot be read as {what}: {error}") from error


def _from_image(path: Path) -> Iterator[tuple[str, Any]]:
    from PIL import Image, ImageSequence

    with _reading(path, "an image"), Image.open(path) as picture:
        for number, frame in enumerate(ImageSequence.Iterator(picture)):
            yield f"{number:05d}", frame.convert("RGB")


def _from_video(path: Path) -> Iterator[tuple[str, Any]]:
    with _reading(path, "a video"), _pyav().open(str(path)) as container:
        if not container.streams.video:
            raise ValueError("it holds no pictures, only sound or text")
        for number, frame in enumerate(container.decode(video=0)):
            yield f"{number:05d}", frame.to_image()


def _pyav() -> Any:
    more = "; a folder of images or a GIF does not need it"
    return need_package("av", "video", "video files need PyAV", more)


class Segmenter:
    """Cuts a video's frames into segments whose ids persist from frame to frame.

    A segment is a cluster of pixels, by colour and place. The number of segments is found.

    Parameters
    ----------
    model : ScStream, optional
        The model to teach, not fitted yet. By default one with a half-life of half a frame.
    color : {"lab", "rgb"}
        The colours' space; see `pixel_rows`.
    first_sample, frame_weight : number or None
        Pixels of the first frame on which the sampler settles, and points that a frame counts for
        at most, since neighbouring pixels are nearly equal: more give more segments. None: all.
    track : bool
        Whether to allow the segments of the first frame alone: none splits later.
    random_state : int
        Seed of the sample and of the default model.
    """

    def __init__(
        self,
        model: ScStream | None = None,
        *,
        color: ColorSpace = "lab",
        first_sample: int | None = SAMPLE,
        frame_weight: float | None = float(SAMPLE),
        track: bool = False,
        random_state: int = 0,
    ) -> None:
        for name, least in (("first_sample", first_sample), ("frame_weight", frame_weight)):
            if least is not None and not least >= 100:
                raise ValueError(f"{name} must be at least 100, or None; got {least}")
        self.model = model or ScStream(half_life=HALF_LIFE, random_state=random_state)
        if self.model.n_batches_:
            seen = self.model.n_batches_
            raise ValueError(f"the model has seen {seen} batches: give one that is not fitted")
        self.color: ColorSpace = color
        self.first_sample, self.frame_weight = first_sample, frame_weight
        self.track, self.random_state = track, random_state
        self.n_frames = 0

    def segment(self, pixels: Pixels) -> NDArray[np.int64]:
        """Learn the next frame (height, width, 3) and return the id (height, width) of pixels."""
        rows = pixel_rows(pixels, self.color)
        if self.n_frames == 0 and self.first_sample is not None and len(rows) > self.first_sample:
            rng = np.random.default_rng(self.random_state)
            some = rows[np.sort(rng.choice(len(rows), self.first_sample, replace=False))]
            self.model.partial_fit(some, time=-1.0, sample_weight=np.ones(len(some)))
        if self.n_frames == 1 and self.track:
            self.model.set_params(splits=False)
        most = len(rows) if self.frame_weight is None else self.frame_weight
        weight = np.full(len(rows), min(most / len(rows), 1.0))
        self.model.partial_fit(rows, time=float(self.n_frames), sample_weight=weight)
        self.n_frames += 1
        labels: NDArray[np.int64] = self.model.labels_.reshape(pixels.shape[:2])
        return labels

    def paint(self, segments: NDArray[np.int64], by: Paint = "mean") -> Pixels:
        """Return a picture (height, width, 3) of the last frame's segments.

        Each has its mean colour, or with "id" a bright one that belongs to its id.
        """
        if by not in ("mean", "id"):
            raise ValueError(f"paint must be mean or id; got {by!r}")
        ids, place = np.unique(segments, return_inverse=True)
        table, real = id_colors(ids), ids >= 0
        if by == "mean":
            means = {cluster.id: cluster.mean[:3] for cluster in self.model.clusters_}
            if not set(ids[real].tolist()) <= set(means):
                raise ValueError("some segments are not clusters of the model")
            table[real] = _to_pixels([means[i] for i in ids[real].tolist()], self.color)
        return table[place.reshape(segments.shape)]


@contextlib.contextmanager
def _animation(path: Path, fps: float) -> Iterator[Callable[[Pixels], object]]:
    """Give what adds a picture: to a GIF, which is held in memory, or to an MP4, by PyAV."""
    from PIL import Image

    def shrunk(pixels: Pixels) -> Any:
        picture = Image.fromarray(pixels)
        return _resized(picture, _WIDEST / picture.width)

    if path.suffix.lower() == ".gif":
        pictures: list[Any] = []  # dithering would put noise into segments of one colour
        yield lambda p: pictures.append(shrunk(p).quantize(256, dither=Image.Dither.NONE))
        if pictures:
            with whole_file(path) as part:
                pictures[0].save(part, save_all=True, append_images=pictures[1:],
                                 duration=round(1000.0 / fps), loop=0)  # fmt: skip
        return
    av = _pyav()
    with whole_file(path) as part, av.open(str(part), "w") as container:
        stream = container.add_stream("libx264", rate=Fraction(fps).limit_denominator(1000))
        stream.pix_fmt = "yuv420p"  # all players know it; it halves the resolution of colours:

        def add(pixels: Pixels) -> None:
            picture = np.asarray(shrunk(pixels))  # so sides must be even
            even = np.ascontiguousarray(
                picture[: len(picture) // 2 * 2, : picture.shape[1] // 2 * 2]
            )
            if not stream.codec_context.is_open:
                stream.height, stream.width = even.shape[:2]
            container.mux(stream.encode(av.VideoFrame.from_ndarray(even, format="rgb24")))

        yield add
        container.mux(stream.encode(None))


def outputs_of(out: str | Path) -> tuple[Path, Path]:
    """Return the folder of the segmented frames and the file of the animation."""
    path = Path(out)
    if path.suffix.lower() in (".gif", ".mp4"):
        return path.with_name(f"{path.stem}-frames"), path
    return path, path / "side-by-side.gif"


def segment_video(
    source: str | Path,
    out: str | Path,
    *,
    segmenter: Segmenter | None = None,
    scale: float = 1.0,
    max_frames: int | None = None,
    paint: Paint = "mean",
    fps: float = 12.0,
    chronicle: Chronicle | None = None,
    overwrite: bool = False,
) -> Iterator[FrameReport]:
    """Segment a video frame by frame; write segmented frames and an animation.

    Parameters
    ----------
    source, scale
        See `read_frames`; all outputs have the scaled size.
    out : path
        A folder for the segmented frames, one PNG each, and ``side-by-side.gif``; or a ``.gif`` or
        ``.mp4`` for the animation, beside which a folder of frames is made.
    segmenter, paint
        See `Segmenter` and `Segmenter.paint`.
    max_frames : int, optional
        Stop after this many.
    fps : float
        Frames a second of the animation, which is complete when all reports have been taken.
    chronicle : Chronicle, optional
        Observes the model after each frame, for `scstream.report`.
    overwrite : bool
        Whether earlier outputs may be replaced.
    """
    if paint not in ("mean", "id"):
        raise ValueError(f"paint must be mean or id; got {paint!r}")
    if max_frames is not None and max_frames < 1:
        raise ValueError(f"max_frames must be at least 1; got {max_frames}")
    if not 0.0 < fps <= 100.0:
        raise ValueError(f"fps must be more than 0 and at most 100; got {fps}")
    frames = islice(read_frames(source, scale=scale), max_frames)
    folder, file = outputs_of(out)
    for output in (folder, file):
        if (found := look(output)) is not None and identity(found) == identity(os.stat(source)):
            raise ValueError(f"{output} would overwrite the originals: name another output")
    check_file(file, overwrite=overwrite)
    if folder.is_dir() and not overwrite and any(folder.iterdir()):
        raise exists(folder)
    if file.suffix.lower() == ".mp4":
        _pyav()
    return _segmented(segmenter or Segmenter(), frames, folder, _animation(file, fps), paint,
                      chronicle)  # fmt: skip


def _segmented(
    segmenter: Segmenter, frames: Iterator[Frame], folder: Path, animation: Any, paint: Paint,
    chronicle: Chronicle | None,
) -> Iterator[FrameReport]:  # fmt: skip
    from PIL import Image

    with animation as add:
        for name, pixels in frames:
            start = time.perf_counter()
            segments = segmenter.segment(pixels)
            seconds = time.perf_counter() - start
            if chronicle is not None:
                chronicle.observe(segmenter.model)
            picture = segmenter.paint(segments, paint)
            with whole_file(folder / f"{name}.png") as part:
                Image.fromarray(picture).save(part)
            add(np.concatenate([pixels, picture], axis=1))
            yield FrameReport(name, seconds, segmenter.model.n_clusters_, segments.size)
