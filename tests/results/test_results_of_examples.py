# SPDX-License-Identifier: BSD-3-Clause
"""`pillion.results` of the examples in cosmology and in molecular dynamics: every number of every
table is where it belongs, by NumPy's own reading of the files.
"""

import shutil
from pathlib import Path

import numpy as np
import pillion
import pytest
from conftest import mpirun
from results_sample import numpy_reads

EXAMPLES = Path(__file__).parents[2] / "examples"
MINIAPPS = EXAMPLES.with_name("miniapps")


@pytest.fixture(scope="module")
def universe(build, tmp_path_factory):
    program = build / "miniapps/cosmology/cosmology"
    if not program.exists():
        pytest.skip("the example cosmology is not built: no FFTW with MPI was found")
    folder = tmp_path_factory.mktemp("cosmology")
    small = ("cells=32", "length=32", "steps=40")
    mpirun(2, program, f"output={folder}", *small, cwd=MINIAPPS / "cosmology", timeout=120)
    return pillion.results(folder)


@pytest.fixture(scope="module")
def salt_water(build, tmp_path_factory):
    program = build / "bin/pillion-lmp"
    if not program.exists():
        pytest.skip("pillion-lmp is not built: no LAMMPS library was found")
    folder = tmp_path_factory.mktemp("nacl")
    for path in (EXAMPLES / "nacl").iterdir():
        shutil.copy(path, folder)
    words = (
        "-pillion pillion.yaml -in in.nacl -screen none -var sites 7 -var pairs 2 -var steps 100"
    )
    mpirun(1, program, *words.split(), cwd=folder, timeout=120)
    return pillion.results(folder / "results")


def placed(oracle):
    """Columns as arrays of the shape that the stage's README says they have."""
    names = oracle.dtype.names
    if "against_lower" in names:
        shape = (len(np.unique(oracle["lower"])), len(np.unique(oracle["against_lower"])))
        return {name: oracle[name].reshape(shape)[1:-1, 1:-1] for name in names[4:]}
    if names[:2] == ("x", "y"):
        shape = (len(np.unique(oracle["y"])), len(np.unique(oracle["x"])))
        return {"mean": oracle["mean"].reshape(shape)}
    return {name: oracle[name] for name in names}


def steps_of(results, kind):
    for key in results:
        product = results.product(key)
        if product.kind == kind:
            yield key, {step: product.file(step) for step in product.steps} or product.path


def test_every_number_of_every_step(universe):
    forms = set()
    for key, files in steps_of(universe, "steps"):
        whole = universe[key].load()
        forms |= {of.dims for of in whole.values()}
        for step, path in files.items():
            oracle, alone = placed(numpy_reads(path)), universe.at(key, step)
            if "row" in whole.dims:
                of_step = whole.isel(row=whole["step"].values == step)
            else:
                of_step = whole.sel(step=step)
            for name, values in oracle.items():
                np.testing.assert_array_equal(of_step[name], values, f"{key}: {name}")
                np.testing.assert_array_equal(alone[name], values, f"{key}: {name}")
    wanted = {("row",), ("step", "bin"), ("step", "bin", "against_bin"), ("step", "k")}
    assert wanted | {("step", "y", "x"), ("step", "point")} <= forms


@pytest.mark.parametrize("example", ["universe", "salt_water"])
def test_every_number_over_the_run(example, request):
    results = request.getfixturevalue(example)
    for key, path in steps_of(results, "table"):
        found, oracle = results[key], numpy_reads(path)
        for name in oracle.dtype.names:
            np.testing.assert_array_equal(found[name], oracle[name], f"{key}: {name}")


def test_units_and_places(universe, salt_water):
    spectrum = universe["matter/power_spectrum_matter"]
    assert spectrum["power"].attrs["units"] == "Mpc^3" and spectrum["k"].attrs["units"] == "1/Mpc"
    assert spectrum["time"].attrs["units"] == "scale factor"
    assert spectrum["time"].sel(step=40).item() == 1.0
    plane = universe["matter/slice_matter_z"]["mean"]
    assert plane.attrs == {"long_name": "matter", "units": "M_sun/Mpc^3"}
    phase = universe["distribution/histogram_gas_temperature_against_gas_density"]
    assert phase["bin"].attrs == {"long_name": "gas temperature", "units": "K"}
    assert phase["against_bin"].attrs == {"long_name": "gas density"}
    np.testing.assert_allclose(phase["bin"] ** 2, phase["lower"] * phase["upper"], rtol=1e-12)
    rdf = salt_water["structure/rdf"]
    assert rdf["g_Na_O"].dims == ("r",) and rdf["r"].attrs["units"] == "Å"
    assert rdf["g_Na_O"].attrs["long_name"] == "g(r), Na–O"
    msd = salt_water["diffusion/msd"]
    assert msd["lag"].attrs["units"] == "fs" and msd["msd_Na"].attrs["units"] == "Å^2"
