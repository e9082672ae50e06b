# SPDX-License-Identifier: BSD-3-Clause
"""What must hold after a faulty run, whatever happened in it: see ARCHITECTURE.md, section 6."""

import json
import os
import re
from pathlib import Path

import limits
import numpy as np
from node_case import EVERY, Case, PromiseError, due
from pillion.tables import read_table


def require(holds, what: str):
    if not holds:
        raise PromiseError(what)


def check_simulation(case: Case):
    """It ended well, in time, with the bits that it would have had alone."""
    status = case.simulation.returncode
    require(status == 0, f"the simulation ended with status {status}")
    same = (case.folder / "state").read_bytes() == (case.folder / "expected").read_bytes()
    require(same, "the simulation's result is not that of a run without Pillion")
    delays = [path.read_text().split(maxsplit=2) for path in case.folder.glob("delay-*")]
    ranks = case.choices.ranks
    require(len(delays) == ranks, f"{len(delays)} of {ranks} ranks have told their delays")
    for total, longest, call in delays:
        check_delay(case, float(total), float(longest), call)


def check_delay(case: Case, total: float, longest: float, call: str):
    """No call waits longer than the deadline, and most calls do not wait at all.

    Both times are without those for which the process had no core: see the watchdog in node_driver.
    """
    c = case.choices
    bound = limits.longest(c.deadline)
    require(longest <= bound, f"Pillion took {longest:.2f} s of {call}, more than {bound:.2f}")
    # Only a publication with the policy `wait` may wait for sidecars that are slow and not dead.
    # Otherwise one wait at the end and one at a checkpoint are all, and what every step costs.
    bound += limits.limit(c.steps * 0.002)
    if c.checkpoint:
        bound += limits.longest(c.deadline)
    # With that policy they may take as much longer as the report says that they waited.
    if c.policy == "wait":
        bound += reported_stall(case)
    require(total <= bound, f"Pillion's calls took {total:.2f} s, more than {bound:.2f}")


def reported_stall(case: Case) -> float:
    """Seconds that the simulation waited for room, as its report says; without one, for ever."""
    if not (case.folder / "out" / "report.json").exists():
        return np.inf
    return sum(a["seconds"]["stall"]["max"] for a in report(case)["analyses"])


def nameless_bytes(folder: Path) -> int:
    """What is used of the file system at a folder, and belongs to no file that has a name."""
    room = os.statvfs(folder)
    named = sum(path.lstat().st_blocks * 512 for path in folder.rglob("*"))
    return (room.f_blocks - room.f_bfree) * room.f_frsize - named


def check_nothing_left(case: Case):
    if case.private:
        shared = Path("/dev/shm")
        left = [path.name for path in shared.iterdir()]
        # The launcher's own files may survive a killed job.
        ours = [name for name in left if "vader" not in name and "sm_segment" not in name]
        require(not ours, f"left in /dev/shm: {ours}")
        nameless = nameless_bytes(shared)
        require(nameless == 0, f"{nameless} bytes without a name are left in /dev/shm")
    for descriptor in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            target = os.readlink(descriptor)
        except OSError:
            continue
        if case.private and target.startswith("/dev/shm/#"):
            raise PromiseError(f"{descriptor} still holds {target}")


def tables(case: Case) -> dict[str, list]:
    """All tables by analysis; each is read whole."""
    found: dict[str, list] = {name: [] for name in EVERY}
    for path in sorted((case.folder / "out").rglob("*.csv")):
        if any(part.startswith(".") for part in path.relative_to(case.folder).parts):
            continue
        table = read_table(path)
        require(
            len({len(column.values) for column in table.columns.values()}) == 1,
            f"{path} has columns of several lengths",
        )
        found.setdefault(table.analysis, []).append(table)
    return found


def check_series(case: Case, name: str, table) -> np.ndarray:
    """The steps of a table over the run: some of those due, each once and in order."""
    steps = table["step"]
    require(np.all(np.diff(steps) > 0), f"{table.path}: a step twice, or out of order: {steps}")
    require(np.all(steps % EVERY.get(name, 1) == 0), f"{table.path}: a step that was not due")
    # A stage that failed while it wrote a product has a row of the publication that it did not end.
    failed = bool(table.disabled) + (table.lost if has_failures(case, name) else 0)
    require(
        0 <= len(steps) - table.publications <= failed,
        f"{table.path}: {len(steps)} rows, but {table.publications} publications at its head",
    )
    if name in EVERY:
        check_head(case, name, table)
    return steps


def check_head(case: Case, name: str, table):
    """Everything that was due until the step of a table's head is accounted for in it, but for the
    publication at which its analysis failed. If its sidecars were gone at the end of the run, the
    simulation has added to the head what was lost after that step."""
    counted = {key: getattr(table, key) for key in ("publications", "skipped", "lost")}
    total = due(name, table.step + 1)
    whole = [due(name, case.choices.steps)] if table.lost > 0 else []
    require(
        sum(counted.values()) in (total, total - bool(table.disabled), *whole),
        f"{table.path}: due {total} times until step {table.step}, but its head has {counted}",
    )


def extremes(case: Case) -> np.ndarray:
    values = np.fromfile(case.folder / "expected", dtype=np.float64)
    return values[: 2 * case.choices.steps].reshape(-1, 2)


def check_products(case: Case) -> dict[str, np.ndarray]:
    """Every table is whole and right. Returns the steps in each table over the run."""
    seen = {}
    truth = extremes(case)
    for name, found in tables(case).items():
        for table in found:
            if "step" in table.columns and table.name != "big":
                seen[f"{name}/{table.name}"] = steps = check_series(case, name, table)
            if table.name == "big":
                require(len(set(table["step"])) == 1, f"{table.path} is a mixture")
            if table.name == "statistics_density" and case.choices.policy != "coarsen":
                require(
                    np.array_equal(table["min"], truth[steps, 0])
                    and np.array_equal(table["max"], truth[steps, 1]),
                    f"{table.path}: values of other steps",
                )
            if table.name.startswith("histogram") and case.choices.policy != "coarsen":
                require(table["count"].sum() == 16 * case.choices.columns, f"{table.path}: count")
    check_no_half_written(case)
    return seen


def check_no_half_written(case: Case):
    """Files are written aside. Only who was killed leaves one behind, and no more than one for each
    process."""
    partial = list((case.folder / "out").rglob("*.partial*"))
    seen = [path for path in partial if not path.name.startswith(".")]
    require(not seen, f"half-written files look whole: {seen}")
    killed = case.harmed or not case.simulation or case.simulation.returncode != 0
    most = case.choices.ranks + 4 * case.choices.sidecar_job if killed else 0
    require(len(partial) <= most, f"half-written files are left, of {most} processes: {partial}")


def report(case: Case, suffix: str = "") -> dict:
    path = case.folder / "out" / f"report{suffix}.json"
    require(path.exists(), f"there is no {path.name}")
    return json.loads(path.read_text())


def check_counts(case: Case, counted: dict, series: dict[str, np.ndarray]):
    """Everything that was due is accounted for, once."""
    # Sidecars that lived when the simulation ended complete the report, unless they were killed.
    log = (case.folder / "simulation.log").read_text(errors="replace")
    final = counted["sidecars"]["ranks"] > 0 or "they continue and" not in log or not case.harmed
    for analysis in counted["analyses"]:
        name = analysis["name"]
        parts = {k: analysis[k] for k in ("publications", "skipped", "dropped", "lost")}
        total = due(name, case.choices.steps)
        if analysis["disabled"] is not None:
            rows = rows_of(case, name, series)
            check_disabled(name, parts, total, rows, is_all_written(case, name))
            continue
        require(
            sum(parts.values()) == total,
            f"'{name}' was due {total} times, but is accounted for {sum(parts.values())}: {parts}",
        )
        rows = rows_of(case, name, series)
        # A table that was written by sidecars that died is there, though its step counts as lost.
        most = parts["publications"]
        if name == "spread" or has_failures(case, name):
            most += parts["lost"]
        # So is a row of a stage that was stopped between its two tables.
        most += case.choices.mishap.get("point") == "product" and name == "seen"
        require(
            parts["publications"] <= rows <= most or not final,
            f"the products of '{name}' hold {rows} publications, but {parts} are counted",
        )


def is_all_written(case: Case, name: str) -> bool:
    """Unless a job told that there was no room or no memory for what it had computed."""
    unwritten = f"not all that analysis '{name}' had computed could be written"
    return not is_in_logs(case, f"{unwritten}|'{name}' is disabled [^\\n]*: cannot write")


def has_failures(case: Case, name: str) -> bool:
    """Whether publications are lost because stages failed. These may have rows of other stages, or
    of a table that could be written later."""
    return is_in_logs(case, f"analysis '{name}' loses the publication of step ")


def is_in_logs(case: Case, pattern: str) -> bool:
    told = re.compile(pattern)
    return any(told.search(p.read_text(errors="replace")) for p in case.folder.glob("*.log"))


def check_disabled(name: str, parts: dict[str, int], total: int, rows: int, all_written: bool):
    """What was due after its failure is in no count. The publication at which it failed may have a
    row, of a stage before the one that failed, and so may one that is lost."""
    require(
        0 <= sum(parts.values()) <= total,
        f"'{name}', disabled, was due {total} times, but {parts} are counted",
    )
    most = parts["publications"] + 1 + parts["lost"]
    require(
        (parts["publications"] if all_written else 0) <= rows <= most,
        f"the products of '{name}', disabled, hold {rows} publications, but {parts} are counted",
    )


def rows_of(case: Case, name: str, series: dict[str, np.ndarray]) -> int:
    """Publications in the products of an analysis."""
    if name == "spread":
        return len(list((case.folder / "out" / "spread").glob("histogram*.csv")))
    table = {"sums": "sums/statistics_density", "motion": "motion/statistics_velocity"}
    return len(series.get(table.get(name, f"{name}/{name}"), []))


def check_no_keepsake(case: Case):
    # Sidecars that outlive the simulation remove it themselves, unless they die then.
    if case.harmed and "they continue and" in (case.folder / "simulation.log").read_text():
        return
    left = list((case.folder / "out").glob(".sidecars-*"))
    require(not left, f"left in the output folder: {left}")


# What a sidecar job may say when it could not do its work, through no fault of its own.
REFUSALS = (
    "has its sidecars already",
    "no run called",
    "has ended",
)


def check_endings(case: Case, kind: str):
    """Sidecars that were left in peace ended well, or said why they could not join."""
    for name, sidecar_job in case.sidecar_jobs.items():
        log = (case.folder / f"{name}.log").read_text(errors="replace")
        refused = any(text in log for text in REFUSALS)
        if kind == "simulation_killed" and not refused:
            require(
                sidecar_job.returncode == 3,
                f"'{name}' ended with status {sidecar_job.returncode}, not 3",
            )
        elif kind == "disk_full" and "No space left" in log:
            pass  # it could not write its report, and said so
        elif name not in case.harmed and not refused:
            require(
                sidecar_job.returncode == 0, f"'{name}' ended with status {sidecar_job.returncode}"
            )


def check_report(case: Case, kind: str, series: dict[str, np.ndarray]):
    if kind == "simulation_killed":
        return check_published_is_finished(case, series)
    if kind == "disk_full" and not (case.folder / "out" / "report.json").exists():
        logs = "".join(path.read_text(errors="replace") for path in case.folder.glob("*.log"))
        told = re.search(
            r"cannot write .*/\.(sidecar-\d+|simulation-\d+|report)\.json.*No space left", logs
        )
        return require(told, "nobody says that there is no report")
    counted = report(case)
    check_counts(case, counted, series)
    if kind == "killed_ending" and counted["sidecars"]["ranks"] > 0:
        lost = {a["name"]: a["lost"] for a in counted["analyses"]}
        require(not any(lost.values()), f"lost when only the end was interrupted: {lost}")
    if kind == "replaced":
        came = counted["sidecars"]["restarts"]
        require(came >= case.replacements > 0, f"{case.replacements} came, {came} were sent for")
        last = series["seen/seen"][-1]
        require(last == case.choices.steps - 1, f"the replacement's last step is {last}")
    if kind == "attached_job":
        check_attached_jobs(case, series)
    if kind == "attached_job_leaves_waiting":
        last, steps = series["seen/seen"][-1], case.choices.steps
        require(last >= steps - 200, f"nothing is published after step {last} of {steps}")


def check_attached_jobs(case: Case, series: dict[str, np.ndarray]):
    """An attached job that stayed to the end has told what it did."""
    for name, suffix in (("attached_job", "-more"), ("attached2", "-again")):
        sidecar_job = case.sidecar_jobs.get(name)
        if sidecar_job is None or sidecar_job.returncode != 0 or name in case.harmed:
            continue
        counted = {a["name"]: a for a in report(case, suffix)["analyses"]}
        for table, analysis in (("more/statistics_velocity", "more"), ("watched/seen", "watched")):
            rows, told = len(series.get(table, [])), counted[analysis]["publications"]
            require(rows == told, f"'{table}' has {rows} rows, but '{name}' tells of {told}")


def check_published_is_finished(case: Case, series: dict[str, np.ndarray]):
    """What all ranks had published when one of them died is in the products."""
    if not any(sidecar_job.returncode == 3 for sidecar_job in case.sidecar_jobs.values()):
        return
    counted = {a["name"]: a for a in report(case)["analyses"]}
    steps = [np.fromfile(path, dtype=np.int64) for path in case.folder.glob("progress-*")]
    last = min((int(s[0]) if len(s) else -1 for s in steps), default=-1)
    seen = series.get("seen/seen", np.array([], dtype=int))
    require(counted["seen"]["publications"] == len(seen), "not all that was worked on is written")
    if case.choices.memory == "8 MiB":
        require(len(seen) > last, f"{last + 1} steps were published, but only {len(seen)} finished")
        require(np.array_equal(seen, np.arange(len(seen))), f"steps are missing: {seen}")
