# SPDX-License-Identifier: BSD-3-Clause
"""Plans as pictures. In letters, a capital is a sidecar, and the small letter is a rank that hands
over to it. In SVG, there is a panel for each rule with the cores of one node. A sidecar is a full
square with a ring; ranks that hand over to it are squares of its hue.
"""

from collections.abc import Sequence
from itertools import groupby
from string import ascii_lowercase
from xml.sax.saxutils import escape

from pillion.plan.planning import Plan, figures_of

IDLE = "."
CELL, GAP, PAD, MARGIN = 18, 4, 8, 20
HEAD, FOOT = 34, 26
WIDTH = 1000  # of the page it is for
LETTER = 6.1  # width of one of the figures' text, on the wide side of what fonts have
STYLE = (
    "text{font-family:system-ui,sans-serif;fill:#333}"
    ".name{font-size:15px;font-weight:600}.figures{font-size:11.5px;fill:#666}"
    ".part{fill:none;stroke:#b8b8b8;stroke-width:1}.link{stroke:#d5d5d5;stroke-width:3}"
    ".label{font-size:9.5px;fill:#888}"
    "@media (prefers-color-scheme:dark){text{fill:#ddd}.figures,.label{fill:#aaa}"
    ".part{stroke:#666}.link{stroke:#555}}"
)


def letters_of(plan: Plan, node: int) -> dict[int, str]:
    """By core of a node. Sidecars elsewhere are `*`."""
    here = [location for location in plan.on_node(node) if plan.is_sidecar[location]]
    letter = {location: ascii_lowercase[i % 26] for i, location in enumerate(here)}
    found = {}
    for location in plan.on_node(node):
        own = (
            letter[location].upper()
            if location in letter
            else letter.get(plan.server[location], "*")
        )
        found[plan.locations[location].core] = own
    return found


def drawn_node(plan: Plan, node: int) -> list[str]:
    """Lines: a row of the mesh each, or a domain of memory each, caches set apart."""
    letters = letters_of(plan, node)
    cores = [core.location for core in plan.machine.node.cores]
    if plan.machine.is_mesh:
        rows = groupby(cores, key=lambda location: location.row)
        return [" ".join(letters.get(location.core, IDLE) for location in row) for _, row in rows]
    lines = []
    for (package, numa), inside in groupby(
        cores, key=lambda location: (location.package, location.numa)
    ):
        caches = groupby(inside, key=lambda location: location.cache)
        parts = [
            "".join(letters.get(location.core, IDLE) for location in part) for _, part in caches
        ]
        lines.append(f"package {package}  memory {numa}  {' '.join(parts)}")
    return lines


def patterns(plan: Plan) -> list[tuple[list[str], list[int]]]:
    """Drawings of nodes that differ, each with the nodes that look like it."""
    found: dict[tuple[str, ...], list[int]] = {}
    for node in range(plan.machine.nodes):
        found.setdefault(tuple(drawn_node(plan, node)), []).append(node)
    return [(list(lines), nodes) for lines, nodes in found.items()]


def span(nodes: list[int]) -> str:
    """Numbers of nodes as people write them: 0–3, 7."""
    parts = []
    for _, run in groupby(enumerate(nodes), key=lambda pair: pair[1] - pair[0]):
        numbers = [number for _, number in run]
        first, last = numbers[0], numbers[-1]
        parts.append(str(first) if first == last else f"{first}–{last}")
    return ", ".join(parts)


def colour(index: int, count: int, is_sidecar: bool) -> str:
    """Hues around the circle; neighbours in it are apart by about a third."""
    hue = (index * 137.508) % 360 if count > 6 else index * 360 / max(count, 1) + 210
    return f"hsl({hue % 360:.0f} {65 if is_sidecar else 55}% {42 if is_sidecar else 78}%)"


class Layout:
    """Places of a node's cores, and frames around what they share."""

    def __init__(self, plan: Plan) -> None:
        self.at: dict[int, tuple[int, int]] = {}
        self.frames: list[tuple[int, int, int, int, str]] = []
        cores = [core.location for core in plan.machine.node.cores]
        if plan.machine.is_mesh:
            self._mesh(plan, cores)
        else:
            self._domains(cores)

    def _mesh(self, plan: Plan, cores: list) -> None:  # type: ignore[type-arg]
        step = CELL + 2 * GAP
        for location in cores:
            self.at[location.core] = (PAD + location.column * step, PAD + location.row * step)
        self.width = plan.machine.node.columns * step + 2 * PAD - 2 * GAP
        self.height = plan.machine.node.rows * step + 2 * PAD - 2 * GAP

    def _domains(self, cores: list) -> None:  # type: ignore[type-arg]
        """Packages from top to bottom, domains side by side, cores in rows of up to eight."""
        top = self.width = 0
        for _, package in groupby(cores, key=lambda location: location.package):
            left = bottom = 0
            for numa, domain in groupby(package, key=lambda location: location.numa):
                width, height = self._domain(list(domain), left, top)
                self.frames.append((left, top, width, height, f"memory {numa}"))
                left += width + 2 * GAP
                bottom = max(bottom, height)
            self.width = max(self.width, left - 2 * GAP)
            top += bottom + 2 * GAP
        self.height = top - 2 * GAP

    def _domain(self, cores: list, left: int, top: int) -> tuple[int, int]:  # type: ignore[type-arg]
        across = min(8, len(cores)) if len(cores) % 8 == 0 else min(6, len(cores))
        for i, location in enumerate(cores):
            x = left + PAD + i % across * (CELL + GAP)
            y = top + PAD + 10 + i // across * (CELL + GAP)
            self.at[location.core] = (x, y)
        rows = -(-len(cores) // across)
        return across * (CELL + GAP) - GAP + 2 * PAD, rows * (CELL + GAP) - GAP + 2 * PAD + 10


def picture(plans: Sequence[Plan], node: int = 0) -> str:
    """The node of that number, in each of the plans, as many side by side as there is room for."""
    layout = Layout(plans[0])
    told = max(len(_told(plan)) for plan in plans)
    wide = max(layout.width, 240, round(LETTER * told)) + MARGIN
    tall = layout.height + HEAD + FOOT
    across = max(1, min(len(plans), 3, WIDTH // wide))
    rows = -(-len(plans) // across)
    width, height = across * wide + MARGIN, rows * tall + MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'role="img" aria-label="{escape(_title(plans[0]))}">',
        f"<style>{STYLE}</style>",
    ]
    for i, plan in enumerate(plans):
        x, y = MARGIN + i % across * wide, MARGIN + i // across * tall
        parts += [f'<g transform="translate({x} {y})">', *_panel(plan, node, layout), "</g>"]
    return "\n".join([*parts, "</svg>", ""])


def _title(plan: Plan) -> str:
    return f"sidecars on a node of {plan.machine.text}"


def _told(plan: Plan) -> str:
    figures = figures_of(plan)
    unit = "hops" if plan.machine.is_mesh else "levels"
    told = f"cost {figures.cost:.4g}, {figures.mean_distance:.3g} {unit} on average"
    if figures.crossing_domains or not plan.machine.is_mesh:
        told += f", {figures.crossing_domains} cross memories"
    return told


def _panel(plan: Plan, node: int, layout: Layout) -> list[str]:
    name = plan.asked if plan.asked == plan.mapping else f"{plan.asked}: {plan.mapping}"
    if plan.asked == plan.mapping == "auto":
        name = "auto: a choice of its own"
    head = [
        f'<text class="name" x="0" y="8">{escape(name)}</text>',
        f'<text class="figures" x="0" y="24">{escape(_told(plan))}</text>',
        f'<g transform="translate(0 {HEAD})">',
    ]
    return [*head, *_frames(layout), *_links(plan, layout), *_cores(plan, node, layout), "</g>"]


def _frames(layout: Layout) -> list[str]:
    return [
        f'<rect class="part" x="{x}" y="{y}" width="{w}" height="{h}" rx="4"/>'
        f'<text class="label" x="{x + PAD}" y="{y + 12}">{escape(label)}</text>'
        for x, y, w, h, label in layout.frames
    ]


def _links(plan: Plan, layout: Layout) -> list[str]:
    """The links of the mesh as lines."""
    if not plan.machine.is_mesh:
        return []
    half = CELL // 2
    lines = []
    by_place = {(s.column, s.row): s.core for s in (c.location for c in plan.machine.node.cores)}
    for (column, row), core in by_place.items():
        for other in (by_place.get((column + 1, row)), by_place.get((column, row + 1))):
            if other is None:
                continue
            (x1, y1), (x2, y2) = layout.at[core], layout.at[other]
            lines.append(
                f'<line class="link" x1="{x1 + half}" y1="{y1 + half}" '
                f'x2="{x2 + half}" y2="{y2 + half}"/>'
            )
    return lines


def _cores(plan: Plan, node: int, layout: Layout) -> list[str]:
    locations = {plan.locations[location].core: location for location in plan.on_node(node)}
    here = [location for location in plan.on_node(node) if plan.is_sidecar[location]]
    squares = []
    for core, (x, y) in layout.at.items():
        location = locations.get(core)
        served = (
            -1
            if location is None
            else location
            if plan.is_sidecar[location]
            else plan.server[location]
        )
        is_sidecar = location == served and location is not None
        fill = colour(here.index(served), len(here), is_sidecar) if served in here else "none"
        ring = ' stroke="#222" stroke-width="2"' if is_sidecar else ' stroke="#999"'
        squares.append(
            f'<rect x="{x}" y="{y}" width="{CELL}" height="{CELL}" rx="3" fill="{fill}"{ring}/>'
        )
    return squares
