"""Certificates that tests make, and doors in front of servers that cannot encrypt by themselves."""

import contextlib
import shutil
import socket
import socketserver
import ssl
import struct
import subprocess
import threading

import pytest


class Certificates:
    """A signer, a certificate of 127.0.0.1 that it signed, and a signer who signed nothing."""

    def __init__(self, folder):
        if shutil.which("openssl") is None:
            pytest.skip("the openssl command is not installed")
        self.ca = folder / "ca.pem"
        self.stranger = folder / "stranger.pem"
        self.certificate = folder / "server.pem"
        self.key = folder / "server.key"
        for signer, name in ((self.ca, "tests"), (self.stranger, "stranger")):
            _openssl(
                "req", "-x509", *_NEW_KEY, "-keyout", signer.with_suffix(".key"), "-out", signer,
                "-days", "2", "-subj", f"/CN={name}",
                "-addext", "basicConstraints=critical,CA:TRUE",
                "-addext", "keyUsage=critical,keyCertSign",
            )  # fmt: skip
        _openssl(
            "req", "-x509", *_NEW_KEY, "-keyout", self.key, "-out", self.certificate, "-days", "2",
            "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost",
            "-addext", "basicConstraints=critical,CA:FALSE",
            "-CA", self.ca, "-CAkey", self.ca.with_suffix(".key"),
        )  # fmt: skip

    def context(self):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, self.key)
        return context


_NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


def _openssl(*words):
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)


@contextlib.contextmanager
def tls_door(port, context, greet=None):
    """Listen with TLS, and pass on to a port; yields the port that listens.

    ``greet(socket)`` is asked first whether to let a visitor in.
    """

    class Visitor(socketserver.BaseRequestHandler):
        def handle(self):
            with contextlib.suppress(OSError):
                outside = context.wrap_socket(self.request, server_side=True) if context else None
                with outside or self.request as outside:
                    if greet is None or greet(outside):
                        self.lead(outside)

        def lead(self, outside):
            with socket.create_connection(("127.0.0.1", port)) as inside:
                there = threading.Thread(target=_pass_on, args=(outside, inside))
                there.start()
                _pass_on(inside, outside)
                there.join()

    class Door(socketserver.ThreadingTCPServer):
        allow_reuse_address = daemon_threads = True

    with Door(("127.0.0.1", 0), Visitor) as door:
        threading.Thread(target=door.serve_forever, args=(0.05,), daemon=True).start()
        yield door.server_address[1]
        door.shutdown()


def _pass_on(one, other):
    with contextlib.suppress(OSError):
        while data := one.recv(65536):
            other.sendall(data)
    for end in (one, other):
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


# -- the part of Kafka's protocol that asks for a password ----------------------------------------

_API_VERSIONS, _HANDSHAKE, _AUTHENTICATE = 18, 17, 36


def sasl_plain(port, user, password):
    """Return a greeting that lets in whoever says user and password, as a Kafka broker does.

    What else can be asked is what the broker at the port behind the door says.
    """

    def greet(visitor):
        while True:
            key, version, number, body = _request(visitor)
            if key == _API_VERSIONS:
                _answer(visitor, number, _versions(port, version))
            elif key == _HANDSHAKE:
                _answer(visitor, number, struct.pack(">hi", 0, 1) + _text("PLAIN"))
            elif key == _AUTHENTICATE:
                (length,) = struct.unpack_from(">i", body)
                _, *said = body[4 : 4 + length].split(b"\0")
                good = said == [user.encode(), password.encode()]
                reason = struct.pack(">h", -1) if good else _text("wrong user or password")
                code = 0 if good else 58
                _answer(visitor, number, struct.pack(">h", code) + reason + struct.pack(">i", 0))
                return good

    return greet


def _request(visitor):
    (length,) = struct.unpack(">i", _exactly(visitor, 4))
    body = _exactly(visitor, length)
    key, version, number, name = struct.unpack_from(">hhih", body)
    return key, version, number, body[10 + max(name, 0) :]


def _exactly(visitor, n):
    data = b""
    while len(data) < n:
        more = visitor.recv(n - len(data))
        if not more:
            raise ConnectionError
        data += more
    return data


def _answer(visitor, number, body):
    visitor.sendall(struct.pack(">ii", len(body) + 4, number) + body)


def _text(text):
    return struct.pack(">h", len(text)) + text.encode()


def _versions(port, version):
    """Return what the broker can be asked, and handshakes; of ways to ask for it, the oldest."""
    with socket.create_connection(("127.0.0.1", port)) as inside:
        inside.sendall(struct.pack(">ihhih", 10, _API_VERSIONS, 0, 1, -1))
        (length,) = struct.unpack(">i", _exactly(inside, 4))
        _, _, n = struct.unpack_from(">ihi", body := _exactly(inside, length))
    asked = [(_HANDSHAKE, 0, 1), (_AUTHENTICATE, 0, 0)]
    known = body[10 : 10 + 6 * n] + b"".join(struct.pack(">hhh", *one) for one in asked)
    return struct.pack(">hi", 35 if version > 0 else 0, n + len(asked)) + known
