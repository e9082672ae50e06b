# SPDX-License-Identifier: BSD-3-Clause
"""Fields that the catalogue says are constant: their values at every placement and step, as they
are without it; and how many bytes move."""

import json
import os
import re
import subprocess
import sys
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import constant_program as program
import limits
import numpy as np
import pytest
from conftest import read_table
from programs import PLACES, runner
from test_unstructured import run as run_cells

HERE = Path(__file__).parent
CONSTANT = ", constant: true"
TEXT = f"""
output: results
SIDECARS
meshes:
  grid: {{kind: uniform, cells: {list(program.CELLS)}, length: [8, 10, 6], periodic: true}}
  elements: {{kind: spectral, order: 1}}
fields:
  u: {{mesh: grid, type: float64}}
  c: {{mesh: grid, type: float64{CONSTANT}}}
  vx: {{mesh: grid, type: float64{CONSTANT}}}
  vy: {{mesh: grid, type: float64{CONSTANT}}}
  vz: {{mesh: grid, type: float64{CONSTANT}}}
  v: {{components: [vx, vy, vz]}}
  q: {{mesh: elements, type: float64{CONSTANT}}}
  t: {{mesh: elements, type: float64}}
"""
# The analyses are due at different steps. Some layouts hold a block in one piece.
ANALYSES = """
analyses:
  shared:
    every: 1 steps
    stages:
      - python: {call: "STAGES/constants.py:as_shared"}
      - statistics: {fields: [u, c, v]}
      - statistics: {fields: [q, t]}
  blocks:
    every: 2 steps
    stages: [python: {call: "STAGES/constants.py:in_blocks"}]
  slabs:
    every: 4 steps
    stages:
      - python: {call: "STAGES/constants.py:in_slabs"}
      - power_spectrum: {field: c}
  files:
    every: 1 steps
    stages: [write_raw: {fields: [u, c, v], durable: false}]
"""
HELD = """
  held:
    every: 1 steps
    stages: [python: {call: "STAGES/constants.py:hold"}]
"""
DUE = {
    "held": program.STEPS,
    "shared": program.STEPS,
    "blocks": -(-program.STEPS // 2),
    "slabs": -(-program.STEPS // 4),
    "files": program.STEPS,
}
MY_PLACES = PLACES | {
    "two": (2, 2, "{per_node: 2, when_full: wait, memory: 4 MiB}"),
    "spill": (2, 1, "{per_node: 1, when_full: spill, memory: 80 KiB}"),
    "lone": (2, 1, "{ranks: 1, when_full: wait}"),
}
run = runner("constant_program.py", MY_PLACES)


def report_of(folder):
    return json.loads((folder / "results/report.json").read_text())


@pytest.fixture(scope="module", params=MY_PLACES)
def folder(request, build, tmp_path_factory):
    folder = tmp_path_factory.mktemp("constant")
    if request.param == "spill":
        # Sidecars wait at first. Then copies that stay have no room beside messages, either.
        run(folder, build, request.param, TEXT + ANALYSES + HELD, "held")
        assert max(a["spilled"] for a in report_of(folder)["analyses"]) > 0
    else:
        assert "constant" not in run(folder, build, request.param, TEXT + ANALYSES)
    return folder


def test_values(folder):
    """Each value at each step, in each layout; nothing is left out."""
    for analysis in report_of(folder)["analyses"]:
        assert analysis["disabled"] is None, analysis["disabled"]
        assert analysis["publications"] == DUE[analysis["name"]], analysis
        assert analysis["dropped"] == analysis["skipped"] == 0
    for analysis, stage in (
        ("shared", "as_shared"),
        ("blocks", "in_blocks"),
        ("slabs", "in_slabs"),
    ):
        (path,) = (folder / "results" / analysis).glob(f"*{stage}*.csv")
        table = read_table(path)
        assert table["wrong"].tolist() == [0] * DUE[analysis]
        assert (table["cells"] >= np.prod(program.CELLS)).all()
    whole = program.constant([0, 0, 0], program.CELLS)
    means = read_table(folder / "results/shared/statistics_c.csv")["mean"]
    np.testing.assert_allclose(means, whole.mean(), rtol=1e-14)


def equal_products(folder, other, place):
    names = [
        sorted(p.relative_to(f) for p in (f / "results").rglob("*.csv")) for f in (folder, other)
    ]
    assert names[0] == names[1] != []
    for name in names[0]:
        one, two = (read_table(f / name) for f in (folder, other))
        for column in one.columns:
            if "seconds" not in column:
                np.testing.assert_allclose(
                    one[column], two[column], rtol=1e-14, err_msg=f"{name} {column}"
                )
    raw = [sorted((f / "results/files").rglob("*.raw")) for f in (folder, other)]
    assert len(raw[0]) == len(raw[1]) > 0
    if place == "network":  # sidecars have the blocks in an order that may vary
        return
    for one, two in zip(*raw, strict=True):
        assert one.read_bytes() == two.read_bytes(), one


@pytest.mark.parametrize("place", ["network", "lone", "node"])
def test_bytes(build, tmp_path, place):
    """Products are those of fields that may change. Over the network constant values go once for
    each cut of the mesh and each layout; on a node they are read where they are."""
    of = []
    for text in (TEXT, TEXT.replace(CONSTANT, "")):
        folder = tmp_path / str(len(of))
        folder.mkdir()
        run(folder, build, place, text + ANALYSES)
        report = report_of(folder)
        moved = {analysis["name"]: analysis["bytes_moved"] for analysis in report["analyses"]}
        of.append((folder, moved, report["sidecars"]["in_place_bytes"]))
    (folder, now, in_place), (other, before, in_place_before) = of
    equal_products(folder, other, place)
    assert in_place_before == 0
    if place == "node":
        ranks = MY_PLACES[place][0]
        constant = 4 * np.prod(program.CELLS) + ranks * program.ELEMENTS * 8  # c, v and q
        assert in_place == program.STEPS * 8 * constant
        return
    assert in_place == 0
    # Four of five values are constant. They go at steps 0 and REGRID, and at the first step with
    # another layout.
    assert now["shared"] < 0.6 * before["shared"], (now, before)
    assert now["files"] < 0.6 * before["files"], (now, before)


@pytest.mark.parametrize("place", ["network", "inside"])
@pytest.mark.parametrize("how", ["still:4", "again:4"])
def test_cells(build, tmp_path, place, how):
    """On an unstructured mesh that stays as it is, with values at points that are constant."""
    text = """
output: results
SIDECARS
meshes: {box: {kind: unstructured, units: m}}
fields:
  u: {mesh: box, type: float64}
  w: {mesh: box, type: float32, components: 3, centering: point, constant: true}
analyses:
  all:
    every: 1 steps
    stages:
      - statistics: {fields: [u, w]}
      - python: {call: 'HERE/cell_layouts.py:record'}
      - python: {call: 'HERE/cell_layouts.py:record_near'}
      - python: {call: 'HERE/cell_layouts.py:record_ids'}
""".replace("HERE", str(HERE))
    found = []
    for now in (text, text.replace(", constant: true", "")):
        folder = tmp_path / str(len(found))
        folder.mkdir()
        run_cells(folder, build, place, now, how)
        files = sorted(folder.glob("cells.*.npz"))
        found.append({p.name: dict(np.load(p)) for p in files})
        assert [a["dropped"] for a in report_of(folder)["analyses"]] == [0]
    assert found[0].keys() == found[1].keys() != set()
    for name, arrays in found[0].items():
        for key, array in arrays.items():
            np.testing.assert_array_equal(array, found[1][name][key], err_msg=f"{name} {key}")


@pytest.mark.parametrize("place", ["network", "node"])
def test_values_that_change_all_the_same(build, tmp_path, place):
    said = run(tmp_path, build, place, TEXT + ANALYSES, "liar")
    assert "field 'c' is constant according to the catalogue, but values of it have changed" in said


@pytest.mark.parametrize(
    "place, sidecars",
    [("network", "ranks: 2, memory: 36 KiB"), ("node", "per_node: 1, memory: 28 KiB")],
)
def test_first_publication_is_skipped(build, tmp_path, place, sidecars):
    """The values go with the first one that is not: while sidecars hold messages of another
    analysis, there is no room.
    """
    held = {place: (*PLACES[place][:2], f"{{{sidecars}, when_full: skip}}")}
    text = (
        re.sub("(v[xyz]: .*)" + CONSTANT, r"\1", TEXT)
        + """
analyses:
  first:
    every: 1 steps
    when: step < 4
    stages: [python: {call: "STAGES/constants.py:hold"}]
  late:
    every: 1 steps
    when: step > 3
    stages: [python: {call: "STAGES/constants.py:one_constant"}]
"""
    )
    runner("constant_program.py", held)(tmp_path, build, place, text, "held")
    late = report_of(tmp_path)["analyses"][1]
    assert late["skipped"] >= program.REGRID - 3
    (path,) = (tmp_path / "results/late").glob("*one_constant*.csv")
    table = read_table(path)
    assert table["step"][0] > program.REGRID
    assert set(table["wrong"].tolist()) == {0}


def test_a_job_that_attaches_later(build, tmp_path):
    """It has the values, too: of boxes that have been there before it came, and of later ones."""
    name = f"constant-{uuid.uuid4().hex}"
    (tmp_path / "extra.yaml").write_text(
        ANALYSES.replace("STAGES", str(HERE / "stages")).split("  slabs:")[0]
    )
    env = os.environ | {
        "PYTHONPATH": f"{build / 'python'}:{HERE}",
        "PILLION_PYTHON": sys.executable,
    }

    def publications_of_extra() -> int:
        found = list((tmp_path / "results").rglob("progress-extra*"))
        return json.loads(found[0].read_text())["publications"] if found else 0

    with ThreadPoolExecutor() as pool:
        text = TEXT.replace("output:", f"run: {name}\noutput:") + (
            "analyses: {own: {every: 3 steps, stages: [statistics: {fields: [c]}]}}\n"
        )
        program = pool.submit(run, tmp_path, build, "node", text, "until-stop")
        try:
            shown = tmp_path / "results/progress.json"
            limits.until(lambda: shown.exists() or program.done(), 60, "progress of the run")
            assert not program.done()
            attach = [build / "bin/pillion-attach", name, "extra.yaml", "--wait", "60"]
            with subprocess.Popen(attach, cwd=tmp_path, env=env, stderr=subprocess.PIPE) as job:
                limits.until(
                    lambda: job.poll() is not None or publications_of_extra() > 12, 60, "12 of them"
                )
                (tmp_path / "stop").touch()
                said = limits.communicate(job, timeout=60)[1].decode()
        finally:
            (tmp_path / "stop").touch()
        assert job.returncode == 0, said
        program.result()
    for stage in ("as_shared", "in_blocks"):
        (path,) = (tmp_path / "results").rglob(f"*{stage}*.csv")
        table = read_table(path)
        assert len(table["wrong"]) > 5
        assert set(table["wrong"].tolist()) == {0}
