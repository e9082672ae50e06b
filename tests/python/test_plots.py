# SPDX-License-Identifier: BSD-3-Clause
"""Which plots a product gets."""

from dataclasses import replace

import numpy as np
import pytest
from pillion.report.plots import constants_of, plots_of
from pillion.tables import read_table
from sample import make_sample, table_text


@pytest.fixture
def sample(tmp_path):
    return make_sample(tmp_path)


@pytest.fixture
def tables(sample):
    def read(pattern):
        found = [read_table(path) for path in sorted(sample.folder.glob(pattern))]
        assert found
        return found

    return read


def keys(plots):
    return [[curve.key for curve in plot.curves] for plot in plots]


def test_rdf_groups_by_prefix(tables):
    plots = plots_of(tables("structure/rdf.csv"))
    assert keys(plots) == [
        ["g_ion_O", "g_O_O"],
        ["n_ion_O", "n_O_O"],
        ["count_ion_O", "count_O_O"],
    ]
    assert [plot.secondary for plot in plots] == [False, False, True]
    assert plots[0].y_label == "g(r)"
    assert plots[0].level == 1.0
    assert (plots[0].x_label, plots[0].x_units) == ("r", "Å")
    assert [curve.label for curve in plots[0].curves] == ["ion–O", "O–O"]


def test_components_and_samples_are_secondary(tables):
    plots = plots_of(tables("motion/msd.csv"))
    first = [plot for plot in plots if not plot.secondary]
    assert keys(first) == [["msd_Na", "msd_Cl", "msd_O"]]
    assert first[0].y_units == "Å^2"
    hidden = {key for plot in plots if plot.secondary for key in keys([plot])[0]}
    assert {"msd_x_Na", "msd_z_O", "samples_Cl"} <= hidden
    assert "lag_steps" not in hidden


def test_statistics_are_over_time(tables):
    (table,) = tables("watch/*.csv")
    plots = plots_of([table])
    assert keys(plots) == [["min", "max", "mean"], ["standard_deviation"], ["rms"]]
    assert (plots[0].x_label, plots[0].x_units, plots[0].y_label) == ("time", "fs", "temperature")
    assert constants_of(table) == {"count": 4500, "not_finite": 0}


def test_steps_are_laid_over_each_other(tables):
    made = tables("speeds/*.csv")
    assert len(made) == 11
    density, count = plots_of(made)
    assert density.edges
    assert density.over_steps
    assert [c.label for c in density.curves] == [f"step {s}" for s in range(0, 1001, 200)]
    assert all(len(c.x) == len(c.y) + 1 for c in density.curves)
    assert count.secondary


def test_logarithmic_bins(tables):
    made = tables("speeds/*.csv")[-1]
    assert not plots_of([made])[0].log_x
    made.attributes["scale"] = made.attributes["scale"].__class__("scale", "log", "")
    assert plots_of([made])[0].log_x


def test_nothing_but_nan_is_no_plot(tables):
    (table,) = tables("structure/rdf.csv")
    table.columns["g_O_O"].values[:] = np.nan
    table.columns["g_ion_O"].values[:] = np.nan
    assert ["g_ion_O", "g_O_O"] not in keys(plots_of([table]))


def test_lists_of_things_are_no_curves(tables):
    made = tables("structure/rdf.csv")[0]
    columns = {"id": made.columns["r"], "mass": made.columns["g_ion_O"]}
    assert plots_of([replace(made, columns=columns)]) == []


def one_table(folder, stage, columns, **more):
    folder.mkdir(exist_ok=True)
    path = folder / f"{stage}_x.csv"
    about = {"title": "t", "analysis": "a", "stage": stage, "name": path.stem}
    path.write_text(table_text(**about, columns=columns, **more), encoding="utf-8")
    return read_table(path)


def test_names_of_quantities_are_those_of_their_stage(tmp_path):
    """A column `n` of anybody's stage is no coordination number."""
    r = np.arange(1.0, 9.0)
    columns = [("r", "Å", r), ("n_O", "", r**3)]
    (of_rdf,) = plots_of([one_table(tmp_path, "rdf", columns)])
    assert (of_rdf.y_label, of_rdf.highest) == ("coordination number", 20.0)
    (of_other,) = plots_of([one_table(tmp_path, "python", columns)])
    assert (of_other.y_label, of_other.highest) == ("n", None)


def test_a_histogram_with_all_in_one_bin_shows_the_others(tmp_path):
    edges = np.arange(5.0)

    def plot(density):
        columns = [("lower", "K", edges[:-1]), ("upper", "K", edges[1:])]
        return plots_of([one_table(tmp_path, "histogram", [*columns, ("density", "1/K", density)])])

    assert plot(np.array([0.97, 0.01, 0.01, 0.01]))[0].log_y
    assert not plot(np.array([0.4, 0.3, 0.2, 0.1]))[0].log_y
    assert not plot(np.array([1.0, 0.0, 0.0, 0.0]))[0].log_y  # there are no others


def test_what_writers_cost_is_folded(tmp_path):
    columns = [
        ("step", "", np.arange(3)),
        ("time", "s", np.arange(3.0)),
        ("write", "s", np.ones(3)),
    ]
    assert all(plot.secondary for plot in plots_of([one_table(tmp_path, "write_hdf5", columns)]))
