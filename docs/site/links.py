# SPDX-License-Identifier: BSD-3-Clause
"""Links and pictures of a page, from how they work in the repository to how they work in the site.

A link to a page becomes one to that page's place. Pictures are copied, unless the site draws them.
A link to another file or folder of the repository leads to a page that shows it; these are
collected in `shown`.
"""

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

from figures import NAMES as DRAWN
from places import ROOT, Places

FENCED = re.compile(r"^( *)```.*?^\1```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(\]\()([^)\s]+)(\))")
PICTURES = {".svg", ".png", ".jpg"}


def outside_code(text: str, change: Callable[[str], str]) -> str:
    """Changes the parts of a page that are no code."""
    parts, end = [], 0
    for code in FENCED.finditer(text):
        parts += [change(text[end : code.start()]), code[0]]
        end = code.end()
    return "".join(parts) + change(text[end:])


class Links:
    """Rewrites pages for one site, which is being put together in a folder."""

    def __init__(self, places: Places, folder: Path) -> None:
        self._places = places
        self._folder = folder
        self.shown: set[Path] = set()

    def rewrite(self, text: str, source: Path, page: str) -> str:
        def change(part: str) -> str:
            return LINK.sub(lambda m: m[1] + self._target(m[2], source, page) + m[3], part)

        return outside_code(text, change)

    def _target(self, target: str, source: Path, page: str) -> str:
        path, _, anchor = target.partition("#")
        if not path or re.match(r"[a-z]+:", path):
            return target
        found = Path(os.path.normpath(source.parent / path))
        if found.name in DRAWN and not found.exists():
            return self._to_picture(found.name, page)
        if not found.exists():
            raise FileNotFoundError(f"{source.relative_to(ROOT)} links to {path}, not there")
        return self._place(found, page) + (f"#{anchor}" if anchor else "")

    def _place(self, found: Path, page: str) -> str:
        address = self._places.of(found)
        if found.suffix in PICTURES:
            self._copy(found)
            return self._to_picture(found.name, page)
        if address is None:
            self.shown.add(found)
            address = address_of_source(found)
        return os.path.relpath(address + ".md", Path(page).parent)

    def _to_picture(self, name: str, page: str) -> str:
        return os.path.relpath(f"pictures/{name}", Path(page).parent)

    def _copy(self, picture: Path) -> None:
        copy = self._folder / "pictures" / picture.name
        copy.parent.mkdir(parents=True, exist_ok=True)
        if copy.exists() and copy.read_bytes() != picture.read_bytes():
            raise FileExistsError(f"two pictures are called {picture.name}")
        shutil.copyfile(picture, copy)


def address_of_source(path: Path) -> str:
    """Of the page that shows a file or folder of the repository."""
    name = str(path.relative_to(ROOT)).replace(".", "-")
    return f"source/{name}" + ("/index" if path.is_dir() else "")
