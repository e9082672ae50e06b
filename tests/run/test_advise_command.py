# SPDX-License-Identifier: BSD-3-Clause
"""`pillion advise` with real launchers on the heat example: that it runs what it says, leaves the
user's files alone, and that what it says hangs together. Nothing here is about how long things
take.
"""

import json
import os
import signal
from contextlib import suppress
from pathlib import Path

import limits
import pytest
from heat_runs import configuration, going_on, pillion, run_pillion

HEAT = "examples/heat/heat"
HYBRID = """\
  hybrid:
    every: 20 steps
    stages:
      - statistics: {fields: [temperature], at: simulation}
      - histogram: {field: temperature, bins: 10, range: [290, 310], at: sidecar}
"""


def advised(build, tmp_path, placement, *options, steps=100000000):
    (tmp_path / "pillion.yaml").write_text(configuration(placement) + HYBRID)
    words = ["advise", "-n", 2, "--seconds", 0.4, "--rounds", 1, *options, "pillion.yaml"]
    return run_pillion(build, *words, "--", build / HEAT, 16, steps, cwd=tmp_path, timeout=300)


@pytest.mark.parametrize("placement", ["ranks", "per_node", "separate"])
def test_every_placement_is_predicted_from_a_few_runs(build, tmp_path, placement):
    before = configuration(placement) + HYBRID
    done = advised(build, tmp_path, placement, "--json")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["pillion"] == "advice 1"
    assert [c["name"] for c in said["chains"]] == ["decay", "distribution", "hybrid"]
    # In the simulation; and with a sidecar in place of a rank or on top, cut in 11 ways.
    assert len(said["placements"]) == 1 + 2 * 11
    assert said["chosen"] in said["placements"]
    for entry in said["placements"]:
        # On a machine so busy that a run stands still now and then, bounds reach down to nothing.
        assert 0 <= entry["low"] <= entry["seconds"] <= entry["high"] and entry["seconds"] > 0
        assert (entry["sidecars"] == 0) == (entry["analyses"] == "simulation")
        assert entry["seconds"] >= 0.99 * max(entry["simulation_needs"], entry["sidecars_need"])
    measured = [e for e in said["placements"] if e["measured"]]
    assert {(e["simulation"], e["sidecars"]) for e in measured} >= {(2, 0)}
    assert done.stderr.count("pillion advise: run ") == done.stderr.count("\n")
    assert (tmp_path / "pillion.yaml").read_text() == before
    assert os.listdir(tmp_path) == ["pillion.yaml"]


def test_a_program_that_ends_early_is_enough(build, tmp_path):
    done = advised(build, tmp_path, "per_node", "--json", steps=300)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["chosen"]["seconds"] > 0


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one core has one thread")
def test_ranks_of_several_threads_have_fewer_cores(build, tmp_path):
    cores = len(os.sched_getaffinity(0))
    (tmp_path / "pillion.yaml").write_text(configuration("ranks"))
    words = ["advise", "--seconds", 0.4, "--rounds", 1, "--json", "pillion.yaml"]
    words += ["--", build / HEAT, 16, 300]
    done = run_pillion(build, *words, cwd=tmp_path, timeout=120, OMP_NUM_THREADS=str(cores))
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["cores"] == 1 and max(e["simulation"] for e in said["placements"]) == 1
    assert any(f"has {cores} threads, as OMP_NUM_THREADS says" in note for note in said["notes"])
    assert any("more ranks than the 1 that have cores" in note for note in said["notes"])


def test_a_program_that_refuses_a_number_of_ranks_is_advised_on_for_others(build, tmp_path):
    """All of three ranks; where the log of that is, is said."""
    (tmp_path / "pillion.yaml").write_text(configuration("ranks"))
    program = tmp_path / "choosy"
    size = "${OMPI_COMM_WORLD_SIZE:-${PMI_SIZE:-$SLURM_NTASKS}}"
    program.write_text(f'#!/bin/sh\n[ {size} != 3 ] || {{ echo no grid; exit 3; }}\nexec "$@"\n')
    program.chmod(0o755)
    (tmp_path / "tmp").mkdir()
    words = ["advise", "-n", 2, "--seconds", 0.4, "--rounds", 2, "--json", "pillion.yaml"]
    words += ["--", program, build / HEAT, 16, 100000000]
    done = run_pillion(build, *words, cwd=tmp_path, timeout=120, TMPDIR=str(tmp_path / "tmp"))
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    ranks = {(e["simulation"], e["sidecars"]) for e in said["placements"]}
    assert ranks == {(2, 0), (1, 1)}
    (log,) = (tmp_path / "tmp").glob("pillion-advise-*.log")
    assert "no grid" in log.read_text()
    (note,) = [n for n in said["notes"] if "with status 3" in n]
    assert "2 + 1 ranks" in note and str(log) in note
    assert any("are left out, since the program failed" in n for n in said["notes"])
    assert done.stderr.count("that is left out: the program ended with status 3") == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_who_is_asked_to_stop_leaves_nothing_behind(build, tmp_path, number):
    if signal.getsignal(number) is signal.SIG_IGN:
        pytest.skip("ignored, as under nohup, which programs inherit")
    (tmp_path / "pillion.yaml").write_text(configuration("ranks"))
    (tmp_path / "tmp").mkdir()
    program = tmp_path / "tell"
    program.write_text(f'#!/bin/sh\necho $$ >> {tmp_path}/pids\nexec "$@"\n')
    program.chmod(0o755)
    words = ["advise", "-n", 1, "--seconds", 60, "pillion.yaml", "--", program]
    words += [build / HEAT, 16, 100000000]
    command, told = pillion(build, *words, TMPDIR=str(tmp_path / "tmp"))
    pids = tmp_path / "pids"
    with going_on(*command, cwd=tmp_path, **told) as process:
        wait_for(lambda: pids.exists() and pids.read_text().endswith("\n"))
        heat = int(pids.read_text())
        try:
            process.send_signal(number)
            assert limits.wait(process, 30) == 128 + number
            wait_for(lambda: not Path(f"/proc/{heat}").exists(), 10)
        finally:
            with suppress(ProcessLookupError):
                os.kill(heat, signal.SIGKILL)
    assert os.listdir(tmp_path / "tmp") == []


def wait_for(condition, seconds=60):
    limits.until(condition, seconds, "what the test waits for", 0.05)


def test_a_finished_run_tells_what_it_can(build, tmp_path):
    (tmp_path / "pillion.yaml").write_text(configuration("per_node") + HYBRID)
    words = ["run", "-n", 1, "pillion.yaml", "--", build / HEAT, 16, 400]
    assert run_pillion(build, *words, cwd=tmp_path).returncode == 0
    done = run_pillion(build, "advise", "-n", 2, "--json", "results", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert any("one run cannot tell" in note for note in said["notes"])
    (ran,) = [e for e in said["placements"] if e["measured"]]
    assert (ran["simulation"], ran["sidecars"], ran["cuts"]) == (1, 1, [0, 0, 1])
    done = run_pillion(build, "advise", "-n", 2, "--to", "a.html", "results", cwd=tmp_path)
    assert "▸ take" in done.stdout and "pillion run -n" in done.stdout
    page = (tmp_path / "a.html").read_text()
    assert "<svg" in page and "What to take" in page and "src=" not in page


@pytest.mark.parametrize(
    ("sidecars", "place", "options"),
    [
        (None, "", ["--sidecars", 1]),
        ("{per_node: 1, when_full: wait, memory: $mem}", ", at: auto", ["--set", "mem=64 MiB"]),
        ("{per_node: 1, when_full: wait, memory: $mem}", "", ["--set", "mem=64 MiB"]),
    ],
)
def test_a_finished_run_is_what_it_was_not_what_its_file_says(
    build, tmp_path, sidecars, place, options
):
    text = configuration("per_node").replace(", at: sidecar", place)
    lines = [line for line in text.splitlines() if not line.startswith("sidecars:")]
    lines += [f"sidecars: {sidecars}"] if sidecars else []
    (tmp_path / "pillion.yaml").write_text("\n".join(lines))
    words = ["run", "-n", 1, *options, "pillion.yaml", "--", build / HEAT, 16, 2000]
    done = run_pillion(build, *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    done = run_pillion(build, "advise", "-n", 2, "--json", "results", cwd=tmp_path, PATH="/none")
    assert done.returncode == 0, done.stderr
    (ran,) = [e for e in json.loads(done.stdout)["placements"] if e["measured"]]
    assert (ran["simulation"], ran["sidecars"]) == (1, 1)
    assert place or ran["cuts"] == [0, 0]


@pytest.mark.parametrize(
    ("text", "program", "reason"),
    [
        (None, ["false"], "the program ended with status 1"),
        ("output: x\nanalyses: {}\n", [HEAT], "has no analyses to advise on"),
        (None, [], "which program?"),
        (None, [HEAT], "cannot write none/there.html: there is no folder none"),
        (None, [HEAT], "cannot write folder.html: it is a folder"),
    ],
)
def test_what_cannot_be_advised_on_is_said(build, tmp_path, text, program, reason):
    (tmp_path / "pillion.yaml").write_text(text or configuration("ranks"))
    words = [str(build / word) if "/" in word else word for word in program]
    (tmp_path / "folder.html").mkdir()
    to = ["--to", reason.split()[2].rstrip(":")] if "cannot write" in reason else []
    words = ["advise", "-n", 1, *to, "pillion.yaml", "--", *words]
    done = run_pillion(build, *words, cwd=tmp_path, TMPDIR=str(tmp_path))
    assert done.returncode == 1 and done.stdout == ""
    assert reason in done.stderr
