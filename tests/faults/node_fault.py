# SPDX-License-Identifier: BSD-3-Clause
"""The kinds of faults: each does its deed to a running case. By itself this runs one of them:

    node_fault.py BUILD KIND SEED

prints what it drew and what happened, and ends with status 0 if every promise was kept, 1 if not,
and 77 if this machine does not allow it.
"""

import os
import resource
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "python"))
sys.path.insert(0, str(Path(__file__).parents[1]))
import cores
import limits
import node_checks as checks
from node_case import Case, PromiseError

KILL, STOP, CONT = signal.SIGKILL, signal.SIGSTOP, signal.SIGCONT


class NotHereError(Exception):
    """The machine lacks what the case needs."""


# Deeds --------------------------------------------------------------------------------------------


def begin(case: Case, sidecar_job: str = "sidecar job", **options) -> bool:
    """Starts the run and its sidecars; False if it was over before they had joined."""
    case.start()
    case.attach(sidecar_job, **options)
    return case.await_joined(sidecar_job)


def succeed(case: Case):
    """Somebody may come after sidecars that died: sent by the run itself, by hand, or nobody."""
    if case.choices.restart == 0 and case.dice.random() < 0.7:
        case.pause(0.2)
        case.attach("second", wait=2)


def killed(case: Case):
    if begin(case):
        case.pause(0.7)
        case.signal(case.some(case.processes(sidecar_job="sidecar job")), KILL)
        succeed(case)


def killed_for_good(case: Case):
    """Nobody comes after the sidecars, so the simulation alone can tell what is lost."""
    case.choices.restart = 0
    if begin(case):
        case.pause(0.7)
        case.signal(case.some(case.processes(sidecar_job="sidecar job")), KILL)


def replaced(case: Case):
    """The run sends for sidecars by itself, as often as it may."""
    c = case.choices
    c.restart, c.steps, c.milliseconds, c.memory = 2, 600, 8, "8 MiB"
    if not begin(case):
        return
    for sidecar_job in ("sidecar job", ""):
        case.pause(0.5)
        case.signal(case.some(case.attached(sidecar_job)), KILL)
        if not case.await_joined("again", case.replacements + 1):
            return
        case.replacements += 1


def stopped(case: Case):
    case.choices.checkpoint = 0.9  # most often while they are
    if not begin(case):
        return
    case.pause(0.5)
    pids = case.signal(case.some(case.attached("sidecar job")), STOP)
    ending = case.dice.choice(["soon", "late", "never", "replaced"])
    if ending == "replaced":
        case.attach("second")
        case.pause(0.5)
        case.signal(pids, KILL)
    if ending == "soon":
        case.pause(0.5)
        case.signal(pids, CONT)
    case.await_end()
    case.signal(pids, KILL if ending == "never" else CONT)


def allow_memory(case: Case, pids: list[int]):
    for pid in pids:
        try:
            pages = int(Path(f"/proc/{pid}/statm").read_text().split()[0])
            most = pages * os.sysconf("SC_PAGESIZE") + case.dice.randint(0, 1 << 20)
            resource.prlimit(pid, resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))
        except OSError:
            pass


def out_of_memory(case: Case):
    c = case.choices
    way = case.dice.choice(["stage", "process", "from the start"])
    if way == "stage":
        c.mishap = {"point": case.dice.choice(["run", "save", "finish"]), "step": 50}
        c.mishap["how"] = case.dice.choice(["eat", "starve"])
        c.mishap["peer"] = case.dice.randrange(c.sidecar_job)
        begin(case)
    elif way == "process":
        if begin(case):
            case.pause(0.3)
            allow_memory(case, case.some(case.attached("sidecar job")))
    else:
        case.start()
        most = case.dice.randint(20, 400) << 20
        limit = (resource.RLIMIT_AS, (most, most))
        case.attach("sidecar job", preexec_fn=lambda: resource.setrlimit(*limit))
    case.harmed.add("sidecar job")
    succeed(case)


def killed_attaching(case: Case):
    c = case.choices
    point = case.dice.choice(["any", "any", "create", "restore"])
    if point != "any":
        c.mishap = {"point": point, "peer": case.dice.randrange(c.sidecar_job), "how": "kill"}
    if point == "restore":
        c.steps, c.milliseconds, c.restart = 500, 5, 0
    case.start()
    if point == "restore":
        case.attach("before")
        if case.await_joined("before"):
            time.sleep(1.3)
            case.signal(case.attached("before"), KILL)
            case.attach("sidecar job")
            case.await_that("the accident", lambda: case.happened())
    else:
        for attempt in range(case.dice.randint(1, 3)):
            case.attach(f"sidecar job{attempt}")
            case.harmed.add(f"sidecar job{attempt}")
            case.pause(0.6 if c.sidecar_job == 1 else 1.0)
            case.signal(case.some(case.processes(sidecar_job=f"sidecar job{attempt}")), KILL)
    succeed(case)


def suffer(case: Case, at: str, hows: list[str]):
    """The stage itself strikes."""
    c = case.choices
    how = case.dice.choice(hows)
    c.mishap = {"point": at, "how": how, "peer": case.dice.randrange(c.sidecar_job)}
    c.mishap["step"] = case.dice.randint(1, c.steps // 3)
    if at == "product":
        c.mishap |= {"peer": 0, "partial": "out/seen/.big.csv.partial"}
    if not begin(case) or not case.await_that("the accident", case.happened):
        return
    if how == "stop":
        case.pause(0.5)
        case.signal(case.attached("sidecar job"), KILL)
    succeed(case)


def killed_reading(case: Case):
    suffer(case, "run", ["kill", "abort", "stop"])


def killed_writing(case: Case):
    suffer(case, "product", ["kill", "kill", "stop"])


def killed_saving(case: Case):
    case.choices.steps, case.choices.milliseconds = 500, 5
    suffer(case, "save", ["kill", "stop"])


def killed_ending(case: Case):
    suffer(case, "finish", ["kill", "abort"])


def mount(folder: Path, size: str):
    if not case_is_private():
        raise NotHereError("no small disk can be mounted here")
    folder.mkdir(parents=True, exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(folder)]
    limits.run(command, check=True, timeout=10)


def disk_full(case: Case):
    case.choices.mishap = {"partial": "out/seen/.big.csv.partial"}
    mount(case.folder / "out", f"{case.dice.randint(100, 800)}k")
    begin(case)


def spill_full(case: Case):
    c = case.choices
    c.policy, c.memory, c.spill = "spill", "96 KiB", str(case.folder / "small")
    c.mishap = {"milliseconds": 3 * c.milliseconds}
    mount(case.folder / "small", f"{case.dice.randint(50, 1000)}k")
    if begin(case) and case.dice.random() < 0.4:
        case.pause(0.5)
        case.signal(case.some(case.attached("sidecar job")), KILL)
        succeed(case)


def simulation_killed(case: Case):
    c = case.choices
    c.mishap = {"milliseconds": case.dice.choice([0, 2 * c.milliseconds])}
    if begin(case):
        case.pause(0.5)
        case.signal([case.dice.choice(case.processes("node_driver"))], KILL)


ATTACHED_JOB = """
analyses:
  more: {{products_every: 1, stages: [{{statistics: {{fields: [velocity, density]}}}}]}}
  watched: {{every: {every}, products_every: 1, stages: [{{mishap: {{{mishap}}}}}]}}
"""


def attached_job(case: Case):
    c = case.choices
    c.memory, c.sidecar_job, how = (
        "8 MiB",
        1,
        case.dice.choice(["any", "any", "run", "finish", "stop"]),
    )
    mishap = f"point: {how}, step: {c.steps // 2}" if how in ("run", "finish") else ""
    (case.folder / "more.yaml").write_text(
        ATTACHED_JOB.format(every=case.dice.randint(1, 3), mishap=mishap)
    )
    if not begin(case):
        return
    case.pause(0.3)
    case.attach("attached_job", "more.yaml")
    if how in ("run", "finish"):
        case.harmed.add("attached_job")
    if how == "any":
        case.pause(1.0)
        case.signal(case.attached("attached_job"), KILL)
        if case.dice.random() < 0.5:
            case.attach("attached2", "more.yaml", "--name", "again")
    if how == "stop" and case.await_joined("attached_job"):
        pids = case.signal(case.attached("attached_job"), STOP)
        case.await_end()
        case.signal(pids, case.dice.choice([KILL, CONT]))


def attached_job_leaves_waiting(case: Case):
    """An attached job leaves while its analysis waits for room, as slow sidecars hold all of it."""
    c = case.choices
    c.ranks = c.nodes = c.sidecar_job = 1
    c.policy, c.memory, c.steps, c.milliseconds = "skip", "32 KiB", 450, 8
    c.mishap = {"milliseconds": 300}
    (case.folder / "more.yaml").write_text(ATTACHED_JOB.format(every=1, mishap=""))
    if not begin(case):
        return
    time.sleep(0.4)
    case.attach("attached_job", "more.yaml")
    if case.await_joined("attached_job"):
        time.sleep(0.05)
        case.signal(case.attached("attached_job"), case.dice.choice([KILL, signal.SIGINT]))


def last_moment(case: Case):
    c = case.choices
    case.start()
    if case.dice.random() < 0.5:
        case.attach("first")
        case.await_joined("first")
        (case.folder / "more.yaml").write_text(ATTACHED_JOB.format(every=1, mishap=""))
        more = ["more.yaml"]
    else:
        more = []
    end = case.began + 0.4 + c.steps * c.milliseconds * 1.15 / 1000
    time.sleep(max(0, end - time.monotonic() - 0.6 + 0.8 * case.dice.random()))
    case.attach("sidecar job", *more, wait=2)


def rush(case: Case):
    """Several sidecar jobs at once; some while the one before is dying."""
    case.start()
    case.attach("a")
    case.attach("b")
    case.pause(1.0)
    case.signal(case.some(case.processes(sidecar_job=case.dice.choice("ab"))), KILL)
    case.attach("c", wait=2)
    case.attach("d", wait=2)


KINDS = {
    kind.__name__: kind
    for kind in (
        killed, killed_for_good, replaced, stopped, out_of_memory, killed_attaching, killed_reading,
        killed_writing, killed_saving, killed_ending, disk_full, spill_full, simulation_killed,
        attached_job, attached_job_leaves_waiting, last_moment, rush,
    )
}  # fmt: skip


# Judging ------------------------------------------------------------------------------------------


def judge(case: Case, kind: str):
    case.await_end()
    case.await_sidecar_jobs()
    case.happened()
    case.undisturbed()
    checks.check_nothing_left(case)
    if kind != "simulation_killed":
        checks.check_simulation(case)
    series = checks.check_products(case)
    checks.check_endings(case, kind)
    checks.check_no_keepsake(case)
    checks.check_report(case, kind, series)


def tell(case: Case):
    """All that was said, for whoever looks for the cause."""
    for path in sorted(case.folder.glob("*.log")) + sorted(case.folder.glob("out/report*.json")):
        print(f"--- {path.name}\n{path.read_text(errors='replace')[-6000:]}")
    print(f"--- pillion.yaml\n{(case.folder / 'pillion.yaml').read_text()}")


NOT_HERE = 77
ALL_TOLD = 150  # seconds for a case


def end_after(seconds: float):
    """Raises an error in this program when the limit is over."""
    end = limits.Limit(seconds)

    def look(*_):
        if end.over():
            raise PromiseError(f"the case has not ended within {end}")
        signal.alarm(5)

    signal.signal(signal.SIGALRM, look)
    signal.alarm(5)


def run(build: Path, kind: str, seed: int, folder: Path) -> int:
    case = Case(build, folder, kind, seed)
    case.private = case_is_private()
    try:
        end_after(ALL_TOLD)
        KINDS[kind](case)
        print(f"{kind} {seed}: {case.choices}", flush=True)
        judge(case, kind)
    except NotHereError as reason:
        print(reason)
        return NOT_HERE
    except Exception:
        traceback.print_exc(file=sys.stdout)
        tell(case)
        left = cores.found([folder])
        print(*cores.keep(left, f"{kind}-{seed}", cores.reports_of(build)), sep="\n")
        print(f"again: {sys.executable} {Path(__file__)} {build} {kind} {seed}")
        return 1
    finally:
        signal.alarm(0)
        case.kill_all()
    delays = [path.read_text().split(maxsplit=2) for path in folder.glob("delay-*")]
    total, longest, call = max(delays, key=lambda d: float(d[0]), default=("0", "0", "none"))
    print(f"{case.lasted:.2f} s, of these {total} s in Pillion, at most {longest} s in {call}")
    return 0


# A place of its own -------------------------------------------------------------------------------

INSIDE = "PILLION_FAULT_INSIDE"


def case_is_private() -> bool:
    return os.environ.get(INSIDE) == "1"


def unsharing() -> list[str]:
    """The command that gives a program name spaces of its own; empty if that is not allowed."""
    command = ["unshare", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child"]
    for words in (command, [*command, "--map-root-user"]):
        try:
            done = limits.run(
                [*words, "mount", "-t", "tmpfs", "none", "/dev/shm"],
                check=False,
                capture_output=True,
                timeout=10,
            )
        except OSError:
            return []
        if done.returncode == 0:
            return words
    return []


def main() -> int:
    build, kind, seed = Path(sys.argv[1]).resolve(), sys.argv[2], int(sys.argv[3])
    if not case_is_private() and (outside := unsharing()):
        environment = {**os.environ, INSIDE: "1"}
        return limits.run(
            [*outside, sys.executable, *sys.argv], check=False, env=environment
        ).returncode
    with tempfile.TemporaryDirectory(prefix="pillion-", dir="/tmp") as name:
        if case_is_private():
            for place in ("/dev/shm", name):
                mount(Path(place), "1g")
        status = run(build, kind, seed, Path(name))
        if case_is_private():
            limits.run(["umount", "-l", name], check=False)
    return status


if __name__ == "__main__":
    sys.exit(main())
