# SPDX-License-Identifier: BSD-3-Clause
"""What `pillion view` serves, to whom, and as a command."""

import http.client
import json
import re
import signal
import socket
from contextlib import ExitStack

import limits
import pillion.idx
import pytest
from limits import limit
from pillion.view.server import MOST_CONNECTIONS, Server
from view_sample import SLICE, arrays, ask, command, served, write


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with served(write(tmp_path_factory.mktemp("served"))) as server:
        yield server


def test_a_slice(server):
    answer, body = ask(server, f"/{server.token}/{SLICE}")
    assert answer.status == 200
    about = json.loads(answer.headers["Slice"])
    wanted = arrays(5)[0][:, 3, :, 1].astype("<f4")
    assert about == {"width": 8, "height": 6, "origin": [0, 0], "stride": [1, 1], "position": 3}
    assert body == wanted.tobytes()


def test_the_description(server):
    _, body = ask(server, f"/{server.token}/dataset")
    found = json.loads(body)
    assert found["title"] == "Flow <b>"
    assert found["steps"] == [0, 5]
    assert found["times"] == [0.0, 2.5]
    assert (found["time_units"], found["length_units"]) == ("s", "m")
    assert found["box"] == [[0, 8], [0, 7], [0, 6]]
    assert found["fields"][0] == {"name": "f0", "type": "float64", "components": 3, "units": "m/s"}
    assert found["strides"][0] == [8, 8, 8]
    assert found["strides"][9] == [1, 1, 1]


def test_steps_that_come(tmp_path):
    with served(write(tmp_path, (0,))) as server:
        steps = lambda: json.loads(ask(server, f"/{server.token}/dataset")[1])["steps"]  # noqa: E731
        assert steps() == [0]
        write(tmp_path, (0, 5))
        assert steps() == [0, 5]
        (tmp_path / "d.idx").unlink()
        answer, body = ask(server, f"/{server.token}/dataset")
        assert answer.status == 500
        assert b"cannot read" in body
        assert ask(server, f"/{server.token}/{SLICE}")[0].status == 200


@pytest.mark.parametrize("place", ["", "dataset", SLICE])
@pytest.mark.parametrize("wrong", ["/", "/x/", "/{}x/", "/x/{}/", "/%2e/{}/", "/%C3%A9/"])
def test_without_the_token_there_is_nothing(server, place, wrong):
    answer, body = ask(server, wrong.format(server.token) + place)
    assert answer.status == 403
    assert body.startswith(b"forbidden")
    assert server.token.encode() not in body


@pytest.mark.parametrize("line", ["GET http://[x HTTP/1.1", "GET http://127.0.0.1/{}/ HTTP/1.0",
                                  "GET /\xff\xfe HTTP/1.1"])  # fmt: skip
def test_odd_requests_without_the_token_are_refused_without_a_traceback(
    server, line, capfd, monkeypatch
):
    monkeypatch.setattr("pillion.view.server.UNKNOWN_SECONDS", 1e6)  # it hangs up at once
    with socket.create_connection(
        ("127.0.0.1", server.server_port), timeout=limit(10)
    ) as connection:
        head = f"{line.format(server.token)}\r\nHost: 127.0.0.1:{server.server_port}\r\n\r\n"
        connection.sendall(head.encode("latin-1"))
        answer = b"".join(iter(lambda: connection.recv(4096), b""))  # it hangs up
    assert b" 403 " in answer.splitlines()[0]
    assert capfd.readouterr().err == ""


@pytest.fixture
def connect():
    """Makes connections to a server that end with the test."""
    with ExitStack() as stack:
        yield lambda server: stack.enter_context(
            socket.create_connection(("127.0.0.1", server.server_port), timeout=limit(20))
        )


def test_connections_that_show_no_token_are_few(tmp_path, monkeypatch, connect):
    monkeypatch.setattr("pillion.view.server.UNKNOWN_SECONDS", 1e6)
    with served(write(tmp_path)) as server:
        held = [connect(server) for _ in range(MOST_CONNECTIONS)]
        for connection in held:
            connection.sendall(b"GET /")  # a request that never ends
        assert connect(server).recv(1) == b""  # one too many is hung up on at once
        held[0].setblocking(False)
        with pytest.raises(BlockingIOError):  # and those before are still there
            held[0].recv(1)
        for connection in held:
            connection.close()


def test_connections_that_show_no_token_do_not_stay(tmp_path, monkeypatch, connect):
    monkeypatch.setattr("pillion.view.server.UNKNOWN_SECONDS", 0.5)
    with served(write(tmp_path)) as server:
        welcome = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=limit(20))
        welcome.request("GET", f"/{server.token}/dataset")
        assert welcome.getresponse().read()
        stranger = connect(server)
        stranger.sendall(b"GET /")
        assert stranger.recv(1) == b""
        # One that has shown the token stays.
        welcome.request("GET", f"/{server.token}/dataset")
        assert welcome.getresponse().status == 200
        welcome.close()


@pytest.mark.parametrize("host", ["evil.example", "evil.example:{}", "127.0.0.1", "127.0.0.1:1",
                                  "localhost.evil.example:{}", "[::1]:{}", ""])  # fmt: skip
def test_other_hosts_are_refused(server, host):
    """A name that somebody made to lead to this machine."""
    for place in ("", "dataset", SLICE):
        answer, _ = ask(server, f"/{server.token}/{place}", host.format(server.server_port))
        assert answer.status == 403


def test_this_host_is_not_refused(server):
    for name in ("localhost", "127.0.0.1"):
        answer, _ = ask(server, f"/{server.token}/", f"{name}:{server.server_port}")
        assert answer.status == 200


@pytest.mark.parametrize("path", [
    "../d.idx", "d.idx", "data/t000/0000.bin", "..%2f..%2f..%2fetc%2fpasswd", "../../../etc/passwd",
    "//etc/passwd", "view.js", "dataset/../../d.idx", "dataset/", ".", "slice/x",
])  # fmt: skip
def test_no_path_leads_to_a_file(server, path):
    answer, body = ask(server, f"/{server.token}/{path}")
    assert answer.status == 404
    assert body == b"there is nothing of this name"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "HEAD"])
def test_one_can_only_get(server, method):
    answer, body = ask(server, f"/{server.token}/", method=method)
    assert answer.status == 501
    assert b"<script" not in body


def test_it_listens_on_the_loopback_interface_only(server):
    assert server.server_address[0] == "127.0.0.1"
    others = {"127.0.0.2", socket.gethostbyname(socket.gethostname())} - {"127.0.0.1"}
    for other in others:
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((other, server.server_port), timeout=limit(5))


def test_the_page_fetches_nothing_from_elsewhere(server):
    answer, body = ask(server, f"/{server.token}/")
    text = body.decode()
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    nonces = set(re.findall(r'nonce="([^"]+)"', text))
    assert nonces == {server.nonce}
    assert f"script-src 'nonce-{server.nonce}'" in policy
    addresses = set(re.findall(r"\w+://[\w.]+", text))
    assert addresses == {"http://www.w3.org"}  # the name of SVG's namespace
    assert not re.search(r'(src|href)="(?!data:)', text)
    assert "{{" not in text
    for name, value in {"Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff",
                        "Cache-Control": "no-store"}.items():  # fmt: skip
        assert answer.headers[name] == value


def test_tokens_are_not_guessed(tmp_path):
    path = write(tmp_path)
    with Server(pillion.idx.open(path)) as a, Server(pillion.idx.open(path)) as b:
        assert a.token != b.token
        assert len(a.token) >= 32


@pytest.mark.parametrize(("old", "new", "why"), [
    ("field=f0", "field=f9", "has no field 'f9'"),
    ("component=1", "component=3", "there is no component 3"),
    ("component=1", "component=-1", "there is no component -1"),
    ("component=1", "component=x", "makes no sense"),
    ("step=5", "step=6", "has no step 6"),
    ("level=9", "level=10", "has the levels 0 to 9; 10 is not there"),
    ("axis=1", "axis=3", "makes no sense"),
    ("position=3", "position=7", "there is no slice at 7"),
    ("window=0,8,0,6", "window=0,9,0,6", "is not inside it"),
    ("window=0,8,0,6", "window=0,8", "makes no sense"),
    ("window=0,8,0,6", "window=0,8,0", "makes no sense"),
    ("&window=0,8,0,6", "", "makes no sense"),
])  # fmt: skip
def test_requests_that_make_no_sense(server, old, new, why):
    assert old in SLICE
    answer, body = ask(server, f"/{server.token}/{SLICE.replace(old, new)}")
    assert answer.status == 500
    assert why in body.decode()
    assert answer.headers["Content-Type"].startswith("text/plain")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_command(tmp_path, number):
    with command(write(tmp_path), "--no-browser") as process:
        url = process.stdout.readline().strip()
        match = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/([\w-]+)/", url)
        assert match, url
        connection = http.client.HTTPConnection("127.0.0.1", int(match[1]), timeout=limit(20))
        connection.request("GET", f"/{match[2]}/dataset")
        assert json.loads(connection.getresponse().read())["name"] == "d.idx"
        process.send_signal(number)
        out, err = limits.communicate(process, timeout=20)  # though the connection is still open
        assert (process.returncode, out, err) == (0, "", "")


def test_a_port_of_ones_own(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with command(write(tmp_path), "--port", port) as process:
            _, err = limits.communicate(process, timeout=20)
            assert process.returncode == 1
            assert err.startswith(f"pillion: cannot listen on port {port} of 127.0.0.1: ")
    with command(tmp_path / "d.idx", "--port", port) as process:
        assert f":{port}/" in process.stdout.readline()


def test_what_is_no_dataset(tmp_path):
    (tmp_path / "x.idx").write_text("hello")
    for name, why in (("x.idx", "it has no (version)"), ("none.idx", "No such file")):
        with command(tmp_path / name) as process:
            _, err = limits.communicate(process, timeout=20)
            assert process.returncode == 1
            assert err.startswith("pillion: cannot read") and why in err
            assert "Traceback" not in err
