# SPDX-License-Identifier: BSD-3-Clause
"""YAML, read safely: the loaders of this package. They refuse text that would crash or starve its
reader with a YAMLError. The limits are those of src/base/yaml_limits.hpp.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml
from yaml.composer import Composer
from yaml.nodes import Node
from yaml.reader import Reader

from pillion.errors import Error

try:  # five times as fast, where PyYAML was built with libyaml
    from yaml import CSafeLoader as SafeLoader
except ImportError:
    from yaml import SafeLoader  # type: ignore[assignment]

LONGEST = 512 << 10  # bytes of a file that people write
_DEEPEST = 100
_MOST_BRACKETS = 10 * _DEEPEST  # some may be within quotes or comments
_LONGEST_SUBSTITUTED = 8 << 20
_PARAMETER = re.compile(r"\$(?:\$|(\w+)|\{(\w+)\})")
_BRACKETS = re.compile(r"[][{}\n]")


class LimitError(yaml.MarkedYAMLError):
    """The text is YAML, but would cost its reader too much."""


class _BoundedComposer(Composer):
    """Composes nodes within limits: `most` values, keys included, an alias counting as often as it
    repeats its anchor's values. PyYAML's own recurses and repeats without any.
    """

    most = 50_000
    # Of the parser that a loader combines with this class.
    check_event: Callable[..., bool]
    peek_event: Callable[[], Any]

    def __init__(self) -> None:
        Composer.__init__(self)
        self._extents: dict[int, tuple[int, int]] = {}  # values and depth, by id of a node
        self._deepest = [0]  # below each node that is open
        self._values = 0

    def compose_node(self, parent: Node | None, index: Any) -> Node | None:
        if not self.check_event(yaml.AliasEvent):
            return self._composed(parent, index)
        mark = self.peek_event().start_mark
        node = Composer.compose_node(self, parent, index)
        if id(node) not in self._extents:
            raise _error(mark, "an alias refers to a list or map that contains it")
        values, depth = self._extents[id(node)]
        self._count(values, mark)
        self._check_depth(depth, mark)
        self._deepest[-1] = max(self._deepest[-1], depth)
        return node

    def _composed(self, parent: Node | None, index: Any) -> Node | None:
        event, before = self.peek_event(), self._values
        is_single = isinstance(event, yaml.ScalarEvent)
        self._count(1, event.start_mark)
        self._check_depth(0 if is_single else 1, event.start_mark)
        self._deepest.append(0)
        node = Composer.compose_node(self, parent, index)
        depth = self._deepest.pop() + (0 if is_single else 1)
        self._deepest[-1] = max(self._deepest[-1], depth)
        self._extents[id(node)] = self._values - before, depth
        return node

    def _count(self, values: int, mark: Any) -> None:
        self._values += values
        if self._values > self.most:
            raise _error(mark, f"there are more than {self.most} keys and values")

    def _check_depth(self, depth: int, mark: Any) -> None:
        if len(self._deepest) - 1 + depth > _DEEPEST:
            raise _error(mark, f"lists and maps are nested more than {_DEEPEST} deep")


class Loader(_BoundedComposer, SafeLoader):
    """Safe YAML of a configuration that also takes 1e-05 for a number, as YAML 1.2 does."""

    def __init__(self, text: str):
        _check_characters(text)
        _check_brackets(text)
        SafeLoader.__init__(self, text)
        _BoundedComposer.__init__(self)

    def get_single_data(self) -> Any:
        try:
            return super().get_single_data()
        except (ValueError, OverflowError) as error:  # a date such as 2001-02-30
            raise yaml.YAMLError(f"a value cannot be read: {error}") from error


Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]+$"),
    list("-+0123456789"),
)


class ProductLoader(Loader):
    """For what programs write, which may be long but has no aliases."""

    def __init__(self, text: str):
        super().__init__(text)
        self.most = max(self.most, 2 * len(text))


class Substitution:
    """Replaces $name and ${name} by values, and $$ by a dollar sign. A name without a value stays.
    Raises Error if the inserted values are longer than the library allows.
    """

    def __init__(self, values: Mapping[str, str]):
        self._values = values
        self._length = 0

    def __call__(self, text: str) -> str:
        return _PARAMETER.sub(self._value, text)

    def _value(self, match: re.Match[str]) -> str:
        name = match[1] or match[2]
        value = "$" if name is None else self._values.get(name, match[0])
        self._length += len(value)
        if self._length > _LONGEST_SUBSTITUTED:
            raise Error(
                f"the value of parameter '{name:.50}' is repeated until the text is longer than "
                f"{_LONGEST_SUBSTITUTED >> 20} MiB; shorten it"
            )
        return value


def read_text(path: Path, longest: int = LONGEST) -> str:
    """The text of a file that people write, at most `longest` bytes. Raises Error if it cannot be
    read, is too long or is not UTF-8.
    """
    try:
        with path.open("rb") as file:
            content = file.read(longest + 1)
    except OSError as error:
        raise Error(f"cannot read {path}: {error.strerror}") from error
    if len(content) > longest:
        line = content.count(b"\n", 0, longest) + 1
        raise Error(
            f"{path}:{line}: the text is longer than {longest >> 10} KiB, which is reached on this "
            "line; shorten it"
        )
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise Error(f"{path}:1: the text is UTF-16; save the file as UTF-8")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        column = len(content[: error.start].decode("utf-8-sig").rpartition("\n")[2]) + 1
        raise Error(
            f"{path}:{line}: the byte 0x{content[error.start]:02x} at column {column} is not "
            "UTF-8; save the file as UTF-8"
        ) from error


def explained(path: Path | str, error: yaml.YAMLError) -> str:
    """A message with the line, if it is known."""
    mark = getattr(error, "problem_mark", None)
    parts = [getattr(error, part, None) for part in ("context", "problem")]
    problem = ", ".join(part for part in parts if part) or " ".join(str(error).split())
    place = f"{path}:{mark.line + 1}" if mark is not None else str(path)
    return f"{place}: {'' if isinstance(error, LimitError) else 'not valid YAML: '}{problem}"


def _check_characters(text: str) -> None:
    found = Reader.NON_PRINTABLE.search(text)
    if found is not None:
        before = text[: found.start()]
        column = len(before.rpartition("\n")[2])
        mark = yaml.Mark("text", found.start(), before.count("\n"), column, None, 0)
        character = f"the character U+{ord(found[0]):04X} at column {column + 1}"
        raise _error(mark, f"YAML cannot hold {character}; remove it")


def _check_brackets(text: str) -> None:
    """The parser would look ahead to the last bracket for each that is open."""
    depth, line = 0, 1
    for found in _BRACKETS.finditer(text):
        if found[0] == "\n":
            line += 1
        elif found[0] in "[{":
            depth += 1
        elif depth > 0:
            depth -= 1
        if depth > _MOST_BRACKETS:
            mark = yaml.Mark("text", found.start(), line - 1, 0, None, 0)
            raise _error(mark, f"lists and maps are nested more than {_DEEPEST} deep")


def _error(mark: Any, problem: str) -> LimitError:
    return LimitError(None, None, problem, mark)
