"""``scstream video``: segment a video, every frame a batch of pixels."""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scstream.cli.files import add_overwrite, check_apart
from scstream.cli.values import add_command, add_quiet
from scstream.support.paths import check_file
from scstream.support.printable import printable
from scstream.support.progress import Bar

if TYPE_CHECKING:
    from scstream.video import FrameReport


def add_parser(subparsers: Any) -> None:
    """Add the command."""
    parser = add_command(
        subparsers, "video", main,
        "Segment a video. Every frame is a batch of pixels, by colour and place; every "
        "cluster is a segment that keeps its id, and its colour, from frame to frame. Needs "
        "scstream[video].",
    )  # fmt: skip
    add = parser.add_argument
    add(
        "source",
        type=Path,
        metavar="FOLDER-OR-FILE",
        help="a folder of images sorted by name, an animated image, or a video file",
    )
    add("-o", "--output", type=Path, metavar="OUT",
        help="a folder for the segmented frames and side-by-side.gif; or a .gif or .mp4 for the "
        "animation, next to which OUT-frames is created (default: the source's name and "
        "-segments)")  # fmt: skip
    add_overwrite(parser)
    add_quiet(parser)
    _add_options(parser.add_argument_group("frames and pictures").add_argument)
    _add_model(parser.add_argument_group("the model").add_argument)


def _add_options(add: Any) -> None:
    add(
        "--scale",
        type=float,
        default=1.0,
        help="size of the frames as a share of the original's: 0.5 is four times as fast",
    )
    add("--max-frames", type=int, metavar="N", help="stop after this many frames (default: all)")
    add(
        "--paint",
        choices=("mean", "id"),
        default="mean",
        help="the segment's mean colour (the default), or a bright one that belongs to its id",
    )
    add("--fps", type=float, default=12.0, help="of the animation (default: %(default)s)")
    add("--chronicle", type=Path, metavar="FILE",
        help="write the chronicle here, for `scstream report`")  # fmt: skip


def _add_model(add: Any) -> None:
    from scstream.video import HALF_LIFE, SAMPLE

    add("--color", choices=("lab", "rgb"), default="lab", help="colour space (default: lab)")
    add(
        "--first-sample",
        type=int,
        default=SAMPLE,
        metavar="N",
        help="pixels of the first frame on which the sampler settles before it learns the whole "
        "frame; 0 uses all, which is slow (default: %(default)s)",
    )
    add(
        "--frame-weight",
        type=float,
        default=float(SAMPLE),
        metavar="N",
        help="upper limit on the points a frame counts for, since neighbouring pixels are nearly "
        "equal: more give more segments; 0 counts every pixel (default: %(default)s)",
    )
    add(
        "--track",
        action="store_true",
        help="keep the segments of the first frame: none splits later, so what is marked there "
        "stays marked",
    )
    add(
        "--half-life",
        type=float,
        default=HALF_LIFE,
        metavar="FRAMES",
        help="age at which a frame counts half (default: %(default)s)",
    )
    add("--random-state", type=int, default=0, metavar="SEED", help="the seed")
    add("--n-jobs", type=int, metavar="N", help="threads (default: all cores)")  # fmt: skip


def main(args: argparse.Namespace) -> int:
    """Segment the video; return the exit status."""
    from scstream.video import outputs_of

    output = args.output or args.source.with_name(f"{args.source.stem}-segments")
    folder, animation = outputs_of(output)
    written = {"--output": animation, "the frames": folder, "--chronicle": args.chronicle}
    check_apart({"the source": args.source}, written)
    if args.chronicle is not None:
        check_file(args.chronicle, overwrite=args.overwrite)
    reports = _segment(args, output)
    if not args.quiet:
        print(_summary(reports))
        print(printable(f"segments:  {folder}\nanimation: {animation}"))
    return 0


def _segment(args: argparse.Namespace, output: Path) -> list[FrameReport]:
    """Segment the video and return a report of each frame."""
    from scstream.chronicle import Chronicle
    from scstream.model import ScStream
    from scstream.video import COLUMNS, Segmenter, images_of, segment_video

    seed = args.random_state
    segmenter = Segmenter(
        ScStream(half_life=args.half_life, random_state=seed, n_jobs=args.n_jobs),
        color=args.color,
        first_sample=args.first_sample or None,
        frame_weight=args.frame_weight or None,
        track=args.track,
        random_state=seed,
    )
    chronicle = None if args.chronicle is None else Chronicle(columns=COLUMNS[args.color])
    same = {name: getattr(args, name) for name in ("scale", "max_frames", "paint", "fps")}
    frames = segment_video(
        args.source, output, segmenter=segmenter, chronicle=chronicle, overwrite=args.overwrite,
        **same,
    )  # fmt: skip
    total = len(images_of(args.source)[: args.max_frames]) if args.source.is_dir() else None
    reports: list[FrameReport] = []
    with ExitStack() as stack:
        bar, notes = stack.enter_context(Bar("", total)), None
        for report in frames:
            reports.append(report)
            line = f"frame {len(reports)}{f'/{total}' if total else ''}  {report.seconds:.2f} s"
            line += f"  {report.n_clusters} clusters"
            bar.show(len(reports), line)
            if not (bar.live or args.quiet):
                bar.write(line)
            if chronicle is not None:
                if notes is None:  # the first frame was accepted
                    notes = stack.enter_context(open(args.chronicle, "w", encoding="utf-8"))
                notes.write(chronicle.text(chronicle[-1]))
                notes.flush()
    return reports


def _summary(reports: list[FrameReport]) -> str:
    seconds = [report.seconds for report in reports]
    text = f"{len(reports)} frames of {reports[0].n_pixels:,} pixels; the first took "
    text += f"{seconds[0]:.2f} s"
    if len(reports) > 1:
        text += f", a later one {sum(seconds[1:]) / (len(reports) - 1):.2f} s"
    counts = [report.n_clusters for report in reports]
    return f"{text}; {min(counts)} to {max(counts)} clusters, {counts[-1]} at the end"
