# SPDX-License-Identifier: BSD-3-Clause
"""What short runs are started as, on machines that are not here."""

import tempfile
from pathlib import Path

import pytest
from pillion.advise import placement
from pillion.advise.advice import Advice, Prediction, lines_for
from pillion.advise.placement import Chains
from pillion.advise.short_runs import Attempts, Runner, interleaved, plan_runs
from pillion.errors import Error
from pillion.launch.plan import Facts, Launcher, Part, Wishes

TEXT = "sidecars: {%s: 1}\nanalyses: {sums: {stages: [statistics: {fields: [f]}]}}\n"


@pytest.mark.parametrize(("kind", "numbers"), [("per_node", [4, 8, 16, 32]), ("ranks", [1, 2])])
def test_sidecars_of_all_nodes_are_what_is_counted(tmp_path, kind, numbers):
    """A placement says how many ranks there are in all; the configuration, how many on a node."""
    file = tmp_path / "pillion.yaml"
    file.write_text(TEXT % kind)
    chains = Chains(file.read_text(), str(file))
    facts = Facts(Launcher.SRUN, "srun", cores=16, nodes=4)
    wishes = Wishes(str(file), (Part(("./md",)),))
    runner = Runner(wishes, chains, facts, kind, "pillion-attach", 1.0)
    sidecars = placement.numbers_of_sidecars(64, runner.counted)
    assert sidecars[: len(numbers)] == numbers
    for where in plan_runs(64, sidecars, chains.all, 64):
        plan = runner._plan(where, Path(tempfile.mkdtemp(dir=tmp_path)))
        assert (plan.simulation_ranks, plan.sidecar_ranks) == (where.simulation, where.sidecars)
    chosen = Prediction(placement.cut_at(0, 56, 8, chains.all), 1, 1, 1, 1, 1, 0, 1)
    advice = Advice(kind, chains.all, 64, [chosen], chosen, [], runner.counted)
    assert lines_for(advice)[0] == f"sidecars: {{{kind}: {8 // runner.counted}, …}}"


def test_a_program_that_wants_powers_of_two_is_attempted_where_it_runs(tmp_path):
    """On 8 cores with 1, 2 or 4 sidecars it would be 7, 6 or 4 ranks, and 8 on crowded cores."""
    advice = "analyses: {sums: {stages: [magnitude: {}, statistics: {}]}}\n"
    chains = Chains(advice, "pillion.yaml").all
    attempts, started = Attempts(), []

    def planned():
        return plan_runs(8, [1, 2, 4], chains, 8, attempts.refused)

    class Choosy:
        chains = Chains(advice, "pillion.yaml")

        def run(self, where):
            started.append(where)
            if where.simulation & (where.simulation - 1):
                raise Error("the program ended with status 1; log:\n  a line")
            return where

    ran = interleaved(Choosy(), planned, 2, attempts)
    assert {p.cuts for p in ran if p.sidecars} == {(0,), (1,)}
    assert {p.simulation for p in ran} == {8, 4, 2, 1} and attempts.refused == {7, 6}
    assert len(ran) == 2 * len(set(ran)), "in two rounds"
    assert len([p for p in started if p.simulation in (6, 7)]) == 2, "once is enough to know"
    considered = placement.candidates(8, [1, 2, 4], chains)
    left = {p.simulation for p in considered if not attempts.leaves_out(p)}
    assert left == {8, 4}
    notes = attempts.notes(considered, chains)
    assert any("7 + 1 ranks, sidecars: the program ended with status 1" in n for n in notes)
    with pytest.raises(Error, match=r"on 8 \+ 0 ranks, there is no advice"):
        interleaved(Failing(), planned, 1, Attempts())


class Failing:
    chains = Chains(TEXT % "ranks", "pillion.yaml")

    def run(self, _):
        raise Error("the program ended with status 1")


def started_with(advice, tmp_path):
    """Where a short run finds its configuration, of which `study/mine.yaml` is the user's."""
    file = tmp_path / "study/mine.yaml"
    file.write_text(advice)
    chains = Chains(advice, str(file))
    wishes = Wishes(str(file), (Part(("./md",)),))
    runner = Runner(wishes, chains, Facts(Launcher.SRUN), "per_node", "pillion-attach", 1.0)
    (tmp_path / "run").mkdir()
    plan = runner._plan(placement.inside(1, chains.all), tmp_path / "run")
    assert file.read_text() == advice
    return Path(plan.environment["PILLION_CONFIGURATION"])


def test_what_lies_beside_the_configuration_is_found_there(tmp_path):
    """Stages in Python and scripts are looked for in its folder."""
    (tmp_path / "study").mkdir()
    (tmp_path / "study/stage.py").write_text("# a stage\n")
    mine = started_with(TEXT % "per_node", tmp_path)
    assert (mine.parent / "stage.py").read_text() == "# a stage\n"


def test_of_many_files_beside_it_those_that_it_names_are_found(tmp_path):
    (tmp_path / "study").mkdir()
    for n in range(1000):
        (tmp_path / f"study/snapshot-{n:04}").touch()
    (tmp_path / "study/look.py").touch()
    mine = started_with(TEXT.replace("f]", "f], call: look.py:look") % "per_node", tmp_path)
    assert sorted(path.name for path in mine.parent.iterdir()) == ["look.py", "mine.yaml"]
