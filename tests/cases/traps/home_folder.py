# SPDX-License-Identifier: BSD-3-Clause
"""No path of a configuration begins with a tilde, which no shell expands, or with a curly quote."""

from pathlib import Path

from cases import GRID, mistakes_of, refusal_of

REST = (
    f"{GRID}fields: {{t: {{mesh: m, type: float64}}}}\n"
    "analyses: {a: {every: 1 steps, stages: [statistics: {fields: [t]}]}}\n"
)
for head in (
    "output: ~/r\n",
    "output: {path: ~/r}\n",
    "output: ~root/r\n",
    "output: r\nrestart: ~/c\n",
    "output: r\nsidecars: {ranks: 1, when_full: spill, spill: {folder: ~/s}}\n",
):
    why = refusal_of(head + REST)
    assert "expanded by shells" in why and why.split(":")[1].isdigit(), (head, why)
    assert any("expanded by shells" in text for text in mistakes_of(head + REST)), head
for quoted in ("“results”", "‘results’", "„results“"):
    assert "typographic quote" in refusal_of(f"output: {quoted}\n" + REST), quoted
assert sorted(path.name for path in Path().iterdir()) == ["pillion.yaml"]
