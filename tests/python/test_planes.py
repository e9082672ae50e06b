# SPDX-License-Identifier: BSD-3-Clause
"""Heat maps of tables with bins along two axes."""

import numpy as np
import pytest
from pillion.report.draw import draw_heat_map
from pillion.report.planes import HeatMap
from pillion.report.plots import plots_of
from pillion.tables import read_table
from sample import table_text

Y = np.array([-np.inf, 1, 10, 100, np.inf])
X = np.array([-np.inf, 0, 0.5, 2, 3, np.inf])


def columns(**more):
    """Rows of pairs of bins, those of X fastest, with what lies outside; values say where."""
    low_y, low_x = np.meshgrid(Y[:-1], X[:-1], indexing="ij")
    high_y, high_x = np.meshgrid(Y[1:], X[1:], indexing="ij")
    count = np.arange(low_y.size)
    outside = np.logical_or.reduce([np.isinf(e) for e in (low_y, high_y, low_x, high_x)])
    density = np.where(outside, np.nan, count.reshape(4, 5) / 100)
    made = [
        *(("lower", "K", low_y), ("upper", "K", high_y)),
        *(("against_lower", "", low_x), ("against_upper", "", high_x)),
        *(("count", "", count), ("density", "1/K", density)),
    ]
    made += [(name, "", factor * density) for name, factor in more.items()]
    return [(name, units, np.ravel(values)) for name, units, values in made]


def read(folder, made):
    path = folder / "histogram_hot_gas_against_rho.csv"
    scales = [("scale", "log", ""), ("against_scale", "linear", ""), ("against", "rho", "")]
    path.write_text(
        table_text(
            title="Plane",
            analysis="a",
            stage="histogram",
            name=path.stem,
            columns=made,
            attributes=scales,
        ),
        encoding="utf-8",
    )
    return read_table(path)


def test_what_is_in_range_is_shown(tmp_path):
    (plot,) = plots_of([read(tmp_path, columns())])
    assert isinstance(plot, HeatMap)
    assert plot.y_edges.tolist() == [1, 10, 100]
    assert plot.x_edges.tolist() == [0, 0.5, 2, 3]
    assert plot.values.tolist() == [[0.06, 0.07, 0.08], [0.11, 0.12, 0.13]]
    assert (plot.x_label, plot.log_x, plot.x_units) == ("rho", False, "")
    assert (plot.y_label, plot.log_y, plot.y_units) == ("hot gas", True, "K")
    assert (plot.label, plot.units) == ("density", "1/K")


def test_densities_per_decade_and_weighted_ones(tmp_path):
    table = read(tmp_path, columns(density_per_dex=2, weighted_density=3))
    first, second = plots_of([table])
    assert (first.label, second.label) == ("density per dex", "weighted density")
    np.testing.assert_allclose(second.values, 1.5 * first.values)


def test_rows_in_another_order(tmp_path):
    table = read(tmp_path, columns())
    (before,) = plots_of([table])
    order = np.random.default_rng(1).permutation(table.rows)
    made = [(c.name, c.units, c.values[order]) for c in table.columns.values()]
    (after,) = plots_of([read(tmp_path, made)])
    np.testing.assert_array_equal(before.values, after.values)


def test_a_table_that_lacks_a_row_is_no_plane(tmp_path):
    made = [(name, units, np.delete(values, 7)) for name, units, values in columns()]
    assert plots_of([read(tmp_path, made)]) == []


@pytest.mark.parametrize("factor", [1.0, 0.0, np.nan])
def test_pictures_are_whole(tmp_path, factor):
    (plot,) = plots_of([read(tmp_path, [(n, u, v) for n, u, v in columns()])])
    plot.values[:] *= factor
    svg = draw_heat_map(plot, "plot7")
    assert svg.startswith("<svg")
    assert "hot gas against rho" in svg
    assert ('xlink:href="data:image/png' in svg) == (factor == 1)


def slice_of(folder, step, values, along=3, **more):
    """Of `along` pixels of 2 x 1 Mpc in a row, x fastest."""
    rows = len(values) // along
    y, x = np.meshgrid(0.5 + np.arange(rows), 1.0 + 2 * np.arange(along), indexing="ij")
    path = folder / f"slice_gas_density_z.{step:09d}.csv"
    columns = [("x", "Mpc", x.ravel()), ("y", "Mpc", y.ravel()), ("mean", "g", np.array(values))]
    text = table_text(
        title="Slice", analysis="a", stage="slice", name="slice_gas_density_z", columns=columns,
        step=step, **more,
    )  # fmt: skip
    path.write_text(text, encoding="utf-8")
    return read_table(path)


def test_slices_are_pictures_with_the_same_colours(tmp_path):
    first = slice_of(tmp_path, 0, [1.0, 2, 3, 4, 5, 6])
    last = slice_of(tmp_path, 9, [0.5, 2, np.nan, 4, 5, 900])
    plots = plots_of([first, last])
    assert [plot.title for plot in plots] == ["step 0", "step 9"]
    assert plots[0].values.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert np.isnan(plots[1].values[0, 2])
    assert plots[0].x_edges.tolist() == [0, 2, 4, 6]
    assert plots[0].y_edges.tolist() == [0, 1, 2]
    assert plots[0].limits == plots[1].limits
    assert plots[0].limits[0] < 0.51 and plots[0].limits[1] > 890
    assert all(plot.log_values and plot.equal for plot in plots)
    assert (plots[0].label, plots[0].units, plots[0].x_units) == ("gas density", "g", "Mpc")
    assert "data:image/png" in draw_heat_map(plots[1], "p")


def test_slices_of_values_about_zero_have_linear_colours(tmp_path):
    (plot,) = plots_of([slice_of(tmp_path, 0, [-1.0, 2, 3, 4, 5, 600])])
    assert not plot.log_values
    assert plots_of([slice_of(tmp_path, 1, [np.nan] * 6)]) == []


def test_a_few_bright_spots_on_nothing_have_linear_colours(tmp_path):
    """As of a reaction that spreads: a twelfth is bright, and tails go down to 1e-34."""
    values = np.full(24, 1e-34)
    values[:2] = 0.4
    (plot,) = plots_of([slice_of(tmp_path, 0, values.tolist(), along=6)])
    assert not plot.log_values
    assert plot.limits[1] == pytest.approx(0.4)


def test_logarithmic_colours_have_a_floor(tmp_path):
    """Where a linear picture shows next to nothing: as of haloes in a cosmological box."""
    values = np.append(np.geomspace(1e-3, 1e-2, 380), np.geomspace(1e-2, 1, 20))
    values[::50] = 1e-30
    (plot,) = plots_of([slice_of(tmp_path, 0, values.tolist(), along=20)])
    assert plot.log_values
    low, high = plot.limits
    assert high > 0.5 and low == pytest.approx(1e-4 * high)
    assert "data:image/png" in draw_heat_map(plot, "p")


def test_a_few_integers_have_a_colour_each(tmp_path):
    (plot,) = plots_of([slice_of(tmp_path, 0, [1.0, 2, 2, 1, 4, 1])])
    assert plot.kinds == (1, 2, 4) and not plot.log_values
    assert "data:image/png" in draw_heat_map(plot, "p")
