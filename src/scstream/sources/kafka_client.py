"""Settings of Kafka's client, what it says about its brokers, and what its errors mean."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from scstream.sources.access import IN_A_FILE, Access
from scstream.sources.patience import Away, BrokerError
from scstream.support.advice import advised
from scstream.support.extras import need_package

_ANSWER = 4.0  # seconds for an answer about topics and offsets
_LOOK = 0.5  # seconds for a first look; it is all that brokers get which went away
_QUIET = 2  # the client's own lines about each try to connect stay unwritten


class KafkaBrokers:
    """The brokers behind a client: whether they are there and let us in.

    A client reports errors only when it is asked for messages. Messages that come then are
    stored in `aside`, for the reader.

    Parameters
    ----------
    name : str
        What is read or written, such as ``kafka:orders``.
    servers : str
        Addresses, separated by commas.
    access : Access, optional
        By default what the environment says.
    """

    def __init__(self, name: str, servers: str, access: Access | None = None) -> None:
        self._kafka = need_package("confluent_kafka", "kafka")
        self.name = name
        self.servers = servers
        self._access = access or Access.from_environment("kafka")
        self._access.check_means("Kafka", ("mechanism", "tls"))
        self._heard: Any = None  # the last thing that the client complained about
        self.aside: list[Any] = []  # messages that came while only errors were asked for
        self.down = False  # whether it says that no broker is there

    def settings(self, config: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return a client's settings; those given in Python come before ours."""
        return {
            "log_level": _QUIET,
            "error_cb": self._hear,
            **self._security(),
            **(config or {}),
            "bootstrap.servers": self.servers,
        }

    def _security(self) -> dict[str, Any]:
        access = self._access
        encrypt = bool(access.ca or access.certificate) if access.tls is None else access.tls
        login = access.user is not None or access.password is not None
        if access.mechanism is not None and not login:
            raise ValueError("mechanism needs a user and a password.")
        kind = "sasl_" if login else ""
        found = {
            "security.protocol": kind + ("ssl" if encrypt else "plaintext"),
            "sasl.mechanism": (access.mechanism or "PLAIN") if login else None,
            "sasl.username": access.user,
            "sasl.password": access.password,
            "ssl.ca.location": access.ca if encrypt else None,
            "ssl.certificate.location": access.certificate if encrypt else None,
            "ssl.key.location": access.key if encrypt else None,
        }
        return {name: value for name, value in found.items() if value is not None}

    def _hear(self, error: Any) -> None:
        kinds = self._kafka.KafkaError
        if error.code() == kinds._ALL_BROKERS_DOWN:
            self.down = True  # what came before it says why
        else:
            self._heard = error

    def topic(self, client: Any, name: str) -> Any:
        """Return what the brokers say of a topic; raise `Away` if they say nothing."""
        with self.errors(client):
            found = self._ask(client, name)
        if found.error is not None or not found.partitions:
            reason = "" if found.error is None else f" ({found.error.str()})"
            raise BrokerError(
                f"There is no topic {name!r} at {self.servers}{reason}. Check its name, or "
                "create it."
            )
        self.down, self._heard = False, None
        return found

    def _ask(self, client: Any, name: str) -> Any:
        """Ask for a topic: for a moment, and for longer if no broker has complained by then.

        The client tells nothing of refusals while it waits for an answer.
        """
        try:
            return client.list_topics(name, timeout=_LOOK).topics[name]
        except self._kafka.KafkaException:
            self.hear(client, 0.0)
            if self.down or self._heard is not None:
                raise
        return client.list_topics(name, timeout=_ANSWER - _LOOK).topics[name]

    @contextlib.contextmanager
    def errors(self, client: Any) -> Iterator[None]:
        """Raise what brokers refuse as a `BrokerError`, and their absence as `Away`."""
        try:
            yield
        except self._kafka.KafkaException as exception:
            self.hear(client, 0.0)
            raise self.meaning(exception.args[0]) from None

    def hear(self, client: Any, wait: float) -> None:
        """Let the client report its errors; a message that comes with them is set aside."""
        message = client.poll(wait)
        if message is not None and not isinstance(message, int):  # producers count
            self.aside.append(message)

    def meaning(self, error: Any) -> Exception:
        """Return the error to raise."""
        kinds = self._kafka.KafkaError
        heard = self._heard
        where = f"{self.name} at {self.servers}"
        for one in (error, heard):
            if one is not None and one.code() in (
                kinds._AUTHENTICATION,
                kinds.SASL_AUTHENTICATION_FAILED,
                kinds.TOPIC_AUTHORIZATION_FAILED,
                kinds.GROUP_AUTHORIZATION_FAILED,
            ):
                refused = BrokerError(
                    f"{where}: the broker refuses the user or the password ({one.str()}). Give "
                    "them by SCSTREAM_KAFKA_USER and SCSTREAM_KAFKA_PASSWORD."
                )
                return advised(refused, IN_A_FILE)
            if one is not None and one.code() == kinds._SSL:
                return BrokerError(
                    f"{where}: no encrypted connection can be made ({one.str()}). Name the file "
                    "of the certificate authority: ca."
                )
        if self.passes(error):
            return Away((heard or error).str())
        return BrokerError(f"{where}: {error.str()}.")

    def passes(self, error: Any) -> bool:
        """Return whether an error goes away by itself, once the brokers are there."""
        kinds = self._kafka.KafkaError
        away = (
            kinds._TRANSPORT, kinds._ALL_BROKERS_DOWN, kinds._TIMED_OUT, kinds._WAIT_COORD,
            kinds._MAX_POLL_EXCEEDED,
        )  # fmt: skip
        return bool(not error.fatal() and (error.retriable() or error.code() in away))
