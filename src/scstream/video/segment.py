"""A segmenter: a model of a video's pixels that learns frame by frame."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from scstream.model import ScStream
from scstream.video.pixels import ColorSpace, id_colors, pixel_rows, to_pixels

Paint = Literal["mean", "id"]
PAINTS: tuple[Paint, ...] = ("mean", "id")
HALF_LIFE = 0.5  # frames: what moves is soon elsewhere
FIRST_SAMPLE = 20_000  # pixels of the first frame that the sampler settles on
FRAME_WEIGHT = 20_000.0  # points that a frame counts for: as many as it settles on

_OUTLIERS = -1


class Segmenter:
    """Cuts a video's frames into segments whose ids persist from frame to frame.

    A segment is a cluster of pixels, by colour and place. How many there are is found.

    The first frame is where the sampler runs until it settles, which on all pixels of a large
    frame takes minutes. So it settles on a sample of them, and the whole frame is then learned as
    every later one is.

    Neighbouring pixels are nearly equal. A model that took each of them for a new point
    would find ever more segments the finer a film is. So a frame counts for no more than a given
    number of points, and each of its pixels for a share of one.

    Parameters
    ----------
    model : ScStream, optional
        The model to teach, not fitted yet. By default one with a half-life of half a frame.
    color : {"lab", "rgb"}
        The colours' space; see `pixel_rows`.
    first_sample : int or None
        How many pixels of the first frame to settle on; None takes all.
    frame_weight : float or None
        How many points a frame counts for, if it has more pixels: more give more segments. None
        counts every pixel.
    track : bool
        Whether to hold on to the segments of the first frame: none splits after it, so that what
        was marked there stays marked. What comes into the picture later gets no segment of its
        own. Without it a segment may split at any time, and its parts continue under new ids.
    random_state : int
        Seed of the sample and of the default model.

    Attributes
    ----------
    model : ScStream
        The model, which has seen the frames so far.
    n_frames : int
        Frames seen. A frame's time is its number, from 0.

    Examples
    --------
    >>> import numpy as np
    >>> frame = np.full((20, 30, 3), 40, dtype=np.uint8)
    >>> frame[:, 15:] = 200
    >>> frame += np.random.default_rng(0).integers(9, size=frame.shape, dtype=np.uint8)
    >>> segmenter = Segmenter()
    >>> segments = segmenter.segment(frame)
    >>> segments.shape, len(set(segments[:, 0]) & set(segments[:, -1]))
    ((20, 30), 0)
    """

    def __init__(
        self,
        model: ScStream | None = None,
        *,
        color: ColorSpace = "lab",
        first_sample: int | None = FIRST_SAMPLE,
        frame_weight: float | None = FRAME_WEIGHT,
        track: bool = False,
        random_state: int = 0,
    ) -> None:
        if first_sample is not None and first_sample < 100:
            raise ValueError(
                f"first_sample must be at least 100 pixels, or None for all; got {first_sample}"
            )
        if frame_weight is not None and not frame_weight >= 100.0:
            raise ValueError(
                f"frame_weight must be at least 100 points, or None; got {frame_weight}"
            )
        if model is not None and model.n_batches_:
            raise ValueError(
                f"the model has seen {model.n_batches_} batches: give one that is not fitted"
            )
        if model is None:
            model = ScStream(half_life=HALF_LIFE, random_state=random_state)
        self.model = model
        self.color: ColorSpace = color
        self.first_sample = first_sample
        self.frame_weight = frame_weight
        self.track = track
        self.random_state = random_state
        self.n_frames = 0

    def segment(self, pixels: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Learn the next frame and return the segment of each pixel.

        Parameters
        ----------
        pixels : ndarray (height, width, 3) of uint8

        Returns
        -------
        ndarray (height, width)
            Cluster ids.
        """
        rows = pixel_rows(pixels, self.color)
        if self.n_frames == 0 and self.first_sample is not None and len(rows) > self.first_sample:
            rng = np.random.default_rng(self.random_state)
            chosen = rng.choice(len(rows), self.first_sample, replace=False)
            some = rows[np.sort(chosen)]
            self.model.partial_fit(some, time=-1.0, sample_weight=np.ones(len(some)))
        if self.n_frames == 1 and self.track:
            self.model.set_params(splits=False)
        most = len(rows) if self.frame_weight is None else self.frame_weight
        weight = np.full(len(rows), min(most / len(rows), 1.0))  # pixels are like their neighbours
        self.model.partial_fit(rows, time=float(self.n_frames), sample_weight=weight)
        self.n_frames += 1
        labels: NDArray[np.int64] = self.model.labels_.reshape(pixels.shape[:2])
        return labels

    def paint(self, segments: NDArray[np.int64], by: Paint = "mean") -> NDArray[np.uint8]:
        """Return a picture of segments, each in one colour that it keeps.

        Parameters
        ----------
        segments : ndarray (height, width)
            Cluster ids, as `segment` returns them for the last frame.
        by : {"mean", "id"}
            The segment's own mean colour, which changes only as the cluster does, or a loud one
            that belongs to its id and never changes.

        Returns
        -------
        ndarray (height, width, 3) of uint8
        """
        if by not in PAINTS:
            raise ValueError(f"segments are painted by {' or '.join(PAINTS)}; got {by!r}")
        if by == "id":
            return id_colors(segments)
        clusters = self.model.clusters_
        ids = np.array([_OUTLIERS, *(cluster.id for cluster in clusters)])
        means = to_pixels([cluster.mean[:3] for cluster in clusters], self.color)
        table = np.concatenate([id_colors([_OUTLIERS]), means])
        order = np.argsort(ids)
        place = np.searchsorted(ids[order], segments).clip(max=len(ids) - 1)
        if not np.array_equal(ids[order][place], segments):
            raise ValueError(
                "some segments are not clusters of the model: paint those of the last frame"
            )
        picture: NDArray[np.uint8] = table[order][place]
        return picture
