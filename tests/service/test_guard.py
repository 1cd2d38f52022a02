"""Who is answered, for which host, and how much may be sent."""

import re
import select
import socket
import time
from contextlib import ExitStack, suppress

import pytest
from serving import PATIENCE, ask, wait_until

from scstream.service.served import Served
from scstream.service.settings import Settings

TOKEN = "a-token-of-the-test"


@pytest.fixture
def live(start, model):
    return start(Served(model))


@pytest.fixture
def closed(start, model):
    return start(Served(model), token=TOKEN)


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "", "10.0.0.1"])
def test_other_hosts_are_not_answered_for(live, host):
    assert ask(live, "/api/chronicle", host=host).status == 400


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:99", "127.0.0.1:1234", "[::1]:80"])
def test_hosts_of_this_machine_are(live, host):
    assert ask(live, "/api/chronicle", host=host).status == 200


def test_a_name_behind_a_proxy_can_be_allowed(start, model):
    live = start(Served(model), allowed_hosts=("clusters.example",))
    assert ask(live, "/api/chronicle", host="clusters.example").status == 200


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "http://127.0.0.1:1", "http://[", "", "http://[::1", "//", "é"],
)
def test_other_sites_are_not_answered(live, origin, caplog):
    assert ask(live, "/predict", {"rows": [[1, 2]]}, origin=origin).status == 403
    assert not caplog.records


def test_the_own_page_is_answered(live):
    own = f"http://127.0.0.1:{live.port}"
    assert ask(live, "/predict", {"rows": [[1, 2]]}, origin=own).status == 200


def test_no_other_site_may_read_answers(live):
    answer = ask(live, "/api/chronicle")
    assert "access-control-allow-origin" not in answer.headers
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"


def test_scripts_come_from_the_service_alone(live):
    policy = ask(live, "/").headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert re.search(r"script-src 'self'(;|$)", policy)


@pytest.mark.parametrize(
    "path", ["/", "/metrics", "/api/chronicle", "/api/updates", "/openapi.json"]
)
def test_a_token_is_needed_where_there_is_one(closed, path):
    answer = ask(closed, path)
    assert (answer.status, TOKEN in answer.body.decode()) == (401, False)
    assert ask(closed, path, authorization="Bearer wrong-token").status == 401
    assert ask(closed, path, authorization=f"Basic {TOKEN}").status == 401
    assert ask(closed, path, cookie="scstream_token=wrong").status == 401


@pytest.mark.parametrize("path", ["/", "/metrics", "/api/chronicle", "/openapi.json"])
def test_a_token_opens_by_header_and_by_cookie(closed, path):
    assert ask(closed, path, authorization=f"Bearer {TOKEN}").status == 200
    assert ask(closed, path, cookie=f"a=b; scstream_token={TOKEN}").status == 200


def test_the_link_sets_a_cookie_and_leaves_the_token_behind(closed):
    assert closed.link.endswith(f"/?token={TOKEN}")
    answer = ask(closed, f"/?token={TOKEN}")
    assert (answer.status, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert ask(closed, "/", cookie=cookie.partition(";")[0]).status == 200
    assert ask(closed, "/?token=wrong").status == 401


def test_a_token_that_is_not_ascii_is_only_wrong(closed):
    assert ask(closed, "/?token=%C3%A9%00").status == 401


def test_health_needs_no_token(closed):
    assert ask(closed, "/health").json == {"status": "ok"}


def test_an_address_others_can_reach_gets_a_token():
    assert Settings(host="127.0.0.1").token is None
    assert Settings(host="::1").token is None
    first, second = Settings(host="0.0.0.0").token, Settings(host="192.0.2.1").token
    assert first is not None
    assert second is not None
    assert len(first) >= 24
    assert first != second
    assert first not in repr(Settings(host="0.0.0.0", token=first))


@pytest.mark.parametrize("token", ["a&b#c%d+e/f?=g", "%41%42%43%44", 'quotes"and\\;,=signs'])
def test_a_token_of_any_printable_characters_opens(start, model, token):
    live = start(Served(model), token=token)
    answer = ask(live, live.link.partition(f":{live.port}")[2])
    cookie = answer.headers["set-cookie"].partition(";")[0]
    assert ask(live, "/metrics", cookie=cookie).status == 200
    assert ask(live, "/metrics", authorization=f"Bearer {token}").status == 200


@pytest.mark.parametrize(
    "token", ["short", "with\nbreaks-in-it", "ünsafe-letters", "with spaces in it", "end\x7fend"]
)
def test_tokens_that_cannot_be_sent_are_refused(token):
    with pytest.raises(ValueError, match="token"):
        Settings(token=token)


def test_bodies_too_large_are_refused(start, model):
    live = start(Served(model), most_bytes=1000)
    assert ask(live, "/predict", raw=b"[" + b" " * 1000).status == 413
    assert ask(live, "/health").status == 200


@pytest.mark.parametrize("chunk", [b"1\r\n \r\n" * 100_000, b"no chunk\r\n", b""])
def test_a_body_in_chunks_is_refused(start, model, caplog, chunk):
    """Each of its bytes could be a chunk of its own, which costs much."""
    live = start(Served(model))
    with socket.create_connection(("127.0.0.1", live.port), timeout=PATIENCE) as client:
        head = "POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        with suppress(OSError):
            client.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode() + chunk)
            assert client.recv(4096)[9:12] in (b"411", b"400")
    assert ask(live, "/health").status == 200
    assert not caplog.records


def test_bodies_that_come_too_slowly_are_given_up(start, model):
    """The time is for the whole body, not for each of its bytes."""
    live = start(Served(model), patience=1.0)
    head = "POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with ExitStack() as stack:
        clients = [
            stack.enter_context(socket.create_connection(("127.0.0.1", live.port), PATIENCE))
            for _ in range(100)
        ]
        for client in clients:
            client.sendall(f"{head}Content-Length: 100000\r\n\r\n[".encode())
        begun = time.monotonic()
        while clients:
            assert time.monotonic() < begun + PATIENCE
            time.sleep(0.2)
            ready, _, _ = select.select(clients, [], [], 0)
            for client in ready:
                assert b" 408 " in client.recv(4096).split(b"\r\n")[0]
                clients.remove(client)
            for client in clients:
                with suppress(OSError):
                    client.sendall(b"1")


def test_a_connection_that_was_answered_has_to_send_its_next_request_in_time(start, model):
    live = start(Served(model), patience=1.0)
    with socket.create_connection(("127.0.0.1", live.port), timeout=PATIENCE) as client:
        client.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b" 200 " in client.recv(4096)
        client.sendall(b"GET /hea")
        while client.recv(4096):
            pass


def test_bodies_of_all_requests_together_are_bounded(start, model):
    live = start(Served(model), most_bytes=10_000)
    head = "POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with ExitStack() as stack:
        clients = [
            stack.enter_context(socket.create_connection(("127.0.0.1", live.port), PATIENCE))
            for _ in range(10)
        ]
        for client in clients:
            client.sendall(f"{head}Content-Length: 10000\r\n\r\n{' ' * 9995}".encode())
        refused, _, _ = select.select(clients, [], [], PATIENCE)
        assert b" 503 " in refused[0].recv(4096)
    wait_until(lambda: ask(live, "/predict", [[1.0, 2.0]]).status == 200)


@pytest.mark.parametrize("sent", [b"", b"GET /hea", b"GET /health HTTP/1.1\r\nHost: local"])
def test_connections_that_send_no_whole_request_end(start, model, sent):
    live = start(Served(model), patience=0.5)
    with socket.create_connection(("127.0.0.1", live.port), timeout=PATIENCE) as client:
        client.sendall(sent)
        assert client.recv(1) == b""


def test_silent_connections_keep_nobody_out(start, model):
    live = start(Served(model), most_connections=50, patience=60.0)
    silent = [socket.create_connection(("127.0.0.1", live.port)) for _ in range(300)]
    try:
        for _ in range(5):
            assert ask(live, "/predict", [[1.0, 2.0]]).status == 200
    finally:
        for client in silent:
            client.close()


def test_errors_show_nothing_of_the_inside(start, model, monkeypatch, caplog):
    served = Served(model)
    live = start(served)

    def fail():
        raise RuntimeError("a secret of the inside")

    monkeypatch.setattr(served, "whole_text", fail)
    answer = ask(live, "/api/chronicle")
    assert answer.status == 500
    assert "secret" not in answer.body.decode()
    assert "Traceback" not in answer.body.decode()
    wait_until(lambda: caplog.messages)
    assert caplog.text.strip().count("\n") == 0


def test_what_there_is_not_is_said_in_json(live):
    assert "error" in ask(live, "/nothing").json
    assert ask(live, "/page/../app.py").status == 404
    assert ask(live, "/page/%2e%2e%2fapp.py").status == 404
    assert ask(live, "/predict").status == 405
