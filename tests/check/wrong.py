# SPDX-License-Identifier: BSD-3-Clause
"""Mistakes that people make in configurations, each made in one that is good.

A mistake puts something else where `old` stands. It is to be reported where `new` begins, unless
`line` says at which text, with all of `words`, and nothing else is to be reported. `schema` says
that an editor with the JSON Schema notices, too.
"""

from dataclasses import dataclass

GOOD = """\
output: results
run: tea
parameters: {n: 16, bins: 20}
sidecars: {ranks: 2, memory: 1 MiB, when_full: skip}
units: {time: s}
meshes:
  grid: {kind: uniform, cells: [$n, $n, $n], length: [1, 1, 1], units: Mpc, periodic: true}
  line: {kind: uniform, cells: [64], periodic: [false]}
  atoms:
    kind: particles
    units: Å
fields:
  density: {mesh: grid, type: float64, units: g/cm^3}
  velocity: {mesh: grid, type: float64, components: 3, units: km/s}
  n_HI: {mesh: grid, type: float32, units: 1/cm^3}
  warmth: {mesh: grid, type: float64, units: K}
  heat: {mesh: line, type: float32}
  position: {mesh: atoms, type: float64, components: 3}
  type:
    mesh: atoms
    type: int32
analyses:
  spectrum:
    every: 5 steps
    when: max(density) > 1e3 and step > 100
    products_every: 4
    stages:
      - power_spectrum: {field: density, scale: log, bins: $bins}
      - histogram: {field: density, range: [1, 100]}
  halos:
    every: 0.5 time
    stages:
      - halos: {field: density, thresholds: [[80, 200]], at: sidecar}
  speed:
    stages:
      - magnitude: {field: velocity, into: speed, at: simulation}
      - statistics: {fields: [speed]}
  forest:
    stages:
      - lyman_alpha:
          neutral_hydrogen: n_HI
          temperature: warmth
          velocity: velocity
          omega_m: 0.3
          h: 0.7
          redshift: 3
  structure:
    stages:
      - rdf: {species: {O: [1], H: [2]}, pairs: [[O, H]], cutoff: 8.0}
  keep:
    every: 100 steps
    stages:
      - write_idx: {fields: [density, velocity]}
      - statistics: {fields: [heat]}
"""


@dataclass(frozen=True)
class Wrong:
    """One mistake."""

    name: str
    old: str
    new: str
    words: tuple[str, ...]
    line: str = ""
    schema: bool = False
    arguments: tuple[str, ...] = ()

    def text(self) -> str:
        assert GOOD.count(self.old) == 1, (
            f"{self.name}: '{self.old}' is there {GOOD.count(self.old)} times"
        )
        return GOOD.replace(self.old, self.new)

    def line_number(self, text: str = "") -> int:
        """Where it is to be reported, in a text that may have other mistakes, too."""
        text = text or self.text()
        place = self.line or self.new
        at = text.index(place) + len(place) - len(place.lstrip())
        return text[:at].count("\n") + 1


def wrong(*arguments, **keywords) -> Wrong:
    name, old, new, *words = arguments
    return Wrong(name, old, new, tuple(words), **keywords)
