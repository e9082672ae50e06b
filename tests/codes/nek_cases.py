# SPDX-License-Identifier: BSD-3-Clause
"""Cases of Nek5000, built with its makenek, and with pillion-makenek, and run for a few steps."""

import fcntl
import hashlib
import os
import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path

import limits
from cached_codes import built
from conftest import mpirun

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Case:
    """A case that comes with Nek5000."""

    folder: str  # in Nek5000
    name: str
    size: dict[str, str] = field(hash=False)  # parameters of SIZE that differ from the template
    par: dict[str, str] = field(default_factory=dict, hash=False)  # of the file NAME.par
    usr: dict[str, str] = field(default_factory=dict, hash=False)  # replaced in the file NAME.usr
    more: str = ""  # sections at the end of the file NAME.par
    steps: int = 20
    every: int = 10  # steps from one field file to the next

    @property
    def is_legacy(self) -> bool:
        """Whether the inputs are in a file .rea."""
        return self.name.startswith(("eddy", "axi"))


ETHIER = {"lx1": "8", "lxd": "12", "lelg": "32", "lhis": "1000"}
# A case that calls avg_all, and has a field of its own.
USERCHK = {
    "      real uxe  (lx1*ly1*lz1*lelv)\n": "      real own(lx1*ly1*lz1*lelv)\n"
    "      common /mine/ own\n      logical pillion_nek_due\n      real uxe  (lx1*ly1*lz1*lelv)\n",
    "time, uxerrl2, prerrl2,' L2 err'\n": "time, uxerrl2, prerrl2,' L2 err'\n"
    "      call avg_all\n#ifdef PILLION\n      call pillion_nek_field('speed_squared', own)\n"
    "      if (pillion_nek_due()) call vdot3(own,vx,vy,vz,vx,vy,vz,n)\n#endif\n",
}
CASES = {
    "ethier": Case(
        "short_tests/ethier", "ethier", ETHIER | {"lx2": "lx1-0"}, {"preconditioner": "semg_xxt"}
    ),
    "ethier_pnpn2": Case(
        "short_tests/ethier", "ethier", ETHIER | {"lx2": "lx1-2"}, {"preconditioner": "semg_xxt"}
    ),
    "ethier_usr": Case(
        "short_tests/ethier",
        "ethier",
        ETHIER | {"lx2": "lx1-0"},
        {"preconditioner": "semg_xxt"},
        USERCHK,
    ),
    "eddy_uv": Case("examples/eddy_uv", "eddy_uv", {"ldim": "2", "lx2": "lx1-2", "lelg": "500"}),
    "tgv": Case(
        "examples/tgv",
        "tgv",
        {"lelg": "600"},
        {"dt": "1e-3", "extrapolation": "standard", "targetCFL": "0.5"},
        steps=4,
        every=2,
    ),
    "conj_ht": Case(
        "short_tests/conj_ht",
        "conj_ht_char",
        {"ldim": "2", "lx1": "6", "lxd": "8", "lelg": "100", "ldimt": "2", "lx1m": "lx1"},
        {"dt": "5e-2", "targetCFL": "1.0", "extrapolation": "standard"},
        # Initial values, which are 0 otherwise.
        {"      uz   = 0.0\n      temp = 0.0\n": "      uz   = 0.0\n      temp = ifield*y\n"},
        more="\n[SCALAR01]\ndensity = 1.0\ndiffusivity = 0.1\nresidualTol = 1e-08\n",
    ),
    "eddy_mv": Case(
        "short_tests/eddy_mv",
        "eddy_mv",
        {"ldim": "2", "lx1": "10", "lxd": "14", "lx2": "lx1-2", "lelg": "256", "lx1m": "lx1"},
    ),
    "axi": Case(
        "short_tests/axi",
        "axi",
        {"ldim": "2", "lx1": "6", "lxd": "9", "lx2": "lx1-0", "lelg": "500", "lx1m": "lx1"},
    ),
}


def nek5000() -> Path:
    """The folder in which Nek5000 has been unpacked."""
    script = HERE / "build_nek5000.sh"
    return built("nek5000", script, Path(os.environ["PILLION_CODES"], "nek5000.tar.xz"))


def size_file(root: Path, case: Case) -> str:
    text = (root / "Nek5000/core/SIZE.template").read_text()
    for name, value in case.size.items():
        text, count = re.subn(rf"(parameter \({name} *= *)[^)]*\)", rf"\g<1>{value})", text)
        assert count == 1, name
    return text


def par_file(text: str, case: Case) -> str:
    """With the number of steps, and entries of whatever section that has them."""
    general = {"numSteps": case.steps, "writeInterval": case.every} | {
        "stopAt": "numSteps",
        "writeControl": "timeStep",
        "writeDoublePrecision": "yes",
    }
    for name, value in (general | case.par).items():
        text, count = re.subn(rf"(?im)^{name} *=.*$", f"{name} = {value}", text)
        if count == 0:
            text = re.sub(r"(?im)^\[GENERAL\].*$", rf"[GENERAL]\n{name} = {value}", text)
    return re.sub(r"(?im)^(endTime|minNumProcesses|polynomialOrder) *=.*\n", "", text) + case.more


def rea_file(text: str, case: Case) -> str:
    """The same for a file .rea, whose lines of parameters begin with the value."""
    lines = text.splitlines(keepends=True)
    for number, value in {10: 0, 11: case.steps, 15: case.every, 63: 8, 65: 1, 66: 6}.items():
        lines[3 + number] = f"  {value}   p{number:03}\n"
    return "".join(lines)


def build_case(build: Path, key: str, to: Path) -> Path:
    """A new folder of a case, with the programs nek5000, which has Pillion in it, and plain."""
    root, case = nek5000(), CASES[key]
    size = size_file(root, case)
    digest = hashlib.sha256((size + repr(case)).encode()).hexdigest()[:16]
    folder = root / f"{key}-{digest}"
    with open(root / f"{folder.name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "plain").exists():
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(root / "Nek5000" / case.folder, folder)
            (folder / "SIZE").write_text(size)
            prepare_inputs(root, folder, case)
            make(root / "Nek5000/bin/makenek", root, folder, case)
            (folder / "nek5000").rename(folder / "plain")
        (folder / "nek5000").unlink(missing_ok=True)
        make(build / "bin/pillion-makenek", root, folder, case)
        # Another build of Pillion may link the program anew while this one runs.
        return shutil.copytree(folder, to, ignore=shutil.ignore_patterns("obj", "*.log"))


def prepare_inputs(root: Path, folder: Path, case: Case) -> None:
    for ending, edit in ((".rea", rea_file), (".par", par_file)):
        path = folder / f"{case.name}{ending}"
        if path.exists():
            path.write_text(edit(path.read_text(), case))
    usr = (folder / f"{case.name}.usr").read_text()
    for old, new in case.usr.items():
        assert old in usr
        usr = usr.replace(old, new)
    (folder / f"{case.name}.usr").write_text(usr)
    if not (folder / f"{case.name}.ma2").exists():
        words = f"{case.name}\n0.2\n"
        genmap = root / "Nek5000/bin/genmap"
        limits.run([genmap], cwd=folder, input=words, text=True, check=True, timeout=60)


def make(makenek: Path, root: Path, folder: Path, case: Case) -> None:
    environment = os.environ | {
        "NEK_SOURCE_ROOT": str(root / "Nek5000"),
        "NEK_DEPS_LOCAL_SRC": "1",
        "FC": "mpifort",
        "CC": "mpicc",
        "FFLAGS": "-O1",
    }
    done = limits.run(
        [makenek, case.name],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert (folder / "nek5000").exists(), done.stdout + done.stderr


class Built:
    """Cases that have been built, each in a folder, in which the plain program has run."""

    def __init__(self, build: Path, folder: Path) -> None:
        self.build, self.folder, self.built = build, folder, {}

    def __call__(self, key: str) -> Path:
        if key not in self.built:
            self.built[key] = build_case(self.build, key, self.folder / key)
            run_case(self.built[key], self.folder / f"{key}-plain", key, None, 2, "plain")
        return self.built[key]

    def plain_files(self, key: str) -> dict[str, bytes]:
        return field_files(self.folder / f"{key}-plain")


def field_files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("*0.f?????")}


def run_case(
    folder: Path,
    to: Path,
    key: str,
    text: str | None,
    ranks: int,
    program: str = "nek5000",
    session: str | None = None,
    check: bool = True,
):
    """Runs a case in a folder of its own, with a pillion.yaml if there is a text."""
    case = CASES[key]
    if not to.exists():
        shutil.copytree(folder, to, ignore=shutil.ignore_patterns("plain"))
    (to / "SESSION.NAME").write_text(session or f"{case.name}\n{to}/\n")
    if text is not None:
        (to / "pillion.yaml").write_text(text)
    return mpirun(ranks, folder / program, cwd=to, timeout=120, check=check)
