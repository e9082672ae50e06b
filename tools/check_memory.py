#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Fails if a place of the library takes memory for values that no account has.

Each file of src/ that makes shared memory, or buffers for messages and for values on their way,
stands in the table below with the account that its bytes are in, and what bounds them. A file that
begins to do so must be added, and one that ceases to must be taken out. With --table, prints the
table as Markdown.
"""

import re
import sys
from pathlib import Path

SOURCES = Path(__file__).resolve().parent.parent / "src"

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
    return 1 if found != ACCOUNTS.keys() else 0


if __name__ == "__main__":
    sys.exit(main())
