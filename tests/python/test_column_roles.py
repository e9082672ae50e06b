# SPDX-License-Identifier: BSD-3-Clause
"""Roles of columns: as stages in Python give them, in tables, plots and datasets."""

import numpy as np
import pytest
from pillion import Error, read_table
from pillion.column_roles import Role, role_of
from pillion.datasets.table_datasets import dataset_of_table
from pillion.report.draw import draw_plot
from pillion.report.plots import plots_of
from sample import table_text

Y = np.array([2.0, 4.0, 8.0])


def made(path, *columns, **more):
    every = [("x", "m", np.arange(1.0, 1.0 + len(columns[0][2]))), *columns]
    text = table_text(title="T", analysis="a", stage="s", name="t", columns=every, **more)
    path.write_text(text, encoding="utf-8")
    return read_table(path)


def test_texts_of_roles():
    columns = ("mean", "spread", "error of all")
    assert role_of("spread", "error of mean", columns) == (Role.ERROR, "mean")
    assert role_of("spread", "count", columns) == (Role.COUNT, "")
    assert role_of("spread", "upper of error of all", columns) == (Role.UPPER, "error of all")
    for text in ("value", "error", "errors of mean", "lower", ""):
        with pytest.raises(Error, match="the role of column 'spread' is"):
            role_of("spread", text, columns)
    for column, text in (("spread", "error of median"), ("width", "error of mean")):
        with pytest.raises(Error, match="is not a column of the table"):
            role_of(column, text, columns)


def test_a_column_is_found_by_what_it_is_about(tmp_path):
    table = made(
        tmp_path / "t.csv",
        ("y", "s", Y),
        ("z", "s", Y),
        ("dz", "s", Y / 4, "error", "z"),
        ("n", "", np.array([4, 5, 6]), "count", ""),
    )
    assert table.about("z", Role.ERROR).name == "dz" and table.about("y", Role.ERROR) is None
    assert table.columns["n"].role is Role.COUNT and table.columns["y"].role is Role.VALUE
    found = dataset_of_table(table)
    assert found["z"].attrs["ancillary_variables"] == "dz"
    assert "ancillary_variables" not in found["y"].attrs


def test_bounds_and_errors_are_drawn_with_their_column(tmp_path):
    table = made(
        tmp_path / "t.csv",
        ("y", "s", Y),
        ("low", "s", Y - 1, "lower", "y"),
        ("high", "s", Y + 3, "upper", "y"),
        ("volume", "m^3", Y, "weight", ""),
    )
    plot, weight = plots_of([table])
    (curve,) = plot.curves
    assert curve.lower.tolist() == [1, 3, 7] and curve.upper.tolist() == [5, 7, 11]
    assert weight.secondary and not plot.secondary
    assert 'id="p-interval-0"' in draw_plot(plot, "p")


@pytest.mark.parametrize("points", [5, 500])
def test_errors_beyond_zero_on_a_logarithmic_axis(tmp_path, points):
    """Bars for few points, a band for many; what is at or below 0 has a visible end."""
    y = np.linspace(1.0, 100.0, points)
    columns = (("power", "", y), ("error", "", 2 * y, "error", "power"))
    table = made(tmp_path / "t.csv", *columns, attributes=[("scale", "log", "")])
    (plot,) = plots_of([table])
    assert plot.log_y and (plot.curves[0].lower < 0).all()
    svg = draw_plot(plot, "p")
    assert 'id="p-interval-0"' in svg and "nan" not in svg.lower().split('id="p-interval-0"')[1]
