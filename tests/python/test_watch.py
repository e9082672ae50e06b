# SPDX-License-Identifier: BSD-3-Clause
"""What `pillion watch` and `pillion run` show, without a run: what sides say is put together, fits
the terminal, and curves have the shape of their columns.
"""

import math
from dataclasses import replace
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from pillion.errors import Error
from pillion.launch.ending import are_all_lost, ending, faults, status_text
from pillion.launch.line import line_of
from pillion.progress import State, read_parts
from pillion.report.run import read_run
from pillion.watch import draw
from pillion.watch.curves import Curve, Curves, Wish, read_wish, resampled, sparkline
from pillion.watch.model import make_view
from progress_sample import analysis, progress, sidecars, write
from rich.cells import cell_len
from rich.console import Console
from sample import make_sample, table_text


def view_of(folder: Path, states=None, now=1010.0):
    states = states or {}
    return make_view(read_parts(folder), lambda p: states.get(p.role, State(p.said)), lambda _: now)


def shown(renderable, width=80, colours=False) -> list[str]:
    out = StringIO()
    Console(file=out, width=width, force_terminal=colours, highlight=False).print(renderable)
    return out.getvalue().splitlines()


LAG = {"last": 0.5, "mean": 0.25, "max": 1.0}
HERE = [
    analysis("decay", last_step=50, publications=6, skipped=2, bytes_moved=6 << 20),
    analysis("here", "simulation", last_step=50, publications=9, products=["here/t.csv"]),
    analysis("both", "hybrid", publications=4, seconds={"simulation": 3, "sidecar": 0, "stall": 1}),
]
THERE = [
    analysis(
        "decay", publications=5, lost=1, lag_seconds=LAG, bytes_moved=0, products=["decay/t.csv"]
    ),
    analysis("here", "simulation", publications=0, last_step=None),
    analysis("both", "hybrid", publications=3, disabled="out of memory"),
]


def test_each_side_says_what_it_knows(tmp_path):
    write(tmp_path, progress(analyses=HERE))
    write(tmp_path, sidecars(THERE, working={"analysis": "both", "step": 50, "since": 1007.0}))
    view = view_of(tmp_path)
    decay, here, both = view.rows
    assert (decay.step, decay.publications, decay.skipped, decay.lost) == (40, 5, 2, 1)
    assert (decay.lag, decay.mean_lag, decay.bytes_moved) == (0.5, 0.25, 6 << 20)
    assert decay.products == ("decay/t.csv",) and decay.left_out == 3
    assert (here.step, here.publications, here.lag) == (50, 9, None)
    assert here.products == ("here/t.csv",)
    assert both.disabled == "out of memory" and both.busy == 3.0
    assert both.simulation == 3 and both.stall == 1
    assert (view.elapsed, view.state, view.is_over) == (10.0, State.RUNNING, False)


def test_before_sidecars_come_nobody_has_worked(tmp_path):
    write(tmp_path, progress(analyses=HERE, ranks={"simulation": 4, "sidecar": None}))
    decay, here, _ = view_of(tmp_path).rows
    assert (decay.step, decay.publications, decay.lag) == (None, 0, None)
    assert here.publications == 9
    assert view_of(tmp_path).sidecar_ranks is None


def test_attached_jobs_bring_analyses_of_their_own(tmp_path):
    write(tmp_path, progress(analyses=[*HERE, analysis("extra", bytes_moved=7)]))
    mine = [analysis("extra", publications=2, bytes_moved=0)]
    write(tmp_path, progress("attached_job", mine, attached_job="late"))
    extra = view_of(tmp_path).rows[-1]
    assert (extra.name, extra.attached_job, extra.publications, extra.bytes_moved) == (
        "extra",
        "late",
        2,
        7,
    )
    assert view_of(tmp_path).sides[0].name == "attached job late"


def test_how_far_sidecars_are_behind(tmp_path):
    write(tmp_path, progress(analyses=HERE[:1], behind=4))
    assert view_of(tmp_path).behind == 4
    write(tmp_path, sidecars(THERE[:1]))  # 5 done and 1 lost of 6
    assert view_of(tmp_path).behind == 0


def test_a_run_is_over_when_all_sides_are(tmp_path):
    write(tmp_path, progress(state="ended", written=1020.0))
    write(tmp_path, sidecars())
    assert not view_of(tmp_path).is_over
    assert view_of(tmp_path, {"sidecars": State.GONE}).is_over
    write(tmp_path, sidecars(state="ended", written=1030.0))
    over = view_of(tmp_path, now=9999.0)
    assert over.is_over and over.elapsed == 30.0 and over.steps_per_second is None
    assert make_view(read_parts(tmp_path / "nothing"), lambda _: State.ENDED, lambda _: 0) is None


@pytest.mark.parametrize(
    ("changes", "states", "expected"),
    [
        ({}, {}, "● running"),
        ({"waiting": True}, {}, "waiting for sidecars"),
        ({"changed": 900.0}, {}, "no step for 1:50"),
        ({"written": 900.0}, {"simulation": State.SILENT}, "silent  no sign of life for 1:50"),
        ({"state": "ended"}, {}, "● ended"),
        ({"state": "failed", "failure": "no\nroom"}, {}, "no room"),
        ({}, {"simulation": State.GONE}, "● gone"),
        ({}, {"sidecars": State.GONE}, "sidecars gone"),
        ({"behind": 12, "analyses": [analysis(publications=17)]}, {}, "12 behind"),
        ({"step": None, "time": None}, {}, "no step yet"),
        ({"steps_per_second": 12345.6}, {}, "12 346 steps/s"),
        ({"restarts": 2}, {}, "restarted 2×"),
        ({"warnings": ["far\ntoo hot"]}, {}, "! far too hot"),
        ({"analyses": [analysis(disabled="it broke")]}, {}, "! decay: it broke"),
        ({"analyses": [analysis(skipped=3, lost=1)]}, {}, "3 skipped, 1 lost"),
        ({"analyses": [analysis(coarsened=7)]}, {}, "7 coarsened"),
    ],
)
def test_what_is_odd_is_said(tmp_path, changes, states, expected):
    write(tmp_path, progress(**changes))
    write(tmp_path, sidecars())
    view = view_of(tmp_path, states)
    text = "\n".join(shown(draw.frame(view, [], draw.Screen(150, 40)), 150))
    assert expected in text


def curve(name: str, count=200) -> Curve:
    values = tuple(math.sin(i / 9) for i in range(count))
    return Curve(f"analysis/{name}", "value", "K", values, "step", 40)


@pytest.mark.parametrize("width", [20, 40, 60, 80, 132, 250])
@pytest.mark.parametrize("height", [8, 12, 24, 60])
@pytest.mark.parametrize("number", [0, 1, 3, 20])
def test_a_frame_fits_the_terminal(tmp_path, width, height, number):
    rows = [
        analysis(f"analysis_{i}", bytes_moved=1 << 3 * i, skipped=i % 2 * 1000, spilled=i % 3)
        for i in range(number)
    ]
    write(tmp_path, progress(analyses=rows, warnings=["a long warning " * 20], behind=12345678))
    write(tmp_path, sidecars(rows))
    view = view_of(tmp_path)
    curves = [curve(f"table_{i}") for i in range(number)]
    for turn in range(3):
        lines = shown(draw.frame(view, curves, draw.Screen(width, height), turn), width)
        assert max(map(cell_len, lines)) <= width
        # What must be there takes 12 lines; below that the terminal shows the first ones.
        assert len(lines) <= max(height, 12)
    assert "box" in lines[0]
    if number:
        assert any("analysis_0" in line or "anal" in line for line in lines)


def test_the_most_important_columns_stay(tmp_path):
    write(tmp_path, progress(analyses=HERE))
    write(tmp_path, sidecars(THERE))
    view = view_of(tmp_path)

    def titles(width):
        lines = shown(draw.frame(view, [], draw.Screen(width, 40)), width)
        return next(line for line in lines if "analysis" in line)

    assert all(
        t in titles(140) for t in ("where", "every", "mean lag", "in sim.", "moved", "state")
    )
    assert all(
        t in titles(80) for t in ("step", "done", "lag", "stall", "moved", "left out", "state")
    )
    assert "mean lag" not in titles(80)
    assert all(t in titles(42) for t in ("step", "done", "state"))


def test_colours_are_left_out_where_they_are_not_wanted(tmp_path):
    write(tmp_path, progress())
    frame = draw.frame(view_of(tmp_path), [], draw.Screen(80, 24))
    assert any("\x1b[" in line for line in shown(frame, colours=True))
    assert not any("\x1b[" in line for line in shown(frame))


def test_curves_take_turns_where_not_all_fit(tmp_path):
    write(tmp_path, progress())
    view = view_of(tmp_path)
    curves = [curve(f"table_{i}") for i in range(7)]
    seen = set()
    for turn in range(7):
        lines = shown(draw.frame(view, curves, draw.Screen(80, 20), turn))
        seen |= {i for i in range(7) if any(f"table_{i} " in line for line in lines)}
    assert seen == set(range(7))


def test_sparklines():
    assert sparkline([0, 1, 2, 3, 4, 5, 6, 7], 8) == ["▁▂▃▄▅▆▇█"]
    assert sparkline([0, 15], 2, 2) == [" █", "▁█"]
    assert sparkline([3, 3], 2) == ["▄▄"]
    assert sparkline([], 5, 2) == ["", ""]
    assert sparkline([0, math.nan, math.inf, 7], 4) == ["▁  █"]
    assert sparkline([1e308, -1e308], 2) == ["█▁"]
    assert sparkline([math.nan], 1) == [" "]
    assert resampled([1, 3, 5, 7], 2) == [2, 6]
    assert resampled([1, 2], 4) == [1, 1, 2, 2]
    assert resampled([1, math.nan, 5, 5], 2) == [1, 5]
    for width in (1, 7, 80):
        assert [len(line) for line in sparkline(range(1000), width, 3)] == [width] * 3


def make_table(folder, name, columns, analysis="decay", step=None) -> str:
    path = f"{analysis}/{name}.csv" if step is None else f"{analysis}/{name}.{step:09}.csv"
    (folder / analysis).mkdir(parents=True, exist_ok=True)
    text = table_text(title=name, analysis=analysis, stage="s", name=name, columns=columns)
    (folder / path).write_text(text, encoding="utf-8")
    return path


STEPS = np.arange(5)
FLAT = 300 + 1e-13 * np.arange(5.0)


@pytest.mark.parametrize(
    ("columns", "chosen"),
    [
        ([("step", STEPS), ("time", STEPS * 0.1), ("min", STEPS * 2.0)], "min"),
        ([("step", STEPS), ("min", STEPS * 2.0), ("mean", STEPS * 3.0)], "mean"),
        ([("step", STEPS), ("mean", FLAT), ("min", STEPS * 2.0)], "min"),
        ([("lower", STEPS), ("upper", STEPS + 1.0), ("density", STEPS * 0.5)], "density"),
        ([("r", STEPS * 0.1), ("count", STEPS), ("g", STEPS * 0.5)], "count"),
        ([("step", STEPS), ("flat", FLAT)], "flat"),
        ([("step", STEPS)], None),
    ],
)
def test_a_sensible_column_is_shown(tmp_path, columns, chosen):
    path = make_table(tmp_path, "t", [(name, "K", values) for name, values in columns])
    write(tmp_path, progress(analyses=[analysis(placement="simulation", products=[path])]))
    curves = Curves(tmp_path).default(view_of(tmp_path).rows)
    assert [c.column for c in curves] == ([] if chosen is None else [chosen])


def test_wished_columns(tmp_path):
    columns = [("step", "", STEPS), ("a", "K", STEPS * 1.0), ("b", "m", STEPS[::-1] * 1.0)]
    first = make_table(tmp_path, "one", columns)
    second = make_table(tmp_path, "two", columns, step=40)
    rows_of = [analysis(placement="simulation", products=[first, second, "decay/gone.csv"])]
    write(tmp_path, progress(analyses=rows_of))
    rows = view_of(tmp_path).rows
    wishes = ["decay/two:b", "decay/one:nothing", "decay/three:a", "other/one:a"]
    found = Curves(tmp_path).wished(rows, [read_wish(text) for text in wishes])
    assert found[0].values == (4, 3, 2, 1, 0) and found[0].units == "m"
    assert "it has step, a, b" in found[1]
    assert "there are one, two" in found[2]
    assert "there are decay" in found[3]
    assert read_wish("a/b:c") == Wish("a", "b", "c")
    for wrong in ("a", "a/b", "a:b", "/b:c", "a/:c", "a/b:"):
        with pytest.raises(Error, match="ANALYSIS/NAME:COLUMN"):
            read_wish(wrong)


def test_a_table_that_changes_is_read_again(tmp_path, monkeypatch):
    import os

    monkeypatch.setattr("pillion.watch.curves._SHARE", 0)

    path = make_table(tmp_path, "t", [("step", "", STEPS), ("a", "", STEPS * 1.0)])
    write(tmp_path, progress(analyses=[analysis(placement="simulation", products=[path])]))
    rows, curves = view_of(tmp_path).rows, Curves(tmp_path)
    assert curves.default(rows)[0].values[-1] == 4
    make_table(tmp_path, "t", [("step", "", STEPS), ("a", "", STEPS * 2.0)])
    os.utime(tmp_path / path, (1, 1))
    assert curves.default(rows)[0].values[-1] == 8
    monkeypatch.setattr("pillion.watch.curves._SHARE", 1e9)
    make_table(tmp_path, "t", [("step", "", STEPS), ("a", "", STEPS * 3.0)])
    assert curves.default(rows)[0].values[-1] == 12
    make_table(tmp_path, "t", [("step", "", STEPS), ("a", "", STEPS * 4.0)])
    os.utime(tmp_path / path, (3, 3))
    assert curves.default(rows)[0].values[-1] == 12  # reading took too long to do it again so soon
    curves, _ = Curves(tmp_path), monkeypatch.setattr("pillion.watch.curves._SHARE", 0)
    assert curves.default(rows)[0].values[-1] == 16
    (tmp_path / path).write_text("# torn")
    os.utime(tmp_path / path, (2, 2))
    assert curves.default(rows) == []


def test_values_beside_curves():
    assert curve("a", 1).value_text() == "0 K"
    profile = Curve("a/b", "g", "", (1.0, 3.0, math.nan, 2.0), "r", 40)
    assert profile.value_text() == "max 3"
    assert Curve("a/b", "g", "", (math.nan,), "r", 40).value_text() == ""


@pytest.mark.parametrize("width", [10, 40, 200])
def test_the_line_of_a_run(tmp_path, width):
    write(tmp_path, progress(waiting=True, skipped=3))
    write(tmp_path, sidecars(THERE))
    text = line_of(view_of(tmp_path), width, colours=False)
    assert cell_len(text) <= width
    assert text.startswith("▸ box")
    if width == 200:
        for part in ("step 50", "5 steps/s", "waiting for sidecars", "6 publications", "3 skipped"):
            assert part in text
        assert "lag 500 ms" in text and text.endswith("0:10")
    assert "\x1b[" in line_of(view_of(tmp_path), width, colours=True)


def test_how_a_run_ended(tmp_path):
    folder = make_sample(tmp_path / "results").folder
    run = read_run(folder)
    text = "\n".join(shown(ending(run, None, folder, 0, None, 100), 100))
    assert text.startswith("✔ results")
    assert all(a.name in text for a in run.analyses)
    assert str(folder / run.products[0].path) in text.replace("\n", "")
    assert f"pillion report {folder}" in text.replace("\n", "")
    assert "✘" in shown(ending(run, None, folder, 3, None, 100), 100)[0]
    assert "ended with status 3" in shown(ending(run, None, folder, 3, None, 100), 100)[0]
    assert "asked to stop by SIGINT" in shown(ending(run, None, folder, 1, 2, 100), 100)[0]


def test_lost_publications_are_a_fault(tmp_path):
    """No tick without a word about them, and a run with --strict fails for some, too."""
    folder = make_sample(tmp_path / "results").folder
    run = read_run(folder)
    assert faults(run, None) == [] and not are_all_lost(run)
    first, *others = run.analyses
    some = replace(run, analyses=[replace(first, publications=5, lost=2, dropped=1), *others])
    (found,) = faults(some, None)
    assert f"{first.name} has lost 3 publications" in found and not are_all_lost(some)
    line = shown(ending(some, None, folder, 0, None, 100), 100)[0]
    assert line.startswith("! results") and line.endswith("3 lost")
    everything = replace(run, analyses=[replace(first, publications=0, lost=7), *others])
    assert "all of its 7 publications" in faults(everything, None)[0]
    assert are_all_lost(everything) and not are_all_lost(None)


def test_a_report_that_could_not_be_written(tmp_path):
    """The session was closed all the same."""
    write(tmp_path, progress(state="ended"))
    text = "\n".join(shown(ending(None, view_of(tmp_path), Path("out"), 0, None, 200), 200))
    assert "its report could not be written" in text and "did not close" not in text


def test_a_run_that_crashed(tmp_path):
    folder = tmp_path
    made = analysis(placement="simulation", products=["decay/t.csv"])
    write(folder, progress(analyses=[made], warnings=["it was hot"]))
    text = "\n".join(shown(ending(None, view_of(folder), Path("out"), 139, None, 200), 200))
    assert "ended with status 139 (SIGSEGV) at step 50" in text
    assert "it was hot" in text and "out/progress.json" in text and "out/decay/t.csv" in text
    nothing = "\n".join(shown(ending(None, None, Path("out"), 1, None, 200), 200))
    assert "before it had opened a Pillion session" in nothing
    well = "\n".join(shown(ending(None, None, Path("out"), 0, None, 200), 200))
    assert "opened no Pillion session" in well


def test_statuses():
    assert status_text(1) == "status 1"
    assert status_text(137) == "status 137 (SIGKILL)"
    assert status_text(255) == "status 255"


def test_analyses_that_may_move_have_a_place_too(tmp_path):
    write(tmp_path, progress(analyses=[analysis("free", "auto", last_step=50, publications=9)]))
    frame = draw.frame(view_of(tmp_path), [], draw.Screen(100, 24))
    assert any("free" in line and "auto" in line for line in shown(frame, 100))


def test_an_attached_job_that_has_left_is_no_failure(tmp_path):
    left = analysis("theirs", disabled="its attached job left after step 50")
    write(tmp_path, progress(analyses=[left, analysis("ours", disabled="out of memory")]))
    theirs, ours = view_of(tmp_path).rows
    assert (theirs.disabled, theirs.has_left) == (None, True)
    assert (ours.disabled, ours.has_left) == ("out of memory", False)


def test_the_library_says_that_a_job_has_left_as_readers_expect():
    from pillion.run_files import LEFT

    source = Path(__file__).resolve().parents[2] / "src/simulation/simulation.cpp"
    assert f'"{LEFT} after step ' in source.read_text(encoding="utf-8")


def test_spectra_are_drawn_by_their_logarithms(tmp_path):
    k, power = np.arange(1.0, 33), 1e6 * np.arange(1.0, 33) ** -4.0
    path = tmp_path / "a/power_spectrum_u.csv"
    path.parent.mkdir()
    about = {"title": "P", "analysis": "a", "stage": "power_spectrum", "name": path.stem}
    columns = [("k", "1/m", k), ("power", "m^3", power)]
    path.write_text(table_text(**about, columns=columns, attributes=[("scale", "log", "")]))
    write(tmp_path, progress(analyses=[analysis("a", products=["a/power_spectrum_u.csv"])]))
    (curve,) = Curves(tmp_path).default(view_of(tmp_path).rows)
    assert curve.log and curve.heights == pytest.approx(np.log10(power))
    assert curve.value_text() == "max 1e+06 m^3"  # values stay what they are
    (line,) = sparkline(curve.heights, 32)
    assert len(set(line)) > 5  # not one tall bar beside nothing
    assert len(set(sparkline(curve.values, 32)[0])) < 5
