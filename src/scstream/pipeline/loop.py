"""The run: batches from a source, through the model, into outputs, with checkpoints between."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from scstream.families import Family
from scstream.groups.reading import renamed
from scstream.pipeline.assess import assess, learner_of
from scstream.pipeline.folder import CheckpointFolder, Kept
from scstream.pipeline.interrupt import Interrupt, Interrupted
from scstream.pipeline.resume import RunState, Totals, blaming
from scstream.sinks import open_sink
from scstream.sinks.base import Output, Recorder, Sink
from scstream.sinks.journals import RejectJournal
from scstream.sources import open_source
from scstream.sources.base import Batch, Place, Source
from scstream.sources.options import SourceOptions, for_family
from scstream.support.messages import detail

if TYPE_CHECKING:
    from scstream.model import ScStream


# How and where a model runs, not what it is: that of the resumed run counts.
_WHERE = ("n_jobs", "engine", "device", "verbose", "on_event")


@dataclass
class RunResult:
    """How a run went.

    Attributes
    ----------
    model : ScStream
        The model that learned: the one given, or that of the checkpoint that was resumed.
    totals : Totals
        Counts over the whole run.
    seconds : float
        How long this process took.
    rows : int
        How many rows it learned.
    resumed : Path or None
        The checkpoint that it went on from.
    interrupted : str or None
        Why it stopped before the end of the source.
    checkpoint : Path or None
        The last checkpoint.
    done : float or None
        The share of the source that was read, from 0 to 1; None if its size is not known.
    place : dict
        Where the source stands behind the last batch.
    """

    model: ScStream
    totals: Totals = field(default_factory=Totals)
    seconds: float = 0.0
    rows: int = 0
    resumed: Path | None = None
    interrupted: str | None = None
    checkpoint: Path | None = None
    done: float | None = None
    place: Place = field(default_factory=dict)


def run(
    source: Any,
    model: ScStream,
    outputs: Mapping[str, Output | str | Path] | None = None,
    *,
    options: SourceOptions | None = None,
    checkpoint: str | Path | None = None,
    every: int = 100,
    settings: dict[str, Any] | None = None,
    score_by: str = "before",
    progress: Callable[[RunResult], object] | None = None,
    interrupt: Interrupt | None = None,
) -> RunResult:
    """Learn a stream batch by batch, write the results, and save checkpoints.

    Parameters
    ----------
    source : Source, str, Path, sequence of these, or table
        What `open_source` takes: files, a URL, a table, or an iterable of tables.
    model : ScStream
        Where to begin, unless there is a checkpoint.
    outputs : mapping of str to Sink, Recorder, str or Path, optional
        By a name of your choice, which a checkpoint knows them by. A file name or a URL takes the
        labels, as `open_sink` writes them.
    options : SourceOptions, optional
        How a source that is not open yet is read. By default as the command line does: with a look
        at the first rows, which leaves out columns that cannot be clustered.
    checkpoint : str or Path, optional
        A folder for checkpoints. If it holds one, the run resumes from there: the model and the
        source are set to it, and the outputs are cut back to what they were.
    every : int, default=100
        Batches from one checkpoint to the next. There is one at the end, too.
    settings : dict, optional
        What the run's results depend on, in plain JSON. It is saved in the checkpoint; resuming
        with other settings is refused.
    score_by : {"before", "after"}, default="before"
        Whether scores and anomalies are by the model before it learned the batch (the first batch
        aside) or after. Labels are those that were learned, and their probabilities are by the
        model after.
    progress : callable (RunResult), optional
        Called after each batch.
    interrupt : Interrupt, optional
        Through which the run is asked to stop.

    Returns
    -------
    RunResult

    Raises
    ------
    ValueError
        If a row or a batch is refused. What came before it is saved.

    Examples
    --------
    >>> import numpy as np, pathlib, tempfile
    >>> import scstream
    >>> from scstream.sources import SourceOptions
    >>> labels = pathlib.Path(tempfile.mkdtemp()) / "labels.csv"
    >>> X = np.random.default_rng(0).normal(size=(500, 2))  # or frames, files, a query
    >>> model = scstream.ScStream(random_state=0)
    >>> result = scstream.run(X, model, {"labels": labels}, options=SourceOptions(100))
    >>> result.totals.rows, result.totals.batches
    (500, 5)
    """
    if every < 1:
        raise ValueError(f"every must be at least 1; got {every}.")
    if score_by not in ("before", "after"):
        raise ValueError(f"score_by must be 'before' or 'after'; got {score_by!r}.")
    written = {
        name: output if isinstance(output, Output) else open_sink(output, parts=bool(checkpoint))
        for name, output in (outputs or {}).items()
    }
    with contextlib.ExitStack() as stack:
        if not isinstance(source, Source):
            options = options or SourceOptions(**for_family(model.family))
            rows = any(getattr(output, "append", False) for output in written.values())
            options = replace(options, keep_rows=options.keep_rows or rows)
            source = stack.enter_context(open_source(source, options))
        given = progress, interrupt or Interrupt()
        loop = _Loop(model, source, written, every, settings or {}, score_by, *given)
        return loop.run(checkpoint)


@dataclass
class _Loop:
    """A run and where it stands."""

    model: ScStream
    source: Source
    outputs: dict[str, Output]
    every: int
    settings: dict[str, Any]
    score_by: str
    progress: Callable[[RunResult], object] | None
    interrupt: Interrupt

    def __post_init__(self) -> None:
        self.result = RunResult(self.model)
        self.place: Place = {}
        self.committed: Place | None = None  # the place of the last checkpoint
        self.folder: CheckpointFolder | None = None
        self.learned = 0.0  # seconds that the model took for the last batch
        self.unkept = 0  # batches since the last checkpoint
        self.taken: Any = None  # what the model knew when the outputs had all of it
        self.opened = False  # whether the outputs are
        self.places: dict[str, Place] = {}  # where they begin
        self.needs = frozenset().union(*(output.needs for output in self.outputs.values()))

    def run(self, checkpoint: str | Path | None) -> RunResult:
        try:
            if checkpoint is not None:
                self.folder = CheckpointFolder(checkpoint)
            self._begin()
            self._follow()
        except Interrupted:  # before the first row
            self.result.interrupted = self.interrupt.asked
        finally:
            for output in self.outputs.values():
                output.close()
            if self.folder is not None:
                self.folder.close()
        return self.result

    def _begin(self) -> None:
        kept = None
        if self.folder is not None:
            kept = self.folder.newest(self.model.kernel)
            self.source.keep_marks()
            self.places = self.folder.claimed()
        if kept is not None:
            with self.interrupt.waiting(), blaming(kept.path):
                self._resume(kept)
        for name, output in self.outputs.items():
            output.check(self.places.get(name, {}))
        if kept is not None:
            with blaming(kept.path):
                self._open()
        if self.result.model.n_batches_:
            self.source.require(needed(self.result.model.family_, self._width()))

    def _open(self) -> None:
        """Make the outputs; for a new run this waits until a batch has been accepted."""
        if self.opened:
            return
        for name, output in self.outputs.items():
            output.truncate(self.places.get(name, {}))
        self.opened = True
        if self.folder is not None and self.result.resumed is None:
            self.folder.claim({name: output.identity() for name, output in self.outputs.items()})

    def _check_settings(self, before: Mapping[str, Any], kept: Kept) -> None:
        """Raise `ValueError` if results depend on settings that a checkpoint did not have."""
        changed = []
        for name in sorted({*self.settings, *before}):
            now, then = self.settings.get(name), before.get(name)
            if (now or None) != (then or None):  # an option that is not given says nothing
                was = "without" if then is None else "with"
                value = "" if then is None else f"={then!r}"
                is_now = "not given" if now is None else repr(now)
                changed.append(f"{was} {name}{value}, and now it is {is_now}")
        if changed:
            raise ValueError(
                f"The checkpoint in {kept.path.parent} was made {'; '.join(changed)}. Continue "
                "with the same settings, or start over with another folder."
            )

    def _resume(self, kept: Kept) -> None:
        """Set the model and the source to a checkpoint."""
        state = RunState.of(kept.extra, kept.path)
        self._check_settings(state.settings, kept)
        here = {name: getattr(self.model, name) for name in _WHERE}
        self.result.model = kept.model.set_params(**here)
        self.result.totals = state.totals
        self.result.resumed = self.result.checkpoint = kept.path
        self.place = state.source
        self.committed = self.place
        self.places = state.outputs
        self.source.seek(self.place)

    def _width(self) -> int:
        return int(self.result.model.n_features_in_)

    def _follow(self) -> None:
        start, self.taken = perf_counter(), learner_of(self.result.model)
        batches = iter(self.source)
        try:
            while self.interrupt.asked is None:
                begun = perf_counter()
                with self.interrupt.waiting():
                    batch = next(batches, None)
                if batch is None:
                    break
                read = perf_counter()
                self._take(batch)
                now = perf_counter()
                self.result.seconds = now - start
                totals, learned = self.result.totals, self.learned
                detail(
                    f"batch {totals.batches:,}: {batch.n:,} rows, read in {read - begun:.3f} s, "
                    f"learned in {learned:.3f} s, scored and written in "
                    f"{now - read - learned:.3f} s; {totals.rows:,} rows so far"
                )
                self.result.done = self.source.share_before(batch.place)
                if self.progress is not None:
                    self.progress(self.result)
                if self.unkept >= self.every:
                    self._keep()
        except Interrupted:
            pass
        except (ValueError, MemoryError):
            if learner_of(self.result.model) is self.taken:  # nothing of the batch was taken
                self._keep_rest()
            raise
        self.result.interrupted = self.interrupt.asked
        if self.result.interrupted is None:
            self._open()  # there may have been no row at all
        for output in self.outputs.values():
            output.verify()
        self._keep_rest()
        if self.committed is not None:
            self.source.hand_over(self.committed)
        self.result.seconds = perf_counter() - start

    def _keep_rest(self) -> None:
        if self.unkept and self.result.model.n_batches_:
            self._keep()

    def _take(self, batch: Batch) -> None:
        """Learn a batch and write what is found."""
        model = self.result.model
        if batch.n:
            first = model.n_batches_ == 0
            before = learner_of(model)
            start = perf_counter()
            try:
                model.partial_fit(batch.X, time=batch.time)
            except ValueError as error:
                raise ValueError(
                    f"{batch.where}: {error}" if batch.where else str(error)
                ) from error
            self.learned = perf_counter() - start
            if batch.clock is not None:
                model._note_clock(batch.clock)
            self._open()
            if first:
                self.source.require(needed(model.family_, self._width()))
            found = self._found(batch, before)
            self.result.rows += batch.n
            self.result.totals.add(model, batch)
            for output in self.outputs.values():
                if isinstance(output, Sink):
                    output.write(batch, found)
                elif isinstance(output, Recorder):
                    output.observe(model, batch, found.get("score"))
        self._open()
        self.result.totals.rejected += len(batch.rejects)
        for output in self.outputs.values():
            if isinstance(output, RejectJournal):
                output.note(batch)
        self.place = self.result.place = batch.place
        self.taken = learner_of(model)
        self.unkept += 1

    def _found(self, batch: Batch, before: Any) -> dict[str, NDArray[Any]]:
        """Return what is known of the rows, as far as outputs need it, by the names of fields."""
        model = self.result.model
        after = learner_of(model)
        assert after is not None
        found: dict[str, NDArray[Any]] = {"label": model.labels_}
        early = before is not None and self.score_by == "before"
        asked = self.needs & {"score", "anomaly"}
        if "probability" in self.needs or (asked and not early):
            scored = assess(after, batch.X, model.labels_)
            found["probability"] = scored.probability
        if asked and early:
            scored = assess(model._fitted_to(before, batch.X), batch.X)
        if asked:
            found["score"] = scored.score
        if "anomaly" in asked:
            found["anomaly"] = scored.anomaly
        if "group" in self.needs:
            found["group"] = renamed(model.labels_, model._grouped().group)
        return found

    def _keep(self) -> None:
        """Write a checkpoint, once all outputs are on the disk as far as it says."""
        if self.folder is None:
            self.unkept = 0
            return
        for output in self.outputs.values():
            output.sync()
        extra = {
            "source": self.source.mark(self.place),
            "outputs": {name: output.place() for name, output in self.outputs.items()},
            "totals": asdict(self.result.totals),
            "settings": self.settings,
        }
        self.result.checkpoint = self.folder.save(self.result.model, extra)
        self.unkept = 0
        # The one before must still be of use if this one is damaged.
        if self.committed is not None:
            self.source.commit(self.committed)
        self.committed = self.place


def needed(family: Family, width: int) -> list[bool]:
    """Return for each column whether the family needs a value in every row."""
    out = [False] * width
    for block in family.independent_blocks(width):
        for j in block.columns:
            out[j] = not block.family.missing
    return out
