# SPDX-License-Identifier: BSD-3-Clause
"""Fuzz target: what a browser, or another client, sends to the server of `pillion view`. TOKEN and
HOST in the input are replaced by those of the server, so that it looks beyond them.
"""

import io
import tempfile
from functools import cache
from pathlib import Path

from pillion.idx import Dataset
from pillion.view.server import Server, _Handler

HEADER = """(version)
6
(box)
0 7 0 7 0 7
(fields)
density float64
velocity float32[3]
(bits)
V012012012
(bitsperblock)
6
(blocksperfile)
8
(filename_template)
./missing/%04x.bin
(time)
0 1 time%09d/
"""


class _Connection:
    """A socket that has received the whole input, and takes any answer."""

    def __init__(self, received: bytes):
        self._received = received
        self.sent = bytearray()

    def settimeout(self, _):
        pass

    def makefile(self, *_):
        return io.BytesIO(self._received)

    def sendall(self, data):
        self.sent += data


@cache
def _server() -> Server:
    folder = Path(tempfile.mkdtemp(prefix="pillion-fuzz-"))
    (folder / "fuzz.idx").write_text(HEADER)
    return Server(Dataset(folder / "fuzz.idx"))


def answer(received: bytes) -> bytes:
    """What the server sends. An exception would be printed on the user's terminal."""
    server = _server()
    received = received.replace(b"TOKEN", server.token.encode())
    received = received.replace(b"HOST", f"localhost:{server.server_port}".encode())
    connection = _Connection(received)
    _Handler(connection, ("127.0.0.1", 1), server)
    return bytes(connection.sent)


def one_input(data: bytes) -> None:
    sent = answer(data)
    known = b"TOKEN" in data and b"HOST" in data
    # Without the token and the host the server reveals nothing.
    assert known or b"HTTP/1.1 200" not in sent, sent
