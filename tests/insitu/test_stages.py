# SPDX-License-Identifier: BSD-3-Clause
"""Stages in Python give the results of built-in ones, and of NumPy on the whole field, wherever
they run and however the field is divided and laid out in memory.
"""

import os
import sys

import numpy as np
import pillion
import pytest
from conftest import mpirun, read_table, some
from insitu import (
    PLACES,
    STAGES,
    Place,
    box,
    configure,
    environment,
    needs_modules,
    places,
    report_of,
    simulate,
)
from pillion import units

sys.path.insert(0, str(STAGES.parent / "programs"))

pytestmark = needs_modules

CELLS = (12, 10, 8)
ANALYSES = f"""
  python: {{stages: [{{python: {{call: "{STAGES}/analyses.py:extremes"}}}}]}}
  builtin: {{stages: [{{statistics: {{fields: [density]}}}}]}}
  counts: {{stages: [{{python: {{call: "{STAGES}/analyses.py:histogram",
                              with: {{bins: 16, range: [0, 13]}}}}}}]}}
  counts_of_blocks: {{stages: [{{python: {{call: "{STAGES}/analyses.py:histogram_of_blocks",
                              with: {{bins: 16, range: [0, 13]}}}}}}]}}
  builtin_counts: {{stages: [{{histogram: {{field: density, bins: 16, range: [0, 13]}}}}]}}
  squares: {{stages: [{{python: {{call: "{STAGES}/analyses.py:square"}}}},
                     {{statistics: {{fields: [squared]}}}}]}}
  neighbours: {{stages: [{{python: {{call: "{STAGES}/analyses.py:laplacian"}}}},
                        {{statistics: {{fields: [laplacian]}}}}]}}
  fourier: {{stages: [{{python: {{call: "{STAGES}/analyses.py:spectrum"}}}}]}}
"""


def whole(step, cells=CELLS):
    i, j, k = np.meshgrid(*map(np.arange, cells), indexing="ij")
    return ((7 * i + 13 * j + 29 * k + 5 * step) % 101) / 8.0


def check_all(results, steps):
    check_rows(results, steps)
    for step in range(steps):
        check_counts(results, step)
    check_fields(results, steps)


def check_rows(results, steps):
    mine, theirs = (
        read_table(results / "python/extremes.csv"),
        read_table(results / "builtin/statistics_density.csv"),
    )
    fields = [whole(step) for step in range(steps)]
    assert mine["step"].tolist() == list(range(steps))
    assert mine["time"].tolist() == [step / 4 for step in range(steps)]
    for name, of in (("count", np.size), ("min", np.min), ("max", np.max)):
        assert mine[name].tolist() == [of(f) for f in fields]
        assert mine[name].tolist() == theirs[name].tolist(), name
    assert mine["sum"].tolist() == [f.sum() for f in fields]


def check_counts(results, step):
    expected = np.histogram(whole(step), 16, (0, 13))[0].tolist()
    builtin = read_table(results / f"builtin_counts/histogram_density.{step:09}.csv")
    assert builtin["count"].tolist() == expected
    for analysis in ("counts", "counts_of_blocks"):
        table = read_table(results / analysis / f"histogram.{step:09}.csv")
        assert table["count"].tolist() == expected
        assert table.attributes == {"total": whole(step).size, "method": "numpy"}
        assert table.units == {"lo": "g", "hi": "g", "count": ""}


def check_fields(results, steps):
    squares = read_table(results / "squares/statistics_squared.csv")
    laplacians = read_table(results / "neighbours/statistics_laplacian.csv")
    power = read_table(results / "fourier/spectrum.csv")
    for step in range(steps):
        field = whole(step)
        assert squares["max"][step] == (field**2).max()
        assert squares["mean"][step] == pytest.approx((field**2).mean(), rel=1e-14)
        stars = sum(np.roll(field, s, a) for a in range(3) for s in (1, -1)) - 6 * field
        assert laplacians["max"][step] == stars.max() and laplacians["min"][step] == stars.min()
        expected = (abs(np.fft.fftn(field, axes=(0, 1))) ** 2).sum()
        assert power["power"][step] == pytest.approx(expected, rel=1e-12)
        assert power["peers"][step] == 1


@places()
def test_as_builtin(build, tmp_path, place):
    configure(tmp_path, place, ANALYSES)
    simulate(
        build,
        tmp_path,
        place,
        box(sidecars=place.more, awaits="joined" if place.is_separate else ""),
    )
    report = report_of(tmp_path)
    assert [a["disabled"] for a in report["analyses"]] == [None] * 8
    check_all(tmp_path / "results", 3)


@pytest.mark.drawn
@pytest.mark.parametrize("division", ["uneven", "many", "one"])
@pytest.mark.parametrize("order", ["C", "F", "gaps", "backwards"])
def test_any_division_and_order(build, tmp_path, division, order):
    place = Place(3) if order in ("C", "gaps") else PLACES[4]
    configure(tmp_path, place, ANALYSES)
    simulate(
        build, tmp_path, place, box(division=division, order=order, steps=2, sidecars=place.more)
    )
    check_all(tmp_path / "results", 2)


@pytest.mark.parametrize("kind", ["float32", "int32", "int64"])
@places([Place(2), Place(2, "{ranks: 1}", 1)])
def test_any_type(build, tmp_path, kind, place):
    configure(tmp_path, place, "\n".join(ANALYSES.splitlines()[:3]) + "\n", kind=kind)
    simulate(build, tmp_path, place, box(steps=2, sidecars=place.more))
    table = read_table(tmp_path / "results/python/extremes.csv")
    expected = [whole(step).astype(kind) for step in range(2)]
    assert table["sum"].tolist() == [float(f.sum(dtype=float)) for f in expected]


@places([Place(2), Place(2, "{per_node: 1}", 1), Place(2, "{ranks: 1}", 1)])
def test_in_a_simulation_in_c(build, tmp_path, place):
    """The interpreter is started where stages in Python run, in ranks that have none."""
    (tmp_path / "pillion.yaml").write_text(
        f"output: results\n{place.head}parameters: {{n: 16}}\n"
        "meshes: {cube: {kind: uniform, cells: [$n, $n, $n], length: [1, 1, 1]}}\n"
        "fields: {temperature: {mesh: cube, type: float64, units: K}}\nanalyses:\n"
        f'  python: {{every: 10 steps, stages: [{{python: {{call: "{STAGES}/analyses.py:extremes",'
        " names: {density: temperature}}}]}\n"
        "  builtin: {every: 10 steps, stages: [{statistics: {fields: [temperature]}}]}\n"
    )
    simulate(build, tmp_path, place, [build / "examples/heat/heat", 16, 30])
    mine = read_table(tmp_path / "results/python/extremes.csv")
    theirs = read_table(tmp_path / "results/builtin/statistics_temperature.csv")
    assert mine["step"].tolist() == [0, 10, 20, 30][: len(mine["step"])]
    assert len(mine["step"]) >= 3
    for name in ("count", "min", "max"):
        assert mine[name].tolist() == theirs[name].tolist()


def test_python_is_not_loaded_without_need(build, tmp_path):
    """A simulation in C whose stages in Python run in sidecars has no interpreter in it."""
    place = Place(1, "{per_node: 1}", 1)
    (tmp_path / "pillion.yaml").write_text(
        f"output: results\n{place.head}parameters: {{n: 16}}\n"
        "meshes: {cube: {kind: uniform, cells: [$n, $n, $n], length: [1, 1, 1]}}\n"
        "fields: {temperature: {mesh: cube, type: float64, units: K}}\nanalyses:\n"
        f'  python: {{stages: [{{python: {{call: "{STAGES}/analyses.py:extremes",'
        " names: {density: temperature}}}]}\n"
    )
    log = tmp_path / "loaded"
    env = environment(build, LD_DEBUG="files", LD_DEBUG_OUTPUT=log)
    mpirun(2, build / "examples/heat/heat", 16, 2, env=env, cwd=tmp_path, timeout=90)
    texts = [p.read_text() for p in tmp_path.glob("loaded.*")]
    ranks = [t for t in texts if "examples/heat/heat" in t and "libpillion" in t]
    assert [("libpython" in t) for t in ranks].count(True) == 1
    assert len(ranks) >= 2


@places([Place(3), Place(2, "{ranks: 2, when_full: wait}", 2)])
def test_files(build, tmp_path, place):
    """They are products: whole, the first peer's, and in the report."""
    configure(
        tmp_path,
        place,
        f'  own: {{stages: [{{python: {{call: "{STAGES}/analyses.py:files"}}}}]}}\n',
    )
    simulate(build, tmp_path, place, box(sidecars=place.more))
    folder = tmp_path / "results/own"
    names = [f"map.{step:09}.bin" for step in range(3)]
    assert sorted(p.name for p in folder.iterdir()) == ["last", *names]
    assert [(folder / n).read_bytes() for n in names] == [bytes([i, 0, 0, 255]) for i in range(3)]
    assert (folder / "last").read_bytes() == bytes([2, 0, 0, 255])
    products = report_of(tmp_path)["products"]
    assert [(p["path"], p["title"]) for p in products] == [
        ("own/map.000000002.bin", "Map"),
        ("own/last", "last"),
    ]
    made = pillion.make_report(tmp_path / "results")
    assert made.problems == []
    assert f"own/map.000000002.bin, {units.size(4)}" in made.path.read_text(encoding="utf-8")


@places([Place(2), Place(2, "{per_node: 1}", 1)])
def test_restart(build, tmp_path, place):
    """What stages in Python remember is in checkpoints: rows, and what their classes save."""
    analyses = (
        f'  mean: {{stages: [{{python: {{call: "{STAGES}/analyses.py:Mean",'
        " with: {digits: 3}}}]}\n"
        f'  rows: {{stages: [{{python: {{call: "{STAGES}/analyses.py:extremes"}}}}]}}\n'
    )
    configure(tmp_path, place, analyses)
    program = [sys.executable, STAGES.parent / "programs/restarted.py"]
    for first, last in ((0, 3), (3, 6)):
        simulate(build, tmp_path, place, [*program, first, last])
    mean = read_table(tmp_path / "results/mean/mean.csv")
    assert mean["steps"].tolist() == [6]
    expected = np.mean([whole(step).mean() for step in range(6)])
    assert mean["mean"][0] == pytest.approx(expected, rel=1e-14)
    (steps,) = (c for c in mean.head["columns"] if c["name"] == "steps")
    assert (steps["role"], steps["of"]) == ("count", "mean")
    assert mean.attributes == {"digits": 3}
    rows = read_table(tmp_path / "results/rows/extremes.csv")
    assert rows["step"].tolist() == list(range(6))


@places([Place(1), Place(2), Place(1, "{per_node: 1}", 1)])
def test_no_copy(build, tmp_path, place):
    """A block of 64 MiB is seen where the simulation has it; or, in sidecars on its node, where it
    lies in memory that both have."""
    configure(
        tmp_path,
        place,
        f'  where: {{stages: [{{python: {{call: "{STAGES}/analyses.py:addresses"}}}}]}}\n',
        cells=(256, 256, 128),
    )
    program = [sys.executable, STAGES.parent / "programs/big_block.py"]
    done = simulate(build, tmp_path, place, program)
    shared = dict(line.split()[1:] for line in done.stdout.splitlines() if line.startswith("at "))
    seen = {}
    for path in some((tmp_path / "results/where").glob("addresses.0.*")):
        for line in path.read_text().splitlines():
            _, _, address, strides = line.split(maxsplit=3)
            seen[path.suffix[1:]] = address
            assert place.sidecars or strides == "(262144, 1024, 8)"
    if not place.sidecars:
        assert seen == shared and len(seen) == place.ranks
    else:
        maps = (tmp_path / "results/where/maps").read_text()
        address = int(seen["0"])
        holds = [
            line
            for line in maps.splitlines()
            if int(line.split("-")[0], 16) <= address < int(line.split("-")[1].split()[0], 16)
        ]
        assert len(holds) == 1 and "/dev/shm/" in holds[0], holds


@places([Place(2), Place(2, "{per_node: 1, when_full: wait}", 1), PLACES[2]])
def test_memory_of_the_session(build, tmp_path, place):
    """Sidecars read it where it is, and it is there after the session."""
    configure(tmp_path, place, ANALYSES)
    program = [sys.executable, STAGES.parent / "programs/allocated.py"]
    done = simulate(build, tmp_path, place, program)
    assert done.stdout.count("done") == 2
    check_all(tmp_path / "results", 6)
    if "per_node" in place.sidecars:
        in_place = report_of(tmp_path)["sidecars"]["in_place_bytes"]
        assert in_place >= 12 * 10 * 8 * 8


def test_memory_of_the_session_is_no_part_of_the_budget(build, tmp_path):
    """Fields that sidecars read in place may be larger than the budget."""
    place = Place(2, "{per_node: 1, memory: 128 KiB, when_full: wait}", 1)
    cells = (64, 32, 32)  # 512 KiB
    configure(tmp_path, place, "  a: {stages: [{statistics: {fields: [density]}}]}\n", cells)
    simulate(build, tmp_path, place, [sys.executable, STAGES.parent / "programs/allocated.py"])
    table = read_table(tmp_path / "results/a/statistics_density.csv")
    means = [whole(step, cells).mean() for step in range(6)]
    assert table["mean"].tolist() == pytest.approx(means, rel=1e-14)
    assert report_of(tmp_path)["sidecars"]["in_place_bytes"] == 6 * 8 * np.prod(cells)


@places([Place(4, "{per_node: 1, memory: 900 KiB}", 1), Place(4, "{ranks: 1, memory: 900 KiB}", 1)])
def test_ranks_share_the_budget_as_they_need_it(build, tmp_path, place):
    """One has nine tenths of the data, more than an even part of a budget for three of them."""
    cells = (32, 32, 32)  # 256 KiB
    configure(tmp_path, place, "  a: {stages: [{statistics: {fields: [density]}}]}\n", cells)
    simulate(build, tmp_path, place, box(division="uneven", pause=0.2, steps=5, sidecars=1))
    table = read_table(tmp_path / "results/a/statistics_density.csv")
    means = [whole(step, cells).mean() for step in range(5)]
    assert table["mean"].tolist() == pytest.approx(means, rel=1e-14)
    (analysis,) = report_of(tmp_path)["analyses"]
    assert analysis["skipped"] == 0


# Sidecars come to have every page of the memory for publications, so that is small here.
@places(
    [
        Place(2, "{per_node: 2, when_full: wait, memory: 2 MiB}", 2),
        Place(2, "{ranks: 2, when_full: wait, memory: 2 MiB}", 2),
    ]
)
def test_regrids_leave_memory_as_it_was(build, tmp_path, place):
    """On both sides. PILLION_TEST_ALL=1 makes ten thousand."""
    steps = 10_000 if os.environ.get("PILLION_TEST_ALL", "") not in ("", "0") else 240
    stage = f'python: {{call: "{STAGES}/analyses.py:footprint", at: %s}}'
    configure(
        tmp_path,
        place,
        f"  inside: {{stages: [{{{stage % 'simulation'}}}]}}\n"
        f"  beside: {{stages: [{{{stage % 'sidecar'}}}]}}\n",
        cells=(24, 16, 16),
    )
    text = (tmp_path / "run.yaml").read_text()
    heat = "fields: {heat: {mesh: grid, type: float64}, "
    (tmp_path / "run.yaml").write_text(text.replace("fields: {", heat))
    program = [sys.executable, STAGES.parent / "programs/regrids.py", str(steps)]
    simulate(build, tmp_path, place, program, timeout=90 + steps / 20)
    for analysis in ("inside", "beside"):
        table = read_table(tmp_path / f"results/{analysis}/footprint.csv")
        assert table["density"].tolist() == [step * 24 * 16 * 16 for step in range(steps)]
        assert table["heat"].tolist() == table["density"].tolist()
        early = steps // 4
        assert table["maps"][-1] <= table["maps"][early] + 8
        assert table["anonymous"][-1] <= table["anonymous"][early] + (4 << 10)  # KiB
        assert table["shared"][-1] <= table["shared"][early] + (2 << 10)


@places([Place(3), Place(3, "{per_node: 2, when_full: wait}", 2)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_peers_that_give_different_types_and_orders(build, tmp_path, place, order):
    """Some peers have no block, or blocks that lie the other way round."""
    configure(
        tmp_path,
        place,
        f'  total: {{stages: [{{python: {{call: "{STAGES}/analyses.py:total_from_nothing"}}}}]}}\n'
        f'  flat: {{stages: [{{python: {{call: "{STAGES}/analyses.py:projection"}}}}]}}\n',
    )
    wanted = {"division": "one", "order": order, "sidecars": place.more}
    simulate(build, tmp_path, place, box(**wanted))
    table = read_table(tmp_path / "results/total/total_from_nothing.csv")
    assert table["total"].tolist() == [whole(step).sum() for step in range(3)]
    assert table["count"].tolist() == [12 * 10 * 8] * 3
    for step in range(3):
        flat = read_table(tmp_path / f"results/flat/projection.{step:09}.csv")
        assert flat["value"].tolist() == whole(step).sum(axis=2).ravel().tolist()
