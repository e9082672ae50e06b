# SPDX-License-Identifier: BSD-3-Clause
"""Bad input is refused before the first step: one clear error, the same on every rank, no hang."""

import os
import sys

import pytest
from conftest import mpirun
from faults import GRID, drive, one_error

ANALYSIS = "analyses: {a: {stages: [{trouble: {}}]}}\n"
SIDECAR = "sidecars: {ranks: 1}\n"

# name: (configuration, what the error must say)
WRONG = {
    "not YAML": (GRID + "analyses: [a: {\n", "not valid YAML"),
    "unknown key": (GRID + "analyses: {a: {evry: 5, stages: [{trouble: {}}]}}", "mean 'every'?"),
    "unknown top key": (GRID + ANALYSIS + "sidecar: {ranks: 1}\n", "did you mean 'sidecars'?"),
    "wrong type": (GRID + "analyses: {a: {every: often, stages: [{trouble: {}}]}}", "'often'"),
    "unknown field": (GRID + "analyses: {a: {stages: [{trouble: {field: densty}}]}}", "'density'?"),
    "unknown stage": (GRID + "analyses: {a: {stages: [{trubble: {}}]}}", "did you mean 'trouble'?"),
    "unknown parameter": (
        GRID + "analyses: {a: {stages: [{trouble: {fail_att: 1}}]}}",
        "unknown key 'fail_att' in stage 'trouble'; did you mean 'fail_at'?",
    ),
    "contains itself": (GRID + ANALYSIS + "parameters: &p {n: *p}\n", "an alias refers to a list"),
    "endless condition": (
        GRID + f"analyses: {{a: {{when: {'not ' * 100_000}1, stages: [{{trouble: {{}}}}]}}}}",
        "at character 403 it is nested more than 100 deep",
    ),
    "endless comment": (GRID + ANALYSIS + "#" * 10_000_000, "is longer than 512.0 KiB"),
    "no sidecars for a stage": (
        GRID + "analyses: {a: {stages: [{trouble: {at: sidecar}}]}}",
        "wants a sidecar, but there are none",
    ),
    "no rank left": (GRID + "sidecars: {ranks: 8}\n" + ANALYSIS, "leave none for the simulation"),
    "too few ranks": (GRID + "sidecars: {ranks: 80}\n" + ANALYSIS, "start more ranks"),
    "another ABI": (GRID + "analyses: {a: {stages: [{old_abi: {}}]}}", "build the plug-in again"),
    "a short table": (GRID + "analyses: {a: {stages: [{small_table: {}}]}}", "has 8 bytes"),
    "built with a larger block": (
        GRID + "analyses: {a: {stages: [{larger_block: {}}]}}",
        "was built for a newer Pillion: a block has 216 bytes there and 208 here",
    ),
    "built with a smaller array": (
        GRID + "analyses: {a: {stages: [{smaller_array: {}}]}}",
        "takes an array to have 104 bytes, and no Pillion has fewer than 112",
    ),
    "built without sizes": (
        GRID + "analyses: {a: {stages: [{no_sizes: {}}]}}",
        "does not say with which structs it was built",
    ),
    "a short output": (
        GRID + "analyses: {a: {stages: [{short_output: {}}]}}",
        "a stage passed an output of 48 bytes, and this Pillion has 56; build the plug-in again",
    ),
    "no stage at all": (GRID + "analyses: {a: {stages: [{no_symbol: {}}]}}", "is not a stage"),
    "a stage that cannot start": (
        GRID + "analyses: {a: {stages: [{trouble: {create: badly}}]}}",
        "told to fail",
    ),
    "no checkpoint": (GRID + "restart: nowhere\n" + ANALYSIS, "nowhere/manifest.yaml"),
    "output is a file": (
        GRID.replace("output: out", "output: pillion.yaml") + ANALYSIS,
        "make the folder",
    ),
}


@pytest.mark.drawn
@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("sidecar", [False, True])
def test_wrong_configuration(build, tmp_path, name, sidecar):
    config, expected = WRONG[name]
    ranks = 3
    if "sidecars:" in config:
        ranks = 8 if name == "no rank left" else 3
        if sidecar:
            pytest.skip("it has sidecars of its own")
    elif sidecar:
        if "at: sidecar" in config:
            pytest.skip("with a sidecar it is right")
        config += "\n" + SIDECAR
    if name == "no rank left":
        config = config.replace("ranks: 8", f"ranks: {ranks}")
    error = one_error(drive(build, tmp_path, config, ranks), ranks)
    assert error.startswith("open: ")
    assert expected in error


def test_no_such_file(build, tmp_path):
    error = one_error(drive(build, tmp_path, GRID, 3, "absent.yaml", 10), 3)
    assert "absent.yaml" in error
    assert "No such file" in error


@pytest.mark.parametrize("sidecar", [0, 1])
@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ("wrong-type", "was shared as float32, but the catalogue says float64"),
        ("wrong-box", "does not lie in mesh 'grid'"),
        ("overlap", "overlap"),
        ("hole", "cover 28 of the 32 cells"),
        ("unshared", "field 'density' is needed, but no rank shares it"),
    ],
)
def test_wrong_sharing(build, tmp_path, fault, expected, sidecar):
    config = GRID + ANALYSIS + (SIDECAR if sidecar else "")
    process = drive(build, tmp_path, config, 3 + sidecar, "pillion.yaml", 10, fault)
    lines = [f"rank {rank}: step: " for rank in range(3)]
    for line in lines:
        assert line in process.stdout, process.stdout
    assert process.stdout.count(expected) == 3
    assert process.returncode != 0
    assert not (tmp_path / "out" / "a").exists()


def test_budget_too_small_for_one_publication(build, tmp_path):
    config = GRID + "sidecars: {ranks: 1, memory: 100 B}\n" + ANALYSIS
    process = drive(build, tmp_path, config, 3)
    assert process.stdout.count("raise it") == 2, process.stdout


STATISTICS = "analyses: {a: {stages: [{statistics: {fields: [density]}}]}}\n"
CHECKPOINT = """
import sys
import numpy as np, pillion
with pillion.open("run.yaml") as session:
    if sys.argv[1] == "shared":
        session.share("density", np.ones((8, 4)), lo=(0, 0))
    for act in (lambda: session.step(1, 1.0), lambda: session.checkpoint("state")):
        try:
            act()
        except pillion.Error as error:
            print(error)
"""


def checkpoint(build, folder, config: str, shared: str) -> list[str]:
    (folder / "run.yaml").write_text(config)
    env = os.environ | {"PYTHONPATH": str(build / "python")}
    return mpirun(1, sys.executable, "-c", CHECKPOINT, shared, env=env, cwd=folder).stdout.split(
        "\n"
    )[:-1]


def test_a_refused_run_makes_no_checkpoint(build, tmp_path):
    """And an older one stays."""
    assert checkpoint(build, tmp_path, GRID + STATISTICS, "shared") == []
    manifest = (tmp_path / "state/manifest.yaml").read_text()
    said = checkpoint(build, tmp_path, GRID + STATISTICS, "unshared")
    assert len(said) == 2 and said[0] == said[1], said
    assert "no rank shares it" in said[0]
    assert (tmp_path / "state/manifest.yaml").read_text() == manifest


def test_a_checkpoint_without_sidecars_says_that_none_are_there(build, tmp_path):
    config = GRID + STATISTICS + "\nsidecars: {job: separate, memory: 1 MiB, deadline: 60 s}\n"
    (said,) = checkpoint(build, tmp_path, config, "shared")
    assert "no sidecars are attached" in said and "deadline" not in said


def test_no_checkpoint_takes_the_place_of_other_files(build, tmp_path):
    (tmp_path / "state").mkdir()
    (tmp_path / "state/precious").touch()
    (said,) = checkpoint(build, tmp_path, GRID + STATISTICS, "shared")
    assert "which is not a checkpoint" in said
    assert [path.name for path in (tmp_path / "state").iterdir()] == ["precious"]


MESH = """
output: out
parameters: {n: 8}
SIDECARS
meshes: {line: {kind: uniform, cells: [$n, 2]}, other: {kind: uniform, cells: [$n]}}
fields: {t: {mesh: line, type: float64}, u: {mesh: other, type: float64}}
analyses: {a: {every: 1 steps, stages: [time_average: {fields: [t], output_every: 1}]}}
"""
OTHER_MESH = """
import sys
import numpy as np, pillion
cells, restart = int(sys.argv[1]), sys.argv[2]
try:
    session = pillion.open("run.yaml", parameters={"n": cells}, restart=restart)
except pillion.Error as error:
    print(error)
    raise SystemExit
with session:
    if session.serve():
        raise SystemExit
    session.share("t", np.ones((cells, 2)), lo=(0, 0))
    for step in range(2) if not restart else range(2, 4):
        session.step(step, 0.1 * step)
    if not restart:
        session.checkpoint("saved")
"""


@pytest.mark.parametrize("sidecars", [0, 1])
def test_a_checkpoint_of_another_mesh_is_refused(build, tmp_path, sidecars):
    """When the session opens, on every rank, and with both sizes."""
    text = MESH.replace("SIDECARS", "sidecars: {ranks: 1}" if sidecars else "")
    (tmp_path / "run.yaml").write_text(text)
    env = os.environ | {"PYTHONPATH": str(build / "python")}

    def run(cells: int, restart: str) -> list[str]:
        words = [sys.executable, "-c", OTHER_MESH, cells, restart]
        return mpirun(1 + sidecars, *words, env=env, cwd=tmp_path).stdout.splitlines()

    assert run(8, "") == []
    lines = run(16, "saved")
    assert len(lines) == 1 + sidecars and len(set(lines)) == 1, lines
    assert "the checkpoint is of a uniform mesh of 8 x 2 cells ('line')" in lines[0]
    assert "this run has a uniform mesh of 16 x 2 cells" in lines[0]
    assert run(8, "saved") == []
