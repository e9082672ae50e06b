#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Fails if a class, a function or a file has grown beyond its bar: it holds two ideas then, which
have to be separated. tools/sizes.txt lists what exceeds a bar today, with its number. The list may
only shrink: an entry that is too large, or no longer needed, fails as well.

    tools/check_sizes.py            checks
    tools/check_sizes.py --lower    lowers entries of the list to what is measured; adds none
    tools/check_sizes.py --top N    prints the N largest of every rule
"""

import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from sizes import Found, cpp, files, python_code

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "tools/sizes.txt"
FOLDERS = ("src", "apps", "stages", "adapters", "include", "python", "fortran")

# The largest number that each rule allows, and what to do beyond it.
BARS = {
    "methods": (25, "methods and functions that change it: separate its two ideas"),
    "members": (20, "members: put members that belong together into a struct"),
    "interface": (9, "virtual functions: separate what it can do"),
    "sources": (1, "sources define its methods: separate its ideas, or join the sources"),
    "headers": (45, "headers of ours behind it: include less, or declare instead"),
    "lines": (60, "lines: take a step out as a function with a name"),
    "parameters": (6, "parameters: pass a struct"),
    "long": (600, "lines in the file: separate its ideas"),
    "slivers": (10, "per cent of the files have less than 40 lines: join them"),
    "paths": (0, "names of files in comments that do not exist"),
    "waits": (0, "waits or memory orders without a comment in the five lines before"),
}  # fmt: skip


def listed(text: str) -> dict[tuple[str, str], int]:
    """Entries of the list: rule, place and number in each line."""
    lines = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    return {(rule, place): int(number) for rule, place, number in lines}


def largest(found: Iterable[Found]) -> dict[tuple[str, str], Found]:
    """One of each rule and place: functions of one name in a file count as the largest of them."""
    out: dict[tuple[str, str], Found] = {}
    for one in sorted(found):
        out[one.rule, one.place] = max(one, out.get((one.rule, one.place), one))
    return out


def faults(found: Mapping[tuple[str, str], Found], may: Mapping[tuple[str, str], int]) -> list[str]:
    """What exceeds its bar and is not listed, or is listed with another number."""
    out = []
    for key, one in sorted(found.items()):
        bar, remedy = BARS[one.rule]
        place = one.place.replace(":", f":{one.line}: ", 1) if ":" in one.place else one.place
        if key in may and one.number > may[key]:
            out.append(f"{place}: {one.number} {remedy} (listed with {may[key]})")
        elif key in may and bar < one.number < may[key]:
            out.append(
                f"{place}: {one.number} {one.rule}; tools/sizes.txt says {may[key]}: lower it"
            )
        elif key not in may and one.number > bar:
            out.append(f"{place}: {one.number} {remedy} (at most {bar})")
    for rule, place in sorted(may):
        one = found.get((rule, place))
        if one is None or one.number <= BARS[rule][0]:
            out.append(f"tools/sizes.txt: '{rule} {place}' is not needed any more: remove it")
    return out


def lowered(found: Mapping[tuple[str, str], Found], may: Mapping[tuple[str, str], int]) -> dict:
    """Entries that are still needed, none of them larger than before."""
    numbers = {key: found[key].number for key in may if key in found}
    return {
        key: min(number, may[key])
        for key, number in numbers.items()
        if number > BARS[key[0]][0]
    }  # fmt: skip


def measure() -> Iterator[Found]:
    names = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.splitlines()
    product = [ROOT / name for name in names if name.split("/")[0] in FOLDERS]
    product = [path for path in product if path.is_file()]
    compiled = [path for path in product if path.suffix in (".c", ".cpp", ".h", ".hpp")]
    python = [path for path in product if path.suffix == ".py"]
    yield from cpp.measure(compiled, ROOT)
    yield from python_code.measure(python, ROOT)
    yield from files.lengths(compiled + python, ROOT)
    yield from files.headers_behind(compiled, ROOT)
    yield from files.missing_paths(compiled + python, ROOT, Counter(Path(n).name for n in names))


def show_largest(found: Iterable[Found], count: int) -> None:
    rules = defaultdict(list)
    for one in found:
        rules[one.rule].append(one)
    for rule, (bar, _) in BARS.items():
        over = sum(one.number > bar for one in rules[rule])
        print(f"{rule}: {over} above {bar}")
        for one in sorted(rules[rule], key=lambda one: -one.number)[:count]:
            print(f"  {one.number:5} {one.place}")


def main(arguments: list[str]) -> int:
    found = largest(measure())
    text = LIST.read_text(encoding="utf-8") if LIST.exists() else ""
    may = listed(text)
    if arguments[:1] == ["--top"]:
        show_largest(found.values(), int(arguments[1]))
        return 0
    if arguments == ["--lower"]:
        head = "".join(line + "\n" for line in text.splitlines() if line.startswith("#"))
        rows = [f"{rule} {place} {n}\n" for (rule, place), n in sorted(lowered(found, may).items())]
        LIST.write_text(head + "".join(rows), encoding="utf-8")
        return 0
    wrong = faults(found, may)
    in_src = sum(place.startswith("src/") for _, place in may)
    print("\n".join(wrong) or f"check_sizes: {len(may)} exceptions, {in_src} of them in src")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
