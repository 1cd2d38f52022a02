"""One model for a stream: each task learns a part of a micro-batch, and the driver merges."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pandas as pd
from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from scstream.checkpoint import read
from scstream.model import ScStream
from scstream.parts import divided, learned, merged
from scstream.spark.columns import (
    chosen_columns,
    clock,
    column,
    is_date,
    sendable,
    time_after,
)
from scstream.spark.predict import predict

_WORTH = 50_000  # rows of a part: fewer are learned in less time than a model is sent and merged
_STORED = 10  # models; Spark repeats at most the last micro-batch, a user may go back further


class StreamLearner:
    """Learns one model from a stream: what ``foreachBatch`` calls with each micro-batch.

    The rows of a micro-batch are dealt to some tasks, each of which learns its part; the driver
    merges what they have learned. The model after each micro-batch is written to a folder, whole
    or not at all, before Spark commits the micro-batch. One that Spark runs again after a failure
    finds its model there and is not learned twice.

    Parameters
    ----------
    model : ScStream
        What the stream starts from: a model that has learned nothing, or one that has.
    folder : str or path-like
        Where models are stored: a folder of this query alone, which the driver can open.
    columns : sequence of str, optional
        The columns to learn from; by default the model's, or else all but the time.
    time : str, optional
        A column of timestamps or numbers. The time of a micro-batch is that of its latest row.
        By default each is one later than the one before.
    parts : int, optional
        How many tasks learn a micro-batch after the first; by default one for every 50,000 rows,
        and at most as many as Spark runs at once.
    then : callable, optional
        Called with each micro-batch, with the column ``label`` added, and its number: where
        labels are written. After a failure it is called with the same number and labels again.
    """

    def __init__(
        self,
        model: ScStream,
        folder: str | os.PathLike[str],
        *,
        columns: Sequence[str] | None = None,
        time: str | None = None,
        parts: int | None = None,
        then: Callable[[DataFrame, int], object] | None = None,
    ) -> None:
        if "://" in os.fspath(folder):
            raise ValueError(f"folder={folder!r} must be one that the driver can open: mount it.")
        if parts is not None and parts < 1:
            raise ValueError(f"parts must be at least 1; got {parts!r}.")
        sendable(model)  # or raise now
        self.folder = Path(folder)
        self._start, self._columns, self._time = model, columns, time
        self._parts, self._then = parts, then

    @property
    def model(self) -> ScStream:
        """The model after the latest micro-batch, or the one to start from."""
        stored = self._stored()
        return read(self._path(stored[-1]))[0] if stored else self._start

    def __call__(self, rows: DataFrame, batch: int) -> None:
        """Learn a micro-batch unless its model is stored, and hand on its labels."""
        query = rows.sparkSession.sparkContext.getLocalProperty("sql.streaming.queryId")
        rows = rows.persist()
        try:
            if self._path(batch).exists():
                model = self._read(batch, query)
                rows.write.format("noop").mode("overwrite").save()  # states above want to be read
            else:
                model = self._learned(self._before(batch, query), rows)
                self._store(model, batch, query)
            if self._then is not None:
                names = chosen_columns(rows, model, self._columns, self._apart)
                self._then(rows.withColumn("label", predict(model, names)), batch)
        finally:
            rows.unpersist()

    @property
    def _apart(self) -> list[str]:
        return [] if self._time is None else [self._time]

    def _learned(self, model: ScStream, rows: DataFrame) -> ScStream:
        """Return the model after a micro-batch."""
        names = chosen_columns(rows, model, self._columns, self._apart)
        time = None
        if self._time is not None:
            latest = rows.agg(F.max(clock(rows, self._time))).collect()[0][0]
            time = time_after(model, latest, is_date(rows, self._time))
        at_once = rows.sparkSession.sparkContext.defaultParallelism
        parts = divided(model, self._parts or max(min(rows.count() // _WORTH, at_once), 1))

        def learn(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
            found = list(frames)
            if found:
                task = TaskContext.get()
                number = 0 if task is None else task.partitionId()
                part = learned(parts[number], pd.concat(found, ignore_index=True), time)
                yield pd.DataFrame({"number": [number], "model": [part]})

        dealt = rows.select(*map(column, names)).repartition(len(parts))
        dealt = dealt.sortWithinPartitions(F.xxhash64(*map(column, names)))  # the same every time
        after = dealt.mapInPandas(learn, "number long, model binary").collect()
        return merged(parts, {part.number: bytes(part.model) for part in after})

    # -- the folder -----------------------------------------------------------------------------

    def _path(self, batch: int) -> Path:
        return self.folder / f"{batch}.scs"

    def _stored(self) -> list[int]:
        """Return the numbers of the micro-batches whose models are stored, ascending."""
        return sorted(int(path.stem) for path in self.folder.glob("[0-9]*.scs"))

    def _before(self, batch: int, query: str | None) -> ScStream:
        """Return the model that is to learn a micro-batch."""
        stored = self._stored()
        if batch == 0 and not stored:
            return self._start
        if batch - 1 not in stored:
            raise ValueError(
                f"Micro-batch {batch} goes on from the model after micro-batch {batch - 1}, but "
                f"{self.folder} has those after {stored or 'none'}. Models and Spark's checkpoint "
                "belong together: give the folder of this query, or begin with both empty."
            )
        return self._read(batch - 1, query)

    def _read(self, batch: int, query: str | None) -> ScStream:
        model, extra = read(self._path(batch))
        if extra["query"] != query:
            raise ValueError(
                f"The models in {self.folder} are those of another query ({extra['query']}; this "
                f"is {query}). Give each query a folder of its own, as its checkpoint has."
            )
        return model

    def _store(self, model: ScStream, batch: int, query: str | None) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        model.save(self._path(batch), extra={"query": query})
        for old in self._stored():
            if old <= batch - _STORED:
                self._path(old).unlink()
