"""The loop over a video: read, segment, write frames and animation, report."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from scstream.chronicle import Chronicle
from scstream.support.paths import check_file, exists, identity, look, whole_file
from scstream.video.animation import FORMATS, AnimationWriter
from scstream.video.frames import read_frames
from scstream.video.segment import PAINTS, Paint, Segmenter


@dataclass(frozen=True)
class FrameReport:
    """What became of a frame.

    Attributes
    ----------
    name : str
    seconds : float
        Time that the model took, without reading and writing.
    n_clusters : int
        Clusters that the model has after the frame.
    n_pixels : int
    """

    name: str
    seconds: float
    n_clusters: int
    n_pixels: int


@dataclass(frozen=True)
class Outputs:
    """Where a run writes to.

    Attributes
    ----------
    frames : Path
        Folder of the segmented frames.
    animation : Path
        File of the animation, frames and segments side by side.
    """

    frames: Path
    animation: Path

    @classmethod
    def at(cls, out: str | Path) -> Outputs:
        """Return what an output's name means.

        A folder holds the segmented frames and ``side-by-side.gif``. A ``.gif`` or ``.mp4`` is
        the animation, and the frames go to a folder next to it.

        Examples
        --------
        >>> at = Outputs.at("sea.mp4")
        >>> at.frames.as_posix(), at.animation.as_posix()
        ('sea-frames', 'sea.mp4')
        >>> Outputs.at("sea").animation.as_posix()
        'sea/side-by-side.gif'
        """
        path = Path(out)
        if path.suffix.lower() in FORMATS:
            return cls(path.with_name(f"{path.stem}-frames"), path)
        return cls(path, path / "side-by-side.gif")


def segment_video(
    source: str | Path,
    out: str | Path,
    *,
    segmenter: Segmenter | None = None,
    scale: float = 1.0,
    max_frames: int | None = None,
    paint: Paint = "mean",
    fps: float = 12.0,
    width: int = 960,
    chronicle: Chronicle | None = None,
    overwrite: bool = False,
) -> Iterator[FrameReport]:
    """Segment a video frame by frame; write segmented frames and an animation.

    Parameters
    ----------
    source : path
        A folder of images, an animated image, or a video file; see `read_frames`.
    out : path
        A folder for the segmented frames, one PNG each under the frame's name, and
        ``side-by-side.gif``; or the name of a ``.gif`` or ``.mp4`` for the animation, beside
        which a folder of frames is made.
    segmenter : Segmenter, optional
        A new one; `Segmenter()` by default.
    scale : float
        Size of the frames as a share of the original's. All outputs have that size.
    max_frames : int, optional
        Stop after this many.
    paint : {"mean", "id"}
        See `Segmenter.paint`.
    fps, width : float, int
        Of the animation; see `AnimationWriter`.
    chronicle : Chronicle, optional
        Takes note of the clusters after each frame, for `scstream.report`.
    overwrite : bool
        Whether an animation, and frames in the output's folder, may be replaced.

    Yields
    ------
    FrameReport
        One a frame, when it has been written. The animation is complete when all have been taken.
    """
    if paint not in PAINTS:
        raise ValueError(f"paint must be one of {', '.join(PAINTS)}; got {paint!r}")
    if max_frames is not None and max_frames < 1:
        raise ValueError(f"max_frames must be at least 1; got {max_frames}")
    frames = read_frames(source, scale=scale)
    segmenter = Segmenter() if segmenter is None else segmenter
    outputs = Outputs.at(out)
    _check_outputs(Path(source), outputs, overwrite)
    animation = AnimationWriter(outputs.animation, fps=fps, width=width)

    def reports() -> Iterator[FrameReport]:
        with animation:
            for frame in islice(frames, max_frames):
                start = time.perf_counter()
                segments = segmenter.segment(frame.pixels)
                seconds = time.perf_counter() - start
                if chronicle is not None:
                    chronicle.observe(segmenter.model)
                picture = segmenter.paint(segments, paint)
                _save(outputs.frames / f"{frame.name}.png", picture)
                animation.add(frame.pixels, picture)
                yield FrameReport(frame.name, seconds, segmenter.model.n_clusters_, segments.size)

    return reports()


def _check_outputs(source: Path, outputs: Outputs, overwrite: bool) -> None:
    """Raise `ValueError` if what is written would replace the source or something else."""
    frames = look(outputs.frames)
    if frames is not None and identity(frames) == identity(os.stat(source)):
        raise ValueError(
            f"segmented frames would overwrite the originals in {source}: name another output"
        )
    animation = look(outputs.animation)
    if animation is not None and identity(animation) == identity(os.stat(source)):
        raise ValueError(f"the animation would overwrite {source}: name another output")
    check_file(outputs.animation, overwrite=overwrite)
    if frames is None:
        return
    if not outputs.frames.is_dir():
        raise ValueError(f"{outputs.frames} is a file, and a folder for the frames is needed")
    if not overwrite and any(outputs.frames.iterdir()):
        raise exists(outputs.frames)


def _save(path: Path, picture: NDArray[np.uint8]) -> None:
    from PIL import Image

    with whole_file(path) as part:
        Image.fromarray(picture).save(part)
