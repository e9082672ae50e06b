# SPDX-License-Identifier: BSD-3-Clause
"""Limits of tests follow the machine, and a hang still ends (tests/limits.py). Cores of failed
tests are kept (tests/cores.py). Limits of another kind are rejected (tools/check_tests.py)."""

import shutil
import subprocess
import sys
import time
from pathlib import Path

import cores
import limits
import pytest

ROOT = Path(__file__).resolve().parents[2]
HANG = [sys.executable, "-c", "import time; time.sleep(600)"]


class Clock:
    """A machine on which time passes as the test says."""

    def __init__(self, monkeypatch, ratio: float):
        self.now, self.ratio, self.measured = 1000.0, ratio, 0
        monkeypatch.setattr(limits.time, "monotonic", lambda: self.now)
        monkeypatch.setattr(limits, "measure", self.measure)
        monkeypatch.setattr(limits, "_measured", [])
        monkeypatch.delenv("PILLION_LIMIT_FACTOR", raising=False)

    def measure(self) -> float:
        self.measured += 1
        return self.ratio

    def seconds_of(self, limit: float, change=lambda passed: None) -> float:
        end, begin = limits.Limit(limit), self.now
        while not end.over():
            self.now += 0.5
            change(self.now - begin)
        return self.now - begin


@pytest.mark.parametrize(("ratio", "seconds"), [(0.3, 10), (1, 10), (4, 40), (1e9, 200)])
def test_a_limit_counts_seconds_of_a_quiet_machine(monkeypatch, ratio, seconds):
    assert seconds <= 10 * limits.MOST
    assert Clock(monkeypatch, ratio).seconds_of(10) == pytest.approx(seconds, abs=0.5)


def test_load_that_comes_and_goes_is_counted(monkeypatch):
    """10 s; the machine is five times slower during the first 6."""
    clock = Clock(monkeypatch, 5)

    def change(passed):
        if passed > 30:
            clock.ratio = 1

    took = clock.seconds_of(10, change)
    # Load is remembered for a while.
    assert 30 + 4 <= took <= 30 + 4 + 2 * limits.REMEMBERED


def test_short_waits_need_no_measurement(monkeypatch):
    clock = Clock(monkeypatch, 1)
    end = limits.Limit(60)
    clock.now += limits.SHORT / 2
    assert not end.over() and clock.measured == 0
    clock.seconds_of(60)
    assert 0 < clock.measured <= 60 / limits.FRESH + 1


def test_the_least_factor_is_that_of_the_environment(monkeypatch):
    Clock(monkeypatch, 1)
    monkeypatch.setenv("PILLION_LIMIT_FACTOR", "4")
    assert limits.limit(10) == 40


@pytest.mark.parametrize("way", ["run", "wait", "communicate", "until", "command"])
def test_a_hang_ends(monkeypatch, way):
    monkeypatch.setattr(limits, "measure", lambda: 1)
    monkeypatch.setattr(limits, "_measured", [])
    begin = time.monotonic()
    if way == "run":
        with pytest.raises(subprocess.TimeoutExpired):
            limits.run(HANG, timeout=0.3)
    elif way == "until":
        with pytest.raises(AssertionError, match="nothing: not within"):
            limits.until(lambda: False, 0.3, "nothing")
    elif way == "command":
        done = limits.run(
            [sys.executable, limits.__file__, "0.3", *HANG], capture_output=True, text=True
        )
        assert done.returncode == 124 and "the limit of 0.3 s at this load" in done.stdout
    else:
        process = subprocess.Popen(HANG)
        ended = limits.wait if way == "wait" else limits.communicate
        with pytest.raises(subprocess.TimeoutExpired):
            ended(process, timeout=limits.limit(0.3))
        process.kill()
        limits.wait(process, 10)
    assert time.monotonic() - begin < limits.MOST * 60


def test_a_run_answers_as_subprocess_does():
    words = [sys.executable, "-c", "import sys; print(input()); sys.exit('why')"]
    done = limits.run(words, input="word\n", capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (1, "word\n", "why\n")
    with pytest.raises(subprocess.CalledProcessError):
        limits.run(words, input="word\n", capture_output=True, text=True, check=True)


CRASH = """
def test_it(tmp_path):
    import os, subprocess
    code = "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"
    assert subprocess.call([{python!r}, "-c", code], cwd=tmp_path) == {status}
"""


@pytest.mark.skipif(cores.pattern().startswith("|"), reason="the kernel hands cores to a program")
@pytest.mark.parametrize("status", [0, -11])
def test_cores_of_a_failed_test_are_kept(tmp_path, status):
    """And those of one that expects the crash are not."""
    for name in ("conftest.py", "cores.py", "drawn_cases.py", "limits.py"):
        shutil.copy(ROOT / "tests" / name, tmp_path)
    (tmp_path / "test_crash.py").write_text(CRASH.format(python=sys.executable, status=status))
    build = tmp_path / "build"
    build.mkdir()
    done = limits.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--basetemp=t", "."],
        cwd=tmp_path, env={**limits.os.environ, "PILLION_BUILD": str(build)},
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == int(status == 0), done.stdout + done.stderr
    kept = sorted(path.suffix for path in cores.reports_of(build).glob("*"))
    assert kept == ([".core", ".txt"] if status == 0 else [])
    assert not cores.found([tmp_path / "t"])
    if kept and shutil.which("gdb"):
        assert "SIGSEGV" in done.stdout and "#0" in done.stdout


FAULTS = {
    "subprocess.run(['x'], timeout=limits.limit(3))": "starts a process",
    "process.wait(limits.limit(3))": "waits for a process",
    "process.communicate()": "waits for a process",
    "connect(timeout=3)": "ignores the load",
    "connect(timeout=60 + 2 * n)": "ignores the load",
    "end = time.monotonic() + seconds": "from a clock",
    "signal.alarm(3)": "an alarm",
    "time.sleep(1)": "sleeps",
    "for p in f.glob('*'): assert p": "there may be none",
    "for p in sorted(f.rglob('*')): np.testing.assert_allclose(p, 0)": "there may be none",
    "assert all(p.exists() for p in f.iterdir())": "there may be none",
}
SOUND = (
    "limits.run(['x'], timeout=3)",
    "limits.wait(process, 3)",
    "mpirun(2, 'x', timeout=90)",
    "connect(timeout=limits.limit(3))",
    "took = time.monotonic() - begin",
    "for p in some(f.glob('*')): assert p",
    "for p in f.glob('*'): p.unlink()",
)


@pytest.mark.parametrize("line", [*FAULTS, *SOUND])
def test_limits_of_another_kind_are_rejected(tmp_path, line):
    file = tmp_path / "test_x.py"
    file.write_text(line + "\n")
    done = limits.run(
        [sys.executable, ROOT / "tools/check_tests.py", file], capture_output=True, text=True
    )
    assert done.returncode == int(line in FAULTS), done.stdout
    if line in FAULTS:
        assert f"{file}:1: " in done.stdout and FAULTS[line] in done.stdout
