"""An answer that goes on: server-sent events, until the page is closed or the service ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send


class EventStream(StreamingResponse):
    """Sends events as they come.

    The base class does the same with a library that is loaded on the first request, when the run
    would wait for it.

    Parameters
    ----------
    events : async generator of str
        It is closed when the page goes.
    """

    def __init__(self, events: AsyncGenerator[str]) -> None:
        super().__init__(
            events, media_type="text/event-stream", headers={"x-accel-buffering": "no"}
        )
        self._events = events

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until there are no more events, or nobody who reads them."""
        tasks = [
            asyncio.ensure_future(self.stream_response(send)),
            asyncio.ensure_future(self.listen_for_disconnect(receive)),
        ]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self._events.aclose()
