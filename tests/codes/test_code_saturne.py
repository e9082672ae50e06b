# SPDX-License-Identifier: BSD-3-Clause
"""code_saturne's own tutorials, unchanged, with the line of pillion-saturne. What arrives is what
code_saturne writes into its checkpoints and EnSight files, and these are those of runs without
Pillion.
"""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "conformance"))

from cached_codes import needs_codes
from conftest import read_table
from saturne_cases import Study, stored
from saturne_files import ensight, vtkhdf

pytestmark = needs_codes

MODES = {"simulation": ("", 2), "sidecars": ("sidecars: {per_node: 1, when_full: wait}\n", 3)}
KEYS = ["junction", "domain", "joined", "periodic", "rotor", "moving"]
LAST = 6  # step
CELLS = {"velocity": "Velocity", "pressure": "Pressure", "k": "k", "epsilon": "epsilon"} | {
    "temperature": "TempC",
    "turbulent_viscosity": "TurbVisc",
    "total_pressure": "total_pressure",
}
FACES = {
    "yplus": "Yplus",
    "boundary_stress": "Stress",
    "boundary_thermal_flux": "Input_thermal_flux",
}


@pytest.fixture(scope="module")
def study(build, tmp_path_factory) -> Study:
    if "HDF5_WORKS:INTERNAL=1" not in (build / "CMakeCache.txt").read_text():
        pytest.skip("the stage write_vtkhdf was not built")
    return Study(build, tmp_path_factory.mktemp("saturne"))


@pytest.fixture(scope="module")
def runs(study):
    """Runs that several tests look at, by case and mode."""
    done = {}

    def run(key: str, mode: str | None, ranks: int = 0) -> Path:
        if (key, mode, ranks) not in done:
            text = None if mode is None else configuration(key, mode)
            ranks_of_mode = ranks or (2 if mode is None else MODES[mode][1])
            name = f"{mode}{ranks or ''}"
            done[key, mode, ranks] = study.run(key, name, ranks_of_mode, text)
        return done[key, mode, ranks]

    return run


def configuration(key: str, mode: str) -> str:
    cells = [*CELLS, "velocity_previous", "cell_volume", "cell_centre"]
    cells += ["scalar2"] * (key == "domain")
    faces = [*FACES, "boundary_area", "boundary_normal", "boundary_mass_flux"]
    lists = {"fluid": cells, "boundary": faces, "interior_faces": ["inner_mass_flux"]}
    analyses = "".join(
        f"  {name}:\n    every: 3 steps\n    stages:\n"
        f"      - statistics: {{fields: [{names[0]}]}}\n"
        f"      - write_vtkhdf: {{fields: [{', '.join(names)}], durable: false}}\n"
        for name, names in lists.items()
    )
    return f"output: results\n{MODES[mode][0]}analyses:\n{analyses}"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("key", KEYS)
def test_values_are_those_of_the_checkpoint(runs, key, mode):
    run = runs(key, mode)
    fluid, faces = vtkhdf(run, "fluid", LAST), vtkhdf(run, "interior_faces", LAST)
    for name in ["velocity", "pressure", "k", "epsilon", "temperature"]:
        wanted = np.reshape(stored(run, f"{name}::vals::0"), fluid.cells[name].shape)
        np.testing.assert_array_equal(fluid.by_id(name), wanted)
    np.testing.assert_array_equal(fluid.by_id("GlobalCellIds"), 1 + np.arange(len(fluid.types)))
    for grid, name in (
        (faces, "inner_mass_flux"),
        (vtkhdf(run, "boundary", LAST), "boundary_mass_flux"),
    ):
        wanted = np.array(stored(run, f"{name}::vals::0", "auxiliary"))
        here = grid.by_id("GlobalCellIds") - 1
        np.testing.assert_array_equal(grid.by_id(name), wanted[here])
        # Of two periodic faces one is a copy: 16 + 18 + 9 + 8 at the sides of the four cubes.
        is_periodic = key == "periodic" and name == "inner_mass_flux"
        assert len(wanted) - len(here) == (51 if is_periodic else 0)
        assert np.ptp(wanted) > 0 or (key, name) == ("rotor", "boundary_mass_flux")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("key", KEYS)
def test_meshes_and_values_are_those_of_ensight_files(runs, key, mode):
    run = runs(key, mode)
    time = read_table(run / "results/fluid/statistics_velocity.csv")["time"][-1]
    for mesh, theirs, fields in (("fluid", "FLUID_DOMAIN", CELLS), ("boundary", "BOUNDARY", FACES)):
        ours, wanted = vtkhdf(run, mesh, LAST), ensight(run, theirs, time)
        assert len(ours.types) == len(wanted.types)
        for kind in np.unique(wanted.types):
            # Each kind of cell comes in the order of numbers.
            here = ours.order[ours.types[ours.order] == kind]
            there = np.flatnonzero(wanted.types == kind)
            assert len(here) == len(there)
            for a, b in zip(here, there, strict=True):
                np.testing.assert_array_equal(ours.corners(a), wanted.corners(b))
            for name, label in fields.items():
                values = ours.cells[name][here].astype(np.float32)
                np.testing.assert_array_equal(values, wanted.cells[label][there])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("key", KEYS)
def test_sizes_and_neighbours(runs, key, mode):
    """VTK and Pillion get code_saturne's volumes, and Pillion its areas, from points and faces."""
    run = runs(key, mode)
    fluid, boundary = vtkhdf(run, "fluid", LAST), vtkhdf(run, "boundary", LAST)
    volumes, areas = fluid.cells["cell_volume"], boundary.cells["boundary_area"]
    np.testing.assert_allclose(fluid.volumes(), volumes, rtol=1e-9)
    np.testing.assert_allclose(boundary.areas(), areas, rtol=1e-9)
    table = read_table(run / "results/fluid/statistics_velocity.csv")
    assert table["volume_x"][-1] == pytest.approx(volumes.sum(), rel=1e-9)
    table = read_table(run / "results/boundary/statistics_yplus.csv")
    assert table["volume"][-1] == pytest.approx(areas.sum(), rel=1e-9)
    for grid in (boundary, vtkhdf(run, "interior_faces", LAST)):
        places = {number: c for c, number in enumerate(fluid.cells["GlobalCellIds"])}
        for face in grid.order:
            cell = places[grid.cells["parent"][face]]
            assert {*map(tuple, grid.corners(face))} <= {*map(tuple, fluid.corners(cell))}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("key", KEYS)
def test_results_of_code_saturne_do_not_change(runs, key, mode):
    plain, run = runs(key, None), runs(key, mode)
    files = [p for p in (plain / "postprocessing").iterdir()]
    files += [plain / "checkpoint/main", plain / "checkpoint/auxiliary", plain / "residuals.csv"]
    assert len(files) > 20
    for path in files:
        assert path.read_bytes() == (run / path.relative_to(plain)).read_bytes(), path.name
    logs = [(of / "run_solver.log").read_text() for of in (plain, run)]
    whole = [
        re.sub(r"TIME FOR .*|\(s\): .*", "", log[log.index("MAIN CALCULATION") :]) for log in logs
    ]
    assert whole[0] == whole[1] and "Velocity" in whole[0]


def test_all_kinds_of_cells(runs):
    run = runs("joined", "simulation")
    assert {*vtkhdf(run, "fluid", LAST).types} == {10, 12, 13, 14, 42}
    assert {*vtkhdf(run, "boundary", LAST).types} == {5, 7, 9}
    assert 7 in vtkhdf(run, "interior_faces", LAST).types
    # The case's own functions are called, of names that the adapter could have taken.
    assert "user operations ran" in (run / "run_solver.log").read_text()
