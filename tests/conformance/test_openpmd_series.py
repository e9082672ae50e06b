# SPDX-License-Identifier: BSD-3-Clause
"""Series of openPMD with meshes of several levels, a mesh with gaps and two species in one file,
as openPMD-api reads them."""

import json
import os
import sys
from pathlib import Path

import hierarchy
import numpy as np
import openpmd_api as io
import pytest
import species
from conftest import mpirun
from test_levels import CATALOGUE, HERE, PLACES
from test_write_openpmd import load, open_series

SCALAR = io.Record_Component.SCALAR
MESHES, FIELDS = CATALOGUE.split("fields:\n")
WRITTEN = f"""
scalars: [dt]
analyses:
  all:
    stages:
      - write_openpmd:
          fields: {list(hierarchy.FIELDS) + ["heat"] + list(species.RECORDS)}
          records: {json.dumps(species.RECORDS)}
          name: all
          durable: false
"""


@pytest.fixture(scope="module", params=PLACES)
def series(request, build, tmp_path_factory):
    if not (build / "stages" / "write_openpmd.so").exists():
        pytest.skip("the stage write_openpmd was not built")
    folder = tmp_path_factory.mktemp("live")
    ranks, more, sidecars = PLACES[request.param]
    head = f"output: results\nsidecars: {sidecars or '{}'}\n"
    catalogue = MESHES.rstrip() + species.CATALOGUE + "fields:\n" + FIELDS.rstrip() + species.FIELDS
    (folder / "run.yaml").write_text(head + catalogue + WRITTEN)
    env = os.environ | {"PYTHONPATH": f"{build / 'python'}:{HERE}"}
    mpirun(
        ranks + more,
        sys.executable,
        Path(HERE) / "species_program.py",
        env=env,
        cwd=folder,
        timeout=90,
    )
    report = json.loads((folder / "results" / "report.json").read_text())
    (analysis,) = report["analyses"]
    assert analysis["publications"] == hierarchy.STEPS and analysis["disabled"] is None
    return open_series(folder / "results" / "all", "all")


def of_level(boxes, level: int) -> list[hierarchy.Box]:
    return [box for box in boxes if box.level == level]


def with_gaps(values: np.ndarray, boxes, lo, hi) -> np.ndarray:
    """Indexed [z, y, x]: values in the boxes and nothing elsewhere, from lo to hi."""
    out = np.full(values.shape, np.nan, values.dtype)
    for box in boxes:
        out[box.cells] = values[box.cells]
    return out[tuple(slice(a, b) for a, b in zip(lo, hi, strict=True))].T


def test_levels_are_records(series):
    names = {"density": "density", "velocity": "velocity"}
    for step in range(hierarchy.STEPS):
        meshes = series.iterations[step].meshes
        wanted = {"heat", *names}
        for level in range(hierarchy.LEVELS):
            boxes = of_level(hierarchy.boxes(step), level)
            if not boxes:
                continue
            suffix = f"_lvl{level}" if level else ""
            wanted |= {name + suffix for name in names}
            lo, hi = np.min([b.lo for b in boxes], 0), np.max([b.hi for b in boxes], 0)
            mesh = meshes["density" + suffix]
            spacing = np.divide(hierarchy.CELLS, hierarchy.shape_of(level))
            np.testing.assert_allclose(mesh.grid_spacing, spacing[::-1], rtol=1e-14)
            np.testing.assert_allclose(mesh.grid_global_offset, (lo * spacing)[::-1], rtol=1e-14)
            values = hierarchy.values("density", step, level)
            np.testing.assert_array_equal(
                load(series, mesh[SCALAR]), with_gaps(values, boxes, lo, hi)
            )
            values = hierarchy.values("velocity", step, level)
            for c, name in enumerate("xy"):
                found = load(series, meshes["velocity" + suffix][name])
                assert found.dtype == np.float32
                np.testing.assert_array_equal(found, with_gaps(values[..., c], boxes, lo, hi))
        assert set(meshes) == wanted


def test_gaps_are_not_numbers(series):
    for step in range(hierarchy.STEPS):
        wanted = with_gaps(hierarchy.heat(step), hierarchy.ocean(step), (0, 0), hierarchy.OCEAN)
        found = load(series, series.iterations[step].meshes["heat"][SCALAR])
        np.testing.assert_array_equal(found, wanted)


def test_species(series):
    for step in range(hierarchy.STEPS):
        iteration = series.iterations[step]
        assert iteration.dt == 0.05
        assert sorted(iteration.particles) == sorted(species.SPECIES)
        for name in species.SPECIES:
            found = iteration.particles[name]
            values = {species.RECORDS[f]: v for f, v in species.values(name, step).items()}
            assert sorted(found) == sorted([*values, "positionOffset"])
            for record, wanted in values.items():
                if wanted.ndim == 1:
                    np.testing.assert_array_equal(load(series, found[record][SCALAR]), wanted)
                    continue
                axes = "xy" if (name, record) == ("ions", "position") else "xyz"
                assert sorted(found[record]) == list(axes)
                for c, axis in enumerate(axes):
                    component = found[record][axis]
                    np.testing.assert_array_equal(load(series, component), wanted[:, c])
                    unit = 1e-6 if record == "position" else 1.0
                    assert component.unit_SI == pytest.approx(unit, rel=1e-15)
