#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Fails if a stage of Pillion keeps something from one publication to the next and does not declare
that a failed publication leaves it as it was. Such a stage ends its analysis at its first failure.
A stage that declares it has the peers agree before it changes anything."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STAGES = ROOT / "stages"
# What a stage saves stands in its own folder, or in a class of stages/common that it derives from.
SAVES = re.compile(r"\bvoid save\(stage::State& \w+\) const override")
DECLARES = re.compile(r"\bsurvives_failures\(\)")
DERIVED = {"msd": "time_correlation.hpp", "vacf": "time_correlation.hpp"}


def text_of(folder: Path) -> str:
    paths = [p for p in folder.rglob("*") if p.suffix in {".cpp", ".hpp"}]
    if base := DERIVED.get(folder.name):
        paths.append(STAGES / "common" / base)
    return "\n".join(path.read_text() for path in sorted(paths))


def main() -> int:
    folders = [path.parent for path in STAGES.rglob("README.md") if path.parent != STAGES]
    folders = [f for f in folders if f != STAGES / "write"]
    keeping = [f for f in sorted(folders) if SAVES.search(text_of(f))]
    faults = [
        f"{folder.relative_to(ROOT)}: saves a state, and does not say setup.survives_failures()"
        for folder in keeping
        if not DECLARES.search(text_of(folder))
    ]
    said = f"check_stages: {len(keeping)} of {len(folders)} stages keep something through failures"
    print("\n".join(faults) or said)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
