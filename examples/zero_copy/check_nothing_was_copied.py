# SPDX-License-Identifier: BSD-3-Clause
"""Checks that no run copied the field into the memory for publications.

What publications took there, at most, must be far less than one rank's block of 32^3 values over
three simulation ranks. Usage: check_nothing_was_copied.py OUTPUT [OUTPUT …].
"""

import json
import sys
from pathlib import Path

SMALLEST_BLOCK = 10 * 32 * 32 * 8


def main() -> None:
    outputs = [Path(argument) for argument in sys.argv[1:]]
    assert outputs, __doc__
    for output in outputs:
        report = json.loads((output / "report.json").read_text(encoding="utf-8"))
        peak = report["sidecars"]["peak_bytes"]
        assert report["sidecars"]["transport"] == "node"
        assert 0 < peak < SMALLEST_BLOCK / 2, f"{output}: {peak} bytes were taken"
        print(f"{output}: at most {peak} bytes")


if __name__ == "__main__":
    main()
