"""Video: every frame is a batch of pixels, every cluster a segment that keeps its id.

Needs ``scstream[video]``: Pillow for images, PyAV for video files.
"""

from scstream.video.animation import AnimationWriter
from scstream.video.frames import Frame, read_frames
from scstream.video.pixels import id_colors, pixel_rows
from scstream.video.run import FrameReport, segment_video
from scstream.video.segment import Segmenter

__all__ = [
    "AnimationWriter",
    "Frame",
    "FrameReport",
    "Segmenter",
    "id_colors",
    "pixel_rows",
    "read_frames",
    "segment_video",
]
