# SPDX-License-Identifier: BSD-3-Clause
"""Which page of the site is made from which file of the repository: navigation.yml, read.

Links between pages are written as they work in the repository; `Places.of` says where in the site
their targets are.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Entry:
    """A page of the menu: its address, what it is made from, and the entries below it."""

    page: str
    settings: dict[str, Any]
    below: tuple["Entry", ...] = ()

    @property
    def source(self) -> Path | None:
        return ROOT / self.settings["from"] if "from" in self.settings else None


@dataclass(frozen=True)
class Places:
    """The menu, and for every file that is a page its address."""

    home: Entry
    menu: list[tuple[str, list[Entry]]]
    addresses: dict[Path, str] = field(default_factory=dict)

    def of(self, target: Path) -> str | None:
        """The address of the page that a file, or a folder with a README, has become."""
        if target.is_dir():
            target = target / "README.md"
        return self.addresses.get(target)

    def entries(self) -> list[Entry]:
        first = [self.home, *(entry for _, entries in self.menu for entry in entries)]
        return [each for entry in first for each in (entry, *entry.below)]


NAVIGATION = Path(__file__).with_name("navigation.yml")


def read_places(file: Path = NAVIGATION) -> Places:
    """Every file that the navigation names must be there."""
    known = yaml.safe_load(file.read_text(encoding="utf-8"))
    home = Entry("index", {"from": known["home"]})
    menu = [(part["title"], [_entry(item) for item in part["pages"]]) for part in known["menu"]]
    places = Places(home, menu)
    for entry in places.entries():
        if entry.source is not None:
            if not entry.source.is_file():
                raise FileNotFoundError(f"{file.name} names {entry.source}, which is not there")
            places.addresses[entry.source] = entry.page
    places.addresses.setdefault(ROOT / "README.md", "index")
    return places


def _entry(item: dict[str, Any]) -> Entry:
    page = item["page"]
    found = sorted(ROOT.glob(item["below"])) if "below" in item else []
    pages = [sorted(path.parent.glob("*.md"), key=lambda p: p != path) for path in found]
    more = [page for of_folder in pages for page in of_folder]
    return Entry(page, item, tuple(_below(page, path) for path in more))


def _below(page: str, path: Path) -> Entry:
    """A README is called after its folders, another page there also after itself."""
    name = "_".join(path.parent.relative_to(ROOT).parts[1:])
    if path.name != "README.md":
        name += "-" + path.stem.split("-")[-1].lower()
    return Entry(f"{page}/{name}", {"from": str(path.relative_to(ROOT))})
