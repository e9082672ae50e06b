# SPDX-License-Identifier: BSD-3-Clause
"""Checks that the header of no-ops declares what the real C header declares.

Functions, enumerations, plain structs, function types and macros are compared after comments and
white space are taken out. A function that one header has and the other lacks, or that differs in
any argument, is printed, and the exit status is 1. What the no-ops need among themselves is called
pillion_noop_… and not compared.
"""

import re
import sys
from pathlib import Path

# Macros that are meant to differ, or that guard the header.
OWN_MACROS = {"PILLION_ENABLED", "PILLION_PILLION_H"}


def normalised(text: str) -> str:
    """The text without comments, on one line, with single spaces where needed."""
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL)
    return re.sub(r"\s*([(),*;{}=])\s*", r"\1", re.sub(r"\s+", " ", text))


def macros(text: str) -> dict[str, str]:
    """Macros with their definitions, continued lines joined."""
    joined = re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL).replace("\\\n", " ")
    found = re.findall(r"^#define (\w+)(.*)$", joined, flags=re.MULTILINE)
    return {name: re.sub(r"\s+", "", body) for name, body in found if name not in OWN_MACROS}


def declarations(path: Path) -> dict[str, str]:
    """Everything that a program may name, by name, in a form that can be compared."""
    text = path.read_text(encoding="utf-8")
    code = normalised(re.sub(r"^#.*?(?<!\\)$", " ", text, flags=re.MULTILINE | re.DOTALL))
    code = code.replace("static inline ", "")
    prototype = r"((?:const )?\b(?!return\b)\w+[ *]+)(pillion_(?!noop_)\w+)\(([^()]*)\)(?=[;{])"
    found = {
        f"function {name}": f"{kind.strip()}({arguments})"
        for kind, name, arguments in re.findall(prototype, code)
    }
    found |= {f"enum {body.split('=')[0]}": body for body in re.findall(r"enum\{(.*?)\}", code)}
    for name in ("pillion_progress", "pillion_field", "pillion_arrays"):
        found[f"struct {name}"] = re.findall(rf"struct {name}\{{(.*?)\}}", code)[0]
    found |= {f"type {name}": kind for kind, name in re.findall(r"typedef (\w+) (\w+);", code)}
    found |= {
        f"type {name}": f"{kind}(*)({arguments})"
        for kind, name, arguments in re.findall(r"typedef (\w+)\(\*(\w+)\)\((.*?)\);", code)
    }
    return found | {f"macro {name}": body for name, body in macros(text).items()}


def main() -> int:
    real, noop = (declarations(Path(argument)) for argument in sys.argv[1:3])
    if sum(name.startswith("function ") for name in real) < 20:
        print(f"found only {len(real)} declarations in {sys.argv[1]}; has its form changed?")
        return 1
    different = [name for name in sorted(real | noop) if real.get(name) != noop.get(name)]
    for name in different:
        print(f"{name}\n  real:  {real.get(name, 'absent')}\n  no-op: {noop.get(name, 'absent')}")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
