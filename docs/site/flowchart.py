# SPDX-License-Identifier: BSD-3-Clause
"""Draws a flowchart that is written as Mermaid (which repositories show as a picture), so that the
site needs neither Mermaid nor a script. Only what the pages use is known: `flowchart LR`, and
lines `a & b --> c["words"] & d`.
"""

import re
from pathlib import Path

from drawing import Drawing

FENCE = re.compile(r"^```mermaid\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
NODE = re.compile(r'\s*(\w+)(?:\["([^"]*)"\])?\s*')
HIGH, GAP, BETWEEN = 38, 18, 64


def replace_flowcharts(text: str, page: str, folder: Path) -> str:
    """The text of a page, its flowcharts now pictures in the folder."""

    def drawn(found: re.Match[str]) -> str:
        name = f"{page.replace('/', '-')}-{found.start()}.svg"
        (folder / "pictures").mkdir(parents=True, exist_ok=True)
        draw(found[1]).save(folder / "pictures" / name)
        return f"![Which may include which]({'../' * page.count('/')}pictures/{name})\n"

    return FENCE.sub(drawn, text)


def draw(chart: str) -> Drawing:
    """Columns from left to right; each node is to the right of all that point at it."""
    words, arrows = _read(chart)
    column = dict.fromkeys(words, 0)
    for _ in words:
        for one, other in arrows:
            column[other] = max(column[other], column[one] + 1)
    columns = [[n for n in words if column[n] == c] for c in range(max(column.values()) + 1)]
    widths = [max(9.0 * len(words[n]) + 26 for n in nodes) for nodes in columns]
    tallest = max(map(len, columns)) * (HIGH + GAP) + 34
    picture = Drawing(round(sum(widths) + BETWEEN * (len(columns) - 1) + 48), tallest,
                      "Which may include which", chart)  # fmt: skip
    place, x = {}, 24.0
    for nodes, width in zip(columns, widths):
        top = (tallest - len(nodes) * (HIGH + GAP) + GAP) / 2
        for row, node in enumerate(nodes):
            place[node] = (x, top + row * (HIGH + GAP), width)
        x += width + BETWEEN
    for one, other in arrows:
        picture.path(_way(place[one], place[other]))
    for node, (left, top, width) in place.items():
        picture.box(round(left), round(top), round(width), HIGH, words[node], _kind(node))
    return picture


def _read(chart: str) -> tuple[dict[str, str], list[tuple[str, str]]]:
    words: dict[str, str] = {}
    arrows = []
    for line in chart.splitlines()[1:]:
        sides = []
        for side in line.split("-->"):
            nodes = [NODE.fullmatch(part) for part in side.split("&")]
            assert all(nodes), f"this line of a flowchart is not understood: {line}"
            for node in nodes:
                words[node[1]] = node[2] or words.get(node[1], node[1])
            sides.append([node[1] for node in nodes])
        arrows += [(one, other) for one in sides[0] for other in sides[1]]
    return words, arrows


def _way(one: tuple[float, float, float], other: tuple[float, float, float]) -> str:
    begin, end = one[0] + one[2], other[0]
    y, z, bend = one[1] + HIGH / 2, other[1] + HIGH / 2, BETWEEN * 0.6
    return f"M{begin:g} {y:g} C{begin + bend:g} {y:g} {end - bend:g} {z:g} {end:g} {z:g}"


def _kind(node: str) -> str:
    """Users of the library, its public headers, the rest."""
    return {"programs": "blue", "plugins": "blue", "pillion": "green", "stage": "green"}.get(
        node, "box"
    )
