# SPDX-License-Identifier: BSD-3-Clause
"""That tests find out when a safeguard is missing: takes each of mutants.toml out of a copy of the
tree, and runs the test that must fail then.

    run_mutants.py [PART_OF_A_SAFEGUARD...]

`make test-mutants` calls it; with words it tries the mutants whose safeguard contains one. The copy
is in build/mutants/source, and its build stays, so another run compiles what has changed since.
First every named test must pass there without a mutant. Prints a line per mutant.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import limits

ROOT = Path(__file__).resolve().parents[2]
COPY = ROOT / "build/mutants/source"
BUILD = COPY / "build/mutants"
PYTEST_TARGETS = (
    "bad_stage_steady", "bad_stage_trouble", "fault_driver", "heat", "pillion", "pillion-attach",
    "pillion-sidecar", "pillion_python_core", "pillion_python_idx", "pillion_stage_histogram",
    "pillion_stage_statistics", "steady_driver",
)  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    safeguard: str
    file: str
    old: str  # text that occurs once in the file
    new: str  # what takes its place
    test: str  # "unit.NAME" or "unit.NAME.nRANKS" as in ctest, or a test of pytest
    case: str = ""  # of a unit test
    limit: int = 60  # seconds; a test that takes longer has failed

    @property
    def is_unit(self) -> bool:
        return self.test.startswith("unit")

    @property
    def program(self) -> str:
        """The target of a unit test."""
        return "_".join(part for part in self.test.split(".") if not part[1:].isdigit())

    @property
    def targets(self) -> tuple[str, ...]:
        return (self.program,) if self.is_unit else PYTEST_TARGETS

    @property
    def command(self) -> list[str]:
        if not self.is_unit:
            return [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", self.test]
        folder = "tests/unit/stages" if self.program == "unit_stages" else "tests/unit"
        # doctest takes a comma for the end of a pattern.
        command = [
            str(BUILD / folder / self.program),
            "--no-colors",
            f"-tc={self.case.replace(',', '?')}",
        ]
        ranks = self.test.rpartition(".n")[2]
        return [*launcher(), "-n", ranks, *command] if ranks.isdigit() else command


def read_mutants() -> list[Mutant]:
    with open(Path(__file__).with_name("mutants.toml"), "rb") as file:
        return [Mutant(**entry) for entry in tomllib.load(file)["mutant"]]


def launcher() -> list[str]:
    import conftest

    return list(conftest.launcher())


def update_copy() -> None:
    """Files that have not changed keep their times, so they are not compiled again."""
    listed = limits.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    wanted = {name for name in listed.split("\0") if name and (ROOT / name).is_file()}
    for path in COPY.rglob("*") if COPY.is_dir() else ():
        if path.is_relative_to(COPY / "build") or not path.is_file():
            continue
        if str(path.relative_to(COPY)) not in wanted:
            path.unlink()
    for name in wanted:
        to = COPY / name
        if not to.is_file() or to.read_bytes() != (ROOT / name).read_bytes():
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, to)


def compile_copy(targets: set[str]) -> str:
    """What the compiler said, if it failed."""
    command = ["cmake", "--build", str(BUILD), "--target", *sorted(targets)]
    done = limits.run(command, capture_output=True, text=True, timeout=3600)
    return "" if done.returncode == 0 else done.stdout[-3000:] + done.stderr


def fails(mutant: Mutant) -> tuple[bool, str]:
    """Whether its test fails, and what the test said."""
    process = subprocess.Popen(
        mutant.command,
        cwd=COPY,
        env={**os.environ, "PILLION_BUILD": str(BUILD)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        said, _ = limits.communicate(process, timeout=mutant.limit)
    except subprocess.TimeoutExpired:
        said = f"no end after {mutant.limit} s"
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    limits.wait(process, timeout=60)
    return process.returncode != 0, said


def why_broken(mutants: list[Mutant]) -> dict[tuple[str, str], str]:
    """What tests say that fail without a mutant, or do not run."""
    broken = {}
    for mutant in {(m.test, m.case): m for m in mutants}.values():
        failed, said = fails(mutant)
        if failed or (mutant.is_unit and " 1 passed" not in said):
            broken[mutant.test, mutant.case] = said[-3000:]
    return broken


def try_one(mutant: Mutant) -> str:
    """ "found", or why not."""
    path = COPY / mutant.file
    before = path.read_text()
    if before.count(mutant.old) != 1:
        return f"NOT APPLIED: the text occurs {before.count(mutant.old)} times"
    path.write_text(before.replace(mutant.old, mutant.new))
    try:
        if said := compile_copy(set(mutant.targets)):
            return f"NOT COMPILED\n{said}"
        failed, _ = fails(mutant)
        return "found" if failed else "NOT FOUND"
    finally:
        path.write_text(before)


def main(words: list[str]) -> int:
    mutants = [m for m in read_mutants() if not words or any(w in m.safeguard for w in words)]
    update_copy()
    configure = ["cmake", "--preset", "mutants", f"-DPython_EXECUTABLE={sys.executable}"]
    done = limits.run(configure, cwd=COPY, capture_output=True, text=True, timeout=600)
    said = done.stderr if done.returncode != 0 else ""
    said = said or compile_copy({target for mutant in mutants for target in mutant.targets})
    if said:
        print(said)
        return 1
    broken = why_broken(mutants)
    results = []
    for mutant in mutants:
        begin = time.monotonic()
        if said := broken.get((mutant.test, mutant.case), ""):
            results.append(f"FAILS WITHOUT A MUTANT\n{said}")
        else:
            results.append(try_one(mutant))
        seconds = time.monotonic() - begin
        print(f"{results[-1]:9} {seconds:5.0f} s  {mutant.safeguard}", flush=True)
        print(f"{'':19}{mutant.test} {mutant.case}", flush=True)
    passed = results.count("found")
    print(f"{passed} passed, {len(results) - passed} failed")
    return int(passed != len(results))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
