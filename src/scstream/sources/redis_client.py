"""A connection to Redis, and what its errors mean."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from scstream.sources.access import IN_A_FILE, Access
from scstream.sources.message_urls import take_login
from scstream.sources.patience import Away, BrokerError
from scstream.support.advice import advised
from scstream.support.extras import need_package

_CONNECT = 4.0  # seconds to reach a server
_ANSWER = 10.0  # seconds for an answer; waits for entries are shorter
# Answers of a server that is about to be well again.
_PASSING = ("LOADING", "READONLY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN")


class RedisClient:
    """A client whose errors are `Away`, or a `BrokerError` in one line.

    Parameters
    ----------
    url : str
        As redis-py takes it: ``redis://server:6379/0``, or ``rediss://`` for TLS.
    access : Access, optional
        By default what the environment says. A user or password in the URL comes first.

    Attributes
    ----------
    server : str
        The URL without user and password.
    client : redis.Redis
    """

    def __init__(self, url: str, access: Access | None = None) -> None:
        redis = need_package("redis", "redis")
        self.server, login = take_login(url)
        access = login.over(access or Access.from_environment("redis"))
        access.check_means("Redis", ())
        settings: dict[str, Any] = {"username": access.user, "password": access.password}
        if url.startswith("rediss://"):
            settings |= {
                "ssl_ca_certs": access.ca,
                "ssl_certfile": access.certificate,
                "ssl_keyfile": access.key,
            }
        elif access.ca or access.certificate:
            raise ValueError("Certificates need an encrypted connection: write rediss://.")
        self._errors = need_package("redis.exceptions", "redis")
        self.client = redis.Redis.from_url(
            self.server,
            socket_connect_timeout=_CONNECT,
            socket_timeout=_ANSWER,
            socket_keepalive=True,
            retry=_no_retries(),  # we try again, and say so
            **settings,
        )

    @contextlib.contextmanager
    def errors(self, what: str) -> Iterator[None]:
        """Raise what Redis refuses as a `BrokerError` about a stream, and its absence as `Away`."""
        where = f"{what} at {self.server}"
        try:
            yield
        except BrokerError:
            raise
        except (self._errors.AuthenticationError, self._errors.NoPermissionError) as error:
            raise advised(
                BrokerError(
                    f"{where}: the server refuses the user or the password ({error}). Give them by "
                    "SCSTREAM_REDIS_USER and SCSTREAM_REDIS_PASSWORD."
                ),
                IN_A_FILE,
            ) from None
        except (self._errors.ConnectionError, self._errors.TimeoutError, OSError) as error:
            if "CERTIFICATE_VERIFY_FAILED" in str(error):
                raise BrokerError(
                    f"{where}: the server's certificate cannot be trusted ({error}). Name the file "
                    "of its certificate authority: ca."
                ) from None
            raise Away(_first_line(error)) from None
        except self._errors.ResponseError as error:
            if str(error).startswith(_PASSING) or type(error).__name__ == "ReadOnlyError":
                raise Away(_first_line(error)) from None
            raise BrokerError(f"{where}: the server refuses this: {error}.") from None
        except self._errors.RedisError as error:
            raise BrokerError(
                f"{where}: this is not an answer from a Redis server ({_first_line(error)}). Check "
                "the address."
            ) from None

    def close(self) -> None:
        """Close the connection."""
        self.client.close()


def _no_retries() -> Any:
    backoff = need_package("redis.backoff", "redis").NoBackoff()
    return need_package("redis.retry", "redis").Retry(backoff, 0)


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
