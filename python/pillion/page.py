# SPDX-License-Identifier: BSD-3-Clause
"""Pieces of the report that frame it: the document, the summary, warnings, the configuration.

Functions return HTML; every text from outside is escaped here or in `units`.
"""

from collections.abc import Iterable, Sequence
from html import escape

from pillion import units
from pillion.run import Run


def document(title: str, style: str, sections: Iterable[str]) -> str:
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


def summary_section(run: Run) -> str:
    facts = run.facts
    time = units.number(float(facts["time"]), 6)
    skipped = int(facts["skipped"])
    cards = [
        ("run time", units.seconds(run.seconds), f"started {escape(str(facts['started']))}"),
        (
            "steps",
            units.count(int(facts["steps"])),
            f"from {facts['first_step']} to {facts['last_step']}, to time {time} "
            f"{units.as_html(str(facts['time_units']))}",
        ),
        (
            "ranks",
            f"{facts['simulation_ranks']} + {facts['sidecar_ranks']}",
            _kinds_of_ranks(run),
        ),
        (
            "publications",
            units.count(int(facts["publications"])),
            f"{units.count(skipped)} skipped" if skipped else "none skipped",
        ),
    ]
    shown = "\n".join(
        f'<div class="card"><div class="name">{name}</div><div class="value">{value}</div>'
        f'<div class="note">{note}</div></div>'
        for name, value, note in cards
    )
    origin = facts["restarted_from"]
    resumed = f"<p>Resumed from <code>{escape(str(origin))}</code>.</p>" if origin else ""
    folder = escape(str(run.folder.resolve()))
    return (
        f'<header>\n<h1>Pillion run report</h1>\n<p class="note">{folder} · Pillion '
        f'{escape(run.version)}</p>\n</header>\n<div class="cards">\n{shown}\n</div>\n{resumed}'
    )


def _kinds_of_ranks(run: Run) -> str:
    facts = run.sidecars
    words = ["simulation + sidecar"]
    if facts["job"] == "separate":
        words.append("in a job of their own")
    restarts = int(facts["restarts"])
    if restarts:
        words.append(f"restarted {units.count(restarts)} {'time' if restarts == 1 else 'times'}")
    return ", ".join(words)


def warnings_section(warnings: Sequence[str]) -> str:
    if not warnings:
        return ""
    items = "\n".join(f"<li>{escape(text)}</li>" for text in warnings)
    title = "1 warning" if len(warnings) == 1 else f"{len(warnings)} warnings"
    return section(title, f"<ul>\n{items}\n</ul>", kind="warnings")


def remarks_section(remarks: Sequence[str]) -> str:
    """What is worth knowing, and no reason to worry."""
    return "\n".join(f'<p class="note">{escape(text)}</p>' for text in remarks)


def configuration_section(run: Run) -> str:
    text = escape(run.configuration.rstrip())
    return section("Configuration", f"<pre>{text}</pre>")
