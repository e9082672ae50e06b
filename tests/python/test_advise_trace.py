# SPDX-License-Identifier: BSD-3-Clause
"""What is read of the files that ranks write as they go."""

import json

import pytest
from pillion.advise.trace import Trace, Visit, read_trace, share_handed_over


def line(name, category, step, begin, end):
    event = {"name": name, "cat": category, "ts": begin, "dur": end - begin, "args": {"step": step}}
    return json.dumps({"ph": "X", "pid": 1, "tid": 0, **event}) + "\n"


def test_what_is_rare_is_seen_beside_what_is_frequent(tmp_path):
    """An analysis at every step, and one at every 400th; of two ranks."""
    for rank in range(2):
        with (tmp_path / f"simulation-{rank}.jsonl").open("w") as file:
            for step in range(1700):
                file.write(line("often", "analysis", step, 100 * step, 100 * step + 10))
                if step % 400 == 0:
                    file.write(line("seldom", "analysis", step, 100 * step + 10, 100 * step + 90))
    trace = read_trace(tmp_path)
    assert len(trace.simulation) == 2 and len(read_trace(tmp_path, 1).simulation) == 1
    for visits in trace.simulation:
        seen = [visit.step for visit in visits if "seldom" in visit.stages]
        assert seen == [0, 400, 800, 1200, 1600]


@pytest.mark.parametrize(
    ("seen", "came", "share"),
    [
        (range(0, 50, 10), range(0, 50, 10), 1.0),
        (range(0, 50, 10), (0, 20, 40), 0.5),
        (range(0, 50, 10), (), 1.0),
        # The simulation's rank has lost the beginning of its trace.
        ((30, 40), (20,), 1.0),
    ],
)
def test_the_part_that_came_to_the_sidecars(seen, came, share):
    simulation, sidecars = (
        [Visit(step, 0.0, 1.0, {"a": (0.1,)}, 0.0) for step in steps] for steps in (seen, came)
    )
    trace = Trace(simulation=[simulation], sidecars=[sidecars])
    assert share_handed_over(trace, "a") == share
