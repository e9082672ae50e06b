# SPDX-License-Identifier: BSD-3-Clause
"""A headless Chromium that tests tell what to do, through its debugging pipe: messages are JSON,
with a zero byte after each. Time in it is real time.
"""

import base64
import json
import os
import select
import shutil
import subprocess
from pathlib import Path

import limits

CHROMIUM = shutil.which("chromium")
TOLD = "JSON.stringify(document.documentElement.dataset)"  # what the page says of itself
OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-extensions",
    "--disable-background-networking",
    "--remote-debugging-pipe",
)


class Browser:
    """One page of a browser of its own."""

    def __init__(self, folder: Path, width=1200, height=760, scale=1.0):
        to_read, self._out = os.pipe()
        self._in, to_write = os.pipe()
        command = f'exec "$@" 3<&{to_read} 4>&{to_write}'
        arguments = [*OPTIONS, f"--user-data-dir={folder}", f"--window-size={width},{height}"]
        arguments += [f"--force-device-scale-factor={scale}", "about:blank"]
        self._process = subprocess.Popen(
            ["bash", "-c", command, "bash", CHROMIUM, *arguments],
            pass_fds=(to_read, to_write),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(to_write)
        self._buffer, self._number, self._session = b"", 0, None
        pages = self.send("Target.getTargets")["targetInfos"]
        page = next(p for p in pages if p["type"] == "page")
        attached = self.send("Target.attachToTarget", targetId=page["targetId"], flatten=True)
        self._session = attached["sessionId"]
        self.send("Page.enable")
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=scale, mobile=False)  # fmt: skip

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.terminate()
        try:
            limits.wait(self._process, 20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            limits.wait(self._process, timeout=60)
        os.close(self._out)
        os.close(self._in)

    def send(self, method, **parameters):
        """What the browser answers to a command."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            found = self._receive(60)
            if found.get("id") == self._number:
                assert "error" not in found, f"{method}: {found['error']}"
                return found["result"]

    def _receive(self, seconds):
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], seconds)
            assert ready, "the browser says nothing"
            data = os.read(self._in, 1 << 16)
            assert data, "the browser has ended"
            self._buffer += data
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)

    def open(self, url):
        self.send("Page.navigate", url=url)

    def ask(self, expression):
        """The value of an expression in the page."""
        found = self.send("Runtime.evaluate", expression=expression, returnByValue=True,
                          awaitPromise=True)  # fmt: skip
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def until(self, expression, seconds=20):
        """Waits until an expression is true."""
        limits.until(
            lambda: self.ask(expression), seconds, lambda: f"{expression}; {self.ask(TOLD)}"
        )

    def key(self, key):
        text = {"text": key} if len(key) == 1 else {}
        self.send("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self.send("Input.dispatchKeyEvent", type="keyUp", key=key)

    def mouse(self, kind, x, y, **more):
        self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def colours(self, dark):
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", features=[scheme])

    def picture(self, path):
        found = self.send("Page.captureScreenshot", format="png")
        Path(path).write_bytes(base64.b64decode(found["data"]))
