"""Passwords and certificates: they let us in, and stand in nothing that is written or printed."""

import contextlib
import json
import os
import signal
import ssl
import stat
import sys
import threading
import time
from urllib.parse import quote

import numpy as np
import pytest
from broker_kafka import mock_kafka
from broker_killing import killable
from broker_servers import KafkaBroker, RedisBroker, wait_for
from broker_tls import Certificates, sasl_plain, tls_door

from scstream.checkpoint import read
from scstream.cli import main
from scstream.pipeline import find_checkpoint
from scstream.sources import SourceOptions, open_source
from scstream.sources.access import Access
from scstream.sources.message_urls import identity, take_login

USER, PASSWORD = "reader", "Tr0ub4dor/&@3:x"
LOGIN = f"{USER}:{quote(PASSWORD, safe='')}"
KINDS = ["kafka", "redis"]
ROWS = [json.dumps(row).encode() for row in np.random.default_rng(0).normal(size=(40, 2)).tolist()]
END = "max_idle=1"
RUN = ["--quiet", "--batch-size", "20", "--family", "gaussian", "--random-state", "1"]


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    return Certificates(tmp_path_factory.mktemp("certificates"))


@contextlib.contextmanager
def guarded(kind, folder, certificates=None):
    """Yield scheme, address and stream of a server with a password and, if asked, TLS."""
    encrypted = certificates is not None
    with contextlib.ExitStack() as stack:
        if kind == "redis":
            server = stack.enter_context(killable("redis", folder))
            broker, stream = RedisBroker(server.port), "rows"
            broker.publish(stream, ROWS)
            broker.client.acl_setuser(
                USER, enabled=True, passwords=[f"+{PASSWORD}"], keys="*", commands=["+@all"]
            )
            broker.client.config_set("requirepass", "another")
            broker.client.close()
            port = server.port
            if encrypted:  # the packaged server cannot encrypt by itself
                port = stack.enter_context(tls_door(port, certificates.context()))
            yield "rediss" if encrypted else "redis", f"127.0.0.1:{port}", stream
        else:
            mock = stack.enter_context(mock_kafka())
            mock.topic("rows", 1)
            KafkaBroker(mock.address).publish("rows", ROWS)
            context = certificates.context() if encrypted else None
            inside = int(mock.address.rpartition(":")[2])
            port = stack.enter_context(
                tls_door(inside, context, sasl_plain(inside, USER, PASSWORD))
            )
            mock.say_address(port)
            yield "kafka", f"127.0.0.1:{port}", "rows"


@pytest.fixture(params=KINDS)
def server(request, tmp_path):
    folder = tmp_path / "server"
    folder.mkdir()
    with guarded(request.param, folder) as found:
        yield (request.param, *found)


def access_file(folder, **settings):
    path = folder / "access.toml"
    path.write_text("".join(f"{name} = {json.dumps(text)}\n" for name, text in settings.items()))
    return str(path)


def command(capfd, *words):
    """Run a command; return its status and all that it wrote."""
    status = main([*words])
    caught = capfd.readouterr()
    return status, caught.out + caught.err


def refused(capfd, *words):
    """Run a command that is refused soon; return the lines that it wrote."""
    start = time.monotonic()
    status, text = command(capfd, *words)
    assert time.monotonic() - start < 15
    assert status == 1
    return [line for line in text.splitlines() if "CONFWARN" not in line]


# -- three ways in --------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["url", "environment", "file"])
def test_a_password_lets_in(server, way, tmp_path, monkeypatch):
    kind, scheme, address, stream = server
    options = {}
    if way == "url":
        address = f"{LOGIN}@{address}"
    elif way == "environment":
        monkeypatch.setenv(f"SCSTREAM_{kind.upper()}_USER", USER)
        monkeypatch.setenv(f"SCSTREAM_{kind.upper()}_PASSWORD", PASSWORD)
    else:
        file = access_file(tmp_path, user=USER, password=PASSWORD)
        options["access"] = Access.from_file(file)
    with open_source(
        f"{scheme}://{address}/{stream}", SourceOptions(batch_size=40, **options)
    ) as source:
        assert next(iter(source)).n == 40
    assert PASSWORD not in repr(options)


def test_a_wrong_password_is_said_in_one_line_without_it(server, capfd):
    kind, scheme, address, stream = server
    url = f"{scheme}://{USER}:not-the-word@{address}/{stream}"
    lines = refused(capfd, "run", url, "-o", "none", *RUN)
    assert len(lines) == 2, lines
    assert "can see the password on the command line" in lines[0]
    assert "refuses the user" in lines[1]
    for line in lines:
        assert f"SCSTREAM_{kind.upper()}_PASSWORD" in line
        assert "not-the-word" not in line


# -- encrypted ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_an_encrypted_connection_with_a_password(kind, tmp_path, certificates, capfd, caplog):
    folder = tmp_path / "server"
    folder.mkdir()
    with guarded(kind, folder, certificates) as (scheme, address, stream):
        url = f"{scheme}://{LOGIN}@{address}/{stream}?{END}&ca={certificates.ca}"
        output = tmp_path / "labels.csv"
        assert command(capfd, "run", url, "-o", str(output), *RUN)[0] == 0
        assert len(output.read_text().splitlines()) == 41

        settings = {"user": USER, "password": PASSWORD, "ca": str(certificates.ca)}
        plain = f"{scheme}://{address}/{stream}?{END}"
        again = tmp_path / "again.csv"
        file = access_file(tmp_path, **settings)
        assert command(capfd, "run", plain, "--access", file, "-o", str(again), *RUN)[0] == 0
        assert again.read_bytes() == output.read_bytes()

        url = f"{scheme}://{LOGIN}@{address}/{stream}?ca={certificates.stranger}"
        lines = refused(capfd, "run", url, "-o", "none", *RUN)
        warned = [line for line in lines if "password on the command line" in line]
        assert len(lines) - len(warned) == 1, lines
        assert "certificate" in lines[-1]
        assert PASSWORD not in "".join(lines)
    assert not caplog.messages  # outside of tests these reach the terminal


def test_a_server_that_asks_for_a_certificate_of_the_client(tmp_path, certificates, capfd):
    (tmp_path / "server").mkdir()
    ours = {"certificate": str(certificates.certificate), "key": str(certificates.key)}
    ca = str(certificates.ca)
    context = certificates.context()
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(ca)
    with killable("redis", tmp_path / "server") as server, tls_door(server.port, context) as port:
        broker = RedisBroker(server.port)
        broker.publish("rows", ROWS)
        broker.client.close()
        url = f"rediss://127.0.0.1:{port}/rows?{END}&patience=1"
        file = access_file(tmp_path, ca=ca, **ours)
        assert command(capfd, "run", url, "--access", file, "-o", "none", *RUN)[0] == 0
        lines = refused(capfd, "run", f"{url}&ca={ca}", "-o", "none", *RUN)
        assert len(lines) == 1, lines


# -- nothing written, nothing printed -------------------------------------------------------------


def holds_secret(text):
    return any(word in text for word in (PASSWORD, quote(PASSWORD, safe=""), "Tr0ub4dor"))


def test_a_run_leaves_no_password_anywhere(server, tmp_path, capfd):
    _, scheme, address, stream = server
    state, output = tmp_path / "state", tmp_path / "labels.csv"
    url = f"{scheme}://{LOGIN}@{address}/{stream}?{END}"
    words = ["-o", str(output), "--checkpoint", str(state), "--every", "1", *RUN]
    words += ["--events", str(tmp_path / "events"), "--chronicle", str(tmp_path / "chronicle")]
    status, text = command(capfd, "run", url, *words)
    assert status == 0, text
    assert not holds_secret(text)
    files = [*state.iterdir(), output, tmp_path / "events", tmp_path / "chronicle"]
    for file in files:
        assert not holds_secret(file.read_bytes().decode(errors="replace")), file
    for file in state.glob("*.scstream"):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    for more in ([], ["--json"]):
        status, text = command(capfd, "show", str(state), *more)
        assert status == 0
        assert not holds_secret(text)
    kept = find_checkpoint(state).extra["settings"]["source"]
    assert kept == f"{scheme}://{address}/{stream}?{END}"

    # The same stream by another way in is the same source.
    file = access_file(tmp_path, user=USER, password=PASSWORD)
    plain = f"{scheme}://{address}/{stream}?{END}&patience=60"
    status, text = command(capfd, "run", plain, "--access", file, *words)
    assert status == 0, text
    assert "can see the password" not in text


def test_a_stopped_run_says_how_to_go_on_without_the_password(tmp_path, capfd, monkeypatch):
    (tmp_path / "server").mkdir()
    with guarded("redis", tmp_path / "server") as (scheme, address, stream):
        url = f"{scheme}://{LOGIN}@{address}/{stream}"
        state = tmp_path / "state"
        words = ["run", url, "--follow", "-o", str(tmp_path / "o.csv"), "--checkpoint", str(state)]
        words += [*RUN, "--every", "1"]
        monkeypatch.setattr(sys, "argv", ["scstream", *words])  # as from a shell

        def stop():
            try:
                wait_for(lambda: list(state.glob("*2.scstream")), seconds=120)
            finally:
                os.kill(os.getpid(), signal.SIGTERM)

        stopping = threading.Thread(target=stop)
        stopping.start()
        status, text = command(capfd, *words)
        stopping.join()
    assert status == 128 + signal.SIGTERM
    assert not holds_secret(text)
    assert f"to resume: scstream run {scheme}://{address}/{stream} --follow" in text
    assert "add the password" in text


@pytest.mark.parametrize(
    "words",
    [
        ["run", "redis://:Tr0ub4dor/x@server/rows"],
        ["run", "redis://:Tr0ub4dor?x@server/rows"],
        ["run", "redis://:Tr0ub4dor#x@server/rows"],
        ["run", "redis://:Tr0ub4dor x'\"@server"],
        ["run", "redis://[:Tr0ub4dor@server/rows"],
        ["run", "redis://:Tr0ub4dor@server/a/b"],
        ["run", "redis://:Tr0ub4dor@server/rows?colour=red"],
        ["run", "redis://:Tr0ub4dor@server/rows?timed=perhaps"],
        ["run", "sql://:Tr0ub4dor@server/rows"],
        ["run", "d.csv", "redis://:Tr0ub4dor@server/rows"],
        ["run", "d.csv", "-o", "redis://:Tr0ub4dor@server/rows"],
        ["run", "redis://:Tr0ub4dor@server/rows", "--header"],
        ["run", "redis://:Tr0ub4dor@server/rows?tls=yes"],
        ["run", "redis://:Tr0ub4dor@server/rows?ca=ca.pem"],
        ["predict", "m", "redis://:Tr0ub4dor/x@server/rows"],
        ["fit", "redis://:Tr0ub4dor@server:port/rows", "-o", "x"],
    ],
)
def test_errors_repeat_no_password(words, capfd):
    try:
        status = main(words)
    except SystemExit as stop:
        status = stop.code
    caught = capfd.readouterr()
    assert status in (1, 2)
    assert caught.err
    assert "Traceback" not in caught.err
    assert not holds_secret(caught.out + caught.err)


# -- without a server -----------------------------------------------------------------------------


def test_a_new_password_is_no_other_source():
    urls = [
        "redis://server:6379/rows?db=1&group=g",
        "redis://:old@server:6379/rows?db=1&group=g",
        "redis://me:new@server:6379/rows?db=1&patience=5&group=g&ca=/etc/ca.pem",
    ]
    assert {identity(url) for url in urls} == {urls[0]}
    assert identity("redis://server:6379/rows?db=2&group=g") != urls[0]
    assert identity("data.csv") == "data.csv"


def test_the_url_comes_before_the_file_and_the_file_before_the_environment(monkeypatch):
    monkeypatch.setenv("SCSTREAM_REDIS_PASSWORD", "environment")
    monkeypatch.setenv("SCSTREAM_REDIS_USER", "somebody")
    url, login = take_login(f"redis://{LOGIN}@server/rows")
    assert url == "redis://server/rows"
    assert (login.user, login.password) == (USER, PASSWORD)
    file, environment = Access(password="file"), Access.from_environment("redis")
    assert Access().over(file).over(environment) == Access(user="somebody", password="file")
    assert login.over(file).over(environment).password == PASSWORD
    assert PASSWORD not in repr(login)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("password = hush", "not a TOML file"),
        ('passwort = "hush"', "unknown setting 'passwort'"),
        ("password = 17", "password must be text"),
        ('tls = "yes"', "tls must be true or false"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_without_repeating_it(tmp_path, text, complaint):
    path = tmp_path / "access.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=complaint) as caught:
        Access.from_file(path)
    assert "hush" not in str(caught.value)


def test_access_is_for_brokers(capsys, tmp_path):
    assert main(["run", "d.csv", "--access", str(tmp_path / "none")]) == 2
    assert "--access is for brokers" in capsys.readouterr().err


def test_an_old_checkpoint_leaves_its_permissions_and_a_new_one_is_the_owners(tmp_path):
    from scstream import ScStream

    model = ScStream(random_state=0).fit(np.random.default_rng(0).normal(size=(50, 2)))
    path = tmp_path / "model"
    before = os.umask(0)
    try:
        model.save(path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        path.chmod(0o640)
        model.save(path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
    finally:
        os.umask(before)
    assert read(path)[0].n_clusters_ == model.n_clusters_
