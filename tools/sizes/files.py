# SPDX-License-Identifier: BSD-3-Clause
"""Measures files: their length, the headers behind a source, and comments that name a file which
does not exist.
"""

import io
import re
import tokenize
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from sizes import Found

SHORT = 40  # lines; shorter files are slivers
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.MULTILINE)
_INCLUDED_PUBLICLY = re.compile(r"^[ \t]*#[ \t]*include[ \t]*<(pillion/[^>]+)>", re.MULTILINE)
_COMMENT = re.compile(r"//.*|/\*[\s\S]*?\*/|\"(?:[^\"\\\n]|\\.)*\"")
# A name with a folder and a suffix of a file of this project, or one of a header or document.
_PATH = re.compile(
    r"(?<![\w./<$*{-])((?:[\w.-]+/)*[\w-]+\.(?:cpp|hpp|h|c|py|md|sh|toml|f90))\b(?!/)"
)


def lengths(files: Sequence[Path], root: Path) -> Iterator[Found]:
    """The length of each file, and how many in a hundred are slivers."""
    slivers = 0
    for path in files:
        count = path.read_bytes().count(b"\n")
        slivers += count < SHORT
        yield Found("long", str(path.relative_to(root)), count)
    yield Found("slivers", "per-cent", round(100 * slivers / max(len(files), 1)))


def headers_behind(files: Iterable[Path], root: Path) -> Iterator[Found]:
    """Headers of ours that each source includes, directly or not."""
    included: dict[Path, frozenset[Path]] = {}
    for path in files:
        if path.suffix in (".cpp", ".c"):
            seen: set[Path] = set()
            todo = [path]
            while todo:
                here = todo.pop()
                if here not in included:
                    included[here] = frozenset(_includes(here, root))
                todo += included[here] - seen
                seen |= included[here]
            yield Found("headers", str(path.relative_to(root)), len(seen - {path}))


def _includes(path: Path, root: Path) -> Iterator[Path]:
    text = path.read_text(encoding="utf-8", errors="replace")
    for name in _INCLUDE.findall(text) + _INCLUDED_PUBLICLY.findall(text):
        for folder in (path.parent, root / "src", root / "include", root / "stages", root):
            if (found := folder / name).is_file():
                yield found.resolve()
                break


def missing_paths(files: Iterable[Path], root: Path, known: Mapping[str, int]) -> Iterator[Found]:
    """Comments with the name of a file that is not in the repository; `known` are the names of its
    files, without folders.
    """
    for path in files:
        text = path.read_text(encoding="utf-8", errors="replace")
        missing = [
            (line, name)
            for line, comment in _comments(path, text)
            for name in _PATH.findall(comment)
            if not _is_there(name, path, root, known)
        ]
        place = str(path.relative_to(root))
        yield Found("paths", place, len(missing), missing[0][0] if missing else 0)


def _is_there(name: str, path: Path, root: Path, known: Mapping[str, int]) -> bool:
    if "/" not in name:
        return name in known
    folders = (path.parent, root, root / "src", root / "include", root / "stages", root / "python")
    return any((folder / name).exists() for folder in folders)


def _comments(path: Path, text: str) -> Iterator[tuple[int, str]]:
    if path.suffix == ".py":
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string
        return
    for found in _COMMENT.finditer(text):
        if not found.group().startswith('"'):
            yield text.count("\n", 0, found.start()) + 1, found.group()
