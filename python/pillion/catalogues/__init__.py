# SPDX-License-Identifier: BSD-3-Clause
"""Meshes and fields that codes with an adapter offer, as YAML, for `pillion check --catalogue`
before the first run. A run leaves its own as catalogue.yaml in its output folder.
"""

from pathlib import Path

NAMES = tuple(sorted(path.stem for path in Path(__file__).parent.glob("*.yaml")))


def path_of(name: str) -> Path:
    """The file for a name in NAMES."""
    return Path(__file__).with_name(f"{name}.yaml")
