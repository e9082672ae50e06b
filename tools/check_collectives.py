#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Finds places where a rank that lacks memory could leave the others waiting.

A rank that throws between the last agreement and a collective never comes to it. So each function
outside comm/ that calls a collective stands in tools/collectives.txt, with the reason why no rank
throws before it; a new one has to be looked at, and gets a line. `catch (const Error&)` lets
std::bad_alloc out: the list has how many there are in each file, which may only become less. The
standard library's folder iterator, and what uses it, end the program if they lack memory."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "tools" / "collectives.txt"
# What waits for other ranks and does not agree on failures first.
COLLECTIVE = re.compile(
    r"(?:\.|->)(?:reduce|reduced(?:<\w+>)?|broadcast|gather_all|gather_each|fold|sum_below|barrier)\("
    r"|(?:peers|here|side|world|comm)\.gather\("
    r"|\bstart_(?:maximum|sum)\(|\bSparseExchange\(|\bexchange\(out\)"
)
CATCH = re.compile(r"catch \(const (?:pillion::)?Error&")
ENDS_PROGRAM = re.compile(r"\bdirectory_iterator\b|(?:filesystem|fs)::remove_all\(")
# Folders whose code runs between collectives.
WITH_RANKS = {"redistribution", "run", "session", "sidecar", "simulation", "stagehost", "transport"}
# A definition begins at the left margin and ends at the first brace there.
HEAD = re.compile(r"^(?=[A-Za-z_]).*?([~\w:]+)\(")
COMMENT = re.compile(r"//.*")


def functions_with_collectives(text: str):
    """Names of functions, in order, each once."""
    name, found = "", {}
    for line in text.splitlines():
        line = COMMENT.sub("", line)
        if head := HEAD.match(line):
            name = head.group(1)
        if COLLECTIVE.search(line):
            found[name] = True
    return list(found)


def listed() -> tuple[dict[str, str], dict[str, int]]:
    """Reasons by 'file function', and numbers of catches by file."""
    reasons, catches = {}, {}
    for line in LIST.read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        path, name, reason = line.split(maxsplit=2)
        if name == "catch":
            catches[path] = int(reason)
        else:
            reasons[f"{path} {name}"] = reason
    return reasons, catches


def main() -> int:
    reasons, catches = listed()
    faults, seen, places = [], set(), 0
    for path in sorted((ROOT / "src").rglob("*.cpp")):
        short = str(path.relative_to(ROOT))
        text = path.read_text()
        lines = text.splitlines()
        faults += [
            f"{short}:{n}: the program ends if this lacks memory; use base/folder.hpp"
            for n, line in enumerate(lines, 1)
            if ENDS_PROGRAM.search(COMMENT.sub("", line)) and "/idx/" not in short
        ]
        if "/comm/" not in short:
            for name in functions_with_collectives(text):
                places += 1
                seen.add(key := f"{short} {name}")
                if key not in reasons:
                    faults.append(
                        f"{short}: {name} calls a collective: if no rank can throw between the "
                        "last agreement and it, add a line with the reason to tools/collectives.txt"
                    )
        count = len(CATCH.findall(text)) if short.split("/")[1] in WITH_RANKS else 0
        if count > catches.get(short, 0):
            faults.append(
                f"{short}: {count} handlers of Error let std::bad_alloc out; catch std::exception, "
                "or use comm::failure_of"
            )
        if count < catches.get(short, 0):
            faults.append(f"tools/collectives.txt: {short} has {count} handlers of Error now")
    faults += [f"tools/collectives.txt: {key} is gone" for key in reasons if key not in seen]
    print(
        "\n".join(faults) or f"check_collectives: {places} functions with collectives, all listed"
    )
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
