# SPDX-License-Identifier: BSD-3-Clause
"""Checks that sidecars read the field where the simulation computed it.

Not every time, perhaps: while sidecars hold all buffers but one, a publication is copied. The first
one never is. Usage: check_read_in_place.py OUTPUT [OUTPUT …].
"""

import json
import sys
from pathlib import Path

MESH = 32**3 * 8


def main() -> None:
    outputs = [Path(argument) for argument in sys.argv[1:]]
    assert outputs, __doc__
    for output in outputs:
        report = json.loads((output / "report.json").read_text(encoding="utf-8"))
        read = report["sidecars"]["in_place_bytes"]
        moved = sum(analysis["bytes_moved"] for analysis in report["analyses"])
        assert report["sidecars"]["transport"] == "node"
        assert MESH <= read <= moved, f"{output}: {read} bytes were read in place, of {moved}"
        print(f"{output}: {read} of {moved} bytes")


if __name__ == "__main__":
    main()
