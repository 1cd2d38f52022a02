"""The service next to a program's own loop."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from scstream.model import ScStream
from scstream.service.app import make_app
from scstream.service.served import Served
from scstream.service.server import Server
from scstream.service.settings import Settings


class Live:
    """A page in the browser that follows a model, and predictions over HTTP.

    Attributes
    ----------
    link : str
        The address to open; it holds the token where there is one.
    port : int
    """

    def __init__(self, served: Served, settings: Settings) -> None:
        self.served = served
        self._server = Server(make_app(served, settings), settings)
        self.port = self._server.port
        self.link = settings.link(self.port)

    def observe(self, model: ScStream, scores: ArrayLike | None = None, rows: Any = None) -> None:
        """Show a model that has just learned a batch.

        Parameters
        ----------
        model : ScStream
            After `partial_fit`.
        scores : array-like (n,), optional
            ``model.score_samples(X)`` of the batch's rows, taken before they were learned.
        rows : array or data frame (n, d), optional
            The batch, of which some rows are drawn, and the most unusual ones listed. An array
            is copied, so that you may fill it anew.
        """
        if not model.n_batches_:
            raise ValueError("The model has learned no batch yet: call partial_fit first.")
        if scores is not None:
            scores = np.array(scores, dtype=float).ravel()
            _check_length("scores", len(scores), model)
        if rows is not None:
            _check_length("rows", rows.shape[0] if hasattr(rows, "shape") else len(rows), model)
        self.served.observe(model, scores, rows.copy() if isinstance(rows, np.ndarray) else rows)

    def close(self) -> None:
        """End the service: pages are disconnected, and open requests finished."""
        self.served.close()
        self._server.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _repr_html_(self) -> str:
        return f'<a href="{self.link}" target="_blank" rel="noopener">{self.link}</a>'


def _check_length(name: str, n: int, model: ScStream) -> None:
    """Refuse scores or rows that are not those of the last batch."""
    if n != len(model.labels_):
        raise ValueError(
            f"{name} must be those of the last batch, which has {len(model.labels_):,} rows; "
            f"got {n:,}."
        )


def serve(
    model: ScStream,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    token: str | None = None,
    learning: bool = False,
) -> Live:
    """Open a page that follows a model, next to your own loop.

    Parameters
    ----------
    model : ScStream
        The model that learns. Call `Live.observe` after each batch: the page and the predictions
        are of the model as it was then.
    host, port, token, learning
        As for `Settings`.

    Returns
    -------
    Live
        With the address to open as ``link``. Close it, or use it in a ``with`` statement.

    Examples
    --------
    >>> from scstream import ScStream
    >>> from scstream.datasets import gaussian_stream
    >>> model = ScStream(random_state=0)
    >>> with serve(model) as live:
    ...     for batch in gaussian_stream(n_batches=3, random_state=0):
    ...         live.observe(model.partial_fit(batch.X))
    """
    settings = Settings(host, port, token, learning=learning)
    live = Live(Served(model), settings)
    if model.n_batches_:
        live.observe(model)
    return live
