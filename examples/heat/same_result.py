# SPDX-License-Identifier: BSD-3-Clause
"""Runs two commands, separated by `--`, and checks that both end well and print the same result.

Result lines are those that begin with "heat:". They hold every digit of the numbers, however a
language writes them.
"""

import re
import subprocess
import sys


def result_of(command: list[str]) -> list[dict[str, float]]:
    run = subprocess.run(command, capture_output=True, text=True, timeout=100)
    if run.returncode != 0:
        sys.exit(f"{' '.join(command)}\nended with {run.returncode}:\n{run.stdout}{run.stderr}")
    lines = [line for line in run.stdout.splitlines() if line.startswith("heat:")]
    return [{k: float(v) for k, v in re.findall(r"(\w+)= *(\S+)", line)} for line in lines]


def main() -> None:
    middle = sys.argv.index("--")
    first, second = result_of(sys.argv[1:middle]), result_of(sys.argv[middle + 1 :])
    print(*first, sep="\n")
    if not first or not all(first) or first != second:
        sys.exit(f"the results differ:\n{first}\n{second}")


if __name__ == "__main__":
    main()
