# SPDX-License-Identifier: BSD-3-Clause
"""The command line of `pillion replay`, read word by word."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import TYPE_CHECKING, Literal

from pillion.errors import Error

if TYPE_CHECKING:
    from pillion.insitu.catalogue import Domain

Order = Literal["zyx", "xyz"]
Range = tuple[int, int]  # both ends included


@dataclass
class Options:
    files: list[str] = field(default_factory=list)  # and folders
    configuration: str = ""
    parameters: dict[str, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)  # by field, what files call it
    domains: dict[str, Domain] = field(default_factory=dict)  # by mesh
    time_per_step: float | None = None
    steps: list[Range] = field(default_factory=list)  # empty: all
    about: str = ""  # the file that says the rest; "": those beside the files
    output: str = ""  # "": as the configuration says
    order: Order = "zyx"  # how grids are indexed
    ranks: int | None = None  # to be started
    rest: list[str] = field(default_factory=list)  # all words but -n RANKS
    help: bool = False


def read_options(words: list[str]) -> Options:
    """Raises Error if the words make no sense."""
    out = Options()
    left = list(words)
    while left:
        taken = [left.pop(0)]
        word = taken[0]
        if word in ("--help", "-h"):
            out.help = True
            return out
        if not word.startswith("-"):
            out.files.append(word)
        elif word.startswith("-n") and word[2:].isdigit():
            _set_ranks(out, word[2:])
        else:
            taken.append(_read_option(word, left, out))
        if not word.startswith("-n"):
            out.rest += taken
    _take_configuration(out)
    return out


def read_box(text: str) -> Domain:
    """The box of --domain: periodic, from the origin, "LX,LY,LZ"."""
    sides = text.split(",")
    if len(sides) != 3:
        raise Error(f"'{text}' is not a box; write LX,LY,LZ")
    lengths = [_number(side, "--domain") for side in sides]
    if min(lengths) <= 0:
        raise Error(f"'{text}' is not a box: its sides must be positive")
    origin, (x, y, z) = (0.0, 0.0, 0.0), lengths
    from pillion.insitu.catalogue import Domain  # `--help` does without NumPy

    return Domain(origin, (x, y, z), tilt=origin, periodic=(True, True, True), dimensions=0)


def _number(text: str, what: str) -> float:
    try:
        value = math.nan if "_" in text else float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise Error(f"{what} needs a number, found '{text}'")
    return value


def _pair(option: str, text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name or not value:
        raise Error(f"{option} needs NAME=VALUE, found '{text}'")
    return name, value


def _step(text: str) -> int:
    if not text.removeprefix("-").isdecimal() or not text.isascii():
        raise Error(f"--steps needs numbers and ranges such as 0,20..100; found '{text}'")
    return int(text)


def _range(word: str) -> Range:
    first, dots, last = word.partition("..")
    return (_step(first), _step(last)) if dots else (_step(first), _step(first))


def _set_ranks(out: Options, value: str) -> None:
    if not value.isdecimal() or int(value) == 0:
        raise Error(f"-n needs a number of ranks, found '{value}'")
    out.ranks = int(value)


def _set_parameter(out: Options, value: str) -> None:
    out.parameters.setdefault(*_pair("--set", value))


def _set_output(out: Options, value: str) -> None:
    out.output = value


def _set_name(out: Options, value: str) -> None:
    out.names.setdefault(*_pair("--name", value))


def _set_order(out: Options, value: str) -> None:
    orders: dict[str, Order] = {"zyx": "zyx", "xyz": "xyz"}
    if value not in orders:
        raise Error(f"--axes is zyx or xyz, found '{value}'")
    out.order = orders[value]


def _set_about(out: Options, value: str) -> None:
    out.about = value


def _set_steps(out: Options, value: str) -> None:
    out.steps = [_range(word) for word in value.removesuffix(",").split(",")]


def _set_time_per_step(out: Options, value: str) -> None:
    out.time_per_step = _number(value, "--time-per-step")


def _set_domain(out: Options, value: str) -> None:
    mesh, box = _pair("--domain", value)
    out.domains[mesh] = read_box(box)


_SETTERS: dict[str, Callable[[Options, str], None]] = {
    "-n": _set_ranks,
    "--about": _set_about,
    "--axes": _set_order,
    "--domain": _set_domain,
    "--name": _set_name,
    "--output": _set_output,
    "--set": _set_parameter,
    "--steps": _set_steps,
    "--time-per-step": _set_time_per_step,
}


def _read_option(word: str, left: list[str], out: Options) -> str:
    """Returns the option's value, which it takes from what is left."""
    if word not in _SETTERS:
        raise Error(f"there is no option '{word}'; there are {' '.join(_SETTERS)}")
    if not left:
        raise Error(f"{word} needs a value")
    value = left.pop(0)
    _SETTERS[word](out, value)
    return value


def _take_configuration(out: Options) -> None:
    """The configuration is the last word, so that files may be given by a pattern."""
    if not out.files:
        raise Error("which files, and which configuration?")
    out.configuration = out.files.pop()
    if PurePath(out.configuration).suffix not in (".yaml", ".yml"):
        raise Error(
            f"the last word is the configuration, a .yaml file; found '{out.configuration}'"
        )
    if not out.files:
        raise Error("no files to replay; name files or folders")
