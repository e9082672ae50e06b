# SPDX-License-Identifier: BSD-3-Clause
"""What a header declares for its users, in order, with what its comments say: read by libclang.

A declaration without a comment that follows another on the next line shares the comment of that.
Private members, namespaces `detail`, deleted functions and definitions of what was declared before
are left out.
"""

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from clang.cindex import AccessSpecifier, Cursor, CursorKind, Index, TranslationUnit
from places import ROOT

INCLUDE = ROOT / "include/pillion"
KINDS = {
    CursorKind.FUNCTION_DECL: "function",
    CursorKind.CXX_METHOD: "function",
    CursorKind.CONSTRUCTOR: "function",
    CursorKind.DESTRUCTOR: "function",
    CursorKind.CONVERSION_FUNCTION: "function",
    CursorKind.FUNCTION_TEMPLATE: "function",
    CursorKind.STRUCT_DECL: "struct",
    CursorKind.CLASS_DECL: "class",
    CursorKind.ENUM_DECL: "enum",
    CursorKind.ENUM_CONSTANT_DECL: "enumerator",
    CursorKind.TYPEDEF_DECL: "type",
    CursorKind.TYPE_ALIAS_DECL: "type",
    CursorKind.FIELD_DECL: "member",
    CursorKind.VAR_DECL: "member",
    CursorKind.MACRO_DEFINITION: "macro",
    CursorKind.CONCEPT_DECL: "concept",
}
HOLDERS = {"struct", "class", "enum", "enum-class"}


@dataclass
class Declaration:
    """`signatures` are the texts of all that share one comment; `parts` the members."""

    kind: str
    name: str
    signatures: list[str]
    comment: str
    lines: tuple[int, int]
    scope: str = ""
    parts: list["Declaration"] = field(default_factory=list)


def read_header(name: str) -> tuple[str, list[Declaration]]:
    """The text of a header, and what it declares."""
    path = INCLUDE / name
    text = path.read_text(encoding="utf-8")
    language = ["-xc", "-std=c11"] if path.suffix == ".h" else ["-xc++", "-std=c++20"]
    arguments = [*language, f"-I{ROOT / 'docs/site/stubs'}", f"-I{ROOT / 'include'}"]
    arguments += ["-isystem", _headers_of_compiler()]
    unit = Index.create().parse(
        str(path), arguments, options=TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD
    )
    wrong = [str(said) for said in unit.diagnostics if said.severity >= 4]
    if wrong:
        raise RuntimeError(f"{name} cannot be read: {wrong[0]}")
    reader = _Reader(path, text.encode())
    return text, sorted(_shared(reader.all_of(unit.cursor)), key=lambda d: d.lines)


@cache
def _headers_of_compiler() -> str:
    """Where stddef.h is; libclang comes without it."""
    asked = ["gcc", "-print-file-name=include"]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()


class _Reader:
    def __init__(self, path: Path, text: bytes) -> None:
        self._path, self._text = path, text

    def all_of(self, holder: Cursor) -> Iterator[Declaration]:
        for cursor in holder.get_children():
            place = cursor.location.file
            if place is None or Path(place.name) != self._path:
                continue
            if cursor.kind == CursorKind.NAMESPACE and cursor.spelling == "detail":
                continue
            if cursor.kind in (CursorKind.NAMESPACE, CursorKind.LINKAGE_SPEC):
                yield from self.all_of(cursor)
            elif cursor.kind in KINDS and self._is_public(cursor):
                yield self._declaration(cursor)

    def _is_public(self, cursor: Cursor) -> bool:
        private = (AccessSpecifier.PRIVATE, AccessSpecifier.PROTECTED)
        elsewhere = cursor.semantic_parent != cursor.lexical_parent
        text = self._text_of(cursor)
        function = KINDS[cursor.kind] == "function"
        deleted = function and (text.rstrip(";").endswith("= delete") or "operator=(" in text)
        guard = cursor.kind == CursorKind.MACRO_DEFINITION and not re.match(
            r"(PILLION|pillion)_\w+[( ]", text
        )
        again = cursor.kind == CursorKind.TYPEDEF_DECL and "{" in text
        named = cursor.kind == CursorKind.STRUCT_DECL and not cursor.is_definition()
        wanted = not (elsewhere or deleted or guard or again or named)
        return wanted and cursor.access_specifier not in private

    def _declaration(self, cursor: Cursor) -> Declaration:
        kind = KINDS[cursor.kind]
        lines = (cursor.extent.start.line, cursor.extent.end.line)
        anonymous = cursor.is_anonymous() or not re.match(r"[\w~]+", cursor.spelling)
        name = "" if anonymous else cursor.spelling
        parent = cursor.semantic_parent
        scope = _scope_of(parent) if parent is not None else ""
        comment = _plain(cursor.raw_comment or self._comment_above(cursor))
        if self._text_of(cursor).startswith("enum class"):
            kind = "enum-class"
        signature = self._signature(cursor)
        signature = name if signature == "enum" else signature  # named by its typedef
        made = Declaration(kind, name, [signature], comment, lines, scope)
        if kind in HOLDERS:
            made.parts = list(_shared(self.all_of(cursor)))
        return made

    def _text_of(self, cursor: Cursor) -> str:
        return self._text[cursor.extent.start.offset : cursor.extent.end.offset].decode()

    def _comment_above(self, cursor: Cursor) -> str:
        """Of macros, whose comments libclang does not see."""
        if cursor.kind != CursorKind.MACRO_DEFINITION:
            return ""
        above = self._text[: cursor.extent.start.offset].decode().rpartition("#define")[0]
        pattern = r"(/\*\*((?!\*/).)*\*/\n|(^///[^\n]*\n)+)\Z"
        found = re.search(pattern, above, re.DOTALL | re.MULTILINE)
        return found[0] if found else ""

    def _signature(self, cursor: Cursor) -> str:
        text = self._text_of(cursor)
        if (
            cursor.kind == CursorKind.FIELD_DECL and "," in text and "(" not in text
        ):  # one of several on a line
            kind, array = re.fullmatch(r"(.*?)(\[.*)?", cursor.type.spelling).groups()  # type: ignore
            return f"{kind} {cursor.spelling}{array or ''}"
        if cursor.kind == CursorKind.MACRO_DEFINITION:
            return re.match(r"\w+(\([^)]*\))?", text)[0]  # type: ignore[index]
        if cursor.kind == CursorKind.ENUM_CONSTANT_DECL:
            return f"{cursor.spelling} = {cursor.enum_value}"
        text = re.sub(r"\[\[\w+\]\]\s*|\bconstexpr\b\s*|\binline\b\s*", "", text)
        text = _until_body(" ".join(text.split())).strip().removesuffix(";")
        return re.sub(r"^(typedef|using|struct|class|enum class|enum)\s+", "", text)


def _scope_of(cursor: Cursor) -> str:
    """`pillion::stage`, of namespaces and classes."""
    names: list[str] = []
    while cursor is not None and cursor.kind != CursorKind.TRANSLATION_UNIT:
        if cursor.kind != CursorKind.LINKAGE_SPEC:
            names.insert(0, cursor.spelling)
        cursor = cursor.semantic_parent
    return "::".join(names)


def _until_body(text: str) -> str:
    """Cuts a body, a list of initialisers, or a value off."""
    depth = 0
    for i, letter in enumerate(text):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if depth == 0 and letter == "{":
            return text[:i]
        initialised = re.match(r"(\)(?: noexcept)?) : ", text[i:])
        if depth == 0 and initialised:
            return text[:i] + initialised[1]
    return text


def _plain(raw: str) -> str:
    """A comment without the marks at the beginnings of lines."""
    lines = [re.sub(r"^\s*(/\*\*<?|///<?|\*(?!/))?\s?", "", line) for line in raw.split("\n")]
    return re.sub(r"\s*\*/$", "", "\n".join(lines).strip())


def _shared(found: Iterator[Declaration]) -> Iterator[Declaration]:
    """Puts declarations that share a comment together."""
    last: Declaration | None = None
    for made in found:
        alike = last is not None and last.kind == made.kind and made.kind in ("function", "macro")
        follows = alike and last is not None and made.lines[0] == last.lines[1] + 1
        if last is not None and follows and not made.comment and last.comment:
            last.signatures += made.signatures
            last.lines = (last.lines[0], made.lines[1])
            continue
        if last is not None:
            yield last
        last = made
    if last is not None:
        yield last
