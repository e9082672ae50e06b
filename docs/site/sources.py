# SPDX-License-Identifier: BSD-3-Clause
"""Pages that show files and folders of the repository to which the documentation links, so that
the site needs no other place for them.
"""

import json
import os
import re
from pathlib import Path

from links import Links, address_of_source
from places import ROOT, Places

LANGUAGES = {
    **dict.fromkeys((".cpp", ".hpp"), "cpp"),
    **dict.fromkeys((".c", ".h"), "c"),
    **{".f90": "fortran", ".f": "fortranfixed"},
    **dict.fromkeys((".yaml", ".yml"), "yaml"),
    **{".py": "python", ".sh": "bash", ".cmake": "cmake"},
}


def page_of(path: Path, places: Places, links: Links, folder: Path) -> str:
    """The text of the page for a file, or for a folder of files."""
    name = path.relative_to(ROOT)
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    parts = ["---\norphan: true\n---\n", f"# `{name}`\n"]
    page = address_of_source(path)
    for file in files:
        if file.is_file() and file.suffix != ".pyc":
            parts += [f"## {file.name}\n"] if path.is_dir() else []
            parts += [_shown(file, folder / page, places, links)]
    return "\n".join(parts)


def _shown(file: Path, page: Path, places: Places, links: Links) -> str:
    address = places.of(file)
    if address is not None:
        up = os.path.relpath(page.parents[page.parts[::-1].index("source")], page.parent)
        return f"[This file is a page of its own.]({up}/{address}.md)\n"
    if file.suffix == ".ipynb":
        return links.rewrite(_notebook(file), file, address_of_source(file))
    language = "cmake" if file.name == "CMakeLists.txt" else LANGUAGES.get(file.suffix, "text")
    place = os.path.relpath(file, page.parent)
    return f"```{{literalinclude}} {place}\n:language: {language}\n```\n"


def _notebook(file: Path) -> str:
    """Its text and its code, as a page."""
    cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
    parts = []
    for cell in cells:
        text = "".join(cell["source"])
        shown = f"```python\n{text}\n```" if cell["cell_type"] == "code" else text
        parts.append(
            re.sub(r"^#(?=#* )", "##", shown, flags=re.MULTILINE) if shown is text else shown
        )
    return "\n\n".join(parts) + "\n"
