# SPDX-License-Identifier: BSD-3-Clause
"""`pillion grid` as a shell sees it: tables, LAMMPS lines, JSON, messages, statuses, completion."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import limits
import pytest
from pillion.command import main

PACKAGE = Path(__file__).parents[2] / "python"


@pytest.fixture
def pillion(capsys):
    """The command in this very process, which is quick: its status and what it printed."""

    def call(*arguments):
        try:
            status = main(list(map(str, arguments)))
        except SystemExit as left:
            status = left.code
        said = capsys.readouterr()
        return subprocess.CompletedProcess(arguments, status, said.out, said.err)

    return call


@pytest.fixture
def printed(pillion):
    def call(*arguments):
        done = pillion("grid", *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    return call


def in_a_shell(*arguments, path=""):
    return limits.run(
        [sys.executable, "-m", "pillion", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": f"{path}:{PACKAGE}" if path else str(PACKAGE)},
        capture_output=True,
        text=True,
        timeout=120,
    )


def columns(line):
    return re.split(r"\s{2,}", line.strip())


def test_pair(printed):
    lines = printed(1536, 512)
    assert columns(lines[0]) == ["grid", "sub-box", "surface", "of a cube's"]
    assert columns(lines[1]) == ["simulation", "16x12x8", "1/16 x 1/12 x 1/8", "0.04688", "1.04"]
    assert columns(lines[2]) == ["analysis", "16x4x8", "1/16 x 1/4 x 1/8", "0.1094", "1.17"]
    assert lines[3] == "multiples: a sub-box of the analysis holds 1x3x1 of the simulation's"
    assert re.match(r"objective 4\.0411, shared by 2 pairs; this one has the small", lines[4])
    assert re.fullmatch(r"solved in [\d.]+ m?s", lines[5])
    assert len(lines) == 6


def test_poor_pair(printed):
    lines = printed(1527, 509)
    assert "simulation: 1527 ranks divide this box badly: sub-boxes have 14.85" in lines[-3]
    assert "analysis: 509 ranks divide this box badly" in lines[-2]
    assert lines[-1] == "better: 1521 and 507 ranks (13x13x9 and 13x13x3)"


def test_grid_on_a_box(printed):
    lines = printed(96, "--box", "10x10x40")
    assert columns(lines[1]) == ["96 ranks", "4x3x8", "2.5 x 3.333 x 5", "75", "1.04"]
    assert len(lines) == 2


def test_prime(printed):
    lines = printed(97)
    assert lines[2:] == [
        "97 ranks divide this box badly: sub-boxes have 7.18 times the surface of cubes",
        "better: 96 ranks (6x4x4) or 98 ranks (7x7x2)",
    ]


def test_nothing_better_on_a_long_box(printed):
    assert printed(10, "--box", "1,1,100")[-1] == "no number of ranks nearby does much better"


def test_cells(printed):
    lines = printed(96, "--cells", "512x512x2048")
    assert columns(lines[0])[-2:] == ["cells", "of the mean"]
    assert columns(lines[1])[-2:] == ["128x171x256", "1.002"]
    assert "8x4x3" in printed(96, "--cells", "512x512x2048", "--slack", 0)[1]
    uneven = printed(30, "--cells", "16x16x16")
    assert "the largest has 1.41 times the mean number of cells" in uneven[-2]


def test_weight(printed):
    """What counts more is nearer to cubes."""
    light, heavy = (printed(144, 48, "--weight", weight) for weight in (1, 5))
    assert [columns(line)[1] for line in light[1:3]] == ["9x4x4", "3x4x4"]
    assert [columns(line)[1] for line in heavy[1:3]] == ["6x6x4", "6x2x4"]


def test_lammps(printed):
    assert printed(96, "--box", "10x10x40", "--lammps") == ["processors 4 3 8"]
    assert printed(1536, 512, "--lammps") == [
        "partition yes 1 processors 16 12 8 part 1 2 multiple",
        "partition yes 2 processors 16 4 8 part 1 2 multiple",
    ]


def test_lammps_lines_alone_are_on_standard_output(pillion):
    done = pillion("grid", 97, "--lammps")
    assert done.stdout == "processors 97 1 1\n"
    assert "97 ranks divide this box badly" in done.stderr


def test_json(printed):
    pair = json.loads("\n".join(printed(1536, 512, "--json")))
    assert pair["simulation"]["grid"] == [16, 12, 8]
    assert pair["analysis"]["grid"] == [16, 4, 8]
    assert (pair["multiples"], pair["tied"], pair["weight"]) == ([1, 3, 1], 2, 2)
    assert (pair["poor"], pair["better"]) == (False, [])
    assert pair["seconds"] > 0
    grid = json.loads("\n".join(printed(97, "--cells", "97x100x100", "--json")))
    assert (grid["ranks"], grid["grid"], grid["block"]) == (97, [97, 1, 1], [1, 100, 100])
    assert grid["poor"] is True
    assert [other["ranks"] for other in grid["better"]] == [96, 105]


def test_no_pair(pillion):
    done = pillion("grid", 1536, 500)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("pillion: no pair of grids: 1536 simulation ranks are")
    assert "take 384 or 512 analysis ranks" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["many"], "invalid int value: 'many'"),
        ([12, "--box", "3x4"], "'3x4' is not three lengths above 0, as 10x10x40"),
        ([12, "--box", "3x4xnan"], "'3x4xnan' is not three lengths"),
        ([12, "--cells", "3x4x5.5"], "'3x4x5.5' is not three whole numbers above 0"),
        ([12, "--cells", "4x4x4", "--slack", "-1"], "--slack"),
        ([12, "--slack", "1"], "--slack goes with --cells"),
        ([12, "--weight", "3"], "--weight goes with a pair"),
        ([12, 4, "--weight", "0"], "'0' is not a whole number from 1 to 100"),
        ([12, 4, "--cells", "4x4x4"], "--cells goes with one grid"),
        ([12, 4, "--json", "--lammps"], "not allowed with"),
    ],
    ids=str,
)
def test_wrong_use(words, said, pillion):
    done = pillion("grid", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_without_the_solver(tmp_path):
    (tmp_path / "highspy.py").write_text("raise ImportError('gone')\n")
    done = in_a_shell("grid", 12, 4, path=tmp_path)
    assert done.returncode == 1
    assert "need the package highspy: pip install highspy" in done.stderr


def test_completion():
    completed = in_a_shell("completion", "bash").stdout
    assert "--lammps" in completed and "--slack" in completed
