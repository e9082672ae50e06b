# SPDX-License-Identifier: BSD-3-Clause
"""Values that arrays lack and a simulation would have passed: values of parameters, domains of
particles, times of steps. Programs leave them as snapshots.yaml beside the files:

    parameters: {cells: 64, length: 32.0}
    domains:
      dark_matter: {origin: [0, 0, 0], length: [32, 32, 32], periodic: true}
    steps:
      0: {time: 0.02}
      20: {time: 0.04, domains: {…}}

Unknown keys are mistakes, as they are in the configuration.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from pillion.errors import Error
from pillion.insitu.step import Domain
from pillion.yaml_text import ProductLoader, explained, read_text

NAME = "snapshots.yaml"
_LONGEST = 16 << 20  # bytes; a program adds a line for each step
_MOST = 200_000  # keys and values, of half a kilobyte each once they are read
_BOOLEANS = {"true": True, "yes": True, "on": True, "y": True}
_BOOLEANS |= {"false": False, "no": False, "off": False, "n": False}

Domains = dict[str, Domain]  # by mesh; of dimensions 0, which leaves these to the configuration
Triple = tuple[float, float, float]


class _Loader(ProductLoader):
    def __init__(self, text: str):
        super().__init__(text)
        self.most = _MOST


@dataclass(frozen=True)
class AboutStep:
    time: float | None = None
    domains: Domains = field(default_factory=dict)  # domains that differ from the others'
    scalars: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class About:
    parameters: dict[str, str] = field(default_factory=dict)
    domains: Domains = field(default_factory=dict)
    steps: dict[int, AboutStep] = field(default_factory=dict)


def gather_about(words: Iterable[str], named: str) -> About:
    """The snapshots.yaml for these files and folders: the named one, or all beside them. Raises
    Error if one makes no sense, or if they contradict each other.
    """
    if named:
        return _read(Path(named))
    paths = [Path(word) for word in words]
    about = About()
    for folder in sorted({path if path.is_dir() else path.parent for path in paths}):
        if (file := folder / NAME).exists():
            add(about, _read(file), str(file))
    return about


def parse_about(text: str, file: str) -> About:
    """Reads the text of such a file. Raises Error, with the line, for what makes no sense."""
    try:
        root = yaml.compose(text, _Loader)
    except yaml.YAMLError as error:
        raise Error(explained(file, error)) from error
    return _Parser(file).read(root)


def add(about: About, other: About, file: str) -> None:
    """Adds what another file says. Raises Error if it contradicts."""
    _add_each(about.parameters, other.parameters, "parameter", file)
    _add_each(about.domains, other.domains, "the domain of", file)
    _add_each(about.steps, other.steps, "step", file)


def _add_each(to: dict[Any, Any], more: Mapping[Any, Any], what: str, file: str) -> None:
    for name, value in more.items():
        if to.setdefault(name, value) != value:
            raise Error(
                f"'{file}' contradicts another file about {what} {name}; replay the folders one by "
                "one, or say --about FILE"
            )


def _read(path: Path) -> About:
    if not path.is_file():
        raise Error(f"'{path}' cannot be read: there is no such file")
    return parse_about(read_text(path, _LONGEST), str(path))


class _Parser:
    """Reads nodes, whose texts and lines are as they stand in the file."""

    def __init__(self, file: str) -> None:
        self._file = file

    def read(self, root: Node | None) -> About:
        about: dict[str, Any] = {}
        self._each(
            root,
            "this file",
            {
                "domains": lambda node: about.update(domains=self._domains(node)),
                "parameters": lambda node: about.update(parameters=self._parameters(node)),
                "steps": lambda node: about.update(steps=self._steps(node)),
            },
        )
        return About(**about)

    def _fail(self, node: Node | None, why: str) -> NoReturn:
        line = 1 if node is None else node.start_mark.line + 1
        raise Error(f"{self._file}:{line}: {why}")

    def _map(self, node: Node | None, what: str) -> list[tuple[Node, Node]]:
        if not isinstance(node, MappingNode):
            self._fail(node, f"{what} must be a map")
        return node.value

    def _each(
        self, node: Node | None, what: str, known: Mapping[str, Callable[[Node], None]]
    ) -> None:
        """Reads the entries of a map; every key must be known."""
        for key, value in self._map(node, what):
            name = self._text(key)
            if name not in known:
                names = " ".join(known)
                self._fail(key, f"unknown key '{name}' in {what}; known: {names}")
            known[name](value)

    def _text(self, node: Node, what: str = "a single value") -> str:
        if not isinstance(node, ScalarNode):
            kind = "a list" if isinstance(node, SequenceNode) else "a map"
            self._fail(node, f"expected {what}, found {kind}")
        return str(node.value)

    def _number(self, node: Node, what: str) -> float:
        text = self._text(node, what)
        special = text.lower().lstrip("+-")
        if special not in (".inf", ".nan") and not re.fullmatch(r"[-+.\deE]+", text):
            self._fail(node, f"expected {what}, found '{text}'")
        try:
            return float(text.replace(".", "", 1) if special in (".inf", ".nan") else text)
        except ValueError:
            self._fail(node, f"expected {what}, found '{text}'")

    def _boolean(self, node: Node) -> bool:
        text = self._text(node, "true or false")
        if text.lower() not in _BOOLEANS:
            self._fail(node, f"expected true or false, found '{text}'")
        return _BOOLEANS[text.lower()]

    def _parameters(self, node: Node) -> dict[str, str]:
        return {self._text(k): self._text(v) for k, v in self._map(node, "'parameters'")}

    def _steps(self, node: Node) -> dict[int, AboutStep]:
        if isinstance(node, ScalarNode) and node.tag.endswith(":null"):  # only begun
            return {}
        found: dict[int, AboutStep] = {}
        for key, value in self._map(node, "'steps'"):
            text = self._text(key, "the number of a step")
            if not re.fullmatch(r"[-+]?[0-9]{1,18}", text):
                self._fail(key, f"expected the number of a step, found '{text}'")
            step = self._step(value, f"step {int(text)}")
            if found.setdefault(int(text), step) != step:
                self._fail(key, f"step {int(text)} is there twice, with different values")
        return found

    def _step(self, node: Node, what: str) -> AboutStep:
        step: dict[str, Any] = {}
        self._each(
            node,
            what,
            {
                "domains": lambda node: step.update(domains=self._domains(node)),
                "scalars": lambda node: step.update(scalars=self._scalars(node)),
                "time": lambda node: step.update(time=self._number(node, "a time")),
            },
        )
        return AboutStep(**step)

    def _scalars(self, node: Node) -> dict[str, float]:
        return {self._text(k): self._number(v, "a number") for k, v in self._map(node, "'scalars'")}

    def _domains(self, node: Node) -> Domains:
        return {self._text(k): self._domain(v) for k, v in self._map(node, "'domains'")}

    def _domain(self, node: Node) -> Domain:
        said: dict[str, Any] = {}
        self._each(
            node,
            "a domain",
            {
                "length": lambda node: said.update(length=self._triple(node)),
                "origin": lambda node: said.update(lo=self._triple(node)),
                "periodic": lambda node: said.update(periodic=self._periodic(node)),
                "tilt": lambda node: said.update(tilt=self._triple(node)),
            },
        )
        nothing = (0.0, 0.0, 0.0)
        length = said.get("length", nothing)
        if not all(side > 0 for side in length):
            self._fail(node, "a domain needs a length of three positive numbers")
        lo = said.get("lo", nothing)
        x, y, z = (a + side for a, side in zip(lo, length, strict=True))
        periodic = said.get("periodic", (False, False, False))
        return Domain(lo, (x, y, z), said.get("tilt", nothing), periodic, dimensions=0)

    def _triple(self, node: Node) -> Triple:
        if not isinstance(node, SequenceNode) or len(node.value) != 3:
            self._fail(node, "expected a list of three numbers")
        x, y, z = (self._number(each, "a number") for each in node.value)
        return x, y, z

    def _periodic(self, node: Node) -> tuple[bool, bool, bool]:
        each = node.value if isinstance(node, SequenceNode) else [node] * 3
        if len(each) != 3:
            self._fail(node, "expected one entry per axis")
        x, y, z = (self._boolean(flag) for flag in each)
        return x, y, z
