# SPDX-License-Identifier: BSD-3-Clause
"""The documentation as a site: it is built without a warning, loads nothing from elsewhere, its
links and anchors lead somewhere, and its main pages look as they should in a browser, on a screen
and on a telephone, by day and by night. Pictures are kept where PILLION_TEST_PICTURES says.
"""

import os
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import limits
import pytest
from browser import CHROMIUM, Browser
from code_blocks import ROOT
from conftest import some

PICTURED = ["index", "tutorial", "concepts/placement", "reference/c", "reference/command"]
LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("docs") / "site"
    done = limits.run(
        [sys.executable, ROOT / "docs/site/build.py", folder],
        capture_output=True, text=True, timeout=240, env={**os.environ, "NO_COLOR": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARNING" not in done.stderr
    return folder


class Page(HTMLParser):
    """What a page loads, what it links to, and what may be linked to in it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path, self.loads, self.links, self.anchors = path, [], [], set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        if found.get("id"):
            self.anchors.add(found["id"])
        if tag in LOADED and found.get(LOADED[tag]) and found.get("rel") not in ("next", "prev"):
            self.loads.append(found[LOADED[tag]])
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])


@pytest.fixture(scope="module")
def pages(site) -> dict[Path, Page]:
    return {path.resolve(): Page(path) for path in site.rglob("*.html")}


def test_all_that_a_page_loads_is_there(site, pages):
    assert len(pages) > 40
    for page in pages.values():
        for target in page.loads:
            assert not re.match(r"(https?:)?//", target), f"{page.path.name} loads {target}"
            path = page.path.parent / unquote(target.split("?")[0].split("#")[0])
            assert target.startswith("data:") or path.exists(), f"{page.path.name} loads {target}"


def test_styles_load_nothing_from_elsewhere(site):
    styles = [*site.rglob("*.css"), *site.rglob("*.html")]
    for style in styles:
        text = style.read_text(encoding="utf-8")
        assert not re.search(r"url\(\s*['\"]?(https?:)?//", text), style
        assert not re.search(r"@import\s+['\"]?(https?:)?//", text), style


def test_links_and_anchors_lead_somewhere(pages):
    for page in pages.values():
        for link in page.links:
            if re.match(r"[a-z]+:", link):
                continue
            path, _, anchor = unquote(link).partition("#")
            target = (page.path.parent / path).resolve() if path else page.path.resolve()
            if target.suffix != ".html":
                assert target.exists(), f"{page.path.name} links to {link}"
                continue
            assert target in pages, f"{page.path.name} links to {link}"
            known = pages[target].anchors
            assert not anchor or anchor in known, f"{page.path.name} links to {link}"


def test_every_public_header_is_in_the_reference(site):
    shown = " ".join(path.read_text("utf-8") for path in site.glob("reference/*.html"))
    for header in some((ROOT / "include/pillion").rglob("*.h")):
        for name in re.findall(r"\b(pillion_\w+)\(", header.read_text("utf-8")):
            assert name in shown, f"{name} of {header.name}"


def test_every_public_class_is_in_the_reference(site):
    shown = " ".join(path.read_text("utf-8") for path in site.glob("reference/*.html"))
    known = set(re.findall(r'<span class="pre">(\w+)</span>', shown))
    headers = ["session.hpp", "error.hpp", "stage/*.hpp", "idx/reader.hpp"]
    for header in (h for name in headers for h in some((ROOT / "include/pillion").glob(name))):
        text = re.sub(r"^template .*\n?.*", "", header.read_text("utf-8"), flags=re.MULTILINE)
        inside = r"^namespace detail \{.*?^\}  // namespace detail"
        text = re.sub(inside, "", text, flags=re.MULTILINE | re.DOTALL)
        names = set(re.findall(r"^(?:class|struct|enum class) (\w+)", text, re.MULTILINE))
        assert names <= known, f"{header.name}: {names - known}"


def test_every_command_is_in_the_reference(site):
    from pillion.command import COMMANDS

    page = (site / "reference/command.html").read_text(encoding="utf-8")
    assert all(f'id="pillion-{command.name}"' in page for command in COMMANDS)


@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium")
@pytest.mark.parametrize(("name", "width", "height"), [("screen", 1280, 1000), ("phone", 390, 844)])
@pytest.mark.parametrize("dark", [False, True], ids=["day", "night"])
def test_pictures(site, tmp_path, name, width, height, dark):
    """Nothing sticks out to the side, and the colours are those that were asked for."""
    kept = Path(os.environ.get("PILLION_TEST_PICTURES", tmp_path))
    with Browser(tmp_path / "browser", width, height) as browser:
        browser.colours(dark)
        for page in PICTURED:
            browser.open((site / f"{page}.html").as_uri())
            browser.until("document.readyState == 'complete'")
            wide = browser.ask("document.documentElement.scrollWidth")
            assert wide <= width, f"{page} is {wide} wide on a {name}"
            colour = browser.ask("getComputedStyle(document.body).backgroundColor")
            light = sum(map(int, re.findall(r"\d+", colour)[:3])) / 3
            assert light < 60 if dark else light > 200, colour
            time = "night" if dark else "day"
            browser.picture(kept / f"{page.replace('/', '-')}-{name}-{time}.png")
