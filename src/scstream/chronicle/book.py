"""The chronicle: it takes note of a model after each batch, and reads and writes their file."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from scstream.chronicle.bounded import BoundedMoments
from scstream.chronicle.locations import (
    Spreads,
    family_order,
    first_view,
    locations,
    ranges,
    said_of,
    speeds,
    words_of,
)
from scstream.chronicle.moment import Floats, Moment, from_line, to_line
from scstream.chronicle.outline import Outline, Score
from scstream.chronicle.reading import ChronicleFile
from scstream.chronicle.rows import FIELDS, as_rows, examples, sampled, unusual
from scstream.engines.tensors import to_host
from scstream.plot.projection import Projection
from scstream.records import named
from scstream.support.atomic import write_atomically

if TYPE_CHECKING:
    from scstream.model import ScStream

_FORMAT = 1
_WIDE = 32  # means of more columns are kept only as they are drawn


def _groups(model: ScStream, names: Mapping[Any, str]) -> dict[str, Any]:
    """Return the groups of a model that forms them after every batch, as a moment has them."""
    if model.group_level is None:
        return {}
    group = model._grouped().group
    of = np.array([group[i] for i in model._learner.state.ids[model._learner.labelling].tolist()])
    same = len(np.unique(of)) == len(of)  # then what is said of clusters is said of groups
    return {"groups": of, "group_says": () if same else said_of(named(model._wholes(group), names))}


class ChronicleError(ValueError):
    """A file that is not a chronicle, or not one that this version can read."""


class Chronicle(BoundedMoments):
    """What a run looked like over time.

    Memory stays bounded however long the stream is. Beyond `limit` moments every second one is
    left out, so that the rest stay evenly spread over the whole run; the first and the last are
    always stored. Of the events, the first 500 and the latest 500 are stored.

    Parameters
    ----------
    limit : int, default=1000
        The most moments to keep; at least 4.
    columns : sequence of str, optional
        Names of the data's columns, where the model knows only their numbers.

    Attributes
    ----------
    projection : Projection or None
        The view that clusters are drawn in: the one in which those of the first batch lie furthest
        apart. None before the first batch, and where clusters have no location.
    columns : list of str
        The names of the columns that locations have.
    fields : list of str
        The names of all columns of the data, as rows that are kept whole have them.
    dates : bool
        Whether times are dates, in seconds since 1970.
    totals : Totals
        Sums over all batches: rows, most and fewest clusters, events of each kind.

    Examples
    --------
    >>> from scstream import ScStream
    >>> from scstream.datasets import gaussian_stream
    >>> model, chronicle = ScStream(random_state=3), Chronicle()
    >>> for batch in gaussian_stream(n_batches=20, n_clusters=3, random_state=1):
    ...     scores = model.score_samples(batch.X) if model.n_batches_ else None
    ...     moment = chronicle.observe(model.partial_fit(batch.X), scores)
    >>> chronicle.times[-3:].tolist(), chronicle[-1].n_clusters
    ([17.0, 18.0, 19.0], 3)
    """

    def __init__(self, limit: int = 1000, *, columns: Sequence[str] | None = None) -> None:
        super().__init__(limit)
        self.projection: Projection | None = None
        self._file: ChronicleFile | None = None  # that it was read from
        self.columns: list[str] = []
        self.fields: list[str] = []
        self.dates = False
        self._names = None if columns is None else list(columns)

    # -- while the stream runs ------------------------------------------------------------------

    def observe(
        self,
        model: ScStream,
        scores: ArrayLike | None = None,
        rows: Any = None,
        passed: Sequence[Outline] = (),
    ) -> Moment:
        """Take note of a model that has just learned a batch.

        Parameters
        ----------
        model : ScStream
            After `partial_fit`.
        scores : array-like (n,), optional
            Those of the batch's rows: ``model.score_samples(X)``, as a rule taken before the
            batch was learned.
        rows : array, data frame or other table (n, d), optional
            The batch, of which some rows are stored to be drawn, and the most unusual ones.
        passed : sequence of Outline
            Batches learned since the last moment that have none of their own: where batches come
            faster than they can be shown. This moment is of them, too.

        Returns
        -------
        Moment
            What was noted. `text` makes it a line of a file.
        """
        names = {key: self._name(key) for key in model._columns()}
        records = named(model._listed, names)
        columns, means, spreads = locations(records, [names[key] for key in family_order(model)])
        if not self._n_noted:
            self.columns, self.dates = columns, model.dates_
            self.fields = list(names.values())[:FIELDS]
            if self.projection is None and means is not None:
                self.projection = first_view(records, columns, means, spreads)
        elif means is not None:
            means, spreads = self._in_order(columns, means, spreads)
        shown = [name for name in self.columns if name in columns]
        low, high = ranges(records, shown)
        places, seen = self._drawn(means, spreads, low, high)
        labels, rows = np.asarray(to_host(model.labels_)), as_rows(rows, model._columns())
        ids = [record.id for record in records]
        narrow, view = means is not None and means.shape[1] <= _WIDE, self.projection
        deviations = np.sqrt(spreads.variances) if spreads is not None else (high - low) / 2
        by_name = {name: key for key, name in names.items()}
        keys = [by_name[name] for name in shown]
        moment = Moment(
            batch=model.n_batches_ - 1,
            time=float(model.time_),
            n_points=len(labels),
            ids=np.array(ids, dtype=np.int64),
            weights=np.array([record.weight for record in records]),
            counts=np.array([record.rows for record in records]),
            born=np.array([record.born for record in records]),
            means=means if narrow else None,
            deviations=deviations if narrow else None,
            lows=low if narrow else None,
            highs=high if narrow else None,
            places=places,
            spreads=seen,
            speeds=speeds(model, ids),
            score=None if scores is None else Score.of(scores),
            rows=None if rows is None else sampled(rows, labels, keys, view),
            unusual=() if rows is None or scores is None else unusual(rows, labels, scores),
            examples=() if rows is None else examples(rows, labels),
            events=Outline.of(model, None).events,
            words=words_of(records),
            says=said_of(records),
            **_groups(model, names),
        )
        return self._add(moment, passed)

    def _name(self, key: Any) -> str:
        """Return what to call a column that the model knows by a name or a number."""
        if isinstance(key, str):
            return key
        return f"column {key}" if self._names is None else self._names[key]

    def _in_order(
        self, names: list[str], means: Floats, spreads: Spreads | None
    ) -> tuple[Floats | None, Spreads | None]:
        """Return locations and covariances in the order of `columns`: later ones may have others.

        So it is where columns are taken for something else in mid-stream.
        """
        if names == self.columns:
            return means, spreads
        if not set(self.columns) <= set(names):
            return None, None
        order = [names.index(name) for name in self.columns]
        return means[:, order], None if spreads is None else spreads.select(order)

    def _drawn(
        self, means: Floats | None, spreads: Spreads | None, low: Floats, high: Floats
    ) -> tuple[Floats | None, Floats | None]:
        """Return locations (k, 2) and covariances (k, 3) as they are drawn."""
        view = self.projection
        if view is None or means is None or means.shape[1] != view.n_columns:
            return None, None
        if spreads is None:
            return view(means), None
        return view(means), spreads.seen(view, low, high)[:, [0, 0, 1], [0, 1, 1]]

    # -- files ----------------------------------------------------------------------------------

    def text(self, moment: Moment) -> str:
        """Return what to append to a file for a moment just observed: a line, or two at first."""
        return self._head() * (self._n_noted == 1) + moment.to_line()

    def write(self, path: str | Path) -> None:
        """Write the stored moments, whole or not at all.

        A file that was written line by line holds every batch; this one holds the stored ones.
        """
        lines = [self._head(), *(moment.to_line() for moment in self)]
        write_atomically(path, [line.encode() for line in lines])

    def _head(self) -> str:
        """Return the first line of a file."""
        view = None if self.projection is None else self.projection.to_dict()
        head = {"chronicle": _FORMAT, "columns": self.columns, "projection": view}
        return to_line(head | {"dates": self.dates, "fields": self.fields})

    @classmethod
    def read(cls, path: str | Path, *, limit: int = 1000) -> Chronicle:
        """Return the chronicle in a file, which may still be growing, see `read_on`.

        A last line that is cut short is left out: it is being written, or the run was killed. To
        continue the file, cut that line off first.

        Parameters
        ----------
        path : path
        limit : int
            As for the class. The file may hold more.

        Raises
        ------
        ChronicleError
            If the file is not a chronicle.
        """
        chronicle = cls(limit)
        chronicle._file = file = ChronicleFile(path)
        head = next(file.lines(), None)
        if head is None:
            raise ChronicleError(
                f"{os.fspath(path)} holds no chronicle yet: its first line is missing. "
                "A chronicle is written by a run that was asked for one."
            )
        with _blaming(file):
            chronicle._begin(from_line(head))
        for _ in chronicle.read_on():
            pass
        return chronicle

    def read_on(self) -> Iterator[Moment]:
        """Take what was written to the file since it was read.

        Raises
        ------
        Rewritten
            If the file was started over: `read` it again.
        """
        for raw in () if self._file is None else self._file.lines():
            with _blaming(self._file):
                moment = Moment.from_dict(from_line(raw))
            self._add(moment)
            yield moment

    def _begin(self, head: dict[str, Any]) -> None:
        """Take over the first line of a file."""
        version = head["chronicle"]
        if version != _FORMAT:
            raise ChronicleError(
                f"this chronicle has the format {version!r}; this version of scstream reads "
                f"format {_FORMAT}: install a newer one"
            )
        self.columns = [str(name) for name in head["columns"]]
        self.fields = [str(name) for name in head["fields"]]
        self.dates = head["dates"] is True
        if head["projection"] is not None:
            self.projection = Projection.from_dict(head["projection"])


@contextlib.contextmanager
def _blaming(file: Any) -> Iterator[None]:
    """Say which line of which file is not sound."""
    try:
        yield
    except ChronicleError:
        raise
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise ChronicleError(
            f"line {file.number} of {os.fspath(file.path)} is not one of a chronicle: {error!r}. "
            "A chronicle is written by a run that was asked for one."
        ) from error
