#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What computing costs in the study of analyses in transit. `kernels.py keep < LINES` makes
kernels.json of what bench_kernels printed; `kernels.py of CELLS` prints `name=value` for a mesh of
so many cells a side, as intransit wants them.
"""

import argparse
import json
import os
import platform
import statistics
import sys
from pathlib import Path

FILE = Path(__file__).resolve().parent / "kernels.json"

HOW = {
    "step_particles": "miniapps/cosmology: a step without its transforms (s a cell)",
    "crossing": "particles that go through a cell's face in the last step",
    "transform_512": "lines of a transform along all three axes by FFTW, as pencils (s a cell)",
    "transform_1024": "the same for 1024^3 cells",
    "shells_512": "sorting modes into shells (s a cell of the field)",
    "shells_1024": "the same for 1024^3 cells",
    "tree": "a rank's own part of the merge tree (s a cell)",
    "asks": "cells of others in which paths end (bytes a cell of the block's surface)",
    "part": "what a group of ranks sends of its part (bytes a cell of the group's surface)",
    "merging": "merging two parts (s a byte of both)",
    "finishing": "adding what was decided to the rank's tree (s a byte merged)",
    "finishing_cell": "the same, whatever was decided (s a cell)",
    "query": "halos of a rank's own cells (s a cell)",
    "shares": "ranks' shares of halos (for each cell)",
    "halos": "halos (for each cell)",
    "combining": "shares to halos, on one rank (s a share)",
    "table_row": "a row of the catalogue as text (s)",
}


def kernels_of(lines: list[dict]) -> dict[str, float]:
    said = {line["name"]: line["value"] for line in lines if "name" in line}
    rounds = [line for line in lines if "message_bytes" in line]
    same = ("step_particles", "crossing", "table_row")
    out = {name: said[name] for name in same}
    for name in ("transform", "shells"):
        for cells in (512, 1024):
            shares = [said[f"{name}_{cells}_{ranks}"] for ranks in (2048, 256)]
            out[f"{name}_{cells}"] = statistics.mean(shares)
    # Blocks of 64^3 cells are the nearest to those of the study; sizes are from more blocks.
    out |= {name: said[f"{name}_8"] for name in ("tree", "query")}
    out |= {
        name: said[f"{name}_64"] for name in ("merging", "asks", "shares", "halos", "combining")
    }
    bytes_sent = sum(line["message_bytes"] for line in rounds)
    out["part"] = bytes_sent / sum(line["surface_cells"] for line in rounds)
    # Of two equations: seconds a cell = finishing_cell + finishing * bytes merged a cell.
    rise = said["finishing_64"] - said["finishing_8"]
    out["finishing"] = rise / (said["merged_64"] - said["merged_8"])
    out["finishing_cell"] = said["finishing_8"] - out["finishing"] * said["merged_8"]
    return out


def processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return platform.machine()


def keep(_) -> None:
    lines = [json.loads(line) for line in sys.stdin if line.startswith("{")]
    kernels = kernels_of(lines)
    entries = {name: {"value": kernels[name], "what": HOW[name]} for name in HOW}
    whole = {
        "measured": {
            "program": "mpirun -n 2 bench_kernels 128 100 (bench/kernels.cpp)",
            "processor": f"{processor()}, {os.cpu_count()} cores",
        },
        "kernels": entries,
    }
    FILE.write_text(json.dumps(whole, indent=2) + "\n", encoding="utf-8")


def of(given) -> None:
    entries = json.loads(FILE.read_text(encoding="utf-8"))["kernels"]
    values = {name: entry["value"] for name, entry in entries.items()}
    near = 1024 if given.cells > 724 else 512
    for name in ("transform", "shells"):
        values[name] = values[f"{name}_{near}"]
    print(" ".join(f"{name}={value:.6g}" for name, value in values.items()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(required=True)
    commands.add_parser("keep").set_defaults(deed=keep)
    one = commands.add_parser("of")
    one.add_argument("cells", type=int)
    one.set_defaults(deed=of)
    given = parser.parse_args()
    given.deed(given)


if __name__ == "__main__":
    main()
