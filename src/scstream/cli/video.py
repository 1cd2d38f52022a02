"""``scstream video``: segment a video, every frame a batch of pixels."""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from scstream.cli.files import add_overwrite, check_apart
from scstream.cli.values import add_command, add_quiet
from scstream.support.messages import note
from scstream.support.paths import check_file
from scstream.support.progress import Bar

# Options of the command, by what their values go to.
_MODEL = {
    "half-life": (float, "age in frames at which a frame counts half; default: 0.5"),
    "n-jobs": (int, "threads; default: all cores"),
}
_SEGMENTER = {
    "color": (str, "colour space: lab (the default) or rgb"),
    "first-sample": (
        int,
        "pixels of the first frame on which the sampler settles, 0 for all; default: 20000",
    ),
    "frame-weight": (
        float,
        "points that a frame counts for at most, 0 for its pixels; default: 20000",
    ),
}
_FRAMES = {
    "scale": (float, "size of the frames: 0.5 is four times as fast; default: 1"),
    "max-frames": (int, "stop after this many; default: all"),
    "paint": (str, "mean (the segment's mean colour, the default) or id (one for each id)"),
    "fps": (float, "frames a second of the animation; default: 12"),
}


def add_parser(subparsers: Any) -> None:
    """Add the command."""
    parser = add_command(
        subparsers, "video", main,
        "Segment a video: every frame is a batch of pixels, every cluster a segment that keeps its "
        "id, and its colour, from frame to frame. Needs scstream[video].",
    )  # fmt: skip
    add = parser.add_argument
    add("source", type=Path, metavar="FOLDER-OR-FILE",
        help="a folder of images sorted by name, an animated image, or a video file")  # fmt: skip
    add("-o", "--output", type=Path, metavar="OUT",
        help="a folder for frames and side-by-side.gif; or a .gif or .mp4 for the animation, with "
        "frames in OUT-frames; default: the source's name and -segments")  # fmt: skip
    for name, (kind, about) in (_FRAMES | _SEGMENTER | _MODEL).items():
        add(f"--{name}", type=kind, metavar="X", default=argparse.SUPPRESS, help=about)
    add("--random-state", type=int, default=0, metavar="SEED", help="default: 0")
    add("--track", action="store_true", help="no segment splits after the first frame")
    add("--chronicle", type=Path, metavar="FILE", help="write it here, for `scstream report`")
    add_overwrite(parser)
    add_quiet(parser)


def main(args: argparse.Namespace) -> int:
    """Segment the video; return the exit status."""
    from scstream.chronicle import Chronicle
    from scstream.model import ScStream
    from scstream.video import COLUMNS, HALF_LIFE, Segmenter, images_of, outputs_of, segment_video

    def given(options: dict[str, Any]) -> dict[str, Any]:
        names = (name.replace("-", "_") for name in options)
        return {name: getattr(args, name) for name in names if name in args}

    own, seed = given(_SEGMENTER), args.random_state
    own |= {name: own[name] or None for name in ("first_sample", "frame_weight") if name in own}
    model = {"half_life": HALF_LIFE, "random_state": seed, "verbose": args.verbose} | given(_MODEL)
    segmenter, frames = (
        Segmenter(ScStream(**model), track=args.track, random_state=seed, **own),
        given(_FRAMES),
    )
    output = args.output or args.source.with_name(f"{args.source.stem}-segments")
    folder, animation = outputs_of(output)
    written = {"--output": animation, "the frames": folder, "--chronicle": args.chronicle}
    check_apart({"the source": args.source}, written)
    chronicle = None
    if args.chronicle is not None:
        check_file(args.chronicle, overwrite=args.overwrite)
        chronicle = Chronicle(columns=COLUMNS[segmenter.color])
    found = segment_video(args.source, output, segmenter=segmenter, chronicle=chronicle,
                          overwrite=args.overwrite, **frames)  # fmt: skip
    total = (
        len(images_of(args.source)[: frames.get("max_frames")]) if args.source.is_dir() else None
    )
    with ExitStack() as stack:
        bar, notes, done = stack.enter_context(Bar("", total)), None, 0
        for done, report in enumerate(found, 1):
            line = f"frame {done}{f'/{total}' if total else ''}  {report.seconds:.2f} s"
            line += f"  {report.n_clusters} clusters"
            bar.show(done, line)
            if not (bar.live or args.quiet):
                bar.write(line)
            if chronicle is not None:  # the file is made once the first frame was accepted
                notes = notes or stack.enter_context(open(args.chronicle, "w", encoding="utf-8"))
                notes.write(chronicle.text(chronicle[-1]))
                notes.flush()
    note(f"{done} frames of {report.n_pixels:,} pixels; segments in {folder}, and {animation}")
    return 0
