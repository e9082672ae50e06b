#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Fails if a test has a time limit of its own making, or asserts about files that may be none.
Limits follow the machine (tests/limits.py): a number of seconds that was enough once fails on a
loaded machine. Rejected in tests are

- processes that are started or waited for by other means than `limits.run`, `limits.wait` and
  `limits.communicate`, or functions built on them
- a number as `timeout` of anything else, a deadline computed from a clock, and an alarm
- a sleep, for a test that sleeps is either slow or wrong; `limits.until` waits for something
- in CMake, tests that are not added by `pillion_add_test`
- modules of one name, which pytest confuses; a second conftest.py hides the first from tests that
  import it
- assertions about each of the files that a pattern finds, which hold if it finds none: `some` of
  tests/conftest.py fails then

but for the exceptions that are listed below with their reasons.

    check_tests.py [FILE...]
"""

import ast
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HELPERS = {"tests/limits.py", "tests/cores.py"}

# Functions whose `timeout` counts seconds of a quiet machine, since they call those of limits.py.
SCALED = {
    "apart.finish", "apart.on", "apart.salloc", "awaited", "case.finish", "case.on",
    "case.salloc", "cluster.on", "drive", "launch", "limits.communicate", "limits.limit",
    "limits.run", "limits.wait", "lmp", "mpirun", "play", "pool.submit", "run_pillion",
    "self.launch", "simulate", "until",
}  # fmt: skip

# What files do nevertheless, and why.
POLLS = "a program under a launcher that has a limit looks for a file"
PACES = "a program takes time for a step, as simulations do"
MOMENT = "something happens at a moment that is drawn, or a while later"
EXCEPTIONS = {
    ("tests/conformance/constant_program.py", "sleep"): PACES,
    ("tests/conformance/counts_program.py", "sleep"): POLLS,
    ("tests/conformance/stages/constants.py", "sleep"): POLLS,
    ("tests/conformance/waiting.py", "sleep"): POLLS,
    ("tests/conformance/test_moving.py", "empty"): "only some of the scenes write files",
    ("tests/docs/typist.py", "empty"): "a page that runs no simulation has no report",
    ("tests/docs/typist.py", "sleep"): "the page says after how many seconds its reader interrupts",
    ("tests/faults/node_case.py", "sleep"): MOMENT,
    ("tests/faults/node_fault.py", "alarm"): "a case limits itself, and looks at a Limit every 5 s",
    ("tests/faults/node_fault.py", "sleep"): MOMENT,
    ("tests/faults/test_attached_share.py", "sleep"): "a share of time needs time to be used",
    ("tests/faults/test_idle_sidecars.py", "sleep"): "wake-ups are counted over seconds",
    (
        "tests/faults/test_node_faults.py",
        "sleep",
    ): "between attempts, where the system lacks memory",
    ("tests/faults/test_succession.py", "sleep"): MOMENT,
    ("tests/insitu/programs/box.py", "sleep"): PACES,
    ("tests/insitu/programs/many_blocks.py", "sleep"): POLLS,
    ("tests/insitu/programs/reads_inputs.py", "sleep"): PACES,
    ("tests/insitu/stages/trouble.py", "sleep"): "a stage that hangs",
    ("tests/python/test_results_listing.py", "sleep"): PACES,
}

ADVICE = {
    "start": "starts a process without a limit that follows the machine: use limits.run",
    "wait": "waits for a process: use limits.wait or limits.communicate",
    "timeout": "is a limit that ignores the load of the machine: use limits.limit",
    "clock": "computes a deadline from a clock: use limits.until or limits.Limit",
    "alarm": "sets an alarm: use limits.Limit",
    "sleep": "sleeps: wait for something with limits.until",
    "empty": "asserts about files, and there may be none: put some(...) around the pattern",
    "cmake": "adds a test without a limit that follows the machine: use pillion_add_test",
}


def has_number(node: ast.expr) -> bool:
    return any(
        isinstance(part, ast.Constant) and isinstance(part.value, int | float)
        for part in ast.walk(node)
    )


def is_clock(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func) in {
        "time.monotonic", "time.perf_counter", "time.time", "monotonic", "perf_counter",
    }  # fmt: skip


def faults_of_call(node: ast.Call):
    name = ast.unparse(node.func)
    head, _, last = name.rpartition(".")
    if head == "subprocess" and last in {"run", "call", "check_call", "check_output"}:
        yield "start"
    elif last in {"wait", "communicate"} and head and head != "limits":
        yield "wait"
    elif name in {"signal.alarm", "signal.setitimer"}:
        yield "alarm"
    elif name in {"time.sleep", "sleep"}:
        yield "sleep"
    for keyword in node.keywords:
        value = ast.unparse(keyword.value)
        scaled = name in SCALED or re.match(r"(int\()?(limits\.)?limit\(", value)
        if keyword.arg == "timeout" and has_number(keyword.value) and not scaled:
            yield "timeout"


def may_be_empty(node: ast.expr) -> bool:
    """Whether these are the files of a pattern or a folder, however few."""
    text = ast.unparse(node)
    return re.search(r"\.(r?glob|iterdir)\(", text) is not None and "some(" not in text


def asserts(nodes: list[ast.stmt]) -> bool:
    for node in (part for one in nodes for part in ast.walk(one)):
        if isinstance(node, ast.Assert):
            return True
        if isinstance(node, ast.Call) and "assert_" in ast.unparse(node.func):
            return True
    return False


def asserts_about_none(node: ast.AST) -> bool:
    """A loop over files whose body asserts, or `assert all(... for path in files)`."""
    if isinstance(node, ast.For):
        return asserts(node.body) and may_be_empty(node.iter)
    if not isinstance(node, ast.Assert):
        return False
    return any(
        may_be_empty(part.generators[0].iter)
        for call in ast.walk(node.test)
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "all"
        for part in call.args
        if isinstance(part, ast.GeneratorExp | ast.ListComp)
    )


def faults_of_python(text: str):
    """(line, fault) of each."""
    for node in ast.walk(ast.parse(text)):
        if asserts_about_none(node):
            yield node.lineno, "empty"
        if isinstance(node, ast.Call):
            yield from ((node.lineno, fault) for fault in faults_of_call(node))
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            yield from [(node.lineno, "clock")] * (is_clock(node.left) or is_clock(node.right))


def faults_of_cmake(text: str):
    for found in re.finditer(r"^\s*(add_test|set_tests_properties)\(([^)]*)", text, re.MULTILINE):
        if found[1] == "add_test" or re.search(r"\bTIMEOUT\b", found[2]):
            yield text.count("\n", 0, found.start(1)) + 1, "cmake"


def faults_of(file: str, text: str):
    if file.endswith(".py"):
        for line, fault in faults_of_python(text):
            if (file, fault) not in EXCEPTIONS:
                yield line, fault
    elif file != "cmake/PillionTargets.cmake":
        yield from faults_of_cmake(text)


def read(file: str) -> str:
    return (ROOT / file).read_text(encoding="utf-8")


def listed() -> list[str]:
    patterns = ["tests/**.py", "tests/*.py", "*CMakeLists.txt", "*.cmake"]
    command = ["git", "ls-files", "-co", "--exclude-standard", *patterns]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return sorted({f for f in done.stdout.split() if (ROOT / f).exists()} - HELPERS)


def main(files: list[str]) -> int:
    found = 0
    checked = files or listed()
    for file in checked:
        for line, fault in sorted(faults_of(file, read(file))):
            print(f"{file}:{line}: {ADVICE[fault]}")
            found += 1
    for name, count in Counter(Path(file).name for file in checked).items():
        if name.startswith(("test_", "conftest")) and count > 1:
            print(f"{name}: {count} folders have a module of this name; pytest imports only one")
            found += 1
    for file, fault in EXCEPTIONS if not files else ():
        if file not in checked or fault not in {f for _, f in faults_of_python(read(file))}:
            print(f"check_tests.py: {file} no longer {ADVICE[fault].split(':')[0]}: take it out")
            found += 1
    if not found:
        print(f"check_tests: {len(checked)} files; limits follow the machine")
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
