#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Fails if code depends on, or changes, what the program around it may have set up in another way,
past base/default_environment.hpp: threads that are started elsewhere, dispositions of signals,
locales, umask and modes of arithmetic of the process, numbers through a stream without a locale of
its own, and functions of the C interface that are not contained. Prints each offending line."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("src", "include", "stages", "adapters", "python/core", "fortran")

RULES = {
    "threads are started by base::start_thread, in the default environment": re.compile(
        r"\bstd::j?thread\s*[({]|\bstd::j?thread\s+\w+\s*[({]|\bpthread_create\b|\bstd::async\b"
        r"|\bthreads?_?\.emplace_back\("
    ),
    "signals, locale, umask and arithmetic are the program's; use base::DefaultEnvironment": (
        re.compile(
            r"\bstd::signal\s*\(|(?<![\w.>:])signal\s*\(|\bsigaction\s*\(|\bsetlocale\s*\("
            r"|\bstd::locale::global\b|\bstd::locale\s*\(\s*\"|(?<![\w.>])umask\s*\("
            r"|\bfe(?:enable|disable|clear)except\b|\bfesetround\b|\bfesetenv\b|\buselocale\b"
        )
    ),
}
# Files that may, each with the reason.
ALLOWED = {
    "src/base/default_environment.hpp": "the environment itself",
    "src/base/default_environment.cpp": "the environment itself",
    "stages/catalyst/embedded.cpp": "a thread that only waits, and starts in a stage's environment",
}
STREAM = re.compile(r"\bstd::(?:[io]?stringstream|[io]?fstream)\s+(\w+)\s*[({;]")
UNNAMED_STREAM = re.compile(r"\bstd::(?:[io]?stringstream|[io]?fstream)\s*\([^;]*\)\s*(?:<<|>>)")
# Streams of words and of whole numbers without signs of thousands, which every locale reads alike.
PLAIN_STREAMS = {
    "src/node/process.cpp": "words, and digits that the kernel has written",
    "src/node/shared_file.cpp": "words, and digits that the kernel has written",
    "src/stagehost/plugin.cpp": "names",
    "src/idx/reader.cpp": "a whole file",
    "stages/write/step_list.hpp": "a whole file",
    "adapters/nek5000/inputs.cpp": "words, and one digit",
    "adapters/code_saturne/saturne_session.cpp": "a path",
}

# Functions of the C interface that a program calls at every step, also where nothing is due. They
# compare and store, and what takes longer sets the environment by itself.
BRIEF = {
    "pillion_step",  # Simulation::busy_step and Session::configure
    "pillion_is_due",  # Simulation::is_due
    "pillion_set_scalar",
    "pillion_get_progress",
    "pillion_share_box_level",
    "pillion_share_box_level_view",
    "pillion_share_box_ghosts",
    "pillion_share_box_ghosts_view",
    "pillion_share_values_typed",
    "pillion_share_values_view",
    "pillion_share_particles_typed",
    "pillion_share_particles_view",
    "pillion_share_elements_typed",
    "pillion_share_elements_view",
    "pillion_share_box_components",
    "pillion_share_box_components_view",
    "pillion_share_components",
    "pillion_share_components_view",
}
FUNCTION = re.compile(
    r"^(?:[\w:*&]+ )+\*?(pillion_\w+)\([^;{]*\{([^\n]*\}$|.*?^\})", re.DOTALL | re.MULTILINE
)


def faults_in(name: str, text: str):
    """(line, reason) of each place of a file."""
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        code = line.split("//")[0]
        for why, pattern in RULES.items():
            if name not in ALLOWED and pattern.search(code):
                yield number, why
        if UNNAMED_STREAM.search(code) and name not in PLAIN_STREAMS:
            yield number, "a stream that has no name reads numbers as the program's locale says"
        if (found := STREAM.search(code)) and name not in PLAIN_STREAMS:
            stream = re.escape(found.group(1))
            uses = re.search(rf"\b{stream}\s*(?:<<|>>)|(?:<<|>>)\s*{stream}\b", text)
            if uses and not any(
                re.search(rf"\b{stream}\.imbue\(", near) for near in lines[number:][:2]
            ):
                yield (
                    number,
                    f"{found.group(1)} needs imbue(std::locale::classic()) on the next line",
                )


def faults_in_interface(text: str):
    """Functions of the C interface that are not contained as the list says."""
    for name, body in FUNCTION.findall(text):
        plain = re.search(r"\bguard\(", body) and "DefaultEnvironment" not in body
        if plain and name not in BRIEF:
            yield f"{name} must be contained(), or stand in the list of brief functions"
        if name in BRIEF and not plain:
            yield f"{name} is no brief function any more; take it off the list"


def main() -> int:
    faults = []
    places = 0
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in {".h", ".hpp", ".c", ".cpp"}:
                places += 1
                name, text = str(path.relative_to(ROOT)), path.read_text()
                faults += [f"{name}:{number}: {why}" for number, why in faults_in(name, text)]
                if name.startswith("src/capi/"):
                    faults += [f"{name}: {why}" for why in faults_in_interface(text)]
    print("\n".join(faults) or f"check_host: {places} files leave the program's environment alone")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
