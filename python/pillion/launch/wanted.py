# SPDX-License-Identifier: BSD-3-Clause
"""The entries of a configuration that the launcher needs: its sidecars, its name and its output
folder. Everything else is for the library, and for `pillion check`.
"""

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import yaml

from pillion.errors import Error
from pillion.yaml_text import Loader, Substitution, explained, read_text


class Kind(Enum):
    """How sidecars are counted and in which job they run."""

    NONE = "none"
    RANKS = "ranks"  # so many of the job
    PER_NODE = "per_node"  # so many of the job on every node
    SEPARATE = "separate"  # so many on every node, in a job of their own


@dataclass(frozen=True)
class Wanted:
    """Sidecars, and where the run will be found."""

    kind: Kind
    sidecars: int
    output: str
    run: str
    has_fields: bool = False  # a catalogue of its own
    memory: int | None = None  # bytes on each node for publications in flight; None: the default


def settings_of(lines: Iterable[str]) -> dict[str, str]:
    """NAME=VALUE pairs; raises Error for what is none."""
    out = {}
    for line in lines:
        name, equals, value = line.partition("=")
        if not equals or not name or "\n" in line:
            raise Error(f"'{line}' is not a setting: it must be NAME=VALUE")
        out[name] = value
    return out


def read_wanted(
    path: Path, settings: Mapping[str, str], overrides: Mapping[str, str] | None = None
) -> Wanted:
    """Raises Error if the file cannot be read, or is not as far as it matters here."""
    _refuse_program(path)
    root = _loaded(read_text(path), path)
    if not isinstance(root, dict):
        raise Error(f"{path} is not a configuration: it must be a map with 'analyses'")
    defaults = root.get("parameters")
    values = {str(k): _text(v) for k, v in defaults.items()} if isinstance(defaults, dict) else {}
    tree = _substituted(root, Substitution({**values, **settings}))
    for key, text in (overrides or {}).items():
        _override(tree, key, _loaded(text, f"what overrides '{key}'"))
    return _wanted(path, tree)


def _refuse_program(path: Path) -> None:
    with suppress(OSError), path.open("rb") as file:  # the reader says why it cannot be read
        if file.read(4).startswith((b"\x7fELF", b"#!/")):
            raise Error(
                f"{path} is a program, where the configuration is expected: "
                "`pillion run CONFIG -- PROGRAM`"
            )


def _loaded(text: str, path: Path | str) -> Any:
    try:
        return yaml.load(text, Loader)
    except yaml.YAMLError as error:
        raise Error(explained(path, error)) from error


def _wanted(path: Path, tree: dict[str, Any]) -> Wanted:
    given = tree.get("output")
    output = str((given.get("path") if isinstance(given, dict) else given) or "results")
    if "\0" in output:
        raise Error(f"{path}: 'output' contains the character U+0000; remove it")
    kind, number = _sidecars(path, tree.get("sidecars"))
    named = tree.get("run")
    run = str(named) if named else _named_after(output)
    said = tree.get("sidecars")
    memory = bytes_of(_text(said.get("memory"))) if isinstance(said, dict) else None
    return Wanted(kind, number, output, run, bool(tree.get("fields")), memory)


def bytes_of(text: str) -> int | None:
    """The number of bytes in a text such as 512 MiB; None if it is malformed."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kKMGT]?)(i?)B\s*", text)
    if found is None:
        return None
    power = " KMGT".index(found[2].upper() or " ")
    return int(float(found[1]) * (1024 if found[3] else 1000) ** power)


def _sidecars(path: Path, said: Any) -> tuple[Kind, int]:
    if said is None:
        return Kind.NONE, 0
    if not isinstance(said, dict):
        raise Error(f"{path}: 'sidecars' must be a map such as {{ranks: 1}}, found '{said}'")
    per_node = _whole(path, said, "per_node")
    if said.get("job") == "separate":
        return Kind.SEPARATE, per_node or 1
    if per_node:
        return Kind.PER_NODE, per_node
    ranks = _whole(path, said, "ranks")
    return (Kind.RANKS, ranks) if ranks else (Kind.NONE, 0)


def _whole(path: Path, said: dict[str, Any], key: str) -> int:
    text = _text(said.get(key, 0))
    if not text.isdigit():
        raise Error(f"{path}: 'sidecars: {key}' must be a whole number, found '{text}'")
    return int(text)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)


def _substituted(value: Any, substitution: Substitution) -> Any:
    if isinstance(value, dict):
        return {key: _substituted(inner, substitution) for key, inner in value.items()}
    if isinstance(value, list):
        return [_substituted(inner, substitution) for inner in value]
    return substitution(value) if isinstance(value, str) else value


def _override(tree: dict[str, Any], key: str, value: Any) -> None:
    first, dot, rest = key.partition(".")
    if first == "output" and dot and not isinstance(tree.get(first), dict):
        tree[first] = {"path": tree.get(first)}
    if not dot:
        tree[first] = value
        return
    inner = tree.get(first)
    if not isinstance(inner, dict):
        inner = tree[first] = {}
    _override(inner, rest, value)


def _named_after(output: str) -> str:
    """As the library names a run that has no name of its own."""
    name = re.sub(r"[^A-Za-z0-9_.-]", "_", Path(output).name[:60])
    if name in ("", ".", ".."):
        return "run"
    return name if re.match(r"[A-Za-z0-9_]", name) else "_" + name[1:]
