# SPDX-License-Identifier: BSD-3-Clause
"""That the walks of this folder find defects: each mutant puts one into src/policy.

A mutant replaces text that must occur exactly once, is compiled with the walk, and must make it
fail. What it does not touch is compiled once. F1 and F2 are defects that a version of Pillion had.
By default four mutants are tried, with PILLION_TEST_ALL=1 all of them.

One defect has no mutant, for it does not compile: a local event answered by a collective action.
What comes closest is here, a rank that decides by the size of its own messages. That no analysis
leaves room for another is within the bounds of the walk; the cases of backlog_test.cpp find it.
"""

import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import limits
import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
POLICIES = ("backlog", "migration", "policy", "sidecar_policy", "slots", "time_share")
SOURCES = [
    *(ROOT / f"src/policy/{name}.cpp" for name in POLICIES),
    *sorted(HERE.glob("*walk*.cpp")),
]
MAIN = ROOT / "tests/unit/main_without_mpi.cpp"
COMPILER = [os.environ.get("CXX", "g++"), "-std=c++20", "-O1"]
EVENTS = 5_000_000  # about two seconds where nothing is found


@dataclass(frozen=True)
class Mutant:
    name: str
    replacements: tuple[tuple[str, str, str], ...]  # file of src/policy, text, other text


def mutant(name: str, *replacements: tuple[str, str, str]) -> Mutant:
    return Mutant(name, replacements)


EVERY_DAY = [
    mutant(
        "F1: others leave room for ever for an analysis whose job has left",
        ("policy.cpp", "  backlog_.withdraw(analysis);\n}", "}"),
        ("backlog.cpp", "if (!wants[a]) withdraw(a);", ";"),
    ),
    mutant(
        "F2: at the end only what was under way is counted as lost",
        ("losses.hpp", "if (counts.sidecars_live) return", "return"),
    ),
    mutant(
        "the first analysis goes first, however long another has waited",
        ("backlog.cpp", "entries_[a].published < entries_[*best].published", "false"),
    ),
    mutant(
        "a rank decides by the size of its own messages",
        ("backlog.cpp", "before_ = all;", "before_ = all, before_.blocked |= last_size_ > 40;"),
    ),
]

SOMETIMES = [
    mutant(
        "others leave room for an analysis of unknown size though there is plenty",
        (
            "backlog.cpp",
            "!room.fits(last_size_ + size)",
            "known == sizes_.end() || !room.fits(last_size_ + size)",
        ),
    ),
    mutant(
        "admission forgets the budget",
        ("backlog.cpp", "if (!before.no_room_for_last) return {};", "return {};"),
    ),
    mutant(
        "after a wait in vain nothing is ever tried again",
        ("backlog.cpp", "stalled_ = stalled_ && mine.no_room_for_last && !can_spill;", ""),
    ),
    mutant(
        "a wait for room has no deadline",
        (
            "backlog.cpp",
            "Until::MessageBudget, .deadline = event.now + deadline_",
            "Until::MessageBudget, .deadline = deadline_ / 0.0",
        ),
    ),
    mutant(
        "a drop is reported in every agreement that follows",
        ("backlog.cpp", "std::exchange(dropped_, false)", "dropped_"),
    ),
    mutant(
        "a coarse publication goes to analyses that need a whole one",
        ("backlog.cpp", "return !whole(a);", "return whole(a);"),
    ),
    mutant(
        "what was skipped is not reported",
        ("backlog.cpp", "if (!skipped.empty()) actions.push_back(Skip{std::move(skipped)});", ""),
    ),
    mutant(
        "analyses of a lost slot run on",
        (
            "policy.cpp",
            "a < release->last; ++a)\n      if (is_enabled(a)) {",
            "a < release->last; ++a)\n      if (false) {",
        ),
    ),
    mutant(
        "two jobs get the same numbers",
        (
            "slots.cpp",
            "return first + count <= slot.first() || first >= slot.last();",
            "return true;",
        ),
    ),
    mutant(
        "a slot that was lost is not released",
        ("slots.cpp", "if (lost) {", "if (lost && phase_ == Phase::Admitting) {"),
    ),
    mutant(
        "a refused job keeps its slot",
        ("slots.cpp", "count > 0 ? Phase::Active : Phase::Free", "Phase::Active"),
    ),
    mutant(
        "failed sidecars end analyses on the rank that saw it first",
        (
            "policy.cpp",
            "sidecars_failed_here_ = true, Local()",
            "sidecars_failed_here_ = true, end(0), Local()",
        ),
    ),
    mutant(
        "the other ranks do not learn which analyses failed",
        ("policy.cpp", "mine.disabled = failed_here_;", ""),
    ),
    mutant(
        "a rank waits for room that failed sidecars should make",
        ("policy.cpp", "sidecars_failed_here_ ? Local{Drop{}} : find_room(e)", "find_room(e)"),
    ),
    mutant(
        "a rank waits for an answer of failed sidecars",
        ("policy.cpp", "  if (sidecars_failed_here_) return {};\n", ""),
    ),
    mutant(
        "a rank waits for sidecars that nobody starts",
        ("policy.cpp", "settings_.separate_job && !settings_.restarts_sidecars;", "false;"),
    ),
    mutant(
        "the job does not end when its sidecars have failed",
        ("policy.cpp", "actions.push_back(EndJobAtFinalize{});", ""),
    ),
    mutant(
        "a checkpoint is written while an analysis migrates",
        (
            "policy.cpp",
            "actions.push_back(*action);\n  actions.push_back(SaveStages{});",
            "(void)action;\n  actions.push_back(SaveStages{});",
        ),
    ),
    mutant(
        "a session closes while an analysis migrates",
        (
            "policy.cpp",
            "actions.push_back(*action);\n  actions.push_back(FinishStages{});",
            "(void)action;\n  actions.push_back(FinishStages{});",
        ),
    ),
    mutant(
        "what was recalled is never taken back",
        (
            "migration.cpp",
            "before_publication(bool should_move) const {\n"
            "  if (place_ == Place::Recalled) return TakeBack{analysis_};",
            "before_publication(bool should_move) const {",
        ),
    ),
    mutant(
        "the publication that killed sidecars is not counted as lost",
        ("losses.hpp", "  ++counts.lost;\n", ""),
    ),
    mutant(
        "successors forget what earlier sidecars lost",
        ("losses.hpp", "before.lost + ended - before.ended", "ended - before.ended"),
    ),
    mutant(
        "sidecars read a publication again that killed those before them",
        ("sidecar_policy.cpp", "if (!event.is_publication) return", "if (true) return"),
    ),
    mutant(
        "sidecars forget the counts that those before them saved",
        ("sidecar_policy.cpp", "take_over(event.saved[a], event.ended[a])", "SavedCounts{}"),
    ),
    mutant(
        "sidecars do not count a publication that was dropped",
        (
            "sidecar_policy.cpp",
            "if (event.all.dropped) dropped.analyses.push_back(a);",
            "if (event.all.dropped) continue;",
        ),
    ),
    mutant(
        "sidecars run an analysis that has failed",
        ("sidecar_policy.cpp", "    if (!is_enabled(a)) continue;\n", ""),
    ),
    mutant(
        "a sidecar passes what an enabled analysis needs",
        (
            "sidecar_policy.cpp",
            "[&](size_t a) { return is_enabled(a); }",
            "[](size_t) { return false; }",
        ),
    ),
    mutant(
        "sidecars whose time is up do not count what waits",
        ("sidecar_policy.cpp", "actions.push_back(CountUnread{});", ";"),
    ),
    mutant(
        "sidecars run an analysis on data that a rank lacks",
        ("sidecar_policy.cpp", "else if (event.all.unusable.contains(a))", "else if (false)"),
    ),
    mutant(
        "sidecars give memory back before a successor can see what has ended",
        ("sidecar_policy.cpp", "ShowEnded{}, AgreeOnSaving{}});", "AgreeOnSaving{}});"),
    ),
    mutant(
        "sidecars remove the saved state before the run has ended",
        ("sidecar_policy.cpp", "{SaveForSuccessors{}, FinishA", "{RemoveSavedState{}, FinishA"),
    ),
    mutant(
        "an attached job saves the state of the run",
        (
            "sidecar_policy.cpp",
            "if (role_ == SidecarRole::SeparateJob) return {SaveForSuccessors{}};",
            "if (role_ != SidecarRole::SameJob) return {SaveForSuccessors{}};",
        ),
    ),
    mutant(
        "an analysis that left for the simulation runs in sidecars too",
        ("sidecar_policy.cpp", ".here = event.is_here;", ".here = true;"),
    ),
]


def compile_into(folder: Path, source: Path, includes: list[Path]) -> Path:
    """The object file; beside it a file that lists what the source includes."""
    made = folder / f"{source.stem}.o"
    flags = [f"-I{path}" for path in includes]
    command = [*COMPILER, *flags, "-MMD", "-c", source, "-o", made]
    done = limits.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return made


def walk(folder: Path, objects: list[Path]) -> subprocess.CompletedProcess:
    program = folder / "walk"
    limits.run([COMPILER[0], *objects, "-o", program], check=True, timeout=120)
    environment = {**os.environ, "PILLION_WALK_EVENTS": str(EVENTS)}
    return limits.run(
        [program, "--no-colors"], env=environment, capture_output=True, text=True, timeout=120
    )


@pytest.fixture(scope="module")
def plain(tmp_path_factory) -> dict[Path, Path]:
    """Object files without a mutation, by source."""
    folder = tmp_path_factory.mktemp("plain")
    includes = [ROOT / "src", ROOT / "include", HERE]
    sources = [*SOURCES, MAIN]
    with ThreadPoolExecutor(2) as pool:
        made = pool.map(lambda source: compile_into(folder, source, includes), sources)
    return dict(zip(sources, made, strict=True))


def test_the_walk_passes_without_a_mutant(plain, tmp_path):
    done = walk(tmp_path, list(plain.values()))
    assert done.returncode == 0, done.stdout


def mutated_copy(change: Mutant, folder: Path) -> set[str]:
    """Copies src/policy and the walk, and returns the names of the files that it changed."""
    shutil.copytree(ROOT / "src/policy", folder / "policy")
    for file in HERE.glob("*walk*"):
        shutil.copy(file, folder)
    for name, text, other in change.replacements:
        path = folder / "policy" / name
        before = path.read_text()
        assert before.count(text) == 1, f"{name} contains {before.count(text)} times: {text}"
        path.write_text(before.replace(text, other))
    return {name for name, _, _ in change.replacements}


@pytest.mark.parametrize("change", EVERY_DAY + SOMETIMES, ids=lambda change: change.name[:40])
def test_a_mutant_changes_one_place(change):
    """Mutants that are tried only by PILLION_TEST_ALL=1 as well."""
    for file, text, other in change.replacements:
        assert (ROOT / "src/policy" / file).read_text().count(text) == 1 and text != other


@pytest.mark.parametrize(
    "change",
    EVERY_DAY + (SOMETIMES if "PILLION_TEST_ALL" in os.environ else []),
    ids=lambda change: re.sub(r"\W+", "-", change.name),
)
def test_the_walk_finds(change, plain, tmp_path):
    changed = mutated_copy(change, tmp_path)
    includes = [tmp_path, ROOT / "src", ROOT / "include"]
    objects = []
    for source, made in plain.items():
        used = {Path(word).name for word in made.with_suffix(".d").read_text().split()}
        if source == MAIN or not changed & used:
            objects.append(made)
            continue
        copied = (
            tmp_path / source.name if source.parent == HERE else tmp_path / "policy" / source.name
        )
        objects.append(compile_into(tmp_path, copied, includes))
    done = walk(tmp_path, objects)
    assert done.returncode != 0, "the walk found nothing"
    assert "FATAL ERROR: seed" in done.stdout, done.stdout
