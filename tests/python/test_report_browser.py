# SPDX-License-Identifier: BSD-3-Clause
"""The page of a run as a browser shows it, on a screen and on a phone, by day and by night.
PILLION_TEST_PICTURES=FOLDER keeps the pictures, to be looked at."""

import os
from pathlib import Path

import pytest
from browser import CHROMIUM, Browser
from matplotlib.image import imread
from pillion import make_report
from sample import make_sample


@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium")
@pytest.mark.parametrize(("name", "width", "height"), [("screen", 1280, 2000), ("phone", 390, 844)])
@pytest.mark.parametrize("dark", [False, True], ids=["day", "night"])
def test_report(tmp_path, name, width, height, dark):
    """Nothing sticks out to the side, plots have a size, and colours are those of the hour."""
    made = make_report(make_sample(tmp_path).folder)
    kept = Path(os.environ.get("PILLION_TEST_PICTURES", tmp_path))
    with Browser(tmp_path / "browser", width, height) as browser:
        browser.colours(dark)
        browser.open(made.path.as_uri())
        browser.until("document.readyState == 'complete'")
        assert browser.ask("document.documentElement.scrollWidth") <= width
        plots = "[...document.querySelectorAll('figure svg')].map(s => s.clientWidth)"
        seen = browser.ask(f"JSON.stringify({plots})")
        widths = [int(w) for w in seen.strip("[]").split(",")]
        assert len(widths) > 2 and all(w == 0 or 200 < w <= width for w in widths)
        path = kept / f"report-{name}-{'night' if dark else 'day'}.png"
        browser.picture(path)
    picture = imread(path)[:, :, :3]
    assert picture.std() > 0.02, "something is drawn"
    assert (picture.mean() < 0.5) == dark
