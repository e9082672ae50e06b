# SPDX-License-Identifier: BSD-3-Clause
"""The page as one document: style, programs and colour maps are in it, so that a browser has
nothing to fetch but slices, and may be told to refuse everything else.
"""

import json
from pathlib import Path

from pillion.view.colours import colour_maps

FOLDER = Path(__file__).parent
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


def document(nonce: str) -> str:
    """`nonce` tells the browser that these programs and this style are ours."""
    scripts = "\n".join((FOLDER / name).read_text(encoding="utf-8") for name in SCRIPTS)
    parts = {
        "nonce": nonce,
        "style": (FOLDER / "view.css").read_text(encoding="utf-8"),
        "maps": json.dumps(colour_maps()),
        "scripts": f'"use strict";\n{scripts}',
    }
    page = (FOLDER / "view.html").read_text(encoding="utf-8")
    for name, text in parts.items():
        page = page.replace(f"{{{{{name}}}}}", text)
    return page


def policy(nonce: str) -> str:
    """What the page may do: run its own programs, and fetch from where it came."""
    return (
        f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; "
        "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    )
