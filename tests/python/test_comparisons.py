# SPDX-License-Identifier: BSD-3-Clause
"""Theory beside results, in files and on the page."""

from dataclasses import replace

import numpy as np
import pytest
from pillion import Error, make_report
from pillion.report.draw import draw_plot
from pillion.report.plots import plots_of
from pillion.tables import Comparison, read_comparison, read_table, write_comparison
from sample import make_sample, table_text


def test_what_is_written_is_read(tmp_path):
    columns = {"k": np.array([1e-3, 2.5]), "power": np.array([np.pi, 1e300])}
    write_comparison(tmp_path / "a" / "b.csv", "linear theory", columns)
    found = read_comparison(tmp_path / "a" / "b.csv")
    assert found.label == "linear theory"
    assert found.x.tolist() == columns["k"].tolist()
    assert found.columns["power"].tolist() == columns["power"].tolist()
    assert read_comparison(tmp_path / "c.csv") is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("k,power\n", "no rows"),
        ("k,power\n1,two\n", "not a table of numbers"),
        ("k,power\n1,2\n3\n", "not a table of numbers"),
        ("k,power\n1\n3\n", "not as long"),
        ("", "no rows"),
    ],
)
def test_what_is_no_comparison_is_told(tmp_path, text, words):
    (tmp_path / "x.csv").write_text(text, encoding="utf-8")
    with pytest.raises(Error, match=words):
        read_comparison(tmp_path / "x.csv")


def spectrum(folder, step, values, **more):
    k = np.array([0.5, 1.0, 2.0])
    path = folder / f"power_spectrum_rho.{step:09d}.csv"
    power = ("power", "Mpc^3", np.array(values))
    columns = [("k", "1/Mpc", k), power, ("error", "Mpc^3", k / 4, "error", "power")]
    text = table_text(
        title="P", analysis="a", stage="power_spectrum", name="power_spectrum_rho",
        columns=columns, attributes=[("scale", "log", "")], step=step, **more,
    )  # fmt: skip
    path.write_text(text, encoding="utf-8")
    return read_table(path)


def with_theory(table, factor):
    theory = Comparison("theory", {"k": table["k"][:2], "power": factor * table["k"][:2]})
    return replace(table, comparison=theory)


def test_each_step_has_its_own_theory(tmp_path):
    tables = [spectrum(tmp_path, step, [step + 1.0, 2, 3]) for step in range(3)]
    tables = [with_theory(tables[0], 7), tables[1], with_theory(tables[2], 9)]
    (plot,) = plots_of(tables)
    assert not plot.secondary
    assert plot.curves[2].upper.tolist() == [3.125, 2.25, 3.5]
    assert [(n, c.label, c.y.tolist()) for n, c in plot.compared] == [
        (0, "theory", [3.5, 7]),
        (2, "theory", [4.5, 9]),
    ]
    svg = draw_plot(plot, "p")
    assert 'id="p-compared-0"' in svg
    assert 'id="p-compared-1"' in svg
    assert 'id="p-interval-2"' in svg


def test_curves_that_no_logarithm_can_show_take_their_theory_along(tmp_path):
    tables = [spectrum(tmp_path, 0, [0, 0, -1.0]), spectrum(tmp_path, 1, [1, 0, 3])]
    plot = plots_of([with_theory(table, 2) for table in tables])[0]
    assert plot.log_x and plot.log_y
    assert [curve.label for curve in plot.curves] == ["step 1"]
    np.testing.assert_array_equal(plot.curves[0].y, [1, np.nan, 3])
    assert [number for number, _ in plot.compared] == [0]


def test_the_page_finds_what_lies_in_the_folder(tmp_path):
    sample = make_sample(tmp_path)
    lag = np.array([0.0, 500.0])
    write_comparison(
        sample.folder / "compare/motion/msd.csv", "experiment", {"lag": lag, "msd_O": 2e-3 * lag}
    )
    page = make_report(sample.folder).path.read_text(encoding="utf-8")
    assert "experiment of msd_O" not in make_report(
        sample.folder, compare=tmp_path / "none"
    ).path.read_text(encoding="utf-8")
    assert page.count("-compared-0") == 1


def test_a_broken_comparison_is_told_on_the_page(tmp_path):
    sample = make_sample(tmp_path)
    path = sample.folder / "compare/motion/msd.csv"
    path.parent.mkdir(parents=True)
    path.write_text("lag,msd_O\n", encoding="utf-8")
    made = make_report(sample.folder)
    assert any("no rows" in problem for problem in made.problems)
