#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Fails if a place of the library takes memory for values that no account has, or has a variant
whose copy must not fail.

Each file of src/ that makes shared memory, or buffers for messages and for values on their way,
stands in the table below with the account that its bytes are in, and what bounds them. A file that
begins to do so must be added, and one that ceases to must be taken out. With --table, prints the
table as Markdown.

A copy of a std::variant that fails for lack of memory is undefined in libstdc++ 12 if all of its
alternatives are numbers, texts, vectors or pointers, since their moves are known not to throw. So
one alternative must be a type of our own.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "src"

# Calls that take memory, and members that keep it.
TAKES = re.compile(
    r"SharedFile::make\(|\badd_region\(|pool_->take\(|\bresize_values\(|\bmmap\(|\bfallocate\("
    r"|\bmemfd_create\(|\bshm_open\(|make_(?:shared|unique)<(?:transport::)?Buffer>"
    r"|(?:reserved_|buffer)\.emplace\(|\bScratchBuffer>?\s+\w+\s*[,;_]|\bScratchBuffer> "
)

MEMORY, RECEIVE = "`sidecars: memory`", "`sidecars: receive`"
# By file: the account, and what bounds it.
ACCOUNTS = {
    "node/shared_file.cpp": ("its caller's", "makes, fills and maps files for the others here"),
    "node/segment.cpp": (
        f"{MEMORY}, and 0.2 MiB for each rank",
        "values within the rank's part of the budget; heads and words have a fixed size",
    ),
    "node/segment.hpp": ("its caller's", "declares what the source does"),
    "node/region_pool.cpp": ("its caller's", "parts of the segment for Allocations"),
    "simulation/allocations.cpp": (
        f"the program's while it holds it, then {MEMORY}",
        "MemoryAccount: what is given back and still read, and copies that stay",
    ),
    "transport/node.cpp": (MEMORY, "the rank's part less what its MemoryAccount has"),
    "transport/node_setup.cpp": ("none", "a page for the words of a node's budget"),
    "transport/staging.cpp": (MEMORY, "Staging's budget: the part less the MemoryAccount"),
    "transport/network.cpp": ("none", "heads of messages, 1,024 for each rank"),
    "transport/spill.cpp": (
        f"{MEMORY}, and `sidecars: spill: limit` on disk",
        "half of the budget waits for the disk; a sidecar reads one message at a time",
    ),
    "transport/inbox.cpp": (RECEIVE, "ReceiveRoom, and one message in work beyond it"),
    "transport/copying_receiver.cpp": (
        "`sidecars: attached: memory`",
        "values as the run counts them; heads by WantedValues::heads",
    ),
    "preflight/dry_run.cpp": ("none", "an empty file, to see whether a folder takes one"),
    "redistribution/node_path.cpp": (
        "half of `sidecars: memory` for each side",
        "TransferMemory::reserve; beyond it values go by messages",
    ),
    "redistribution/node_path.hpp": (
        "stages, as `pillion check` lists them",
        "messages of one plan at a time, freed by trim()",
    ),
    "redistribution/exchange.hpp": ("stages", "particles on their way, of one exchange"),
    "redistribution/take.hpp": ("stages in sidecars", "the layout that a stage asks for"),
    "layout/particles.hpp": ("stages", "particles of one exchange"),
    "stagehost/work.hpp": ("stages", "one array of components that lie apart"),
    "stagehost/box_points.hpp": ("stages", "points of one block"),
    "stagehost/field_redistributor.hpp": ("stages", "the inputs of a stage"),
}


def takers() -> set[str]:
    found = set()
    for path in sorted(SOURCES.rglob("*")):
        if path.suffix not in {".cpp", ".hpp"} or path.parent.name == "base":
            continue
        code = re.sub(r"//[^\n]*", "", path.read_text())
        if TAKES.search(code):
            found.add(str(path.relative_to(SOURCES)))
    return found


def arguments_at(code: str, at: int) -> list[str]:
    """Arguments of the template that the text before `at` opens with `<`."""
    found, depth, begin = [], 0, at
    for place in range(at, len(code)):
        if code[place] == "<":
            depth += 1
        elif code[place] == ">" and depth > 0:
            depth -= 1
        elif code[place] in ",>" and depth == 0:
            found.append(" ".join(code[begin:place].split()))
            begin = place + 1
            if code[place] == ">":
                break
    return found


def undefined_copies(code: str) -> list[str]:
    """Variants in `code` that have only alternatives of the standard library."""
    plain = re.compile(
        r"(?:const )?(?:std::\w+(?:<.*>)?|bool|char|int|float|double|u?int\d+_t|.*\*)"
    )
    return [
        f"std::variant<{', '.join(arguments)}>"
        for match in re.finditer(r"\bstd::variant<", code)
        if (arguments := arguments_at(code, match.end()))
        and any("std::" in a and a != "std::monostate" for a in arguments)
        and all(plain.fullmatch(a) for a in arguments)
    ]


def check_variants() -> int:
    count = 0
    for folder in ("src", "include", "stages", "adapters", "apps", "python/core", "miniapps"):
        for path in sorted((ROOT / folder).rglob("*.[ch]pp")):
            code = re.sub(r"//[^\n]*", "", path.read_text(encoding="utf-8"))
            for variant in undefined_copies(code):
                print(f"{path.relative_to(ROOT)}: a copy of {variant} without memory is undefined")
                count += 1
    return count


def main() -> int:
    if "--table" in sys.argv:
        print("| file | account | bound |\n|---|---|---|")
        for name, (account, bound) in ACCOUNTS.items():
            print(f"| `src/{name}` | {account} | {bound} |")
        return 0
    found = takers()
    for name in sorted(found - ACCOUNTS.keys()):
        print(f"src/{name}: takes memory that no account has; add it to tools/check_memory.py")
    for name in sorted(ACCOUNTS.keys() - found):
        print(f"src/{name}: takes no memory; take it out of tools/check_memory.py")
    return int(check_variants() > 0 or found != ACCOUNTS.keys())


if __name__ == "__main__":
    sys.exit(main())
