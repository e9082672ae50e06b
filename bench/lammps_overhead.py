#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What does Pillion cost the simulation? Runs the sodium chloride example on the same simulation
ranks with Pillion (sidecar ranks added) and without, alternately, and compares LAMMPS's own loop
times of the part with analyses. Prints each run as a JSON line, and last the median of the ratios
of neighbouring runs; 1.03 means that the simulation takes 3 % longer.
"""

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import tempfile
from pathlib import Path

EXAMPLE = Path(__file__).resolve().parents[1] / "examples/nacl"
FIX = "fix             ride all pillion\n"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default=os.environ.get("PILLION_BUILD", "build"))
    parser.add_argument("--ranks", type=int, default=1, help="simulation ranks")
    parser.add_argument("--sidecars", type=int, default=1)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--warmup", type=int, default=100, help="steps without analyses")
    parser.add_argument("--steps", type=int, default=1000, help="steps that are timed")
    return parser.parse_args()


def launcher():
    program = os.environ.get("MPIEXEC") or shutil.which("mpirun") or "mpiexec"
    said = subprocess.run([program, "--version"], capture_output=True, text=True).stdout
    if "Open MPI" in said or "OpenRTE" in said:
        return [program, "--oversubscribe", "--allow-run-as-root", "--bind-to", "none"]
    return [program]


def configuration(sidecars: int) -> str:
    """The example's; with its stages in sidecars, if there are any."""
    text = (EXAMPLE / "pillion.yaml").read_text()
    assert text.count("{job: separate,") == 1 and text.count("          at: simulation\n") == 4
    if sidecars == 0:
        return text
    text = text.replace("{job: separate,", f"{{per_node: {sidecars},")
    return text.replace("          at: simulation\n", "")


def loop_seconds(options, folder: Path, with_pillion: bool) -> float:
    """Seconds that LAMMPS says its last run command took."""
    text = (EXAMPLE / "in.nacl").read_text()
    assert text.count(FIX) == 1
    (folder / "in.nacl").write_text(text if with_pillion else text.replace(FIX, ""))
    shutil.copy(EXAMPLE / "spce.mol", folder)
    ranks = options.ranks + (options.sidecars if with_pillion else 0)
    program = Path(options.build).resolve() / "bin" / "pillion-lmp"
    command = [*launcher(), "-n", str(ranks), program, "-in", "in.nacl", "-screen", "none"]
    command += ["-var", "warmup", str(options.warmup), "-var", "steps", str(options.steps)]
    if with_pillion:
        (folder / "pillion.yaml").write_text(configuration(options.sidecars))
        command += ["-pillion", "pillion.yaml"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=1800)
    times = re.findall(r"Loop time of ([0-9.eE+-]+) on", (folder / "log.lammps").read_text())
    return float(times[-1])


def timed(options, with_pillion: bool) -> float:
    with tempfile.TemporaryDirectory() as folder:
        seconds = loop_seconds(options, Path(folder), with_pillion)
        line = {"bench": "lammps_overhead", "pillion": with_pillion, "seconds": seconds}
        if with_pillion:
            report = json.loads((Path(folder) / "results/report.json").read_text())
            line["publications"] = report["run"]["publications"]
            line["skipped"] = report["run"]["skipped"]
    print(json.dumps(line), flush=True)
    return seconds


def main():
    options = arguments()
    without, with_pillion = [], []
    for repetition in range(options.repetitions):
        # Which goes first alternates, so that a drift of the machine's speed cancels.
        for which in (False, True) if repetition % 2 == 0 else (True, False):
            (with_pillion if which else without).append(timed(options, which))
    ratios = [a / b for a, b in zip(with_pillion, without)]
    print(
        f"bench lammps_overhead: ratio={statistics.median(ratios):.4f} "
        f"with={statistics.median(with_pillion):.3f}s without={statistics.median(without):.3f}s "
        f"ranks={options.ranks} sidecars={options.sidecars} steps={options.steps} "
        f"repetitions={options.repetitions}"
    )


if __name__ == "__main__":
    main()
