# SPDX-License-Identifier: BSD-3-Clause
"""The web server of `pillion view`, for one person on this machine.

It listens on the loopback interface only. Every request must name that as its host, so that no
other site's name can be made to lead here. It must also carry the token of the printed URL, which
other users of the machine do not have. It serves a page, a description and slices; no path of a
request ever becomes a path of a file. The token is checked first. Before it has shown the token, a
connection costs little: there are few of them, for a few seconds.
"""

import json
import math
import os
import secrets
import signal
import socket
import sys
import threading
import time
import webbrowser
from contextlib import suppress
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import parse_qs, urlsplit

from pillion.errors import Error
from pillion.idx import Dataset
from pillion.view.page import document, policy
from pillion.view.slices import MAGNITUDE, Query, describe, plane_axes, read_slice

HOST = "127.0.0.1"
IDLE_SECONDS = 60
UNKNOWN_SECONDS = 5  # for connections that have not shown the token
MOST_CONNECTIONS = 64


class Server(ThreadingHTTPServer):
    """Serves one dataset at `url`."""

    daemon_threads = True

    def __init__(self, dataset: Dataset, port: int = 0) -> None:
        self.dataset = dataset
        self.token = secrets.token_urlsafe(24)
        self.nonce = secrets.token_urlsafe(16)
        self.page = document(self.nonce).encode()
        self.lock = threading.Lock()
        self._known = threading.Lock()  # held for moments only, of the following
        self._connections: dict[socket.socket, float] = {}  # that are open, and until when
        try:
            super().__init__((HOST, port), _Handler)
        except (OSError, OverflowError) as error:
            raise Error(f"cannot listen on port {port} of {HOST}: {error}") from error

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.server_port}/{self.token}/"

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._known:
            is_full = len(self._connections) >= MOST_CONNECTIONS
            if not is_full:
                self._connections[request] = time.monotonic() + UNKNOWN_SECONDS
        if is_full:
            self.shutdown_request(request)
        else:
            super().process_request(request, client_address)

    def welcome(self, connection: socket.socket) -> None:
        """The connection has shown the token and may stay."""
        with self._known:
            if connection in self._connections:
                self._connections[connection] = math.inf

    def shutdown_request(self, request: Any) -> None:
        with self._known:
            self._connections.pop(request, None)
        super().shutdown_request(request)

    def service_actions(self) -> None:
        """Ends connections that have taken too long to show the token. By the main thread, about
        twice a second; the connection's own thread then reads the end, and closes it.
        """
        now = time.monotonic()
        with self._known:
            late = [c for c, until in self._connections.items() if until < now]
            for connection in late:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Reports errors, except that a browser hung up because it no longer wants an answer."""
        if not isinstance(sys.exc_info()[1], ConnectionError | TimeoutError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"
    timeout = IDLE_SECONDS

    def do_GET(self) -> None:
        if not self._may():
            self.close_connection = True
            self._send(403, "text/plain", b"forbidden: use the whole URL that pillion view printed")
            return
        self.server.welcome(self.connection)
        place = urlsplit(self.path)
        answers = {"": self._page, "dataset": self._dataset, "slice": self._slice}
        answer = answers.get("/".join(place.path.split("/")[2:]))
        if answer is None:
            self._send(404, "text/plain", b"there is nothing of this name")
            return
        try:
            answer(place.query)
        except Error as error:
            self._send(500, "text/plain; charset=utf-8", str(error).encode())

    def _may(self) -> bool:
        """Whether the request shows the token and names this server. Nothing of it is parsed
        before: the path must begin with the token, so no other form of URL comes further.
        """
        hosts = {f"{name}:{self.server.server_port}" for name in (HOST, "localhost")}
        wanted = f"/{self.server.token}/".encode()
        shown = self.path.encode("utf-8", "replace")[: len(wanted)]
        return secrets.compare_digest(shown, wanted) and self.headers.get("Host") in hosts

    def _page(self, _: str) -> None:
        self._send(200, "text/html; charset=utf-8", self.server.page)

    def _dataset(self, _: str) -> None:
        with self.server.lock:  # so that what is described is one state of it
            self.server.dataset.refresh()
            described = describe(self.server.dataset)
        self._send(200, "application/json", json.dumps(described).encode())

    def _slice(self, query: str) -> None:
        """Reals of four bytes, and in the header `Slice` where they are."""
        dataset = self.server.dataset
        found = read_slice(dataset, _query(query, dataset.axes))
        about = {
            "width": found.values.shape[1],
            "height": found.values.shape[0],
            "origin": found.origin,
            "stride": found.stride,
            "position": found.position,
        }
        body = found.values.tobytes()
        self._send(200, "application/octet-stream", body, {"Slice": json.dumps(about)})

    def _send(
        self, status: int, kind: str, body: bytes, more: dict[str, str] | None = None
    ) -> None:
        self.send_response(status)
        headers = {
            "Content-Type": kind,
            "Content-Length": str(len(body)),
            "Content-Security-Policy": policy(self.server.nonce),
            "Cross-Origin-Resource-Policy": "same-origin",
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cache-Control": "no-store",
        }
        for name, value in (headers | (more or {})).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing: the terminal is the user's."""


def _query(text: str, axes: int) -> Query:
    values = {name: found[-1] for name, found in parse_qs(text).items()}
    try:
        component = values.get("component", "0")
        numbers = [int(n) for n in values["window"].split(",")]
        query = Query(
            field=values["field"],
            component=component if component == MAGNITUDE else int(component),
            step=int(values["step"]),
            level=int(values["level"]),
            axis=int(values.get("axis", "0")),
            position=int(values.get("position", "0")),
            window=tuple(zip(numbers[::2], numbers[1::2], strict=True)),
        )
    except (KeyError, ValueError) as error:
        raise Error(f"the request for a slice makes no sense: {error!r}") from error
    if not 0 <= query.axis < 3 or len(query.window) != len(plane_axes(axes, query.axis)):
        raise Error(f"the request for a slice makes no sense: {text}")
    return query


def view(path: Path, port: int = 0, browser: bool = True) -> None:
    """Serves a dataset until Ctrl-C, and opens the page in a browser if there is a screen.

    Raises Error if the dataset cannot be read or the port is taken.
    """
    if path.is_dir():
        found = sorted(str(file) for file in path.rglob("*.idx"))
        what = f"; in it is {', '.join(found)}" if found else ", and there is none in it"
        raise Error(
            f"{path} is a folder, and `pillion view` shows a dataset, a file NAME.idx{what}; "
            f"`pillion report {path}` makes a page of all results of a run"
        )
    with Server(Dataset(path), port) as server, TemporaryDirectory() as folder:
        print(server.url, flush=True)
        # A shell may have started this in the background, with interrupts turned off.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.default_int_handler)
        try:
            if browser and _has_screen():
                _open_browser(server.url, Path(folder))
            server.serve_forever()
        except KeyboardInterrupt:
            pass


def _has_screen() -> bool:
    """Else a browser for terminals might take this one."""
    return sys.platform != "linux" or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))


def _open_browser(url: str, folder: Path) -> None:
    """By way of a file: what is on a command line, everybody on the machine can read."""
    file = folder / "view.html"
    file.write_text(f'<meta http-equiv="refresh" content="0; url={escape(url)}">', encoding="utf-8")
    webbrowser.open(file.as_uri())
