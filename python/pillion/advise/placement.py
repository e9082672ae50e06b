# SPDX-License-Identifier: BSD-3-Clause
"""Possible placements of a configuration's analyses. Its analyses are chains of stages that can be
cut; a placement defines the cut of each chain and the number of ranks on each side. The same
configuration can be written with other cuts. For that, its tree of YAML nodes is rewritten, so that
every value keeps its text in the file, parameters such as $n included. Pure.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import yaml

from pillion.errors import Error
from pillion.yaml_text import Loader, Substitution, explained

_BYTES = re.compile(r"\s*([\d.]+)\s*((?:[KMGT]i?)?B|)\s*", re.IGNORECASE)
_STEPS = re.compile(r"(\d+)(?:[ \t]+steps?)?\s*")
_MEMORY = "256 MiB"  # as the library has it
_MOST_CUTS = 64  # ways to cut all chains; where there are more, all are cut equally deep


@dataclass(frozen=True)
class Memory:
    """Bytes for publications on every node, how many nodes there are, and what happens when they
    are used up.
    """

    budget: float = 256 * 2.0**20
    nodes: int = 1
    when_full: str = "wait"

    @property
    def waits(self) -> bool:
        return self.when_full not in ("skip", "coarsen")


def bytes_of(text: str) -> float:
    """The bytes of a text such as `512 MiB` or `2 GB`; raises Error if it is not an amount of
    memory.
    """
    match = _BYTES.fullmatch(text)
    if not match:
        raise Error(f"'{text}' is not an amount of memory such as 512 MiB")
    power = "BKMGT".index((match[2] or "B")[0].upper())
    return float(match[1]) * (1024 if "i" in match[2] else 1000) ** power


@dataclass(frozen=True)
class Chain:
    """An analysis: its stages in order, the number of stages before the cut, and the number of
    stages before the movable ones. `every` is the number of steps between publications; None if it
    is not fixed.
    """

    name: str
    stages: tuple[str, ...]
    cut: int
    every: int | None
    movable: int = 0

    def clamped(self, depth: int) -> int:
        """The cut at most so deep."""
        return min(depth, len(self.stages))


class Chains:
    """A configuration, read for its chains."""

    def __init__(self, text: str, file: str, settings: Mapping[str, str] | None = None):
        """Raises Error if this is not a configuration with analyses."""
        self._text, self._file = text, file
        root = self._root()
        self._substituted = Substitution({**_parameters(root), **(settings or {})})
        has_sidecars = self._find(root, "sidecars") is not None
        analyses = self._find(root, "analyses")
        if not isinstance(analyses, yaml.MappingNode) or not analyses.value:
            raise Error(f"{file} has no analyses to advise on")
        self.all = tuple(self._chain(k.value, node, has_sidecars) for k, node in analyses.value)

    @property
    def depth(self) -> int:
        """Stages of the longest chain."""
        return max(len(chain.stages) for chain in self.all)

    def with_cuts(self, cuts: Sequence[int], kind: str, sidecars: int) -> str:
        """The same configuration with chains cut at `cuts`. `kind` is `ranks`, `per_node` or
        `separate`. Other options of the sidecars stay as they are, and the simulation waits for
        them.
        """
        root = _unshared(self._root())
        analyses = self._find(root, "analyses")
        for (_, node), cut in zip(analyses.value, cuts, strict=True):
            stages = self._find(node, "stages")
            for number, stage in enumerate(stages.value):
                stages.value[number] = _placed(stage, "simulation" if number < cut else "sidecar")
        in_sidecars = any(cut < len(chain.stages) for chain, cut in zip(self.all, cuts))
        said = self._find(root, "sidecars")
        _put(root, "sidecars", _sidecars(said, kind, sidecars) if in_sidecars else None)
        return str(yaml.serialize(root, Dumper=yaml.SafeDumper, allow_unicode=True, width=4096))

    def memory(self, nodes: int) -> Memory:
        """The memory for publications that the file sets, or the library's default."""
        said = self._find(self._root(), "sidecars")
        entries = said.value if isinstance(said, yaml.MappingNode) else []
        texts = {k.value: v.value for k, v in entries if isinstance(v, yaml.ScalarNode)}
        budget = bytes_of(self._substituted(texts.get("memory", _MEMORY)))
        return Memory(budget, nodes, self._substituted(texts.get("when_full", "skip")))

    def _root(self) -> yaml.MappingNode:
        try:
            root = yaml.compose(self._text, Loader)
        except yaml.YAMLError as error:
            raise Error(explained(self._file, error)) from error
        if not isinstance(root, yaml.MappingNode):
            raise Error(f"{self._file} is not a configuration: it must be a map with 'analyses'")
        return root

    def _find(self, node: yaml.Node, key: str) -> Any:
        return next((value for k, value in node.value if k.value == key), None)

    def _chain(self, name: str, node: yaml.Node, has_sidecars: bool) -> Chain:
        stages = self._find(node, "stages") if isinstance(node, yaml.MappingNode) else None
        if not isinstance(stages, yaml.SequenceNode) or not stages.value:
            raise Error(f"{self._file}: analysis '{name}' has no stages")
        default = "sidecar" if has_sidecars else "simulation"
        places = [self._substituted(_place_of(stage) or default) for stage in stages.value]
        cut = places.index("sidecar") if "sidecar" in places else len(places)
        every = self._find(node, "every")
        text = self._substituted(every.value) if isinstance(every, yaml.ScalarNode) else "1 steps"
        steps = _STEPS.fullmatch(text)
        sure = steps is not None and self._find(node, "when") is None
        names = tuple(_name(stage) for stage in stages.value)
        movable = places.index("auto") if "auto" in places else len(places)
        return Chain(name, names, cut, int(steps[1]) if sure and steps else None, movable)


def _parameters(root: yaml.MappingNode) -> dict[str, str]:
    for key, node in root.value:
        if key.value == "parameters" and isinstance(node, yaml.MappingNode):
            return {k.value: str(v.value) for k, v in node.value}
    return {}


def _name(stage: yaml.Node) -> str:
    if isinstance(stage, yaml.MappingNode) and stage.value:
        return str(stage.value[0][0].value)
    return str(stage.value)


def _place_of(stage: yaml.Node) -> str | None:
    """The `at:` of a stage: the side on which it runs; None if it is not set."""
    if not isinstance(stage, yaml.MappingNode) or not stage.value:
        return None
    inner = stage.value[0][1]
    if not isinstance(inner, yaml.MappingNode):
        return None
    return next((str(v.value) for k, v in inner.value if k.value == "at"), None)


def _placed(stage: yaml.Node, place: str) -> yaml.Node:
    """The stage with its `at:` set to `place`."""
    if not isinstance(stage, yaml.MappingNode):
        stage = _map([(_text(stage.value), _map([]))])
    name, inner = stage.value[0]
    if not isinstance(inner, yaml.MappingNode):
        inner = _map([])
    entries = [(k, v) for k, v in inner.value if k.value != "at"]
    mine = yaml.MappingNode(inner.tag, [*entries, (_text("at"), _text(place))], flow_style=False)
    return _map([(name, mine)])


def _sidecars(said: yaml.Node | None, kind: str, number: int) -> yaml.Node:
    entries = said.value if isinstance(said, yaml.MappingNode) else []
    # Not `spill`, which `when_full: wait` has no use for, and refuses.
    keys = ("memory", "deadline", "mapping", "mesh", "launch")
    kept = [(k, v) for k, v in entries if k.value in keys]
    if not any(k.value == "memory" for k, _ in kept):
        kept.append((_text("memory"), _text(_MEMORY)))
    if not any(k.value == "deadline" for k, _ in kept):
        kept.append((_text("deadline"), _text("3600 s")))
    count = "per_node" if kind == "separate" else kind
    job = [(_text("job"), _text("separate"))] if kind == "separate" else []
    mine = [(_text(count), _number(number)), *job, (_text("when_full"), _text("wait"))]
    return _map([*mine, *kept])


def _unshared(node: Any) -> Any:
    """A copy in which every alias (*name) has nodes of its own, so that each can be rewritten, and
    no key is written as an alias, which yaml-cpp does not read.
    """
    if isinstance(node, yaml.MappingNode):
        entries = [(_unshared(k), _unshared(v)) for k, v in node.value]
        return yaml.MappingNode(node.tag, entries, flow_style=node.flow_style)
    if isinstance(node, yaml.SequenceNode):
        entries = [_unshared(entry) for entry in node.value]
        return yaml.SequenceNode(node.tag, entries, flow_style=node.flow_style)
    return yaml.ScalarNode(node.tag, node.value, style=node.style)


def _put(root: yaml.MappingNode, key: str, value: yaml.Node | None) -> None:
    kept = [(k, v) for k, v in root.value if k.value != key]
    root.value = kept if value is None else [*kept, (_text(key), value)]


def _map(entries: list[tuple[yaml.Node, yaml.Node]]) -> yaml.MappingNode:
    return yaml.MappingNode("tag:yaml.org,2002:map", entries, flow_style=False)


def _text(value: str) -> yaml.ScalarNode:
    return yaml.ScalarNode("tag:yaml.org,2002:str", value)


def _number(value: int) -> yaml.ScalarNode:
    return yaml.ScalarNode("tag:yaml.org,2002:int", str(value))


@dataclass(frozen=True, order=True)
class Placement:
    """Ranks on both sides, and by analysis how many stages stand before the cut."""

    simulation: int
    sidecars: int
    cuts: tuple[int, ...]

    @property
    def ranks(self) -> int:
        return self.simulation + self.sidecars

    def __str__(self) -> str:
        return f"{self.simulation} + {self.sidecars}"


def mode_of(placement: Placement, chains: Sequence[Chain]) -> str:
    """`simulation`, `sidecars`, or where chains are cut: `decay after magnitude, …`."""
    if not placement.sidecars:
        return "simulation"
    if not any(placement.cuts):
        return "sidecars"
    return ", ".join(
        f"{chain.name} {_where(chain, cut)}" for chain, cut in zip(chains, placement.cuts)
    )


def _where(chain: Chain, cut: int) -> str:
    if cut == len(chain.stages):
        return "in the simulation"
    return f"after {chain.stages[cut - 1]}" if cut else "in sidecars"


def inside(ranks: int, chains: Sequence[Chain]) -> Placement:
    """All in the simulation."""
    return Placement(ranks, 0, tuple(len(chain.stages) for chain in chains))


def cut_at(depth: int, simulation: int, sidecars: int, chains: Sequence[Chain]) -> Placement:
    """All chains cut after `depth` stages."""
    return Placement(simulation, sidecars, tuple(chain.clamped(depth) for chain in chains))


def all_cuts(chains: Sequence[Chain]) -> list[tuple[int, ...]]:
    """Every way to cut chains that leaves sidecars something to do."""
    number = 1
    for chain in chains:
        number *= len(chain.stages) + 1
    if number <= _MOST_CUTS:
        ways = list(product(*(range(len(chain.stages) + 1) for chain in chains)))
        return ways[:-1]  # the last has all in the simulation
    depth = max(len(chain.stages) for chain in chains)
    return [tuple(chain.clamped(d) for chain in chains) for d in range(depth)]


def numbers_of_sidecars(ranks: int, nodes: int = 1) -> list[int]:
    """1, 2, 4, … on each of `nodes` nodes, as long as the simulation keeps the larger half, or one
    rank of two.
    """
    out, number = [], nodes
    while number <= ranks // 2:
        out.append(number)
        number *= 2
    return out or [nodes]


def candidates(ranks: int, sidecars: Sequence[int], chains: Sequence[Chain]) -> list[Placement]:
    """All in the simulation; and, for each number of sidecars, these taken from its ranks or added
    to them.
    """
    out = [inside(ranks, chains)]
    for number in sidecars:
        for simulation in (ranks - number, ranks):
            if simulation > 0:
                out += [Placement(simulation, number, cuts) for cuts in all_cuts(chains)]
    return out
