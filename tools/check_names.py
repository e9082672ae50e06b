#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Fails if two files of src/, include/ and stages/ define types of one name in one namespace. Each
file may compile, but the linker then takes one file's functions for both (the one-definition rule).
Types in anonymous namespaces may share names. Prints each such name with its places.
"""

import re
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("src", "include", "stages")

# What is no code, and whole lines of the preprocessor.
NO_CODE = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])+\''
    r"|^[ \t]*\#(?:\\\n|[^\n])*",
    re.DOTALL | re.MULTILINE,
)
NAMESPACE = re.compile(r"(?:inline\s+)?namespace\s*([\w:]*)$")
TYPE = re.compile(
    r"\b(?:struct|class|union|enum(?:\s+(?:class|struct))?)\s+"
    r"(?:(?:alignas\s*\([^)]*\)|\[\[.*?\]\]|__attribute__\s*\(\(.*?\)\))\s*)*"
    r"(\w+)\s*(?:final\s*)?(?::(?!:)[^;{}()]*)?$"
)


def blank(found: re.Match) -> str:
    return re.sub(r"[^\n]", " ", found.group())


def definitions(text: str):
    """(namespace, name, line) of each type that is defined outside functions and other types."""
    text = NO_CODE.sub(blank, text)
    scopes: list[str | None] = []  # namespaces around; None for what is none
    begin = 0
    for mark in re.finditer(r"[;{}]", text):
        before, begin = text[begin : mark.start()].strip(), mark.end()
        if mark.group() == "}":
            if scopes:
                scopes.pop()
        elif mark.group() == "{":
            namespace, defined = NAMESPACE.search(before), TYPE.search(before)
            if defined and None not in scopes:
                path = "::".join(scope for scope in scopes if scope)
                yield path, defined.group(1), text.count("\n", 0, mark.start()) + 1
            if namespace:
                scopes.append(namespace.group(1) or None)
            else:
                scopes.append("" if before == "extern" else None)


def main() -> int:
    places = defaultdict(dict)
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in {".h", ".hpp", ".c", ".cpp"}:
                file = path.relative_to(ROOT)
                for namespace, name, line in definitions(path.read_text()):
                    places[namespace, name].setdefault(file, line)
    twice = {name: where for name, where in places.items() if len(where) > 1}
    for (namespace, name), where in twice.items():
        print(f"{namespace}::{name} is defined in {len(where)} files; rename all but one:")
        print("\n".join(f"  {file}:{line}" for file, line in where.items()))
    if not twice:
        print(f"check_names: {len(places)} types, each defined once")
    return 1 if twice else 0


if __name__ == "__main__":
    sys.exit(main())
