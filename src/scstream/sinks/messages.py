"""Rows' labels as JSON messages: what the sinks of all brokers share."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from scstream.sinks.base import WRITTEN, FieldSink, column_names, dicts_of
from scstream.sources.base import Batch, Place
from scstream.sources.patience import PATIENCE, Patience


class MessageSink(FieldSink):
    """Sends a JSON object for each row: its key, the input's fields if asked for, the findings.

    What has been sent cannot be taken back. After a crash, the rows since the last checkpoint are
    sent again, with the same keys and, as the model is the same, with the same labels: at least
    once, and the receiver recognises a repeated row by its key.

    The key is that of the row's message (`Batch.keys`), or the number of the row where the
    source is not a broker.

    Parameters
    ----------
    name : str
        Where rows go, such as ``kafka:labels``.
    server : str
        Its address, for messages; never with a password.
    fields : sequence of {"label", "probability", "score", "anomaly", "group"}
    append : bool, default=False
        Whether the input's fields are sent too.
    patience : float, default=300
        Seconds for which a server that goes away is waited for. One that is not there at the
        start is waited for eight seconds at most.
    """

    def __init__(
        self,
        name: str,
        server: str,
        *,
        fields: Sequence[str] = WRITTEN,
        append: bool = False,
        patience: float = PATIENCE,
    ) -> None:
        super().__init__(fields, append=append)
        self.name = name
        self.patience = Patience(name, server, patience)

    @abstractmethod
    def _send(self, keys: Sequence[str], values: Sequence[bytes]) -> None:
        """Send messages, in order; again, if the server goes away."""

    @abstractmethod
    def _check(self) -> None:
        """Make sure that the server is there and lets us in."""

    def _reconnect(self) -> None:
        """Make a new connection in place of a broken one, if the client does not by itself."""
        return

    def truncate(self, place: Place) -> None:
        """Continue after a place: what was sent since will be sent again."""
        self.patience.keep_trying(self._check, self._reconnect)
        self._rows = int(place.get("rows", 0))

    def place(self) -> Place:
        """Return how many rows have been sent."""
        return {"rows": self._rows}

    def _write(self, batch: Batch, found: list[Any]) -> None:
        keys = self._keys(batch)
        fronts = dicts_of(batch.rows) if self.append else [{}] * batch.n
        names = column_names(self.fields, ["key", *fronts[0]] if fronts else [])
        rows = zip(*(column.tolist() for column in found), strict=True)
        values = [
            json.dumps({"key": key, **front, **dict(zip(names, mine, strict=True))}).encode()
            for key, front, mine in zip(keys, fronts, rows, strict=True)
        ]
        self.patience.keep_trying(lambda: self._send(keys, values), self._reconnect)

    def _keys(self, batch: Batch) -> Sequence[str]:
        return batch.keys or [str(number) for number in self._numbers(batch).tolist()]
