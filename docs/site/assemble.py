# SPDX-License-Identifier: BSD-3-Clause
"""Puts the pages of the site together in one folder, from where Sphinx makes HTML of them.

The files of the repository stay as they read best there: plain Markdown with relative links. Here
they get their places in the site (navigation.yml), the menu, and the reference that is generated.
"""

import os
import shutil
from pathlib import Path

import command
import headers
import sources
from figures import draw_all
from flowchart import replace_flowcharts
from links import Links
from places import ROOT, Entry, Places, read_places


def assemble(folder: Path) -> None:
    """Makes the folder again; existing contents are removed."""
    shutil.rmtree(folder, ignore_errors=True)
    draw_all(folder / "pictures")
    places = read_places()
    links = Links(places, folder)
    for entry in places.entries():
        text = replace_flowcharts(_text_of(entry, links), entry.page, folder)
        suffix = "rst" if "headers" in entry.settings else "md"
        if entry.below:
            text += _menu("", list(entry.below), entry.page)
        if entry is places.home:
            text += "".join(_menu(title, entries, "index") for title, entries in places.menu)
        _write(folder / f"{entry.page}.{suffix}", text)
    _show_sources(links, places, folder)


def _text_of(entry: Entry, links: Links) -> str:
    if "headers" in entry.settings:
        return headers.page(entry.settings["title"], entry.settings["headers"])
    if "command" in entry.settings:
        return command.page()
    assert entry.source is not None
    text = entry.source.read_text(encoding="utf-8")
    return links.rewrite(text, entry.source, entry.page)


def _menu(title: str, entries: list[Entry], page: str) -> str:
    lines = [_item(entry, os.path.relpath(entry.page, Path(page).parent)) for entry in entries]
    caption = f":caption: {title}\n" if title else ""
    return f"\n```{{toctree}}\n:hidden:\n:titlesonly:\n{caption}\n" + "\n".join(lines) + "\n```\n"


def _item(entry: Entry, place: str) -> str:
    """Under its own title, or the shorter one of the navigation."""
    title = entry.settings.get("title")
    return f"{title} <{place}>" if title else place


def _show_sources(links: Links, places: Places, folder: Path) -> None:
    done: set[Path] = set()
    while todo := sorted(links.shown - done):  # a notebook may link to further files
        for path in todo:
            page = sources.address_of_source(path)
            _write(folder / f"{page}.md", sources.page_of(path, places, links, folder))
        done.update(todo)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


__all__ = ["ROOT", "assemble"]
