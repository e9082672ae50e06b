# SPDX-License-Identifier: BSD-3-Clause
"""Runs miniapps/cosmology and reads what it prints and writes."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from conftest import mpirun

YAML = Path(__file__).parents[2] / "miniapps/cosmology/pillion.yaml"


@dataclass(frozen=True)
class Run:
    folder: Path
    cells: int
    length: float
    columns: dict[str, np.ndarray]

    def __getitem__(self, name):
        return self.columns[name]

    def field(self, name, step=-1):
        number = self["step"][step]
        return np.load(self.folder / f"snapshots/{name}.{number:06}.npy")

    def particles(self, name, step=-1):
        """A field of the particles in the order of their ids."""
        order = np.argsort(self.field("id", step))
        return self.field(name, step)[order]

    def displacement(self, step=-1):
        """From the cells' corners at which particles began; indexed [z, y, x, axis]."""
        x = self.particles("position", step).reshape((self.cells,) * 3 + (3,))
        cell = np.stack(np.indices((self.cells,) * 3)[::-1], axis=-1)
        moved = x - cell * self.length / self.cells
        return (moved + self.length / 2) % self.length - self.length / 2


def simulate(build, folder, ranks=1, program="cosmology_noop", file=None, **parameters):
    """Runs the program in a folder of its own; snapshots are written if snapshot_every is given."""
    executable = build / "miniapps/cosmology" / program
    if not executable.exists():
        pytest.skip("miniapps/cosmology was not built: FFTW with MPI was not found")
    folder.mkdir(parents=True)
    (folder / "pillion.yaml").write_text(YAML.read_text(encoding="utf-8"), encoding="utf-8")
    if "snapshot_every" in parameters:
        parameters["snapshots"] = "snapshots"
    settings = [file] if file else []
    settings += [f"{name}={value}" for name, value in parameters.items()]
    done = mpirun(ranks, executable, *settings, cwd=folder)
    lines = [line.split() for line in done.stdout.splitlines() if line.startswith("step=")]
    rows = [dict(item.split("=") for item in line) for line in lines]
    columns = {name: np.array([float(row[name]) for row in rows]) for name in rows[0]}
    columns["step"] = columns["step"].astype(int)
    return Run(folder, int(parameters["cells"]), float(parameters["length"]), columns)
