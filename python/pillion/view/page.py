# SPDX-License-Identifier: BSD-3-Clause
"""The page as one document: style, programs and colour maps are in it, so that a browser fetches
only slices and may refuse everything else. The stage `image` has the same colour maps.
"""

import base64
import json
from pathlib import Path

FOLDER = Path(__file__).parent
STYLES = (FOLDER.parent / "page.css", FOLDER / "view.css")
SCRIPTS = (
    "numbers.js",
    "colours.js",
    "slices.js",
    "picture.js",
    "controls.js",
    "state.js",
    "shown.js",
    "deeds.js",
    "start.js",
)


def colour_maps() -> dict[str, str]:
    """Red, green and blue bytes of the 256 colours of each map, in base64."""
    text = (FOLDER / "colour_maps.csv").read_text(encoding="utf-8")
    names, *rows = (line.split(",") for line in text.splitlines() if not line.startswith("#"))
    columns = zip(names, zip(*rows, strict=True), strict=True)
    return {name: base64.b64encode(bytes.fromhex("".join(c))).decode() for name, c in columns}


def document(nonce: str) -> str:
    """`nonce` tells the browser that these programs and this style are ours."""
    scripts = "\n".join((FOLDER / name).read_text(encoding="utf-8") for name in SCRIPTS)
    parts = {
        "nonce": nonce,
        "style": "".join(path.read_text(encoding="utf-8") for path in STYLES),
        "maps": json.dumps(colour_maps()),
        "scripts": f'"use strict";\n{scripts}',
    }
    page = (FOLDER / "view.html").read_text(encoding="utf-8")
    for name, text in parts.items():
        page = page.replace(f"{{{{{name}}}}}", text)
    return page


def policy(nonce: str) -> str:
    """The content security policy of the page: it runs its own programs, and fetches from its own
    server.
    """
    return (
        f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; "
        "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    )
