#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Fails if anything but pillion.liveness, src/node/process and src/run/liveness decides whether a
run or a process is alive: by a process number, a host's name, a lock, what a file of progress says
of itself, or the calendar. A reader may be on another machine, where numbers mean nothing and the
clock is another one. Also finds files of runs that Python reads without pillion.shared_files, which
opens a file again that another machine has replaced. Prints each place that is not in the table,
and entries of the table that are out of date."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# What a place does: in C and C++, and in Python.
KINDS = {
    "process": (
        r"\bgethostname\(|(?<![\w.>])kill\(|\bNSpid\b|\bis_alive\(|\"/proc\b|\bWatch\b",
        r"\bgethostname\(|\bos\.uname\(|\bos\.kill\(|[\"']/proc\b|\bprocess_start\(",
    ),
    "lock": (r"\bF_(?:OFD_)?[SG]ETLKW?\b|\bflock\(", r"\bfcntl\.\w|\blockf\("),
    "claim": (
        r"== \"running\"|!= \"running\"",
        r"\bState\(\w+\.said\)|\.said (?:==|!=|is)",
    ),
    "calendar": (
        r"\bcalendar_seconds\(",
        r"\btime\.time(?:_ns)?\(|\bdatetime\.(?:now|utcnow|today)\(",
    ),
    "file": (r"(?!)", r"(?<!shared_files)\.read_(?:text|bytes)\(|\bpath\.open\((?![\"'][wax])"),
}
FOLDERS = ("src", "apps", "python/pillion")
# Where files of runs are read: other files in Python are the user's or the installation's.
OF_RUNS = re.compile(
    r"python/pillion/(?:datasets|idx|progress|tables|run_files|liveness|whereabouts|watch"
    r"|report/(?:run|results|timeline|completion|unfinished))"
)

# Files that may, with the kinds of places, and the reason.
MAY = {
    "python/pillion/liveness.py": ("process lock claim calendar file", "decides"),
    "python/pillion/whereabouts.py": ("claim", "leaves out what says that it has ended"),
    "python/pillion/command/doctor_job.py": ("calendar", "the limit of a batch job, as it is set"),
    "python/pillion/launch/facts.py": ("process", "whether it is on a node of its batch job"),
    "python/pillion/tables.py": ("file", "a comparison, which is the user's"),
    "python/pillion/report/timeline.py": ("file", "the first line of a file that stays as it is"),
    "python/pillion/datasets/nek_files.py": ("file", "snapshots that stay as they are"),
    "python/pillion/datasets/npy_files.py": ("file", "files of steps that stay as they are"),
    "python/pillion/datasets/plotfile_headers.py": ("file", "files of steps that stay as they are"),
    "python/pillion/datasets/overview.py": ("calendar", "shows how long ago a file has changed"),
    "src/node/process.cpp": ("process", "decides, on one machine"),
    "src/node/process.hpp": ("process", "declares it"),
    "src/node/channel.cpp": ("process", "asks node/process of a peer on its machine"),
    "src/node/channel.hpp": ("process", "keeps what node/process knows"),
    "src/node/shared_budget.hpp": ("process", "keeps what node/process knows"),
    "src/node/segment.cpp": ("process", "asks node/process of a peer on its machine"),
    "src/node/shared_file.cpp": ("process lock calendar", "opens a peer's memory; draws a number"),
    "src/node/find_runs.cpp": ("process", "lists runs of its machine"),
    "src/node/room.cpp": ("process", "the memory of the machine"),
    "src/base/process.cpp": ("process", "names its machine; ends its own child"),
    "src/stagehost/plugin.cpp": ("process", "finds its own program"),
    "src/run/liveness.cpp": ("process claim", "decides"),
    "src/run/whereabouts.cpp": ("claim", "leaves out what says that it has ended"),
    "src/run/run_folder.cpp": ("lock calendar", "holds the lock; notes when a run began and ended"),
    "src/run/progress.cpp": ("calendar", "notes when it writes"),
}
# Files that note times for people; what is compared are moments of one machine.
CLOCKS = {
    "src/base/clock.cpp",
    "src/base/clock.hpp",
    "src/run/report.cpp",
    "src/run/run.cpp",
    "src/run/run.hpp",
    "src/session/session.cpp",
    "src/sidecar/sidecar.cpp",
    "src/sidecar/sidecar_job.cpp",
    "src/simulation/migration.cpp",
    "src/simulation/publisher.cpp",
    "src/stagehost/chain.cpp",
}


def places_in(name: str, text: str):
    """(line, kind) of each place of a file, but for those in comments."""
    is_python = name.endswith(".py")
    for number, line in enumerate(text.splitlines(), 1):
        code = line.split("#" if is_python else "//")[0]
        for kind, patterns in KINDS.items():
            if kind == "file" and not OF_RUNS.match(name):
                continue
            if re.search(patterns[is_python], code):
                yield number, kind


def faults_in(name: str, text: str):
    """Places that are not in the table, and kinds that the table has and the file has not."""
    allowed = set(MAY.get(name, ("", ""))[0].split()) | ({"calendar"} if name in CLOCKS else set())
    found = list(places_in(name, text))
    faults = [
        f"{name}:{line}: decides by a {kind}; ask pillion.liveness, node/process or run/liveness, "
        "or add the file to the table of tools/check_liveness.py with the reason"
        for line, kind in found
        if kind not in allowed
    ]
    unused = allowed - {kind for _, kind in found}
    return faults + [f"{name}: has no {kind} any more, but is in the table" for kind in unused]


def main() -> int:
    faults, looked, places = [], set(), 0
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix not in (".cpp", ".hpp", ".py") or not path.is_file():
                continue
            name, text = str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")
            looked.add(name)
            places += len(list(places_in(name, text)))
            faults += faults_in(name, text)
    faults += [f"{name}: is in the table, and not there" for name in {*MAY, *CLOCKS} - looked]
    print(
        "\n".join(faults)
        or f"check_liveness: {places} places in {len(looked)} files, of {len(MAY)} that may"
    )
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
