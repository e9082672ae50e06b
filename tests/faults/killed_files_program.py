# SPDX-License-Identifier: BSD-3-Clause
"""Kills a run, as far as its files can tell, after each number of operations on files, and looks at
what it leaves: see killed_files.c.

killed_files_program.py checkpoint|products SEED: prints how many ends it has tried.
"""

import ctypes
import itertools
import json
import random
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pillion

LIBRARY = ctypes.CDLL(None)
LIBRARY.killed_files_after.restype = ctypes.c_int64
LIBRARY.killed_files_after.argtypes = [ctypes.c_int64]
PAIRS = 60

CONFIGURATION = """
output: out
meshes: {line: {kind: uniform, cells: [4]}}
fields: {height: {mesh: line, type: float64}}
analyses:
  waves: {products_every: 1, stages: [statistics: {fields: [height]}]}
  mean: {stages: [time_average: {fields: [height], output_every: 100}]}
"""


def dying(operations: int, act: Callable[[], None]) -> bool:
    """Lets files change so often only while something is done. Whether it was done to its end."""
    LIBRARY.killed_files_after(operations)
    try:
        act()
    except pillion.Error:
        pass  # as if it had been killed
    finally:
        wanted = LIBRARY.killed_files_after(-1)
    return wanted <= operations


def open_run(restart: str = "") -> pillion.Session:
    shutil.rmtree("out", ignore_errors=True)
    session = pillion.open("run.yaml", restart=restart)
    session.share("height", np.arange(4.0))
    return session


def steps(session: pillion.Session, begin: int, end: int) -> None:
    for step in range(begin, end):
        session.step(step, 0.1 * step)


def rows() -> list[int]:
    return [int(n) for n in pillion.read_table("out/waves/statistics_height.csv")["step"]]


def resumed_at() -> int:
    """The step of the checkpoint that a run finds. The run works, and leaves another one."""
    with open_run("ck") as session:
        steps(session, 20, 21)
        session.checkpoint("ck")
    found = rows()
    assert found == [*range(found[-2] + 1), 20], found
    with open_run("ck") as session:
        steps(session, 21, 22)
    assert rows() == [*found, 21]
    return found[-2]


def reset(to: Path) -> None:
    for name in ("ck", ".ck.partial", ".ck.old"):
        shutil.rmtree(name, ignore_errors=True)
    for entry in to.iterdir():
        shutil.copytree(entry, entry.name)


def save(to: Path) -> Path:
    shutil.rmtree(to, ignore_errors=True)
    to.mkdir()
    for name in ("ck", ".ck.partial", ".ck.old"):
        if Path(name).exists():
            shutil.copytree(name, to / name)
    return to


def checkpoints(draw: random.Random) -> int:
    """A whole checkpoint is found, the older or the newer one, wherever the second one ended, and
    wherever a third one ended after that.
    """
    with open_run() as session:
        steps(session, 0, 5)
        session.checkpoint("ck")
    older = save(Path("older"))
    left: list[Path] = []
    newer = open_run("ck")
    steps(newer, 5, 10)
    for operations in itertools.count():
        reset(older)
        is_done = dying(operations, lambda: newer.checkpoint("ck"))
        left.append(save(Path(f"left-{operations}")))
        at = resumed_at()
        assert at == 9 if is_done else at in (4, 9), (operations, at)
        if is_done:
            break
    newer.close()
    third = open_run(str(left[-1] / "ck"))
    steps(third, 10, 15)
    for _ in range(PAIRS):
        reset(draw.choice(left))
        first = draw.randrange(2 * len(left))
        dying(first, lambda: third.checkpoint("ck"))
        assert resumed_at() in (4, 9, 14)
    third.close()
    return len(left) + PAIRS


def products() -> int:
    """A table and the report are whole, or those of before."""
    for operations in itertools.count():
        session = open_run()
        steps(session, 0, 3)

        def rest(session: pillion.Session = session) -> None:
            steps(session, 3, 5)
            session.close()

        is_done = dying(operations, rest)
        found = rows()
        assert found[:3] == [0, 1, 2] and found == list(range(len(found))), (operations, found)
        report = Path("out/report.json")
        if report.exists():
            assert json.loads(report.read_text())["run"]["steps"] == 5
        assert report.exists() or not is_done
        with open_run() as again:
            steps(again, 0, 1)
        assert not [path for path in Path("out").rglob("*") if ".part" in path.name]
        if is_done:
            return operations + 1
    raise AssertionError


Path("run.yaml").write_text(CONFIGURATION)
kind, seed = sys.argv[1], int(sys.argv[2])
print(checkpoints(random.Random(seed)) if kind == "checkpoint" else products())
