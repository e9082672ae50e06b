# SPDX-License-Identifier: BSD-3-Clause
"""Advice on a made-up program whose costs are known: what is predicted of every placement from a
few short runs, against runs of that placement that go through time in small steps.
"""

import io
import json
from dataclasses import replace

import pytest
from advise_world import CHAINS, World, amdahl
from pillion.advise import model, placement
from pillion.advise.advice import (
    _listed,
    _table_cells,
    advise,
    choose,
    finalists,
    for_programs,
    shown,
)
from pillion.advise.costs import Costs, Work, costs_of, measured
from pillion.advise.placement import Chain, Memory, bytes_of
from pillion.advise.short_runs import is_enough, plan_runs
from pillion.advise.trace import ShortRun, Trace
from rich.console import Console

AMPLE = Memory(budget=2.0**40)


def advice_on(world, ranks, sidecars, memory=AMPLE):
    planned = plan_runs(ranks, sidecars, CHAINS, world.cores)
    short_runs = [world.run(p) for p in planned]
    considered = placement.candidates(ranks, sidecars, CHAINS)
    return planned, advise(short_runs, CHAINS, world.cores, memory, considered)


def in_the_end(world, where, room=6):
    """Seconds a step once memory for so many publications is full, if it ever is."""
    trace = world.run(where, steps=600, room=room).trace
    sides = [side[0] for side in (trace.simulation, trace.sidecars) if side]
    # Before the end, when sidecars that are behind have the cores to themselves.
    ends = [{visit.step: visit.end for visit in visits} for visits in sides]
    return max(end[500] - end[250] for end in ends) / 250


@pytest.mark.parametrize(("ranks", "cores", "sidecars"), [(2, 2, [1]), (8, 16, [1, 2, 4])])
def test_every_placement_takes_what_is_predicted(ranks, cores, sidecars):
    world = World(cores)
    planned, advice = advice_on(world, ranks, sidecars)
    assert len(planned) < len(advice.predictions)
    took = {p.placement: in_the_end(world, p.placement) for p in advice.predictions}
    for prediction in advice.predictions:
        where = prediction.placement
        assert prediction.seconds == pytest.approx(took[where], rel=0.06), where
        assert prediction.low <= prediction.seconds <= prediction.high
    assert took[advice.chosen.placement] <= 1.03 * min(took.values())


@pytest.mark.parametrize("rare", [41, 100, 450, 1000, 10000])
def test_what_is_rare_counts_for_all_that_it_costs(rare):
    """However seldom: seconds a step are those of the sums where each side has its own cores."""
    chains = Chain("often", ("statistics",), 0, 1), Chain("seldom", ("image",), 0, rare)
    parts = measured({2: 1e-4, 1: 2e-4}), measured({2: 0.05 * rare, 1: 0.1 * rare})
    works = [Work(part, (part,)) for part in parts]
    costs = Costs(8, measured({2: 0.01}), works, [{}, {}], [1.0, 1 / rare])
    inside = model.outcome(costs, placement.inside(2, chains), AMPLE)
    assert inside.seconds == pytest.approx(0.01 + 1e-4 + 0.05)
    aside = model.outcome(costs, placement.cut_at(0, 2, 1, chains), AMPLE)
    assert aside.seconds == pytest.approx(2e-4 + 0.1, rel=0.02)
    between = model.outcome(costs, placement.Placement(2, 1, (0, 1)), AMPLE)
    assert between.seconds == pytest.approx(0.01 + 0.05, rel=0.02)


def test_what_takes_long_every_tenth_time_counts():
    """As the writing of products does."""
    world = World(2)

    def run(where):
        short_run = world.run(where)
        visits = []
        for number, visit in enumerate(short_run.trace.simulation[0]):
            more = 1.0 if number % 10 == 9 else 0.0
            late = float((number + 1) // 10)
            stages = dict(visit.stages)
            if "means" in stages:
                stages["means"] = (stages["means"][0], stages["means"][1] + more)
            begin, end = visit.begin + late - more, visit.end + late
            visits.append(replace(visit, begin=begin, end=end, stages=stages))
        return replace(short_run, trace=Trace([visits] * where.simulation, []))

    short_runs = [run(placement.inside(ranks, CHAINS)) for ranks in (2, 1)]
    costs = costs_of(short_runs, CHAINS, 2)
    plain = sum(stage(2) for stage in world.stages[0])
    assert costs.works[0].whole(2) == pytest.approx(plain + 0.1, rel=0.02)


@pytest.mark.parametrize(("ranks", "cores", "sidecars"), [(2, 2, [1]), (8, 16, [1, 2, 4])])
def test_what_a_stage_withholds_counts_where_it_comes_out(ranks, cores, sidecars):
    world = World(cores, keeps=5)
    world.stages = ((world.stages[0][0], amdahl(3.0, 0.2)), world.stages[1])
    _, advice = advice_on(world, ranks, sidecars)
    for prediction in advice.predictions:
        where = prediction.placement
        assert prediction.seconds == pytest.approx(in_the_end(world, where), rel=0.06), where


def test_a_run_goes_on_until_the_last_stage_was_reached_and_what_was_not_is_said():
    inside = placement.inside(2, CHAINS)
    for keeps, enough in ((1, True), (100, False)):
        world = World(2, keeps=keeps)
        trace = world.run(inside, steps=600).trace
        assert is_enough(trace, inside, CHAINS, 5.0, 5.0) == enough
        assert is_enough(trace, inside, CHAINS, 31.0, 5.0)
        short_runs = [world.run(p) for p in plan_runs(2, [1], CHAINS, 2)]
        considered = placement.candidates(2, [1], CHAINS)
        notes = advise(short_runs, CHAINS, 2, AMPLE, considered).notes
        assert any("nothing came to 'statistics' of 'means'" in n for n in notes) != enough


def test_a_run_without_publications_to_measure_goes_on():
    """As where they lie minutes apart, or the machine is so busy that the program stands still."""
    inside = placement.inside(2, CHAINS)
    few, some = (World(2).run(inside, steps=steps).trace for steps in (20, 40))
    assert not is_enough(few, inside, CHAINS, 1000.0, 5.0)
    assert is_enough(some, inside, CHAINS, 1000.0, 5.0)


def test_noise_widens_the_bounds_and_they_hold():
    world = World(2, noise=0.1)
    _, advice = advice_on(world, 2, [1])
    truth = World(2)
    inside = 0
    for prediction in advice.predictions:
        assert prediction.low < prediction.high
        took = in_the_end(truth, prediction.placement)
        assert prediction.seconds == pytest.approx(took, rel=0.1)
        inside += prediction.low <= took <= prediction.high
    assert inside >= 0.9 * len(advice.predictions)


def test_a_whole_run_counts_from_its_first_publication_to_its_last():
    world = World(2)
    _, advice = advice_on(world, 2, [1])
    costs = costs_of([world.run(p) for p in plan_runs(2, [1], CHAINS, 2)], CHAINS, 2)
    for prediction in advice.predictions:
        run = world.run(prediction.placement, steps=100).trace
        ends = [visits[-1].end for visits in (*run.simulation, *run.sidecars)]
        found = model.seconds_of(costs, prediction.placement, AMPLE, 100)
        took = max(ends) - run.simulation[0][0].end
        assert found == pytest.approx(took, rel=0.04), prediction.placement


@pytest.mark.parametrize("ends_beside", [False, True])
@pytest.mark.parametrize(("here", "there"), [(60, 400), (400, 60)])
def test_an_analysis_that_has_moved_counts_where_it_was_for_longest(ends_beside, here, there):
    """Each side has had all of its stages, whichever has them at the end."""
    inside = placement.inside(1, CHAINS)
    beside = next(p for p in placement.candidates(2, [1], CHAINS) if p.sidecars and not any(p.cuts))
    usual = World(2)
    slow = World(2, stages=tuple(tuple(amdahl(2 * s(1), 0) for s in of) for of in usual.stages))
    least = min(here, there)
    trace = Trace(
        (slow if here == least else usual).run(inside, steps=here).trace.simulation,
        (slow if there == least else usual).run(beside, steps=there).trace.sidecars,
    )
    where = beside if ends_beside else replace(beside, cuts=inside.cuts)
    costs = costs_of([ShortRun(where, trace, {})], CHAINS, 2)
    for work, stages in zip(costs.works, usual.stages, strict=True):
        found = [part(1) for part in work.stages]
        assert found == pytest.approx([s(1) for s in stages], rel=0.01)


def test_of_runs_that_are_alike_the_fastest_counts():
    """A neighbour on the machine, who makes some runs slower, changes nothing."""
    calm = World(2)
    slow = World(
        2,
        step=lambda r: 1.4 * calm.step(r),
        stages=tuple(tuple(lambda r, s=s: 1.4 * s(r) for s in those) for those in calm.stages),
    )
    planned = plan_runs(2, [1], CHAINS, 2)
    considered = placement.candidates(2, [1], CHAINS)

    def advice(short_runs):
        return advise(short_runs, CHAINS, 2, AMPLE, considered)

    undisturbed = advice([calm.run(p) for p in planned])
    worlds = [slow if n % 2 else calm for n in range(len(planned))]
    others = [calm if world is slow else slow for world in worlds]
    disturbed = advice([w.run(p) for w, p in zip(worlds + others, planned * 2)])
    for prediction in disturbed.predictions:
        plain = undisturbed.of(prediction.placement)
        assert prediction.seconds == plain.seconds
        assert prediction.high > 1.2 * plain.seconds  # for it may happen again


def test_who_skips_waits_for_nobody_and_leaves_out():
    world = World(4, stages=World(4).stages[:1] + ((lambda r: 0.1, lambda r: 9.0 / r),))
    _, waiting = advice_on(world, 2, [1])
    _, skipping = advice_on(world, 2, [1], replace(AMPLE, when_full="skip"))
    aside = placement.cut_at(0, 2, 1, CHAINS)
    slow, quick = waiting.of(aside), skipping.of(aside)
    assert slow.left_out == 0 and quick.seconds == pytest.approx(quick.simulation, rel=0.01)
    assert quick.left_out == pytest.approx(1 - quick.seconds / slow.seconds, rel=0.02)
    assert skipping.chosen.left_out < 0.01


def test_little_memory_makes_the_simulation_wait():
    world = World(4, step=amdahl(0.15, 0.0))
    short_runs = [world.run(p) for p in plan_runs(2, [1], CHAINS, 4)]
    short_runs = [
        replace(short_run, bytes={c.name: 2.0**20 for c in CHAINS}) for short_run in short_runs
    ]
    aside = placement.cut_at(0, 2, 1, CHAINS)
    costs = costs_of(short_runs, CHAINS, 4)
    tight = model.outcome(costs, aside, Memory(budget=4 * 2.0**20))
    ample = model.outcome(costs, aside, AMPLE)
    took = [in_the_end(world, aside, room) for room in (1, 20)]
    assert [tight.seconds, ample.seconds] == pytest.approx(took, rel=0.03)
    assert tight.seconds > 1.1 * ample.seconds


def test_what_never_ran_is_said():
    world = World(2)
    unsure = (replace(CHAINS[0], every=None), replace(CHAINS[1], name="storms", every=None))
    short_runs = [world.run(p) for p in plan_runs(2, [1], CHAINS, 2)]
    considered = placement.candidates(2, [1], unsure)
    advice = advise(short_runs, unsure, 2, AMPLE, considered)
    assert any("'storms' was not seen at work" in note for note in advice.notes)
    assert not any("'means'" in note for note in advice.notes)
    inside = advice.of(placement.inside(2, unsure))
    means = sum(stage(2) for stage in world.stages[0]) / 10
    assert inside.seconds == pytest.approx(world.step(2) + means, rel=0.05)


def test_those_nearly_alike_are_run_and_that_decides():
    world = World(16)
    planned, before = advice_on(world, 8, [1, 2])
    nearly = finalists(before.predictions)
    assert len(nearly) == 4 and before.chosen.placement in nearly
    assert all(before.of(p).expected <= 1.1 * before.chosen.expected for p in nearly)
    short_runs = [world.run(p) for p in planned]
    considered = placement.candidates(8, [1, 2], CHAINS)
    quick = World(16, step=amdahl(0.06, 0.02))
    quick = replace(quick, stages=tuple(tuple(map(_halved, s)) for s in quick.stages))
    for best in nearly:
        finals = [(quick if p == best else world).run(p) for p in nearly]
        after = advise(short_runs, CHAINS, world.cores, AMPLE, considered, finals=finals)
        assert after.chosen.placement == best
        assert [p.seconds for p in after.predictions] == [p.seconds for p in before.predictions]
        assert any("run in turn" in note for note in after.notes)


def _halved(seconds):
    return lambda ranks: seconds(ranks) / 2


def test_a_rank_more_must_be_worth_it():
    _, advice = advice_on(World(4), 2, [1])
    few = advice.of(placement.cut_at(0, 1, 1, CHAINS))
    many = advice.of(placement.cut_at(0, 2, 1, CHAINS))
    took = {few.placement: 1.02, many.placement: 1.0}
    assert choose([few, many], took) is few
    assert choose([few, many], {**took, few.placement: 1.04}) is many
    alike = [replace(few, expected=1.02), replace(many, expected=1.0)]
    assert choose(alike, {}) is alike[0]


def test_what_failed_is_said():
    short_runs = [World(2).run(p) for p in plan_runs(2, [1], CHAINS, 2)]
    short_runs[0] = replace(short_runs[0], disabled={"means": "no such file"})
    advice = advise(short_runs, CHAINS, 2, AMPLE, placement.candidates(2, [1], CHAINS))
    assert "'means' failed in some of these runs: no such file" in advice.notes


def test_the_table_and_what_programs_get_agree():
    _, advice = advice_on(World(2), 2, [1])
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(shown(advice))
    said = console.export_text()
    plain = json.loads(json.dumps(for_programs(advice)))
    assert f"take {advice.chosen.placement} ranks" in said
    assert plain["chosen"] in plain["placements"]
    assert len(plain["placements"]) == len(advice.predictions)
    assert [p["seconds"] for p in plain["placements"]] == [p.seconds for p in advice.predictions]


def test_placements_with_equal_numbers_are_one_row():
    """Analyses that cost next to nothing may be anywhere."""
    _, advice = advice_on(World(4), 2, [1])
    fast = replace(advice.predictions[0], seconds=0.0066, low=0.006, high=0.007, left_out=0.0)
    cheap = replace(
        advice,
        predictions=[replace(fast, placement=p.placement) for p in advice.predictions],
        chosen=advice.chosen,
    )
    rows = [_table_cells(cheap, group) for group in _listed(cheap)]
    plain = [row for row in rows if "other ways" not in row[1]]
    folded = [row for row in rows if "other ways" in row[1]]
    assert len(rows) < len(advice.predictions) and folded
    assert len({(row[0], *row[2:]) for row in folded}) == len(folded)
    shown_ways = sum(len(group) for group in _listed(cheap))
    assert shown_ways == len(advice.predictions) and plain


def test_amounts_of_memory():
    assert [bytes_of(t) for t in ("512 MiB", "2 GB", "100", "1.5KiB")] == [2**29, 2e9, 100, 1536]
