# SPDX-License-Identifier: BSD-3-Clause
"""Configurations that the check once missed, or explained by something else."""

from cases import command, configuration, mistakes_of, notes_of

GOOD = """\
output: r
parameters: {n: 4}
sidecars: {ranks: 1, memory: 1 MiB}
meshes:
  m: {kind: uniform, cells: [$n, $n], length: [1, 1]}
  atoms: {kind: particles, units: Å}
fields:
  u: {mesh: m, type: float64}
  ρ: {mesh: m, type: float64}
  position: {mesh: atoms, type: float64, components: 3, units: Å}
analyses:
  a:
    every: 10 steps
    when: max(u) > 0.5
    stages:
      - histogram: {field: u, range: [0, 1], bins: 10}
      - statistics: {fields: [ρ, position]}
"""


def mistake(old: str, new: str, *words: str) -> str:
    assert GOOD.count(old) == 1, old
    found = mistakes_of(GOOD.replace(old, new), *words)
    assert len(found) == 1, (old, new, found)
    return found[0]


def expect(text: str, *parts: str) -> None:
    assert all(part in text for part in parts), (text, parts)


assert mistakes_of(GOOD) == [] and notes_of(GOOD) == []
assert mistakes_of(GOOD.replace("max(u)", "max(ρ)")) == []
assert mistakes_of(GOOD.replace("  u: {", "  mole fraction: {").replace("field: u", "field: ρ")
                   .replace("max(u)", "max('mole fraction')")) == []  # fmt: skip
expect(mistake("memory: 1 MiB", "memory: 0"), "3: ", "no room for a publication")
expect(mistake("memory: 1 MiB", "memory: 64"), "3: ", "64 bytes", "'64 MiB'")
expect(mistake("bins: 10", "bins: 0"), "16: 'bins': expected at least 1, not 0")
expect(mistake("kind: uniform", "kind: structured"), "it is called 'uniform'")
expect(mistake("output: r", "output: ~/r"), "1: ", "expanded by shells")
expect(mistake("output: r", "output: “r”"), "1: ", "typographic quote")
expect(mistake("  a:\n", "  compare:\n"), "cannot name an analysis")
expect(mistake("10 steps", "10\u00a0steps"), "no-break space")
expect(mistake("every: 10", "every:\u00a010"), "line 13 holds a no-break space")
expect(mistake("bins: 10}", "bins: ${n, 64}"), "line 16, '${' has no '}'")
expect(mistake("max(u) > 0.5", "max(u) = 0.5"), "'==' compares")
expect(mistake("max(u) > 0.5", "0 < max(u) < 1"), "with 'and'")
expect(mistake("max(u) > 0.5", "max(u) ≥ 1"), "write '>='")
for nothing in ("max(u)", "5", "1/0"):
    expect(mistake("max(u) > 0.5", nothing), "compares nothing")
opened = mistakes_of(GOOD.replace("output: r", 'output: "r'))
assert any("quote" in text for text in opened), opened
empty = mistakes_of(GOOD[: GOOD.index("  a:\n")])
assert len(empty) == 1 and "'analyses' of the configuration is empty" in empty[0], empty
chain = (
    "      - histogram: {field: speed, range: [0, 1]}\n      - magnitude: {field: v, into: speed}\n"
)
late = mistakes_of(
    GOOD.replace("  ρ: {", "  v: {mesh: m, type: float64, components: 2}\n  ρ: {") + chain
)
assert len(late) == 1, late
expect(late[0], "field 'speed' is not known here", "'magnitude' on line 20", "before this one")
unused = notes_of(GOOD.replace("{n: 4}", "{n: 4, zz: 3}"))
assert unused == ["2: nothing in the file uses parameter 'zz'"], unused
metres = notes_of(GOOD.replace("components: 3, units: Å", "components: 3, units: m"))
assert len(metres) == 1 and "field 'position' is in m, and its mesh 'atoms' in Å" in metres[0], (
    metres
)
told = command("check", configuration(GOOD), "--ranks", "0", check=False)
assert "at least one rank" in told, told
