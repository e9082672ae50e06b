# SPDX-License-Identifier: BSD-3-Clause
"""Counts the lines of a program in C or Fortran that are there because of Pillion.

A line counts if it names Pillion or a variable of a Pillion type, outside comments, or if it
continues such a line because a parenthesis is still open. Prints the lines and their number, and
fails if there are not fewer than was asked for.
"""

import argparse
import re
import sys
from pathlib import Path

COMMENTS = {".c": r"/\*.*?\*/|//[^\n]*", ".f90": r"![^\n]*"}
VARIABLES = {
    ".c": r"\bpillion_\w+\s*\*?\s+\*?\s*(\w+)\s*[;=,)]",
    ".f90": r"\btype\(pillion_\w+\).*::\s*(\w+)",
}


def without_comments(source: str, language: str) -> str:
    """The source with comments blanked out and every line in its place."""
    return re.sub(
        COMMENTS[language],
        lambda match: re.sub(r"[^\n]", " ", match.group()),
        source,
        flags=re.DOTALL,
    )


def pillion_lines(source: str, language: str) -> list[tuple[int, str]]:
    """Numbered lines that are Pillion's."""
    code = without_comments(source, language)
    names = re.findall(VARIABLES[language], code)
    mine = re.compile("|".join(["(?i:pillion)", *(rf"\b{name}\b" for name in names)]))
    found, open_parentheses = [], 0
    for number, line in enumerate(code.splitlines(), start=1):
        if open_parentheses > 0 or mine.search(line):
            found.append((number, line.rstrip()))
            open_parentheses += line.count("(") - line.count(")")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=Path)
    parser.add_argument("--fewer-than", type=int, required=True)
    arguments = parser.parse_args()
    source = arguments.source
    lines = pillion_lines(source.read_text(encoding="utf-8"), source.suffix)
    for number, line in lines:
        print(f"{number:4}: {line}")
    print(f"{len(lines)} lines")
    if not 5 <= len(lines) < arguments.fewer_than:
        sys.exit(
            f"expected at least 5 (open, share, step, close …) and fewer than "
            f"{arguments.fewer_than}"
        )


if __name__ == "__main__":
    main()
