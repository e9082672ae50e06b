# SPDX-License-Identifier: BSD-3-Clause
"""The protocol of channels, searched exhaustively by Spin: src/node/protocol.pml holds in all
orders of steps and with deaths at every step, in several small sizes, and it does not hold without
any one of the precautions that BROKEN_... takes away. Larger sizes with PILLION_TEST_ALL=1.
"""

import os
import re
import shutil
from pathlib import Path

import limits
import pytest
import verified

MODEL = Path(__file__).parents[2] / "src" / "node" / "protocol.pml"
EVERYTHING = os.environ.get("PILLION_TEST_ALL", "") not in ("", "0")
UNCHANGED = verified.current() == verified.recorded()
ALWAYS = "sidecar-jobs-skip"  # a cheap search, which runs even if nothing has changed
DEEPEST = 20000
MEBIBYTES = 2800

SIDECAR_JOBS = {
    "CHANNELS": 1,
    "SIDECAR_JOBS": 2,
    "PRIMARY_DEATHS": 2,
    "SIMULATION_DEATHS": 1,
    "OFFERS": 1,
}
ATTACHED_JOBS = {
    "CHANNELS": 1,
    "SIDECAR_JOBS": 0,
    "PRIMARY_DEATHS": 0,
    "ATTACHED_JOBS": 1,
    "OFFERS": 4,
}
BOTH = {
    "SIDECAR_JOBS": 1,
    "PRIMARY_DEATHS": 1,
    "ATTACHED_JOBS": 1,
    "SIMULATION_DEATHS": 0,
    "OFFERS": 1,
}
TWO = {
    "CHANNELS": 2,
    "WAIT": 0,
    "SIDECAR_JOBS": 2,
    "PRIMARY_DEATHS": 1,
    "SIMULATION_DEATHS": 0,
    "OFFERS": 0,
}
TWO_SIMULATIONS = TWO | {
    "SIDECAR_JOBS": 1,
    "PRIMARY_DEATHS": 0,
    "SIMULATION_DEATHS": 1,
    "OFFERS": 1,
}

SIZES = {
    "sidecar-jobs-wait": SIDECAR_JOBS | {"WAIT": 1},
    "sidecar-jobs-skip": SIDECAR_JOBS | {"WAIT": 0},
    "sidecar-job-long": SIDECAR_JOBS
    | {"SIDECAR_JOBS": 1, "PRIMARY_DEATHS": 1, "SIMULATION_DEATHS": 0, "OFFERS": 5},
    "attached-job-wait": ATTACHED_JOBS | {"WAIT": 1},
    "attached-job-skip": ATTACHED_JOBS | {"WAIT": 0},
    "sidecar-job-and-attached-job": BOTH,
    "two-channels-sidecar-jobs": TWO,
    "two-channels-simulation": TWO_SIMULATIONS,
}
LARGER = {
    "sidecar-jobs-wait": SIDECAR_JOBS | {"WAIT": 1, "OFFERS": 3},
    "sidecar-jobs-skip": SIDECAR_JOBS | {"WAIT": 0, "OFFERS": 3},
    "attached-jobs": ATTACHED_JOBS | {"ATTACHED_JOBS": 2, "OFFERS": 3},
    "sidecar-job-and-attached-job": BOTH | {"OFFERS": 2},
    "two-channels-sidecar-jobs": TWO | {"OFFERS": 1},
}
BROKEN = {
    "ACTIVATE": ATTACHED_JOBS,
    "ALONE": TWO,
    "CLAIM": SIDECAR_JOBS,
    "COMPARE": SIDECAR_JOBS,
    "DEATH": ATTACHED_JOBS,
    "DONE": SIDECAR_JOBS | {"OFFERS": 2},
    "END": SIDECAR_JOBS,
    "FENCE": SIDECAR_JOBS | {"OFFERS": 2},
    "FORGET": SIDECAR_JOBS,
    "KEEP": ATTACHED_JOBS,
    "LEAVE": ATTACHED_JOBS | {"ATTACHED_JOBS": 2, "OFFERS": 3},
    "LINGER": ATTACHED_JOBS,
    "LOOK": ATTACHED_JOBS,
    "LOST": SIDECAR_JOBS | {"SIDECAR_JOBS": 3, "SIMULATION_DEATHS": 0, "OFFERS": 0},
    "OVER": SIDECAR_JOBS,
    "PUBLISH": SIDECAR_JOBS | {"OFFERS": 2},
    "RECHECK": SIDECAR_JOBS,
    "REUSE": SIDECAR_JOBS | {"OFFERS": 2},
    "RING": SIDECAR_JOBS | {"OFFERS": 2},
    "SLOWER": BOTH | {"PRIMARY_DEATHS": 0, "ATTACHED_JOB_DEATHS": 0, "OFFERS": 4},
    "SLOWEST": ATTACHED_JOBS,
    "START": SIDECAR_JOBS,
    "SWAP": SIDECAR_JOBS,
    "TELL": ATTACHED_JOBS,
    "WRAP": SIDECAR_JOBS | {"OFFERS": 2},
}


def run(command: list[str], folder: Path, seconds: float) -> str:
    """Standard output of a program that must succeed."""
    done = limits.run(command, cwd=folder, capture_output=True, text=True, timeout=seconds)
    assert done.returncode == 0, f"{' '.join(command)}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


def search(folder: Path, sizes: dict, optimisation: str = "-O2", mebibytes: int = MEBIBYTES) -> str:
    """What Spin's verifier says of the model in these sizes."""
    spin = shutil.which("spin")
    assert spin, "no 'spin' on the path: tools/install_deps.sh installs it"
    compiler = os.environ.get("CC") or shutil.which("cc")
    assert compiler, "no C compiler on the path: tools/install_deps.sh installs one"
    defines = [f"-D{name}={value}" for name, value in sizes.items()]
    shutil.copy(MODEL, folder / "model.pml")
    run([spin, "-a", *defines, "model.pml"], folder, 30)
    # Processes that stand still while one ends ("provided") forbid partial-order reduction.
    search_for = ["-DSAFETY", "-DNOREDUCE", "-DNOFAIR", "-DCOLLAPSE", f"-DMEMLIM={mebibytes}"]
    run([*compiler.split(), optimisation, "-w", *search_for, "-o", "pan", "pan.c"], folder, 60)
    return run([str(folder / "pan"), f"-m{DEEPEST}"], folder, 300)


def unreached(said: str, process: str) -> set[int]:
    """Lines of the model that a process type never came to."""
    at = re.search(rf"unreached in proctype {process}\n((?:\t.*\n)*)", said)
    assert at, said
    return {int(line) for line in re.findall(r"model\.pml:(\d+),", at[1])}


def assert_holds(said: str):
    assert "errors: 0" in said, said
    for word in ("max search depth too small", "Search not completed", "out of memory"):
        assert word not in said, said
    assert re.search(r"Full statespace search for:", said), said
    assert "invalid end states\t+" in said, said
    assert re.search(r"assertion violations\t\+", said), said
    states = float(re.search(r"([\d.e+]+) states, stored", said)[1])
    assert states > 10000, said


def line_of(text: str) -> int:
    lines = MODEL.read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


unless_verified = pytest.mark.skipif(
    UNCHANGED and not EVERYTHING,
    reason="all passed for this protocol (tests/model/verified); PILLION_TEST_ALL=1 runs them",
)


@pytest.mark.parametrize(
    "size", [pytest.param(s, marks=() if s == ALWAYS else unless_verified) for s in SIZES]
)
def test_holds(tmp_path, size):
    said = search(tmp_path, SIZES[size])
    assert_holds(said)
    if size in ("sidecar-jobs-wait", "sidecar-jobs-skip"):
        assert unreached(said, "Sidecar") == set(), said
    if size in ("attached-job-wait", "attached-job-skip"):
        refusal = line_of(":: else -> refused = true")
        assert unreached(said, "AttachedJob") == {refusal}, said


@unless_verified
@pytest.mark.parametrize("precaution", BROKEN)
def test_every_precaution_is_needed(tmp_path, precaution):
    said = search(tmp_path, BROKEN[precaution] | {f"BROKEN_{precaution}": 1}, "-O0")
    assert "errors: 1" in said, said
    assert "assertion violated" in said or "invalid end state" in said, said


def test_every_broken_variant_is_tried():
    assert set(re.findall(r"BROKEN_([A-Z]+)", MODEL.read_text(encoding="utf-8"))) == set(BROKEN)


def test_verified_is_up_to_date():
    """If it is not, all searches run, which is no failure at once; but by the night it is one, or
    they run every time from then on, and no record says for what they have passed."""
    if UNCHANGED:
        return
    stale = (
        "the protocol has changed, so all searches ran; if they passed, record that with "
        "`python tests/model/verified.py` and commit tests/model/verified"
    )
    if EVERYTHING:
        pytest.fail(stale)
    pytest.skip(stale)


@pytest.mark.skipif(not EVERYTHING, reason="only with PILLION_TEST_ALL=1")
@pytest.mark.parametrize("size", LARGER)
def test_holds_in_larger_sizes(tmp_path, size):
    said = search(tmp_path, LARGER[size], mebibytes=8000)
    assert_holds(said)
    if size == "attached-jobs":
        assert unreached(said, "AttachedJob") == set(), said
