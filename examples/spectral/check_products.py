# SPDX-License-Identifier: BSD-3-Clause
"""Checks what the example has left: counts of points, and the vortex's decay, which is known.

Usage: check_products.py OUTPUT [OUTPUT …]. The runs are of 4 elements per side, order 5, 10 steps.
"""

import csv
import math
import sys
from pathlib import Path

POINTS = 4**3 * 6**3


def rows(path: Path) -> list[dict[str, float]]:
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line[0] != "#"]
    return [{k: float(v) for k, v in row.items()} for row in csv.DictReader(lines)]


def check(output: Path) -> None:
    velocity = rows(output / "decay/statistics_velocity.csv")
    pressure = rows(output / "decay/statistics_pressure.csv")
    assert len(velocity) == len(pressure) == 11
    for row, other in zip(velocity, pressure, strict=True):
        decay = math.exp(-3 * (2 * math.pi) ** 2 * 0.01 * row["time"])
        assert row["count_x"] == other["count"] == POINTS
        assert row["rms_z"] == 0
        for name in ("rms_x", "max_x", "min_y", "rms_magnitude"):
            assert math.isclose(row[name], decay * velocity[0][name], rel_tol=1e-13), name
        assert math.isclose(other["rms"], decay**2 * pressure[0]["rms"], rel_tol=1e-13)
        assert row["max_x"] <= decay
    assert velocity[0]["max_x"] > 0.95
    for step in (0, 5, 10):
        counts = rows(output / f"speeds/histogram_speed.{step:09}.csv")
        assert sum(row["count"] for row in counts) == POINTS
    print(f"{output}: rms of x from {velocity[0]['rms_x']:.6f} to {velocity[-1]['rms_x']:.6f}")


def main() -> None:
    outputs = [Path(argument) for argument in sys.argv[1:]]
    assert outputs, __doc__
    for output in outputs:
        check(output)


if __name__ == "__main__":
    main()
