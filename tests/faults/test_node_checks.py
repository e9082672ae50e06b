# SPDX-License-Identifier: BSD-3-Clause
"""That the checks of node_checks.py fail: each is given a run with one thing wrong in it."""

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import limits
import node_checks as checks
import pytest
from node_case import Choices, PromiseError
from node_fault import unsharing

STEPS = 40
PARTS = ("publications", "skipped", "dropped", "lost")


def analysis(name: str, due: int, stall=0.0, disabled=None, **parts) -> dict:
    counts = {part: parts.get(part, 0) for part in PARTS}
    counts["publications"] = parts.get("publications", due - sum(counts.values()))
    return {"name": name, "disabled": disabled, "seconds": {"stall": {"max": stall}}} | counts


@pytest.fixture
def case(tmp_path, monkeypatch):
    """A run without a fault: all of its 40 steps are published and in the products."""
    choices = Choices(
        ranks=1, nodes=1, sidecar_job=1, policy="skip", memory="8 MiB", deadline=0.3, restart=0,
        steps=STEPS, milliseconds=2, allocate=False, products_every=0, checkpoint=0,
    )  # fmt: skip
    case = SimpleNamespace(
        folder=tmp_path, choices=choices, harmed=set(), private=False,
        simulation=SimpleNamespace(returncode=0),
    )  # fmt: skip
    (tmp_path / "out" / "spread").mkdir(parents=True)
    (tmp_path / "simulation.log").write_text("")
    for number in range(STEPS // 4):
        (tmp_path / "out" / "spread" / f"histogram.{number}.csv").touch()
    tell(case)
    monkeypatch.setattr(limits, "factor", lambda: 1)
    return case


def tell(case, ranks=1, **changed):
    due = {name: STEPS // every for name, every in checks.EVERY.items()}
    analyses = [analysis(name, number, **changed.get(name, {})) for name, number in due.items()]
    report = {"sidecars": {"ranks": ranks}, "analyses": analyses}
    (case.folder / "out" / "report.json").write_text(json.dumps(report))


def series(**changed) -> dict:
    rows = {"sums/statistics_density": STEPS, "motion/statistics_velocity": STEPS // 2}
    rows |= {"seen/seen": STEPS} | changed
    return {name: list(range(number)) for name, number in rows.items()}


def count(case, **changed):
    checks.check_counts(case, checks.report(case), series(**changed))


def test_a_run_without_a_fault_passes(case):
    count(case)
    checks.check_no_half_written(case)
    checks.check_delay(case, 0.3, 0.2, "step 3")


def test_an_analysis_that_is_not_accounted_for(case):
    tell(case, sums={"publications": 39})
    with pytest.raises(PromiseError, match="due 40 times, but is accounted for 39"):
        count(case)


def test_products_that_lack_publications(case):
    with pytest.raises(PromiseError, match="products of 'seen' hold 38"):
        count(case, **{"seen/seen": 38})


def test_a_report_that_sidecars_did_not_complete(case):
    """Only killed sidecars are an excuse."""
    tell(case, ranks=0)
    (case.folder / "simulation.log").write_text("they continue and complete the report")
    with pytest.raises(PromiseError, match="products of 'seen' hold 38"):
        count(case, **{"seen/seen": 38})
    case.harmed.add("sidecar job")
    count(case, **{"seen/seen": 38})


@pytest.mark.parametrize(
    ("parts", "rows", "fault"),
    [
        ({"publications": 10}, 10, ""),
        ({"publications": 10}, 11, ""),
        ({"publications": 10, "lost": 2}, 13, ""),
        ({"publications": 10}, 9, "hold 9"),
        ({"publications": 10}, 12, "hold 12"),
        ({"publications": 39, "lost": 2}, 39, "was due 40 times"),
    ],
)
def test_a_disabled_analysis(case, parts, rows, fault):
    tell(case, seen={"disabled": "it failed", **parts})
    if not fault:
        return count(case, **{"seen/seen": rows})
    with pytest.raises(PromiseError, match=fault):
        count(case, **{"seen/seen": rows})


def test_products_of_a_disabled_analysis_that_could_not_be_written(case):
    tell(case, seen={"disabled": "out of memory", "publications": 10})
    said = "not all that analysis 'seen' had computed could be written: out of memory"
    (case.folder / "sidecar job.log").write_text(said.replace("seen", "sums"))
    with pytest.raises(PromiseError, match="hold 9"):
        count(case, **{"seen/seen": 9})
    (case.folder / "sidecar job.log").write_text(said)
    count(case, **{"seen/seen": 9})


def test_rows_of_lost_publications(case):
    tell(case, seen={"lost": 2})
    with pytest.raises(PromiseError, match="hold 40"):
        count(case)
    said = "analysis 'seen' loses the publication of step 4: cannot write"
    (case.folder / "sidecar job.log").write_text(said)
    count(case)
    with pytest.raises(PromiseError, match="hold 41"):
        count(case, **{"seen/seen": 41})


def test_half_written_files(case):
    part = case.folder / "out" / "seen" / ".big.csv.partial"
    part.parent.mkdir()
    part.touch()
    with pytest.raises(PromiseError, match="half-written files are left"):
        checks.check_no_half_written(case)
    case.harmed.add("sidecar job")
    checks.check_no_half_written(case)
    part.rename(part.with_name("big.csv.partial"))
    with pytest.raises(PromiseError, match="look whole"):
        checks.check_no_half_written(case)


@pytest.mark.parametrize("policy", ["skip", "wait"])
def test_delays(case, policy):
    case.choices.policy = policy
    with pytest.raises(PromiseError, match="of step 3"):
        checks.check_delay(case, 0.9, 0.9, "step 3")
    with pytest.raises(PromiseError, match="calls took 5"):
        checks.check_delay(case, 5.0, 0.2, "step 3")
    tell(case, seen={"stall": 3.0}, sums={"stall": 1.5})
    if policy == "wait":
        checks.check_delay(case, 5.0, 0.2, "step 3")
        with pytest.raises(PromiseError, match="calls took 6"):
            checks.check_delay(case, 6.0, 0.2, "step 3")
    else:
        with pytest.raises(PromiseError, match="calls took 5"):
            checks.check_delay(case, 5.0, 0.2, "step 3")


HOLD = """
import os, sys
sys.path[:0] = [{tests!r}, {faults!r}, {package!r}]
from pathlib import Path
from types import SimpleNamespace
import node_checks
shared = Path("/dev/shm")
(shared / "vader_segment.host.1").write_bytes(b"x" * 100000)
case = SimpleNamespace(private=True)
node_checks.check_nothing_left(case)
file = os.open(shared, os.O_TMPFILE | os.O_RDWR, 0o600)
os.write(file, b"x" * 5000)
try:
    node_checks.check_nothing_left(case)
except node_checks.PromiseError as error:
    print(error)
"""


def test_memory_without_a_name_beside_files_of_mpi():
    words = unsharing()
    if not words:
        pytest.skip("no name spaces of its own here")
    here = Path(__file__).parent
    code = HOLD.format(
        tests=str(here.parent), faults=str(here), package=str(here.parents[1] / "python")
    )
    mount = 'mount -t tmpfs none /dev/shm && exec "$0" -c "$1"'
    done = limits.run(
        [*words, "bash", "-c", mount, sys.executable, code],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    assert done.stdout == "8192 bytes without a name are left in /dev/shm\n"
