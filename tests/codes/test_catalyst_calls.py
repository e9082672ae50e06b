# SPDX-License-Identifier: BSD-3-Clause
"""The calls of Catalyst: names, faults, placements, results, restarts, replay, and Catalyst's own
examples.
"""

import json
import os
import re
import sys
from pathlib import Path

import limits
import numpy as np
import pytest
from conftest import launch, mpirun, read_table

sys.path.insert(0, str(Path(__file__).parent.parent / "conformance"))

from cached_codes import needs_codes
from catalyst_runs import (
    STEPS,
    build_catalyst,
    build_program,
    configure,
    environment,
    expect_exact,
    run_meshes,
    stage,
)

pytestmark = needs_codes
# Means of x of the whole body, plain and sheared.
MEAN, SHEARED = 1, 1 + 3.25 / 4
STATISTICS = "      - statistics: {fields: [apart]}\n"


@pytest.fixture(scope="module")
def meshes(tmp_path_factory) -> Path:
    return build_program("catalyst_meshes", tmp_path_factory.mktemp("meshes"))


@pytest.fixture(scope="module")
def catalyst() -> Path:
    return build_catalyst()


def only_run(build, meshes, folder, kind, stages, *more, **wanted):
    configure(folder, stages)
    return run_meshes(build, meshes, folder, kind, 2, 1, *more, **wanted)


def names_of(mesh):
    fields = ("apart", "joined", "mixed", "number", "single", "small")
    return ", ".join(f"{name}: {mesh}_{name}" for name in fields)


def expect_means(folder, name, steps, mean=MEAN):
    table = read_table(folder / f"results/a/statistics_{name}.csv")
    assert table["step"].tolist() == list(steps)
    np.testing.assert_allclose(table["mean_x"], mean + np.array(steps), rtol=1e-12)
    return table


def test_blocks_of_a_multimesh_are_meshes_by_name(build, meshes, tmp_path):
    stages = stage(
        "at_cells", f", with: {{mesh: grid_fluid}}, names: {{{names_of('grid_fluid')}}}"
    ) + stage("at_particles", f", names: {{{names_of('grid_tracers')}}}")
    configure(tmp_path, stages)
    run_meshes(build, meshes, tmp_path, "blocks", 2, 2)
    for name in ("at_cells", "at_particles"):
        expect_exact(read_table(tmp_path / f"results/a/{name}.csv"), "cells", 160)


def test_topologies_of_a_channel_are_meshes(build, meshes, tmp_path):
    stages = "      - statistics: {fields: [shear, corner]}\n"
    stages += stage("at_cells", ", with: {mesh: grid_topo}")
    only_run(build, meshes, tmp_path, "skin", stages)
    expect_exact(read_table(tmp_path / "results/a/at_cells.csv"), "cells", 160)
    table = read_table(tmp_path / "results/a/statistics_shear.csv")
    assert table["count"].tolist() == [40] * STEPS
    # 1000 x, of x = -1 + (i + 1/2) / 2 + y / 4 and y = 2 + (j + 1/2) / 2 + z / 8, cut off.
    i, j = np.meshgrid(np.arange(8), np.arange(5))
    x = -1 + (i + 0.5) / 2 + (2 + (j + 0.5) / 2) / 4
    np.testing.assert_allclose(table["mean"], np.trunc(1000 * x).mean(), rtol=1e-12)


def test_coordinates_of_two_types_and_one_that_a_domain_lacks(build, meshes, tmp_path):
    only_run(build, meshes, tmp_path, "flat", "      - statistics: {fields: [coordinates]}\n")
    table = read_table(tmp_path / "results/a/statistics_coordinates.csv")
    np.testing.assert_allclose(table["mean_x"], MEAN, rtol=1e-12)
    np.testing.assert_allclose(table["mean_y"], 2 + 5 / 4, rtol=1e-12)
    assert (table["min_z"] == 0).all() and (table["max_z"] == 1).all()


def dropped(folder) -> int:
    return json.loads((folder / "results/report.json").read_text())["analyses"][0]["dropped"]


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("broken", "cells of the shape 'dodecahedron', which Pillion does not know"),
        ("displaced", "which is between two cells of mesh 'grid'"),
        ("growing", "set 'catalyst/pillion/levels' to the largest number of levels"),
    ],
)
def test_a_fault_of_one_domain_costs_the_publication_alone(build, meshes, tmp_path, kind, words):
    done = only_run(build, meshes, tmp_path, kind, STATISTICS)
    assert words in done.stderr and "status" not in done.stdout
    assert "field 'apart' was shared in part" in done.stderr
    steps = [0] if kind == "growing" else [0, 2]
    expect_means(tmp_path, "apart", steps, SHEARED if kind == "sheared" else MEAN)
    assert dropped(tmp_path) == STEPS - len(steps)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        # Cells of this mesh may be missing, so those of the domain are not missed.
        ("thin", "fields/single' has 3 values, and"),
        ("wide", "is 2 x float32 at cells now, and was 1 x float32 at cells at first"),
    ],
)
def test_a_field_of_one_domain_that_fails_costs_the_publication(
    build, meshes, tmp_path, kind, words
):
    configure(tmp_path, "      - statistics: {fields: [single]}\n")
    done = run_meshes(build, meshes, tmp_path, kind, 2, 2)
    assert words in done.stderr
    assert read_table(tmp_path / "results/a/statistics_single.csv")["step"].tolist() == [0, 2]
    assert dropped(tmp_path) == 1


def test_levels_that_come_later_have_room_if_announced(build, meshes, tmp_path):
    done = only_run(build, meshes, tmp_path, "growing", stage("at_cells"), env={"LEVELS": 3})
    assert "warning" not in done.stderr
    table = read_table(tmp_path / "results/a/at_cells.csv")
    assert table["cells"].tolist() == [160, 384, 384] and table["worst"].max() == 0


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("overlap", "they overlap; mark cells that another domain owns"),
        ("uneven", "no levels of refinement: the ratio must be a whole number"),
        ("cylindrical", "has the axis 'r'; Pillion takes the axes x, y and z"),
        ("files", "channel 'grid' is of type 'ioss', which is not a mesh"),
    ],
)
def test_data_that_are_no_mesh_are_refused_in_words(build, meshes, tmp_path, kind, words):
    done = only_run(build, meshes, tmp_path, kind, STATISTICS)
    assert done.stderr.count("pillion: error: catalyst_execute: no mesh is left") == 1
    assert words in done.stderr
    # The first step fails, and the simulation runs to its end.
    assert done.stdout.count("execute: status 203") == 2
    assert done.stdout.count("the simulation has ended") == 2
    assert not (tmp_path / "results").exists()


def test_a_domain_that_does_not_fit_at_first_is_named(build, meshes, tmp_path):
    done = only_run(build, meshes, tmp_path, "misplaced", STATISTICS)
    words = (
        "catalyst_execute: 'catalyst/channels/grid/data/topologies/topo' begins at 2.1, which is"
    )
    assert done.stderr.count(words) == 1
    assert done.stdout.count("execute: status 203") == 2


@pytest.mark.parametrize(
    ("kind", "words", "left"),
    [
        ("basis", "takes values at cells and points, no functions of a basis", "joined"),
        ("short", "are of the types int32 and float64; Pillion needs one type", "joined"),
        ("differs", "field 'number' of channel 'grid' differs between domains", "apart"),
    ],
)
def test_a_field_that_cannot_be_taken_is_left_out(build, meshes, tmp_path, kind, words, left):
    stages = f"      - statistics: {{fields: [{left}]}}\n"
    done = only_run(build, meshes, tmp_path, kind, stages)
    assert words in done.stderr and "is left out" in done.stderr
    expect_means(tmp_path, left, range(STEPS))


@pytest.mark.parametrize(
    ("kind", "mistake", "words"),
    [
        ("uniform", "scalar", "'catalyst/pillion/scalars/dt' must hold numbers"),
        ("points", "scalar", "'catalyst/pillion/scalars/dt' must hold numbers"),
        ("uniform", "scalars", ""),
        ("uniform", "step", ""),
        ("points", "domain", ""),
        ("points", "half a domain", "'catalyst/pillion/domains/grid/hi' is missing"),
    ],
)
def test_a_mistake_of_one_rank_keeps_no_other_waiting(
    build, meshes, tmp_path, kind, mistake, words
):
    done = only_run(build, meshes, tmp_path, kind, STATISTICS, env={"MISTAKE": mistake})
    assert words in done.stderr
    assert done.stdout.count("the simulation has ended") == 2
    expect_means(tmp_path, "apart", range(STEPS), SHEARED if kind == "points" else MEAN)


def test_finalize_after_mpi_does_no_harm(build, meshes, tmp_path):
    done = only_run(build, meshes, tmp_path, "uniform", STATISTICS, env={"LATE": 1})
    assert done.stdout.count("the simulation has ended") == 2, done.stderr
    expect_means(tmp_path, "apart", range(STEPS))


def test_mistakes_of_the_configuration_do_not_end_the_simulation(build, meshes, tmp_path):
    stages = "      - statistics: {fields: [pressure]}\n"
    done = only_run(build, meshes, tmp_path, "uniform", stages)
    assert "unknown field 'pressure'; known: apart, corner" in done.stderr
    assert done.stderr.count("pillion: error") == 1
    assert done.stdout.count("execute: status 202") == 2
    assert done.stdout.count("the simulation has ended") == 2
    (tmp_path / "run.yaml").unlink()
    done = run_meshes(build, meshes, tmp_path, "uniform")
    assert done.stdout.count("initialize: status 202") == 2
    assert "execute: status" not in done.stdout


def test_mistakes_are_reported_where_the_code_has_not_the_first_rank(build, meshes, tmp_path):
    env = {"SPLIT": 1, "OUTSIDE": 1, "PILLION_CATALYST_RANKS": "some"}
    configure(tmp_path, STATISTICS)
    done = run_meshes(build, meshes, tmp_path, "uniform", 3, env=env)
    assert done.stdout.count("initialize: status") == 2
    assert done.stderr.count("the session's ranks are 'some'") == 1


def test_a_program_without_mpi_ends_well_if_nothing_could_be_opened(build, meshes, tmp_path):
    """A launcher ends the job if a process ends between MPI_Init and MPI_Finalize."""
    done = run_meshes(build, meshes, tmp_path, "without_mpi", 1)
    assert "initialize: status 202" in done.stdout and "run.yaml" in done.stderr


def test_placements_of_a_code_that_uses_all_ranks(build, meshes, tmp_path):
    configure(tmp_path, STATISTICS, "sidecars: {ranks: 1, when_full: wait}\n")
    done = run_meshes(build, meshes, tmp_path, "uniform")
    assert "uses all of its ranks" in done.stderr and "job: separate" in done.stderr
    assert done.stdout.count("initialize: status 204") == 2
    launch(
        (2, meshes, "uniform", STEPS, 1, "run.yaml"),
        (1, build / "bin/pillion-sidecar", "--color", 1, "--barrier"),
        env=environment(build, SPLIT=1, PILLION_CATALYST_RANKS="world"),
        cwd=tmp_path,
    )
    expect_means(tmp_path, "apart", range(STEPS))
    report = json.loads((tmp_path / "results/report.json").read_text())
    assert report["sidecars"]["ranks"] == 1 and report["run"]["simulation_ranks"] == 2


@pytest.mark.parametrize("kind", ["uniform", "rectilinear", "structured", "mixed", "points"])
def test_stages_in_the_simulation_read_its_memory(build, meshes, tmp_path, kind):
    """Interleaved components, and numbers between other members of structs."""
    configure(tmp_path, stage("addresses"))
    done = run_meshes(build, meshes, tmp_path, kind, 1, 1, env={"ADDRESSES": 1})
    given = np.array(re.findall(r"joined at (\d+), number at (\d+)", done.stdout)).astype(int)
    found = read_table(tmp_path / "results/a/addresses.csv")
    assert found["joined"].tolist() == given[:, 0].tolist()
    assert found["number"].tolist() == given[:, 1].tolist()


def test_results_come_back(build, meshes, tmp_path):
    path = "catalyst/pillion/tables/a/statistics_apart/mean_x"
    done = only_run(build, meshes, tmp_path, "uniform", STATISTICS, path)
    for step in range(STEPS):
        assert f"result of step {step}: {1 + step}\n" in done.stdout
    path = "catalyst/pillion/progress/publications"
    done = only_run(build, meshes, tmp_path, "uniform", STATISTICS, path)
    assert f"result of step 2: {STEPS}\n" in done.stdout


def test_scalars_parameters_and_restarts(build, meshes, tmp_path):
    configure(tmp_path, STATISTICS, "parameters: {often: 5}\n")
    file = tmp_path / "run.yaml"
    file.write_text(file.read_text().replace("  a:\n", "  a:\n    every: $often steps\n"))
    saved = tmp_path / "saved"
    run_meshes(build, meshes, tmp_path, "mixed", env={"CHECKPOINT": saved})
    more = {"RESTART": saved, "FIRST": STEPS}
    run_meshes(build, meshes, tmp_path, "mixed", 3, env=more)
    table = expect_means(tmp_path, "apart", range(2 * STEPS), SHEARED)
    np.testing.assert_array_equal(table["dt"], 1 + np.arange(2 * STEPS))


@pytest.mark.parametrize("kind", ["levels", "polyhedra", "strided", "points"])
def test_replay_of_recorded_nodes(build, meshes, catalyst, tmp_path, kind):
    call = "at_particles" if kind == "points" else "at_cells"
    record = {"CATALYST_DATA_DUMP_DIRECTORY": "recorded"}
    only_run(build, meshes, tmp_path, kind, stage(call), env=record)
    first = (tmp_path / f"results/a/{call}.csv").read_text().splitlines()[-STEPS:]
    configure(tmp_path, stage(call))
    env = environment(build, LD_LIBRARY_PATH=catalyst / "install/lib")
    mpirun(2, catalyst / "build/bin/catalyst_replay", "recorded", env=env, cwd=tmp_path)
    again = (tmp_path / f"results/a/{call}.csv").read_text().splitlines()[-STEPS:]
    assert first == again
    assert read_table(tmp_path / f"results.001/a/{call}.csv")["worst"].max() <= 1e-12


def test_examples_of_catalyst_run_unchanged(build, catalyst, tmp_path):
    """Without MPI a process is a run of its own; nodes without channels have no mesh."""
    (tmp_path / "run.yaml").write_text("output: results\nanalyses: {}\n")
    env = environment(
        build,
        CATALYST_IMPLEMENTATION_PREFER_ENV=1,
        PILLION_CONFIGURATION="run.yaml",
        LD_LIBRARY_PATH=catalyst / "install/lib",
    )
    done = limits.run(
        [catalyst / "examples/about/catalyst_example_about"],
        env={**os.environ, **{k: str(v) for k, v in env.items()}},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0 and done.stderr == "", done.stderr
    report = json.loads((tmp_path / "results/report.json").read_text())
    assert report["run"]["simulation_ranks"] == 1 and report["run"]["steps"] == 10
    done = mpirun(2, catalyst / "examples/replay/replay_test", "any", env=env, cwd=tmp_path)
    assert done.stderr.count("no rank has passed a mesh in 'catalyst/channels' yet") == 1
    # This one finds out whether its own implementation was loaded, and fails if it was not.
    program = catalyst / "examples/adaptor0/adaptor0_test"
    done = mpirun(1, program, "any", env=env, cwd=tmp_path, check=False)
    assert "is not the one built by this example" in done.stdout
