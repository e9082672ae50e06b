#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Reads what sanitizers logged and fails if anything in it is ours.

MPI libraries keep memory until the process ends, and unload the plug-ins that asked for it, so that
suppressions by name cannot tell their leaks from ours. Leaks therefore do not fail a test; they are
logged, and here those are kept whose stack passes through the code of this checkout or its build.
Whatever is no leak counts in any case.

Usage: check_leaks.py LOG_PREFIX
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RECORD = re.compile(r"^(?:Direct|Indirect) leak of .*$", re.MULTILINE)
# Ours is built with line numbers; a bare module name is where an unloaded one used to be.
OURS = re.compile(rf"{re.escape(str(ROOT))}/\S+\.(?:c|cpp|h|hpp):\d+")


def findings(text: str):
    if "LeakSanitizer" not in text:
        yield text
        return
    head, *records = RECORD.split(text)
    if "AddressSanitizer:" in head and "detected memory leaks" not in head:
        yield head
    for title, record in zip(RECORD.findall(text), records, strict=True):
        # What MPI allocates on our behalf and keeps is below a call of ours, but not ours.
        frames = re.findall(r"^\s+#\d+ .*$", record, re.MULTILINE)[1:4]
        if any(OURS.search(frame) for frame in frames):
            yield title + record.split("SUMMARY")[0]


def main() -> int:
    prefix = Path(sys.argv[1])
    logs = sorted(prefix.parent.glob(prefix.name + ".*"))
    found = [f"{log.name}: {text}" for log in logs for text in findings(log.read_text())]
    print("\n".join(found) or f"check_leaks: {len(logs)} logs, nothing of ours in them")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
