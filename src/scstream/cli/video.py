"""``scstream video``: segment a video, every frame a batch of pixels."""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from scstream.cli.files import add_overwrite, check_apart
from scstream.cli.values import add_command, add_quiet
from scstream.support.paths import check_file
from scstream.support.printable import printable
from scstream.support.progress import Bar

if TYPE_CHECKING:
    from argparse import ArgumentParser, _SubParsersAction

    from scstream.video.run import FrameReport


def add_parser(subparsers: _SubParsersAction[ArgumentParser]) -> None:
    """Add the subcommand."""
    parser = add_command(
        subparsers,
        "video",
        video,
        "Segment a video. Every frame is a batch of pixels, by colour and place; every "
        "cluster is a segment that keeps its id, and its colour, from frame to frame. Needs "
        "scstream[video].",
    )
    parser.add_argument(
        "source",
        type=Path,
        metavar="FOLDER-OR-FILE",
        help="a folder of images sorted by name, an animated image, or a video file",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="OUT",
        help="a folder for the segmented frames and side-by-side.gif; or a .gif or .mp4 for the "
        "animation, next to which OUT-frames is created (default: the source's name and -segments)",
    )
    add_overwrite(parser)
    add_quiet(parser)
    _add_picture_options(parser)
    _add_model_options(parser)


def _add_picture_options(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("frames and pictures")
    group.add_argument(
        "--scale",
        type=float,
        default=1.0,
        help="size of the frames as a share of the original's: 0.5 is four times as fast "
        "(default: %(default)s)",
    )
    group.add_argument(
        "--max-frames", type=int, metavar="N", help="stop after this many frames (default: all)"
    )
    group.add_argument(
        "--paint",
        choices=("mean", "id"),
        default="mean",
        help="the segment's mean colour, or a bright one that belongs to its id "
        "(default: %(default)s)",
    )
    group.add_argument(
        "--fps", type=float, default=12.0, help="of the animation (default: %(default)s)"
    )
    group.add_argument(
        "--width",
        type=int,
        default=960,
        metavar="PIXELS",
        help="of the animation at most, both halves together (default: %(default)s)",
    )
    group.add_argument(
        "--chronicle",
        type=Path,
        metavar="FILE",
        help="write the chronicle here, for `scstream report`",
    )


def _add_model_options(parser: ArgumentParser) -> None:
    from scstream.video.segment import FIRST_SAMPLE, FRAME_WEIGHT, HALF_LIFE

    group = parser.add_argument_group("the model")
    group.add_argument(
        "--color", choices=("lab", "rgb"), default="lab", help="colour space (default: %(default)s)"
    )
    group.add_argument(
        "--first-sample",
        type=int,
        default=FIRST_SAMPLE,
        metavar="N",
        help="pixels of the first frame on which the sampler settles before it learns the whole "
        "frame; 0 uses all, which is slow (default: %(default)s)",
    )
    group.add_argument(
        "--frame-weight",
        type=float,
        default=FRAME_WEIGHT,
        metavar="N",
        help="upper limit on the points a frame counts for, since neighbouring pixels are nearly "
        "equal: more give more segments; 0 counts every pixel (default: %(default)s)",
    )
    group.add_argument(
        "--track",
        action="store_true",
        help="keep the segments of the first frame: none splits later, so what is "
        "marked there stays marked",
    )
    group.add_argument(
        "--half-life",
        type=float,
        default=HALF_LIFE,
        metavar="FRAMES",
        help="age at which a frame counts half (default: %(default)s)",
    )
    group.add_argument(
        "--alpha",
        type=float,
        default=1.0,
        help="concentration of the Dirichlet process (default: %(default)s)",
    )
    group.add_argument(
        "--sweeps",
        type=int,
        default=1,
        metavar="N",
        help="sampled sweeps of each frame after the first (default: %(default)s)",
    )
    group.add_argument("--max-clusters", type=int, metavar="K", help="an upper bound")
    group.add_argument("--random-state", type=int, default=0, metavar="SEED", help="the seed")
    group.add_argument("--n-jobs", type=int, metavar="N", help="threads (default: all cores)")


def video(args: argparse.Namespace) -> int:
    """Segment the video; return the exit status."""
    from scstream.video.run import Outputs

    output = args.output
    if output is None:
        output = args.source.with_name(f"{args.source.stem}-segments")
    outputs = Outputs.at(output)
    written = {"--output": outputs.animation, "the frames": outputs.frames}
    check_apart({"the source": args.source}, written | {"--chronicle": args.chronicle})
    if args.chronicle is not None:
        check_file(args.chronicle, overwrite=args.overwrite)
    reports = _segment(args, output)
    if not args.quiet:
        print(summary(reports))
        print(printable(f"segments:  {outputs.frames}\nanimation: {outputs.animation}"))
    return 0


def _segment(args: argparse.Namespace, output: Path) -> list[FrameReport]:
    """Segment the video and return what became of each frame."""
    from scstream.chronicle import Chronicle
    from scstream.model import ScStream
    from scstream.video import Segmenter, segment_video
    from scstream.video.frames import count_frames
    from scstream.video.pixels import column_names

    model = ScStream(
        alpha=args.alpha,
        half_life=args.half_life,
        sweeps=args.sweeps,
        max_clusters=args.max_clusters,
        random_state=args.random_state,
        n_jobs=args.n_jobs,
    )
    segmenter = Segmenter(
        model,
        color=args.color,
        first_sample=args.first_sample or None,
        frame_weight=args.frame_weight or None,
        track=args.track,
        random_state=args.random_state,
    )
    chronicle = None
    if args.chronicle is not None:
        chronicle = Chronicle(columns=column_names(args.color))
    frames = segment_video(
        args.source,
        output,
        segmenter=segmenter,
        scale=args.scale,
        max_frames=args.max_frames,
        paint=args.paint,
        fps=args.fps,
        width=args.width,
        chronicle=chronicle,
        overwrite=args.overwrite,
    )
    total = count_frames(args.source)
    if total is not None and args.max_frames is not None:
        total = min(total, args.max_frames)
    progress = _Progress(total, quiet=args.quiet)
    reports = []
    with ExitStack() as stack:
        notes = None
        for report in frames:
            reports.append(report)
            progress.show(len(reports), report)
            if chronicle is not None and notes is None:  # the first frame was accepted
                notes = stack.enter_context(open(args.chronicle, "w", encoding="utf-8"))
            if chronicle is not None and notes is not None:
                notes.write(chronicle.text(chronicle[-1]))
                notes.flush()
    progress.end()
    return reports


class _Progress:
    """A bar on a terminal; a line a frame elsewhere."""

    def __init__(self, total: int | None, *, quiet: bool) -> None:
        self._of = "" if total is None else f"/{total}"
        self._quiet = quiet
        self._bar = Bar("", total).open()

    def show(self, number: int, report: FrameReport) -> None:
        """Say how a frame went."""
        rate = report.n_pixels / max(report.seconds, 1e-9)
        line = (
            f"frame {number}{self._of}  {report.seconds:.2f} s  {rate:,.0f} pixels/s  "
            f"{report.n_clusters} clusters"
        )
        if self._bar.live:
            self._bar.show(number, line)
        elif not self._quiet:
            self._bar.write(line)

    def end(self) -> None:
        """Take the bar away."""
        self._bar.close()


def summary(reports: list[FrameReport]) -> str:
    """Return a summary of a run over some frames."""
    first, *later = reports
    text = (
        f"{len(reports)} frames of {first.n_pixels:,} pixels; the first took {first.seconds:.2f} s"
    )
    if later:
        seconds = sum(report.seconds for report in later) / len(later)
        text += f", a later one {seconds:.2f} s"
    counts = [report.n_clusters for report in reports]
    return f"{text}; {min(counts)} to {max(counts)} clusters, {counts[-1]} at the end"
