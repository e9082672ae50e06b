# SPDX-License-Identifier: BSD-3-Clause
"""Products of a run that are no tables: the report shows pictures, and names all other files."""

import re
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from pillion import units
from pillion.errors import Error
from pillion.plots import spread

KINDS = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".svg": "image/svg+xml"}
PICTURES_SHOWN = 3  # of one product
LARGEST_SHOWN = 8 << 20  # bytes


@dataclass(frozen=True)
class FileProduct:
    """A file, or those of all steps up to the one that the run names, in order."""

    title: str
    stage: str
    paths: list[Path]

    @property
    def is_picture(self) -> bool:
        last = self.paths[-1]
        return last.suffix.lower() in KINDS and last.stat().st_size <= LARGEST_SHOWN


def find_file(path: Path, title: str, stage: str) -> FileProduct:
    """Raises Error if it is not there."""
    if not path.is_file():
        raise Error(f"cannot read {path}: there is no such file")
    return FileProduct(title or path.name, stage, _of_all_steps(path))


def _of_all_steps(path: Path) -> list[Path]:
    match = re.fullmatch(r"(.+)\.(\d{9,})(\.\w+)", path.name)
    if not match:
        return [path]
    alike = re.compile(re.escape(match[1]) + r"\.(\d{9,})" + re.escape(match[3]))
    found = {int(m[1]): p for p in path.parent.iterdir() if (m := alike.fullmatch(p.name))}
    return [found[step] for step in sorted(found) if step <= int(match[2])]


def article(product: FileProduct) -> str:
    last = product.paths[-1]
    many = f" · {len(product.paths)} steps" if len(product.paths) > 1 else ""
    where = escape(f"{last.parent.name}/{last.name}")
    size = units.size(last.stat().st_size)
    note = f'<p class="note">stage {escape(product.stage)}{many} · {where}, {size}</p>\n'
    head = f"<h3>{escape(product.title)}</h3>{note}"
    shown = _pictures(spread(product.paths, PICTURES_SHOWN)) if product.is_picture else ""
    return f"<article>\n{head}{shown}\n</article>"


def _pictures(paths: Sequence[Path]) -> str:
    """Within the page, which is to be whole wherever it goes."""
    figures = []
    for path in paths:
        try:
            content = b64encode(path.read_bytes()).decode("ascii")
        except OSError as error:
            raise Error(f"cannot read {path}: {error.strerror}") from error
        source = f"data:{KINDS[path.suffix.lower()]};base64,{content}"
        figures.append(f'<figure><img alt="{escape(path.name)}" src="{source}"></figure>\n')
    return f'<div class="figures">\n{"".join(figures)}</div>'
