# SPDX-License-Identifier: BSD-3-Clause
"""Measures classes and functions in C and C++: methods, members, sources of a class, length and
parameters of functions, and waits without a comment. Files are parsed one by one with tree-sitter,
without the preprocessor.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import tree_sitter
import tree_sitter_cpp

from sizes import Found

_PARSER = tree_sitter.Parser(tree_sitter.Language(tree_sitter_cpp.language()))
_CLASSES = ("class_specifier", "struct_specifier")
_NAMES = ("identifier", "field_identifier", "operator_name", "destructor_name", "type_identifier")
# Of calls that wait or give up the core.
_WAITS = re.compile(r"^(?:wait(?:_\w+)?|nap|(?:sched_)?yield|sleep(?:_\w+)?)$")
_MPI_WAITS = re.compile(r"^(?:wait(?:_\w+)?|nap|(?:sched_)?yield|sleep(?:_\w+)?)$")
_EXPLAINED = "src/comm/"  # whose functions wait, and say so where they are declared
_BEFORE = 5  # lines in which a wait needs a comment


@dataclass
class Class:
    """A class and what was counted of it."""

    name: str
    file: str
    line: int
    methods: int = 0
    virtual: int = 0
    pure: int = 0
    members: int = 0
    taken_by: int = 0  # friends, and free functions of its header that may change it
    sources: set[str] = field(default_factory=set)  # that define its methods

    @property
    def is_interface(self) -> bool:
        return self.pure > 0 and self.members == 0


def measure(files: Iterable[Path], root: Path) -> Iterator[Found]:
    """Numbers of all classes and functions in these files, which are below `root`."""
    classes: dict[str, Class] = {}
    sources: dict[str, set[str]] = defaultdict(set)
    for path in files:
        name = str(path.relative_to(root))
        tree = _PARSER.parse(path.read_bytes())
        own = list(_classes(tree.root_node, name))
        classes.update((f"{name}:{c.name}", c) for c in own)
        _count_free_functions(tree.root_node, own)
        if path.suffix in (".cpp", ".c") and not name.startswith(_EXPLAINED):
            yield from _waits(tree.root_node, name)
        for node in _all(tree.root_node, "function_definition"):
            yield from _of_function(node, name)
            if path.suffix == ".cpp" and (scope := _scope_of(node)):
                sources[scope].add(name)
    for place, found in classes.items():
        yield Found("methods", place, found.methods + found.taken_by, found.line)
        yield Found("members", place, found.members, found.line)
        if found.is_interface:
            yield Found("interface", place, found.virtual, found.line)
        if place.split(":")[0].endswith((".hpp", ".h")):
            yield Found("sources", place, len(_near(sources[found.name], found.file)), found.line)


def _near(sources: set[str], header: str) -> set[str]:
    """Sources in the folder of a header: classes elsewhere may have the same name."""
    return {source for source in sources if Path(source).parent == Path(header).parent}


def _all(node: tree_sitter.Node, *types: str) -> Iterator[tree_sitter.Node]:
    """Nodes of these types, nested ones too."""
    todo = [node]
    while todo:
        node = todo.pop()
        if node.type in types:
            yield node
        todo.extend(reversed(node.named_children))


def _text(node: tree_sitter.Node | None) -> str:
    return "" if node is None or node.text is None else node.text.decode(errors="replace")


def _classes(root: tree_sitter.Node, file: str) -> Iterator[Class]:
    for node in _all(root, *_CLASSES):
        body, name = node.child_by_field_name("body"), node.child_by_field_name("name")
        if body is None or name is None:
            continue
        found = Class(_outer(node) + _text(name), file, node.start_point[0] + 1)
        for member in body.named_children:
            _count_member(found, member)
        yield found


def _outer(node: tree_sitter.Node) -> str:
    """Names of the classes around it."""
    names, parent = "", node.parent
    while parent is not None:
        if parent.type in _CLASSES:
            names = _text(parent.child_by_field_name("name")) + "::" + names
        parent = parent.parent
    return names


def _declarator(node: tree_sitter.Node) -> tree_sitter.Node | None:
    """Of the function that a declaration is of; None for variables and pointers to functions."""
    found = node.child_by_field_name("declarator")
    while found is not None and found.type in ("pointer_declarator", "reference_declarator"):
        inner = found.child_by_field_name("declarator")
        found = inner if inner is not None else (found.named_children or [None])[-1]
    if found is None or found.type != "function_declarator":
        return None
    inside = found.child_by_field_name("declarator")
    return None if inside is None or inside.type == "parenthesized_declarator" else found


def _count_member(found: Class, node: tree_sitter.Node) -> None:
    if node.type == "friend_declaration":
        # A friend class is no function; a defaulted comparison is one line.
        found.taken_by += any(_declarator(child) is not None for child in node.named_children)
        return
    if node.type == "template_declaration":
        node = node.named_children[-1]
    if node.type not in ("field_declaration", "declaration", "function_definition"):
        return
    declarator = _declarator(node)
    if declarator is None:
        if node.type == "field_declaration" and "static" not in _text(node).split():
            names = node.children_by_field_name("declarator")
            found.members += len(names)
        return
    clauses = {child.type for child in node.named_children}
    if clauses & {"default_method_clause", "delete_method_clause"}:
        return
    name = _text(declarator.child_by_field_name("declarator"))
    if name.startswith("~"):
        return
    found.methods += 1
    words = _text(node).split("(")[0].split()
    if "virtual" in words:
        found.virtual += 1
        found.pure += re.search(r"=\s*0\s*;?$", _text(node)) is not None


def _count_free_functions(root: tree_sitter.Node, classes: list[Class]) -> None:
    """Functions of the file that take a class of the file and may change it. A struct without
    methods is a value, whose functions are not its methods.
    """
    by_name = {found.name: found for found in classes if found.methods}
    for node in _all(root, "declaration", "function_definition"):
        declarator = _declarator(node)
        if declarator is None or _is_inside(node, "field_declaration_list", "compound_statement"):
            continue
        named = declarator.child_by_field_name("declarator")
        if named is not None and named.type == "qualified_identifier":
            continue
        parameters = declarator.child_by_field_name("parameters")
        for parameter in parameters.named_children if parameters is not None else []:
            text = _text(parameter)
            kind = _text(parameter.child_by_field_name("type"))
            if kind in by_name and ("&" in text or "*" in text) and "const" not in text.split():
                by_name[kind].taken_by += 1
                break


def _is_inside(node: tree_sitter.Node, *types: str) -> bool:
    parent = node.parent
    while parent is not None:
        if parent.type in types:
            return True
        parent = parent.parent
    return False


def _scope_of(node: tree_sitter.Node) -> str:
    """`Class` of a definition `Class::method`, or an empty text."""
    declarator = _declarator(node)
    name = _text(declarator.child_by_field_name("declarator")) if declarator is not None else ""
    return re.sub(r"<.*?>", "", name).rpartition("::")[0]


def _of_function(node: tree_sitter.Node, file: str) -> Iterator[Found]:
    declarator = _declarator(node)
    if declarator is None:
        return
    name = re.sub(r"\s+", "", _text(declarator.child_by_field_name("declarator")))
    place, line = f"{file}:{name}", node.start_point[0] + 1
    yield Found("lines", place, node.end_point[0] - node.start_point[0] + 1, line)
    parameters = declarator.child_by_field_name("parameters")
    kinds = ("parameter_declaration", "optional_parameter_declaration")
    count = sum(c.type in kinds and _text(c) != "void" for c in parameters.named_children)
    yield Found("parameters", place, count, line)


def _waits(root: tree_sitter.Node, file: str) -> Iterator[Found]:
    """Calls that wait, and memory orders, without a comment shortly before."""
    explained = {
        line
        for comment in _all(root, "comment")
        for line in range(comment.start_point[0], comment.end_point[0] + _BEFORE + 1)
    }
    lines = set()
    for node in _all(root, "call_expression", "identifier"):
        if node.type == "identifier":
            if not _text(node).startswith("memory_order_"):
                continue
        else:
            name = re.split(r"\.|->|::", _text(node.child_by_field_name("function")))[-1]
            if not (_WAITS.match(name) or _MPI_WAITS.match(name)):
                continue
        lines.add(node.start_point[0])
    missing = sorted(lines - explained)
    yield Found("waits", file, len(missing), missing[0] + 1 if missing else 0)
