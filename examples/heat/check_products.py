# SPDX-License-Identifier: BSD-3-Clause
"""Checks what Pillion computed from the heat example against the solution of its equations.

Every step multiplies the one sine mode by the same factor, so minimum, maximum and mean temperature
of every step are known. Usage: check_products.py OUTPUT [OUTPUT …], the folders of several runs.
"""

import math
import sys
from pathlib import Path

CELLS, STEPS, EVERY = 32, 200, 10
MEAN, AMPLITUDE = 300.0, 10.0


def rows_of(path: Path) -> list[dict[str, float]]:
    lines = [x for x in path.read_text(encoding="utf-8").splitlines() if not x.startswith("#")]
    names = lines[0].split(",")
    return [dict(zip(names, map(float, line.split(",")), strict=True)) for line in lines[1:]]


def amplitude_at(step: int) -> float:
    """Half the largest temperature difference after so many steps of half the stable length."""
    factor = 1 - 6 * (1 - math.cos(2 * math.pi / CELLS)) / 12
    highest = max(math.sin(2 * math.pi * (i + 0.5) / CELLS) for i in range(CELLS))
    return AMPLITUDE * factor**step * highest**3


def check(output: Path) -> None:
    rows = rows_of(output / "decay/statistics_temperature.csv")
    steps = [int(row["step"]) for row in rows]
    assert steps == list(range(0, STEPS + 1, EVERY)), f"{output}: rows of steps {steps}"
    for row in rows:
        step, expected = int(row["step"]), amplitude_at(int(row["step"]))
        found = {name: row[name] - MEAN for name in ("min", "mean", "max")}
        wanted = {"min": -expected, "mean": 0.0, "max": expected}
        for name, value in wanted.items():
            assert abs(found[name] - value) < 1e-9, f"{output}, step {step}: {name} {row[name]}"
        assert row["count"] == CELLS**3, f"{output}, step {step}: {row['count']} cells"
    histograms = sorted(output.glob("distribution/histogram_temperature.*.csv"))
    assert len(histograms) == STEPS // 50 + 1, f"{output}: {len(histograms)} histograms"
    for path in histograms:
        assert sum(row["count"] for row in rows_of(path)) == CELLS**3, path


def main() -> None:
    outputs = [Path(argument) for argument in sys.argv[1:]]
    assert outputs, __doc__
    for output in outputs:
        check(output)
        print(f"{output}: as it must be")


if __name__ == "__main__":
    main()
