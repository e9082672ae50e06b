# SPDX-License-Identifier: BSD-3-Clause
"""Measures classes and functions in Python."""

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

from sizes import Found


def measure(files: Iterable[Path], root: Path) -> Iterator[Found]:
    for path in files:
        name = str(path.relative_to(root))
        tree = ast.parse(path.read_text(encoding="utf-8"))
        yield from _of_body(tree.body, name, "")


def _of_body(body: list[ast.stmt], file: str, outer: str) -> Iterator[Found]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            place = f"{file}:{outer}{node.name}"
            methods = [m for m in node.body if isinstance(m, ast.FunctionDef)]
            count = sum(not m.name.startswith("__") or m.name == "__init__" for m in methods)
            yield Found("methods", place, count, node.lineno)
            yield Found("members", place, _members(node), node.lineno)
            yield from _of_body(node.body, file, f"{outer}{node.name}.")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            place = f"{file}:{outer}{node.name}"
            yield Found("lines", place, _lines(node), node.lineno)
            yield Found("parameters", place, _parameters(node, bool(outer)), node.lineno)
            yield from _of_body(node.body, file, f"{outer}{node.name}.")


def _lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Without the docstring."""
    lines = (node.end_lineno or 0) - node.lineno + 1
    if ast.get_docstring(node) is not None:
        lines -= (node.body[0].end_lineno or 0) - node.body[0].lineno + 1
    return lines


def _parameters(node: ast.FunctionDef | ast.AsyncFunctionDef, in_class: bool) -> int:
    """Without self. Keyword-only ones are named where they are passed, and do not count."""
    names = [a.arg for a in node.args.posonlyargs + node.args.args]
    return len(names) - (in_class and names[:1] in (["self"], ["cls"]))


def _members(node: ast.ClassDef) -> int:
    """Annotated in the class, or set by its methods."""
    names = {
        s.target.id
        for s in node.body
        if isinstance(s, ast.AnnAssign) and isinstance(s.target, ast.Name)
    }
    for inside in ast.walk(node):
        if isinstance(inside, ast.Attribute) and isinstance(inside.ctx, ast.Store):
            is_own = isinstance(inside.value, ast.Name) and inside.value.id == "self"
            names |= {inside.attr} if is_own else set()
    return len(names)
