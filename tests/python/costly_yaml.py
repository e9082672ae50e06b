# SPDX-License-Identifier: BSD-3-Clause
"""Configurations that would crash or starve a reader, each with the line and the words of its
refusal; and a measure of what a command takes.
"""

import json
import sys
from dataclasses import dataclass

import limits

# A small process starts the command: a child's peak memory includes its parent's at the fork.
_MEASURED = """
import json, os, resource, subprocess, sys
resource.setrlimit(resource.RLIMIT_CPU, (5, 5))
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
shown = process.stdout.read().decode(errors="replace")
_, status, usage = os.wait4(process.pid, 0)
json.dump([os.waitstatus_to_exitcode(status), shown, usage.ru_utime + usage.ru_stime,
           usage.ru_maxrss << 10], sys.stdout)
"""


@dataclass(frozen=True)
class Cost:
    """What a command said and took."""

    status: int
    shown: str
    seconds: float  # of CPU time, which a busy machine does not lengthen
    memory: int


def cost_of(command, folder) -> Cost:
    measured = [sys.executable, "-c", _MEASURED, *map(str, command)]
    done = limits.run(measured, cwd=folder, capture_output=True, timeout=60, check=True)
    return Cost(*json.loads(done.stdout))


def _bomb() -> str:
    levels = (f"a{n}: &a{n} [{f'*a{n - 1}, ' * 10}]\n" for n in range(1, 10))
    return "a0: &a0 x\n" + "".join(levels)


_DEEP = "lists and maps are nested more than 100 deep"
_LONG = "the text is longer than 512"
_MANY = "more than 50000 keys and values"
_LIMIT = 512 << 10
_FIELDS = b"fields:\n" + b"".join(b"  f%d: {mesh: g, type: int32}\n" % n for n in range(50_000))
_GOOD = b"output: results\nanalyses: {}\n"

# name: (content, line, words)
COSTLY: dict[str, tuple[bytes, int, str]] = {
    "parameters that contain themselves": (b"parameters: &p {n: *p}\n", 1, "an alias refers to"),
    "list that contains itself": (_GOOD + b"x: &a\n  - [*a]\n", 4, "an alias refers to"),
    "alias bomb": (_bomb().encode(), 6, _MANY),
    "brackets": (b"a: 1\nb: " + b"[" * 100_000, 2, _DEEP),
    "braces": (b"a: 1\nb: " + b"{a: " * 100_000, 2, _DEEP),
    "dashes": (b"a: 1\nb:\n  " + b"- " * 100_000, 3, _DEEP),
    "indentation": ("".join(" " * n + "a:\n" for n in range(700)).encode(), 101, _DEEP),
    "long comment": (_GOOD + b"#" * 100_000_000 + b"\n", 3, _LONG),
    "many comments": (b"#\n" * 1_000_000, _LIMIT // 2 + 1, _LONG),
    "many fields": (_FIELDS, _FIELDS.count(b"\n", 0, _LIMIT) + 1, _LONG),
    "long list": (b"a: 1\nb: [" + b"1," * 5_000_000 + b"]\n", 2, _LONG),
    "many values": (b"a: 1\nb: [" + b"1," * 100_000 + b"]\n", 2, _MANY),
    "second document": (_GOOD + b"---\n" + _GOOD, 3, "document"),
    "Latin-1": (_GOOD + b"units: {time: \xb0C}\n", 3, "0xb0 at column 15 is not UTF-8"),
    "UTF-16": ("output: x\n".encode("utf-16"), 1, "the text is UTF-16"),
    "NUL": (_GOOD + b"run: a\0b\n", 3, "the character U+0000 at column 7"),
}
