# SPDX-License-Identifier: BSD-3-Clause
"""Programs under limits of resources, as batch systems and shells set them, and under a umask of
their own: what a limit forbids is an error of a call, or disables an analysis. It never ends the
program, and what is written is what it would be without."""

import json
import os
import re
import stat
import subprocess
import tempfile
from pathlib import Path

import limits
import pytest
from conftest import mpirun, some
from placements import EVERYTHING

CONFIGURATION = """
output: {output}
meshes: {{cube: {{kind: uniform, cells: [{n}, {n}, {n}], length: [1, 1, 1], periodic: true}}}}
fields: {{density: {{mesh: cube, type: float64}}}}
analyses:
  statistics: {{stages: [statistics: {{fields: [density]}}]}}
  hdf5: {{stages: [write_hdf5: {{fields: [density]}}]}}
  raw: {{stages: [write_raw: {{fields: [density]}}]}}
  idx: {{stages: [write_idx: {{fields: [density]}}]}}
  openpmd: {{stages: [write_openpmd: {{fields: [density]}}]}}
  plotfile: {{stages: [write_plotfile: {{fields: [density]}}]}}
  vtkhdf: {{stages: [write_vtkhdf: {{fields: [density]}}]}}
  spectrum: {{stages: [power_spectrum: {{field: density}}]}}
  picture: {{stages: [image: {{size: [64, 48], draw: [volume: {{field: density}}]}}]}}
  halos: {{stages: [halos: {{field: density, thresholds: [[1.2, 1.6]]}}]}}
"""
SIDECARS = {
    "simulation": "",
    "node": "sidecars: {per_node: 1, deadline: 60 s}\n",
    "network": "sidecars: {ranks: 1, deadline: 60 s}\n",
    "spill": "sidecars: {per_node: 1, deadline: 60 s, when_full: spill, spill: {folder: .}}\n",
}
STEPS = 3


def play(build, folder: Path, place: str, when: str, limit: str, n: int = 24) -> tuple[Path, str]:
    """Returns the folder of results, and what the program printed."""
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    text = CONFIGURATION.format(output=folder / "results", n=n) + SIDECARS[place]
    resource, value = limit.split("=")
    if resource == "DATA":
        # HDF5 1.10 itself crashes where it finds no memory for a file (in H5AC_create).
        text = re.sub(r"  (hdf5|openpmd|vtkhdf): .*\n", "", text)
    (folder / "run.yaml").write_text(text, encoding="utf-8")
    driver = build / "tests/faults/limit_driver"
    ranks = 2 if place == "simulation" else 3
    done = mpirun(
        ranks, driver, "run.yaml", n, STEPS, when, resource, value, cwd=folder, timeout=120
    )
    assert "solver ended well" in done.stdout, (done.stdout, done.stderr)
    return folder / "results", done.stdout + done.stderr


@pytest.fixture
def place_of_all():
    """A folder for any user: those of pytest are its own user's."""
    with tempfile.TemporaryDirectory(prefix="pillion-", dir="/tmp") as folder:
        Path(folder).chmod(0o777)
        yield Path(folder)


def tables(folder: Path) -> dict:
    """Rows of tables of values, by place; those of one step, and those of all steps so far."""
    return {
        str(path.relative_to(folder)): [
            line for line in path.read_text().splitlines() if not line.startswith("#")
        ]
        for path in folder.rglob("*.csv")
        if "write_" not in path.name
    }


def pictures(folder: Path) -> set:
    return {path.name for path in folder.rglob("*.png")}


@pytest.fixture(scope="module")
def unlimited(build, tmp_path_factory):
    """Results without a limit, on as many peers: the order of additions follows their number."""
    found = {}

    def results(place: str) -> Path:
        place = place if place == "simulation" else "network"
        if place not in found:
            folder = tmp_path_factory.mktemp("unlimited") / "run"
            found[place], _ = play(build, folder, place, "before", "MEMLOCK=65536")
        return found[place]

    return results


def expect_nothing_else(results: Path, unlimited: Path, said: str) -> None:
    """Each table has the first rows of the one without a limit. Where rows are missing, a message
    says why."""
    if not (results / "report.json").exists():
        assert "refused: " in said or "failed: " in said, said
        return
    report = json.loads((results / "report.json").read_text())
    # A publication whose product could not be written is lost; after three, none follows.
    failed = {a["name"]: a["disabled"] or a["lost"] + a["dropped"] for a in report["analyses"]}
    expected = tables(unlimited)
    for name, rows in tables(results).items():
        assert rows == expected[name][: len(rows)], name
        if len(rows) < len(expected[name]):
            assert failed[name.split("/")[0]], (name, report["warnings"])
            assert any(f"'{name.split('/')[0]}'" in text for text in report["warnings"]), name
    for name in failed:
        missing = [n for n in expected if n.startswith(f"{name}/") and not (results / n).exists()]
        assert not missing or failed[name], (name, missing)


# What each limit is around: nothing works, some calls do, nearly all do.
LIMITS = [
    ("simulation", "after", "FSIZE=20000"),
    ("simulation", "before", "FSIZE=300"),
    ("network", "before", "FSIZE=20000"),
    ("node", "before", "FSIZE=20000"),
    ("spill", "after", "FSIZE=20000"),
    ("simulation", "after", "NOFILE=2"),
    ("node", "before", "NOFILE=6"),
    ("network", "after", "DATA=600000"),
    ("node", "before", "MEMLOCK=0"),
    ("network", "as-nobody", "NPROC=0"),
]
if EVERYTHING:
    LIMITS = [
        (place, when, f"{resource}={value}")
        for place in SIDECARS
        for when in ("before", "after")
        for resource, values in {
            "FSIZE": (0, 300, 20_000, 200_000, 2_000_000),
            "NOFILE": (0, 1, 2, 4, 6, 9, 13, 20, 30),
            "DATA": (0, 300_000, 600_000, 2_000_000, 8_000_000, 30_000_000),
            "MEMLOCK": (0,),
        }.items()
        for value in values
    ] + [(place, "as-nobody", "NPROC=0") for place in SIDECARS]


@pytest.mark.parametrize(("place", "when", "limit"), LIMITS)
def test_a_limit_is_an_error_of_a_call(build, place_of_all, unlimited, place, when, limit):
    results, said = play(build, place_of_all / "run", place, when, limit)
    expect_nothing_else(results, unlimited(place), said)


def test_a_limit_of_file_size_disables_what_writes_more(build, tmp_path):
    """Files of 110 kB with a limit of 20 kB: as on a full disk."""
    results, _ = play(build, tmp_path / "run", "simulation", "after", "FSIZE=20000")
    report = json.loads((results / "report.json").read_text())
    disabled = {a["name"]: a["disabled"] or "" for a in report["analyses"]}
    for name in ("hdf5", "raw", "idx", "openpmd", "plotfile", "vtkhdf"):
        assert "File too large" in disabled[name], (name, disabled)
    for name in ("statistics", "spectrum", "picture", "halos"):
        assert not disabled[name], (name, disabled)


def test_messages_go_to_a_pipe_that_nobody_reads(build, tmp_path):
    (tmp_path / "run.yaml").write_text("output: results\nanalyses: [", encoding="utf-8")
    read, write = os.pipe()
    os.close(read)
    driver = build / "tests/faults/limit_driver"
    command = [driver, "run.yaml", "8", "1", "before", "MEMLOCK", "65536"]
    done = limits.run(
        command,
        stdout=subprocess.PIPE,
        stderr=write,
        cwd=tmp_path,
        text=True,
        timeout=60,
        restore_signals=True,
    )
    os.close(write)
    assert done.returncode == 0 and "solver ended well" in done.stdout, done


def play_with_umask(build, folder: Path, mask: str) -> str:
    """As another user than root, who may write anywhere."""
    folder.mkdir()
    folder.chmod(0o777)
    text = CONFIGURATION.format(output=folder / "results", n=24)
    (folder / "run.yaml").write_text(text, encoding="utf-8")
    driver = build / "tests/faults/limit_driver"
    command = f"umask {mask}; exec {driver} run.yaml 24 {STEPS} as-nobody MEMLOCK 65536"
    done = mpirun(1, "sh", "-c", command, cwd=folder, timeout=120)
    assert "solver ended well" in done.stdout, (done.stdout, done.stderr)
    return done.stdout


@pytest.mark.parametrize("mask", ["0000", "0022", "0077", "0027"] if EVERYTHING else ["0027"])
def test_files_have_the_rights_that_the_umask_leaves(build, place_of_all, mask):
    play_with_umask(build, place_of_all / "run", mask)
    results = place_of_all / "run/results"
    report = json.loads((results / "report.json").read_text())
    assert {a["disabled"] for a in report["analyses"]} == {None}
    for path in some(results.rglob("*")):
        usual = 0o777 if path.is_dir() else 0o666
        mode = stat.S_IMODE(path.lstat().st_mode)
        assert mode == usual & ~int(mask, 8), (path, oct(mode))


@pytest.mark.parametrize("mask", ["0777", "0200"])
def test_a_umask_without_rights_of_the_owner_is_refused_in_words(build, place_of_all, mask):
    said = play_with_umask(build, place_of_all / "run", mask)
    assert "refused: " in said and "a umask must leave the owner all rights" in said
