# SPDX-License-Identifier: BSD-3-Clause
"""The page as one document: style, programs and colour maps are in it, so that a browser fetches
only slices and may refuse everything else. In a colour map of 256 colours equal differences of
values look equally large.
"""

import base64
import json
from pathlib import Path

import numpy as np

SEQUENTIAL = ("viridis", "inferno", "magma", "cividis")
COLOURS = 256
# From Björn Ottosson, "A perceptual color space for image processing" (2020): to the cube roots of
# cone responses, and from these responses to linear sRGB.
OKLAB_TO_CONES = np.array(
    [
        [1, 0.3963377774, 0.2158037573],
        [1, -0.1055613458, -0.0638541728],
        [1, -0.0894841775, -1.2914855480],
    ]
)
CONES_TO_RGB = np.array(
    [
        [4.0767416621, -3.3077115913, 0.2309699292],
        [-1.2684380046, 2.6097574011, -0.3413193965],
        [-0.0041960863, -0.7034186147, 1.7076147010],
    ]
)
BLUE, RED = 255.0, 30.0  # hues in degrees
DARK, LIGHT, CHROMA = 0.38, 0.97, 0.125
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


def colour_maps() -> dict[str, str]:
    """Red, green and blue bytes of each map, in base64. The last two: grey, and diverging."""
    from matplotlib import colormaps

    at = np.linspace(0, 1, COLOURS)
    maps = {name: colormaps[name](at)[:, :3] for name in SEQUENTIAL}
    maps["grey"] = _rgb(np.linspace(0.08, 1, COLOURS), np.zeros(COLOURS), np.zeros(COLOURS))
    maps["blue to red"] = _diverging()
    return {
        name: base64.b64encode(np.rint(255 * rgb).astype(np.uint8).tobytes()).decode()
        for name, rgb in maps.items()
    }


def _diverging() -> np.ndarray:
    """Lightness and chroma change evenly from the middle to both ends."""
    away = np.linspace(-1, 1, COLOURS)
    hue = np.radians(np.where(away < 0, BLUE, RED))
    chroma = CHROMA * np.abs(away)
    lightness = LIGHT + (DARK - LIGHT) * np.abs(away)
    return _rgb(lightness, chroma * np.cos(hue), chroma * np.sin(hue))


def _rgb(lightness: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    cones = (np.stack([lightness, a, b], axis=1) @ OKLAB_TO_CONES.T) ** 3
    linear = np.clip(cones @ CONES_TO_RGB.T, 0, 1)
    return np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)


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
    """The content security policy of the page: it runs its own programs, and fetches from its own
    server.
    """
    return (
        f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; "
        "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    )
