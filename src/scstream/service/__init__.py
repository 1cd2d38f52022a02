"""A model behind HTTP: the live page, metrics, and predictions over the network.

Needs the extra ``serve``. `serve` starts it next to your own program; ``scstream run
--serve``, ``scstream watch`` and ``scstream serve`` start it from the command line.
"""

try:
    from scstream.service.live import Live, serve
    from scstream.service.settings import Settings
except ImportError as error:
    if error.name not in ("prometheus_client", "starlette", "uvicorn"):
        raise
    raise ImportError(
        f"The service needs {error.name}: pip install 'scstream[serve]'.", name=error.name
    ) from error

__all__ = ["Live", "Settings", "serve"]
