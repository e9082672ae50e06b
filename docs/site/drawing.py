# SPDX-License-Identifier: BSD-3-Clause
"""What the figures of the documentation are drawn with: boxes, arrows and words of one style.

A figure follows the colours that the reader's system prefers, light or dark, and has a background
of its own, so that it is legible on any page.
"""

from dataclasses import dataclass, field
from html import escape
from pathlib import Path

STYLE = """\
.paper{fill:#fff} .box{fill:#fff;stroke:#44505f} .plain{fill:#f5f7fa;stroke:#8a94a3}
.blue{fill:#eaf2fc;stroke:#2f7ed8} .green{fill:#e9f6f0;stroke:#2a9d6f}
.red{fill:#fdeef0;stroke:#d1495b} .amber{fill:#fdf4e3;stroke:#c98a1b}
.ghost{fill:none;stroke:#8a94a3;stroke-dasharray:4 4}
.line{stroke:#44505f;fill:none;stroke-width:1.6} .cut{stroke:#d1495b;fill:none;stroke-width:1.8}
.tip{fill:#44505f} text{fill:#1d2430} .soft{fill:#5d6777} .warn{fill:#d1495b;font-weight:bold}
.mark-blue{fill:#2f7ed8} .mark-green{fill:#2a9d6f} .mark-red{fill:#d1495b} .mark-amber{fill:#c98a1b}
@media (prefers-color-scheme: dark){
.paper{fill:#1b2028} .box{fill:#262d38;stroke:#9aa6b5} .plain{fill:#222833;stroke:#6f7a89}
.blue{fill:#1c3048;stroke:#5aa2ec} .green{fill:#1a352c;stroke:#4cc193}
.red{fill:#43222a;stroke:#ec7a89} .amber{fill:#3d301a;stroke:#e0ab4b}
.ghost{stroke:#6f7a89} .line{stroke:#b4bfcc} .cut{stroke:#ec7a89} .tip{fill:#b4bfcc}
text{fill:#e6ebf2} .soft{fill:#a3afbe} .warn{fill:#ec7a89} .mark-amber{fill:#e0ab4b}
.mark-blue{fill:#5aa2ec} .mark-green{fill:#4cc193} .mark-red{fill:#ec7a89}}
"""


@dataclass
class Drawing:
    """A figure of so many points; `title` and `description` are for who cannot see it."""

    width: int
    height: int
    title: str
    description: str
    parts: list[str] = field(default_factory=list)

    def box(self, x, y, width, height, words="", kind="box", size=14, radius=6) -> None:
        self.parts.append(
            f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" '
            f'rx="{radius}"/>'
        )
        lines = words.split("\n") if words else []
        top = y + height / 2 - (len(lines) - 1) * size * 0.62 + size * 0.36
        for number, line in enumerate(lines):
            kind, smaller = ("soft", 2) if number else ("", 0)
            height = top + number * size * 1.24
            self.text(x + width / 2, height, line, "middle", size - smaller, kind)

    def text(self, x, y, words, anchor="start", size=13, kind="", bold=False) -> None:
        weight = ' font-weight="bold"' if bold else ""
        styled = f' class="{kind}"' if kind else ""
        self.parts.append(
            f'<text x="{x:g}" y="{y:g}" font-size="{size}" text-anchor="{anchor}"{styled}{weight}>'
            f"{escape(words)}</text>"
        )

    def path(self, way: str, kind="line", tip=True, dashed=False) -> None:
        end = ' marker-end="url(#tip)"' if tip else ""
        dash = ' stroke-dasharray="6 5"' if dashed else ""
        self.parts.append(f'<path class="{kind}" d="{way}"{dash}{end}/>')

    def svg(self) -> str:
        marker = (
            '<marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" '
            'markerHeight="8" '
            'orient="auto-start-reverse"><path class="tip" d="M0 0 L10 5 L0 10 z"/></marker>'
        )
        body = "\n".join("  " + part for part in self.parts)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" '
            f'font-family="Helvetica, Arial, sans-serif" role="img" '
            f'aria-labelledby="title description">\n'
            f'  <title id="title">{escape(self.title)}</title>\n'
            f'  <desc id="description">{escape(self.description)}</desc>\n'
            f"  <style>\n{STYLE}  </style>\n  <defs>{marker}</defs>\n"
            f'  <rect class="paper" width="{self.width}" height="{self.height}" rx="10"/>\n'
            f"{body}\n</svg>\n"
        )

    def save(self, path: Path) -> None:
        path.write_text(self.svg(), encoding="utf-8")
