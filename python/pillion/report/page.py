# SPDX-License-Identifier: BSD-3-Clause
"""A page that loads nothing: pieces of HTML, its style, and a file that is written whole.

Functions return HTML; they escape every text from outside, other than cells, which are HTML.
"""

import os
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from pillion.errors import Error

STYLES = (Path(__file__).parents[1] / "page.css", Path(__file__).with_name("report.css"))


def document(title: str, sections: Iterable[str]) -> str:
    style = "".join(path.read_text(encoding="utf-8") for path in STYLES)
    body = "\n".join(section for section in sections if section)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>
{style}</style>
</head>
<body>
<main>
{body}
</main>
</body>
</html>
"""


def section(title: str, body: str, kind: str = "") -> str:
    attribute = f' class="{kind}"' if kind else ""
    return f"<section{attribute}>\n<h2>{escape(title)}</h2>\n{body}\n</section>"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], kind: str = "") -> str:
    """A table of HTML cells; the first column names the rows."""
    head = "".join(f'<th scope="col">{cell}</th>' for cell in heads)
    lines = [
        f'<tr><th scope="row">{row[0]}</th>{"".join(f"<td>{cell}</td>" for cell in row[1:])}</tr>'
        for row in rows
    ]
    body = "\n".join(lines)
    return (
        f'<div class="scroll"><table class="{kind}">\n<thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody></table></div>"
    )


def exact(shown: str, value: object, unit: str) -> str:
    """A rounded number that shows the whole one when pointed at."""
    return f'<span title="{escape(f"{value} {unit}")}">{shown}</span>'


def warnings_section(warnings: Sequence[str]) -> str:
    if not warnings:
        return ""
    items = "\n".join(f"<li>{escape(text)}</li>" for text in warnings)
    title = "1 warning" if len(warnings) == 1 else f"{len(warnings)} warnings"
    return section(title, f"<ul>\n{items}\n</ul>", kind="warnings")


def remarks_section(remarks: Sequence[str]) -> str:
    """Notes that are worth knowing, and not a reason to worry."""
    return "\n".join(f'<p class="note">{escape(text)}</p>' for text in remarks)


def write_whole(path: Path, text: str) -> None:
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        # A new file: a symbolic link that lies there is unlinked, not followed.
        aside.unlink(missing_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        with open(os.open(aside, flags, 0o666), "w", encoding="utf-8") as out:
            out.write(text)
        aside.replace(path)
    except OSError as error:
        aside.unlink(missing_ok=True)
        raise Error(f"cannot write {path}: {error.strerror}") from error
