# SPDX-License-Identifier: BSD-3-Clause
"""Tables as xarray datasets, against NumPy's own reading of their files: one over the run, and
those of steps, with an x in common or not, and lists.
"""

import pickle

import numpy as np
import pillion
import pytest
import xarray as xr
from pillion import tables
from pillion.datasets import kept
from pillion.errors import Error
from results_sample import numpy_reads, profile, put, things
from sample import histogram_columns, make_sample


@pytest.fixture
def reads(monkeypatch):
    """Names of the tables that were read, in order."""
    found = []

    def read(path):
        found.append(path.name)
        return tables.read_table(path)

    monkeypatch.setattr(kept.table_of, "_read", read)
    return found


def test_a_table_over_the_run(tmp_path):
    make_sample(tmp_path)
    msd = pillion.results(tmp_path)["motion/msd"]
    oracle = numpy_reads(tmp_path / "motion/msd.csv")
    assert msd.sizes == {"lag": 41}
    np.testing.assert_array_equal(msd["lag"], oracle["lag"])
    assert msd["lag"].attrs == {"long_name": "lag", "units": "fs"}
    assert "lag" in msd.xindexes and msd["lag_steps"].dims == ("lag",)
    assert "lag_steps" in msd.coords
    for name in set(oracle.dtype.names) - {"lag", "lag_steps"}:
        assert msd[name].dims == ("lag",)
        np.testing.assert_array_equal(msd[name], oracle[name])
    assert msd["samples_O"].dtype == np.int64
    assert msd["msd_O"].attrs == {"long_name": "mean squared displacement, O", "units": "Å^2"}
    assert "units" not in msd["samples_O"].attrs
    assert msd["diffusion_O"].item() == 2.47e-05
    assert msd["diffusion_O"].attrs["units"] == "Å^2/fs"
    assert msd.attrs["origins"] == "every 10, 16 kept"
    assert (msd["step"].item(), msd["time"].item()) == (1000, 1000.0)
    assert msd["time"].attrs["units"] == "fs"
    assert msd.attrs["publications"] == 21 and "rdf: {pairs" in msd.attrs["configuration"]


def test_an_attribute_named_as_a_column(tmp_path):
    make_sample(tmp_path)
    vacf = pillion.results(tmp_path)["motion/vacf"]
    assert vacf["diffusion_O"].dims == ("lag",)
    assert vacf["diffusion_O_of_table"].item() == 2.47e-05


def test_a_table_over_steps(tmp_path):
    make_sample(tmp_path)
    watch = pillion.results(tmp_path)["watch/statistics_temperature"]
    oracle = numpy_reads(tmp_path / "watch/statistics_temperature.csv")
    assert {name: of.dims for name, of in watch.coords.items()} == {
        "step": ("step",),
        "time": ("step",),
    }
    np.testing.assert_array_equal(watch["time"], oracle["time"])
    assert watch["mean"].sel(step=500).item() == oracle["mean"][oracle["step"] == 500]
    assert watch["mean"].attrs["units"] == "K"


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_bins(tmp_path, scale):
    edges = np.geomspace(1, 1e4, 9) if scale == "log" else np.linspace(-1, 3, 9)
    columns = [("lower", "K", edges[:-1]), ("upper", "K", edges[1:]), ("count", "", np.arange(8))]
    put(tmp_path, "a/histogram_heat", columns, stage="histogram",
        attributes=[("scale", scale, ""), ("below", 7, "")])  # fmt: skip
    found = pillion.results(tmp_path)["a/histogram_heat"]
    assert found["count"].dims == ("bin",)
    centres = np.sqrt(edges[1:] * edges[:-1]) if scale == "log" else (edges[1:] + edges[:-1]) / 2
    np.testing.assert_allclose(found["bin"], centres, rtol=1e-14)
    np.testing.assert_array_equal(found["lower"], edges[:-1])
    np.testing.assert_array_equal(found["upper"], edges[1:])
    assert found["bin"].attrs == {"long_name": "heat", "units": "K"}
    assert found["below"].item() == 7 and found.attrs["scale"] == scale


def plane(step, shuffled=True):
    """As the stage writes it, with rows outside; shuffled, since order must not matter."""
    own, other = np.array([-np.inf, 1, 2, 4, np.inf]), np.array([-np.inf, 0, 1, 2, 3, np.inf])
    i, j = (part.ravel() for part in np.meshgrid(range(4), range(5), indexing="ij"))
    order = np.random.default_rng(step).permutation(20) if shuffled else np.arange(20)
    values = (100 * step + 10 * i + j)[order]
    return [
        ("lower", "K", own[i][order]),
        ("upper", "K", own[i + 1][order]),
        ("against_lower", "g", other[j][order]),
        ("against_upper", "g", other[j + 1][order]),
        ("count", "", values),
    ]


def test_histograms_of_two_fields(tmp_path):
    for step in (0, 10):
        put(tmp_path, "a/histogram_T_against_rho", plane(step, False), step=step, stage="histogram",
            attributes=[("against", "rho", "")])  # fmt: skip
    found = pillion.results(tmp_path)["a/histogram_T_against_rho"]
    assert found["count"].dims == ("step", "bin", "against_bin")
    wanted = 10 * np.arange(1, 3)[:, None] + np.arange(1, 4)
    np.testing.assert_array_equal(found["count"].sel(step=0), wanted)
    np.testing.assert_array_equal(found["count"].sel(step=10), wanted + 1000)
    np.testing.assert_array_equal(found["bin"], [1.5, 3.0])
    np.testing.assert_array_equal(found["against_bin"], [0.5, 1.5, 2.5])
    assert found["bin"].attrs == {"long_name": "T", "units": "K"}
    assert found["against_bin"].attrs == {"long_name": "rho", "units": "g"}


def test_a_plane_in_any_order(tmp_path):
    put(tmp_path, "a/histogram_T_against_rho", plane(3), stage="histogram")
    found = pillion.results(tmp_path)["a/histogram_T_against_rho"]
    wanted = 300 + 10 * np.arange(1, 3)[:, None] + np.arange(1, 4)
    np.testing.assert_array_equal(found["count"], wanted)


def test_slices(tmp_path):
    """[second, first], whatever the axes are called; a pixel that is not there is NaN."""
    x, z = (part.ravel() for part in np.meshgrid([1.0, 2.0, 3.0], [-1.0, 1.0]))
    put(tmp_path, "a/slice_density_y", [("x", "m", x[1:]), ("z", "m", z[1:]),
        ("mean", "kg", 10 * z[1:] + x[1:])], stage="slice")  # fmt: skip
    found = pillion.results(tmp_path)["a/slice_density_y"]
    assert found["mean"].dims == ("z", "x")
    wanted = 10 * np.array([-1.0, 1.0])[:, None] + np.array([1.0, 2.0, 3.0])
    wanted[0, 0] = np.nan
    np.testing.assert_array_equal(found["mean"], wanted)
    assert found["mean"].attrs == {"long_name": "density", "units": "kg"}
    assert found["x"].attrs["units"] == "m"


def test_steps_with_an_x_in_common(tmp_path, reads):
    paths = {
        step: put(tmp_path, "a/profile", profile(step), step=step, attributes=[("n", step, "m")])
        for step in range(0, 100, 10)
    }
    found = pillion.results(tmp_path)["a/profile"]
    assert found.sizes == {"step": 10, "r": 5}
    assert set(reads) == {"profile.000000000.csv", "profile.000000090.csv"}
    assert found["density"].dims == ("step", "r") and found["count"].dtype == np.int64
    assert found["r_reduced"].dims == ("r",)
    reads.clear()
    one = found["density"].sel(step=30)
    assert reads == []
    np.testing.assert_array_equal(one, numpy_reads(paths[30])["density"])
    assert reads == ["profile.000000030.csv"]
    assert found["time"].sel(step=50).item() == 25.0 and found["time"].attrs["units"] == "fs"
    np.testing.assert_array_equal(found["n"].isel(step=[5, 3]), [50, 30])
    assert reads == ["profile.000000030.csv", "profile.000000050.csv"]
    whole = found.compute()
    assert len(reads) == len(set(reads)) == 8  # each once, the first and the last at the beginning
    for step, path in paths.items():
        for name in ("density", "count"):
            np.testing.assert_array_equal(whole[name].sel(step=step), numpy_reads(path)[name])
    np.testing.assert_array_equal(whole["time"], 0.5 * whole["step"])


@pytest.mark.parametrize(
    "key",
    [
        {"step": -1, "r": 2},
        {"step": slice(None, None, -2), "r": slice(1, 3)},
        {"step": [2, 0, 2], "r": [4, 0]},
        {"step": xr.DataArray([0, 1, 3], dims="p"), "r": xr.DataArray([4, 0, 2], dims="p")},
        {"step": slice(0, 0)},
        {"r": np.array([True, False, True, False, False])},
    ],
    ids=["numbers", "backwards", "outer", "points", "nothing", "mask"],
)
def test_every_way_to_index(tmp_path, key):
    for step in range(4):
        put(tmp_path, "a/profile", profile(step), step=step)
    found = pillion.results(tmp_path)["a/profile"]["count"]
    wanted = xr.DataArray(np.arange(5) + 10 * np.arange(4)[:, None], dims=("step", "r"))
    np.testing.assert_array_equal(found.isel(key), wanted.isel(key))
    assert found.isel(key).dims == wanted.isel(key).dims


def test_every_step_with_an_x_of_its_own(tmp_path):
    paths = [put(tmp_path, "a/profile", profile(s, begin=s), step=s) for s in range(3)]
    results = pillion.results(tmp_path)
    found = results["a/profile"]
    assert found["density"].dims == found["r"].dims == ("step", "point")
    assert {"r", "r_reduced"} <= {*found.coords}
    for step, path in enumerate(paths):
        for name in ("r", "density"):
            np.testing.assert_array_equal(found[name].sel(step=step), numpy_reads(path)[name])
    np.testing.assert_array_equal(results.at("a/profile", 1)["r"], numpy_reads(paths[1])["r"])
    assert results.at("a/profile", 1)["time"].item() == 0.5


def test_bins_that_follow_the_data(tmp_path):
    for step in range(3):
        lower = np.arange(4.0) * (step + 1)
        put(tmp_path, "a/h", [("lower", "K", lower), ("upper", "K", lower + step + 1),
            ("count", "", np.arange(4))], step=step)  # fmt: skip
    found = pillion.results(tmp_path)["a/h"]
    assert found["count"].dims == found["lower"].dims == ("step", "bin")
    np.testing.assert_array_equal(found["upper"].sel(step=2), [3, 6, 9, 12])


@pytest.mark.parametrize(
    ("other", "why"),
    [
        (profile(1, points=4), "has not the 5 rows of"),
        (profile(1, begin=0.5), "has not the same r, r_reduced of"),
    ],
)
def test_a_step_between_that_is_not_like_the_others(tmp_path, other, why):
    for step, columns in ((0, profile(0)), (1, other), (2, profile(2))):
        put(tmp_path, "a/profile", columns, step=step)
    results = pillion.results(tmp_path)
    found = results["a/profile"]["density"]
    found.isel(step=[0, 2]).load()
    with pytest.raises(Error, match=f"{why}.*open a/profile with rows='ragged'"):
        found.load()
    ragged = results.open("a/profile", rows="ragged")
    np.testing.assert_array_equal(ragged["density"].sel(step=1), other[2][2])


def test_lists_of_things(tmp_path, reads):
    counts = {0: 3, 10: 0, 20: 5, 30: 1}
    paths = {s: put(tmp_path, "a/halos", things(s, n), step=s, attributes=[("mean", s, "kg")])
             for s, n in counts.items()}  # fmt: skip
    results = pillion.results(tmp_path)
    found = results["a/halos"]
    assert found.sizes == {"publication": 4, "row": 9}
    np.testing.assert_array_equal(found["row_size"], list(counts.values()))
    assert found["row_size"].attrs["sample_dimension"] == "row"
    np.testing.assert_array_equal(found["mean"].sel(publication=20), 20)
    reads.clear()
    one = found.sel(step=20)
    assert one.sizes["row"] == 5 and reads == []
    for name in ("id", "mass", "x"):
        np.testing.assert_array_equal(one[name], numpy_reads(paths[20])[name])
    assert set(reads) <= {"halos.000000020.csv"}
    assert found["id"].dtype == np.int64 and "id" in found.coords
    every = np.concatenate([numpy_reads(paths[s])["mass"] for s in (0, 20, 30)])
    np.testing.assert_array_equal(found["mass"], every)
    np.testing.assert_array_equal(found["mass"][[8, 0, 4]], every[[8, 0, 4]])
    heaviest = found["mass"].groupby("step").max()
    np.testing.assert_array_equal(heaviest, [every[:3].max(), every[3:8].max(), every[8]])
    np.testing.assert_array_equal(found["time"].sel(step=30), [15.0])
    assert results.at("a/halos", 10).sizes == {"row": 0}


def test_lists_whose_ends_are_empty(tmp_path):
    """Tables without rows say nothing of types."""
    for step, count in ((0, 0), (1, 4), (2, 0)):
        columns = things(step, count)
        if count == 0:
            columns[0] = ("id", "", np.empty(0))
        put(tmp_path, "a/halos", columns, step=step)
    found = pillion.results(tmp_path)["a/halos"]
    assert found["id"].dtype == np.int64
    np.testing.assert_array_equal(found["id"], things(1, 4)[0][2])


def test_columns_that_come_later(tmp_path):
    """What a step has not is NaN, and integers become reals for it."""
    put(tmp_path, "a/profile", profile(0), step=0)
    columns = [*profile(1), ("coarsening", "", np.full(5, 2))]
    put(tmp_path, "a/profile", columns, step=1, attributes=[("late", 3.5, "s")])
    found = pillion.results(tmp_path)["a/profile"]
    assert found["coarsening"].dtype == np.float64
    np.testing.assert_array_equal(found["coarsening"], [[np.nan] * 5, [2] * 5])
    np.testing.assert_array_equal(found["late"], [np.nan, 3.5])


def test_a_column_of_another_type_between(tmp_path):
    for step in range(3):
        columns = profile(step)
        if step == 1:
            columns[3] = ("count", "", np.arange(5) + 0.5)
        put(tmp_path, "a/profile", columns, step=step)
    with pytest.raises(Error, match="step 1 has values of type float64, others have int64"):
        pillion.results(tmp_path)["a/profile"]["count"].load()


def test_columns_called_as_what_is_ours(tmp_path):
    for step in range(2):
        put(tmp_path, "a/odd", [("step", "", np.arange(3)), ("time", "s", np.arange(3.0)),
            ("point", "", np.arange(3.0))], step=step)  # fmt: skip
    found = pillion.results(tmp_path)["a/odd"]
    np.testing.assert_array_equal(found["step"], [0, 1])
    np.testing.assert_array_equal(found["step_of_row"], [0, 1, 2])
    assert found["point_of_row"].dims == ("step", "step_of_row")


def test_what_cannot_be_put_together(tmp_path):
    put(tmp_path, "a/halos", things(0, 3), step=0)
    put(tmp_path, "a/once", profile(0))
    results = pillion.results(tmp_path)
    with pytest.raises(Error, match="rows of a/halos have no x that steps could have in common"):
        results.open("a/halos", rows="common")
    with pytest.raises(Error, match="rows must be one of common, own, ragged, not 'any'"):
        results.open("a/halos", rows="any")
    with pytest.raises(Error, match="a/once is not a table of each step"):
        results.open("a/once", rows="own")
    with pytest.raises(Error, match="a/once has no levels: only IDX datasets and plotfiles have"):
        results.open("a/once", level=3)
    with pytest.raises(Error, match="a/once is one table over the whole run, and has no steps"):
        results.at("a/once", 3)
    with pytest.raises(Error, match="a/halos has no step 7; it has 0"):
        results.at("a/halos", 7)


def test_tables_of_another_version(tmp_path):
    path = put(tmp_path, "a/profile", profile(0))
    path.write_text(path.read_text().replace("pillion: table 1", "pillion: table 9"))
    with pytest.raises(Error, match="expected 'pillion: table 1', found 'table 9'"):
        pillion.results(tmp_path)["a/profile"]


def test_files_that_went_away(tmp_path):
    for step in range(3):
        put(tmp_path, "a/profile", profile(step), step=step)
    found = pillion.results(tmp_path)["a/profile"]
    (tmp_path / "a/profile.000000001.csv").unlink()
    with pytest.raises(Error, match=r"cannot read .*profile.000000001.csv: No such file"):
        found["density"].load()


def test_what_is_read_can_be_kept_and_sent(tmp_path):
    """Written to netCDF, pickled, and chunked for dask."""
    for step in range(4):
        put(tmp_path, "speeds/histogram_v", histogram_columns(step), step=step, stage="histogram",
            attributes=[("scale", "linear", "")])  # fmt: skip
    found = pillion.results(tmp_path)["speeds/histogram_v"]
    chunked = found.chunk(step=1)
    assert chunked["density"].chunks == ((1, 1, 1, 1), (40,))
    again = pickle.loads(pickle.dumps(found))
    found.to_netcdf(tmp_path / "kept.nc", engine="h5netcdf")
    with xr.open_dataset(tmp_path / "kept.nc", engine="h5netcdf") as stored:
        for other in (chunked, again, stored):
            xr.testing.assert_identical(other.load(), found)
    oracle = numpy_reads(tmp_path / "speeds/histogram_v.000000002.csv")
    np.testing.assert_array_equal(found["density"].sel(step=2), oracle["density"])
