# SPDX-License-Identifier: BSD-3-Clause
"""What becomes of an analysis that cannot move, or fails where it has gone: it stays where it is or
is disabled, in words, and the simulation and the other analyses go on to their end."""

import numpy as np
import pytest
from conftest import read_table
from insitu import STAGES, Place, analysis_of, box, configure, needs_modules, report_of, simulate

pytestmark = needs_modules

STEPS = 9
MOVES = "4,7"  # to the sidecars from the fourth on, back from the seventh
PLACES = [
    Place(2, "{ranks: 1, when_full: wait}", 1),
    Place(2, "{per_node: 1, when_full: wait}", 1),
]


def run(build, folder, place, fails, there):
    told = f"{{fails: {fails or 'never'}, there: {str(there).lower()}}}"
    configure(
        folder,
        place,
        "  moved: {stages: [{python: "
        f'{{call: "{STAGES}/moved.py:Moved", with: {told}, at: auto}}}}]}}\n'
        "  good: {stages: [{statistics: {fields: [density], at: auto}}]}\n",
    )
    done = simulate(
        build, folder, place, box(steps=STEPS, sidecars=place.more), PILLION_MOVE_AT=MOVES
    )
    assert done.stdout.count("done") == place.ranks, "the simulation went on to its end"
    good = read_table(folder / "results/good/statistics_density.csv")
    assert good["step"].tolist() == list(range(STEPS))
    assert not list((folder / "results").glob(".moving*"))
    return done


def rows(folder):
    return read_table(folder / "results/moved/Moved.csv")


def test_it_remembers(build, tmp_path):
    run(build, tmp_path, PLACES[1], "", False)
    assert rows(tmp_path)["beside"].tolist() == [0, 0, 0, 1, 1, 1, 0, 0, 0]
    means = read_table(tmp_path / "results/good/statistics_density.csv")["mean"]
    cells = 12 * 10 * 8
    np.testing.assert_allclose(rows(tmp_path)["total"], np.cumsum(means) * cells, rtol=1e-13)


@pytest.mark.parametrize("place", PLACES, ids=str)
@pytest.mark.parametrize("there", [False, True], ids=["leaving the simulation", "leaving sidecars"])
def test_what_cannot_be_saved_stays(there, place, build, tmp_path):
    run(build, tmp_path, place, "save", there)
    analysis = analysis_of(tmp_path, "moved")
    assert analysis["disabled"] is None and analysis["publications"] == STEPS
    assert [move["to"] for move in analysis["moves"]] == ["sidecar"] * there
    assert rows(tmp_path)["beside"].tolist() == [0] * 3 + [int(there)] * 6
    where = "in the sidecars" if there else "in the simulation"
    warnings = report_of(tmp_path)["warnings"]
    assert any(f"'moved' stays {where}" in text for text in warnings), warnings
    assert any("I will not leave" in text for text in warnings), warnings


@pytest.mark.parametrize("place", PLACES, ids=str)
@pytest.mark.parametrize("fails", ["restore", "run"])
@pytest.mark.parametrize("there", [True, False], ids=["in sidecars", "in the simulation"])
def test_what_fails_where_it_arrives_is_disabled(there, fails, place, build, tmp_path):
    done = run(build, tmp_path, place, fails, there)
    words = {"restore": "I will not stay here", "run": "I will not run here"}[fails]
    disabled = analysis_of(tmp_path, "moved")["disabled"]
    assert words in disabled and words in done.stderr
    assert analysis_of(tmp_path, "good")["disabled"] is None
