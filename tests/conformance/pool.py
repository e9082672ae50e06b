# SPDX-License-Identifier: BSD-3-Clause
"""One launch for many cases. A fixture that is parametrised by cases asks for one at a time; the
first to ask plays all cases of its module that need the same launch (driver, ranks, pretended
nodes), one session after the other. If such a launch fails, each case that is left is launched
alone, and fails with its own message."""

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from conftest import mpirun
from scenes import Placement, Scene

# What a fixture's parameter stands for, given the folder in which the case may keep files.
CaseOf = Callable[[object, Path], tuple[Scene, Placement]]


@dataclass
class _Case:
    scene: Scene
    placement: Placement
    folder: Path

    @property
    def launch(self) -> tuple | None:
        """What cases of one launch have in common. Sidecars of a separate job come and go with the
        run that they attach to, so such a case is launched alone."""
        place = self.placement
        if place.through == "separate" or os.environ.get("PILLION_TEST_ALONE"):
            return None
        return self.scene.driver, place.ranks, place.nodes if place.by_node else 0

    @property
    def done(self) -> Path:
        return self.folder / "done"


@dataclass
class _Pool:
    """The cases of one module, by the fixture's parameter."""

    cases: dict[object, _Case]
    tried: set = field(default_factory=set)

    def results(self, build: Path, parameter: object) -> Path:
        case = self.cases[parameter]
        if case.launch is not None and case.launch not in self.tried:
            self.tried.add(case.launch)
            those = [other for other in self.cases.values() if other.launch == case.launch]
            if len(those) > 1:
                _play(build, case.folder, those)
        if not case.done.exists():
            shutil.rmtree(case.folder / "run", ignore_errors=True)
            case.scene.run(build, case.folder / "run", case.placement)
            case.done.touch()
        return case.folder / "run" / "results"


def _play(build: Path, folder: Path, cases: list[_Case]) -> None:
    lines = []
    for case in cases:
        words = case.scene.prepare(case.folder / "run", case.placement)
        lines.append("\t".join(map(str, [*words, "--done", case.done])) + "\n")
    table = folder / "cases"
    table.write_text("".join(lines), encoding="utf-8")
    place = cases[0].placement
    # A launch that fails or hangs is no test's failure yet: the cases left over are run alone.
    with pytest.MonkeyPatch.context() as patch:
        if place.by_node:
            patch.setenv("PILLION_PRETEND_NODES", str(place.nodes))
        program = build / "tests" / "conformance" / cases[0].scene.driver
        try:
            mpirun(place.ranks, program, "--cases", table, timeout=60 + 20 * len(cases), cwd=folder)
        except pytest.fail.Exception as failure:
            print(f"{failure}\nRunning one by one what is left.")
    for case in cases:
        (case.folder / "run" / "frames").unlink()


_POOLS = pytest.StashKey[dict[str, _Pool]]()


def results_of_case(request, build: Path, tmp_path_factory, case_of: CaseOf) -> tuple[Path, Path]:
    """The folder of the case that a module's fixture is asked for, and that of its results."""
    pools = request.node.stash.setdefault(_POOLS, {})
    name = request.fixturename
    if name not in pools:
        cases = {}
        for item in request.session.items:
            if item.getparent(pytest.Module) is request.node and hasattr(item, "callspec"):
                parameter = item.callspec.params.get(name)
                if parameter is not None and parameter not in cases:
                    folder = tmp_path_factory.mktemp("case")
                    cases[parameter] = _Case(*case_of(parameter, folder), folder)
        pools[name] = _Pool(cases)
    return pools[name].cases[request.param].folder, pools[name].results(build, request.param)
