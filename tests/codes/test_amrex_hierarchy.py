# SPDX-License-Identifier: BSD-3-Clause
"""The AMReX adapter on a program of three levels that regrids, against the plotfiles that AMReX
writes at the same steps: values bit by bit, statistics by NumPy, particles with their ids.
"""

import re
import signal
import subprocess
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import limits
import numpy as np
import pytest
from amrex_build import program_of
from amrex_files import (
    is_covered,
    plotfile_levels,
    plotfile_particles,
    raw_levels,
    raw_particles,
)
from cached_codes import needs_codes
from conftest import mpirun, read_table

pytestmark = needs_codes

INPUTS = """
amr.n_cell = 16 16 16
amr.max_level = 2
amr.ref_ratio = 2 2
amr.blocking_factor = 4
amr.max_grid_size = 8
amr.n_error_buf = 1 1
amr.grid_eff = 0.8
geometry.prob_lo = -1 0 0
geometry.prob_hi =  1 1 1
geometry.is_periodic = 1 0 1
particles.do_tiling = 1
pillion.file = pillion.yaml   # as AMReX's users write it
"""

CONFIGURATION = """
output: results
parameters: {bins: 9}
analyses:
  whole:
    every: 2 steps
    stages:
      - statistics: {fields: [density, flow_x, double_density, kind, all, mass, tracer_velocity]}
      - histogram: {field: density, range: [1, 10], bins: $bins}
      - write_raw: {fields: [density, flow, double_density, kind, all], durable: false}
  particles:
    every: 2 steps
    stages:
      - write_raw:
          fields: [tracers_position, tracers_id, mass, tracer_velocity, warmth, depth, origin]
          durable: false
"""


@pytest.fixture(scope="module")
def program(build) -> Path:
    return program_of(build, "amrex_hierarchy")


def run(program: Path, folder: Path, ranks: int, sidecars: int, *words, check=True, **texts):
    (folder / "inputs").write_text(texts.get("inputs", INPUTS))
    (folder / "pillion.yaml").write_text(texts.get("configuration", CONFIGURATION))
    override = {"PILLION_OVERRIDE": f"sidecars={{ranks: {sidecars}, when_full: wait}}"}
    return mpirun(
        ranks + sidecars,
        program,
        "inputs",
        *words,
        env=override if sidecars else {},
        cwd=folder,
        timeout=120,
        check=check,
    )


# Ranks of the simulation, and sidecars.
@pytest.fixture(scope="module", params=[(1, 0), (3, 0), (2, 1), (3, 2)], ids=str)
def done(request, program, tmp_path_factory):
    folder = tmp_path_factory.mktemp("hierarchy")
    return folder, run(program, folder, *request.param)


CELLS = [(16,) * 3, (32,) * 3, (64,) * 3]
STEPS = (0, 2, 4)


def test_values_are_those_of_the_plotfile(done):
    folder, _ = done
    covers = []
    for step in STEPS:
        there = plotfile_levels(folder / f"plt{step:05d}", ["density", "flow_x", "flow_y"])
        here = raw_levels(folder / "results/whole", "grid", step, CELLS)
        assert len(here) == len(there) == 3
        for level, (a, b) in enumerate(zip(here, there, strict=True)):
            np.testing.assert_array_equal(a["density"], b["density"])
            np.testing.assert_array_equal(a["flow"][..., 0], b["flow_x"])
            np.testing.assert_array_equal(a["flow"][..., 1], b["flow_y"])
            for component, name in enumerate(("density", "flow_x", "flow_y")):
                np.testing.assert_array_equal(a["all"][..., component], b[name])
            np.testing.assert_array_equal(a["double_density"], 2 * b["density"] + 1)
            k, j, i = np.indices(a["kind"].shape)
            exists = ~np.isnan(b["density"])
            np.testing.assert_array_equal(a["kind"][exists], ((i + 2 * j + 3 * k) % 7)[exists])
            if level > 0:
                covers.append(exists)
    # The test would be weaker if boxes had not moved.
    assert not np.array_equal(covers[0], covers[2]) and not np.array_equal(covers[1], covers[3])


def test_statistics_and_pdf_weigh_by_volume(done):
    folder, _ = done
    table = read_table(folder / "results/whole/statistics_density.csv")
    assert list(table["step"]) == list(STEPS) and list(table["levels"]) == [3, 3, 3]
    for row, step in enumerate(STEPS):
        levels = plotfile_levels(folder / f"plt{step:05d}", ["density"])
        leaves, volumes = [], []
        for number, (level, covered) in enumerate(
            zip(levels, is_covered(levels, "density"), strict=True)
        ):
            leaf = ~np.isnan(level["density"]) & ~covered
            leaves.append(level["density"][leaf])
            volumes.append(np.full(leaf.sum(), 2 / 16**3 / 8**number))
        values, weights = np.concatenate(leaves), np.concatenate(volumes)
        assert weights.sum() == pytest.approx(2, rel=1e-12)
        assert table["count"][row] == len(values)
        assert table["min"][row] == values.min() and table["max"][row] == values.max()
        assert table["mean"][row] == pytest.approx(np.average(values, weights=weights), rel=1e-13)
        pdf = read_table(folder / f"results/whole/histogram_density.{step:09d}.csv")
        # A density of more than 10 cannot be; the bins of NumPy are those of the stage.
        wanted, _ = np.histogram(values, 9, (1, 10), weights=weights)
        np.testing.assert_allclose(pdf["volume"], wanted, rtol=1e-12)


def test_particles_are_those_of_the_plotfile(done):
    folder, _ = done
    for step in STEPS:
        there = plotfile_particles(folder / f"plt{step:05d}/tracers")
        here = raw_particles(folder / "results/particles", "tracers", step)
        # Particles leave through the two faces that are not periodic.
        assert len(there["id"]) == len(set(there["id"])) == (16**3 if step == 0 else 3840)
        a, b = np.argsort(here["tracers_id"][:, 0]), np.argsort(there["id"])
        np.testing.assert_array_equal(here["tracers_id"][a, 0], there["id"][b])
        np.testing.assert_array_equal(here["tracers_position"][a], there["position"][b])
        reals = [name for name in there if "real" in name]
        pairs = {
            reals[0]: here["mass"][:, 0],
            **{reals[1 + d]: here["tracer_velocity"][:, d] for d in range(3)},
            reals[4]: here["warmth"][:, 0],
            reals[5]: here["depth"][:, 0],
            next(name for name in there if "int" in name): here["origin"][:, 0],
        }
        for name, values in pairs.items():
            np.testing.assert_array_equal(values[a], there[name][b])


def test_derived_field_is_made_at_due_steps_only(done):
    _, result = done
    assert "derived 3 times" in result.stdout  # of 6 steps


def test_parameters_come_from_the_inputs(program, tmp_path):
    run(program, tmp_path, 1, 1, "pillion.parameters.bins=18", "steps=1", "plot=0")
    assert len(read_table(tmp_path / "results/whole/histogram_density.000000000.csv")) == 18


def test_derived_field_that_nothing_uses_is_not_made(program, tmp_path):
    few = "output: results\nanalyses: {a: {stages: [statistics: {fields: [density]}]}}\n"
    result = run(program, tmp_path, 2, 0, "plot=0", configuration=few)
    assert "derived 0 times" in result.stdout
    table = read_table(tmp_path / "results/a/statistics_density.csv")
    assert len(table["step"]) == 6


ALONE = """
output: results
sidecars: {per_node: 1, when_full: wait}
analyses: {a: {every: 2 steps, stages: [statistics: {fields: [density]}]}}
"""
ATTACHED = """
analyses:
  b:
    every: 2 steps
    products_every: 1
    stages: [statistics: {fields: [density, double_density]}]
"""


def test_derived_field_that_an_attached_job_uses(build, program, tmp_path):
    (tmp_path / "more.yaml").write_text(ATTACHED)
    table = tmp_path / "results/b/statistics_double_density.csv"
    name = f"derived-{uuid.uuid4()}"  # runs of other tests are not meant
    words = [build / "bin/pillion", "attach", name, "more.yaml", "--wait", "100"]

    def follow() -> tuple[int, str]:
        """The status and words of the job that attaches, leaves, and then ends the run."""
        with subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as job:
            limits.until(lambda: table.exists() or job.poll() is not None, 100, "a table", 0.1)
            if job.poll() is None:
                job.send_signal(signal.SIGINT)
            words_of_job = limits.communicate(job, timeout=60)[1]
        (tmp_path / "end").touch()
        return job.returncode, words_of_job

    with ThreadPoolExecutor(1) as pool:
        follower = pool.submit(follow)
        inputs = INPUTS.replace("amr.max_level = 2", "amr.max_level = 1")
        words_of_run = ["steps=100000", "plot=0", "until=end"]
        alone = f"run: {name}\n{ALONE}"
        done = run(program, tmp_path, 2, 0, *words_of_run, inputs=inputs, configuration=alone)
        status, said = follower.result()
        assert status == 0, said
    found = read_table(table)
    single = read_table(tmp_path / "results/b/statistics_density.csv")
    np.testing.assert_allclose(found["mean"], 2 * single["mean"] + 1, rtol=1e-12)
    steps = len(read_table(tmp_path / "results/a/statistics_density.csv")["step"])
    derived = int(re.search(r"derived (\d+) times", done.stdout)[1])
    assert 0 < len(found) <= derived < steps


def test_misuse_is_refused_in_words(program, tmp_path):
    few = "output: results\nanalyses: {a: {stages: [statistics: {fields: [density]}]}}\n"
    told = run(program, tmp_path, 1, 0, "misuse=1", configuration=few).stdout
    assert "level 0 of field 'density' has values at nodes, faces or edges; average it" in told
    assert "level 0 of field 'density' is component 1 of an array with 1 components" in told
    assert "lies in the memory of a device, which Pillion cannot read; set amrex.the_arena" in told


EMBEDDED = """
output: results
analyses:
  a:
    stages:
      - statistics: {fields: [density, volume_fraction]}
      - flatten: {fields: [density], level: 0, into: [coarse]}
      - write_raw: {fields: [coarse], name: flat, durable: false}
"""


@pytest.mark.parametrize(("ranks", "sidecars"), [(1, 0), (2, 1)])
def test_volume_fractions_are_weights(build, tmp_path, ranks, sidecars):
    """Against integrals over the cube without the ball, and by symmetry."""
    program = program_of(build, "amrex_embedded")
    run(program, tmp_path, ranks, sidecars, inputs="", configuration=EMBEDDED)
    table = read_table(tmp_path / "results/a/statistics_density.csv")
    # The mean of x over the open part is 1/2. AMReX cuts cells by planes: an error of second order.
    assert table["mean"][0] == pytest.approx(1.5, abs=1e-6)
    ball = 4 / 3 * np.pi * 0.2**3
    assert table["volume"][0] == pytest.approx(1 - ball, abs=1e-3)
    assert table["min"][0] == 1 + 0.5 / 16 and table["max"][0] == 2 - 0.5 / 16
    flat = raw_levels(tmp_path / "results/a", "flat", 0, [(16,) * 3])[0]["coarse"]
    inside = np.isnan(flat)
    # Cells whose corners all lie in the ball are covered.
    edges = (np.arange(17) / 16 - 0.5) ** 2
    corners = edges[:, None, None] + edges[None, :, None] + edges[None, None, :] < 0.2**2
    wholly = np.ones((16,) * 3, bool)
    for z in (0, 1):
        for y in (0, 1):
            for x in (0, 1):
                wholly &= corners[z : z + 16, y : y + 16, x : x + 16]
    assert wholly.sum() > 50 and np.array_equal(inside, wholly)
