# SPDX-License-Identifier: BSD-3-Clause
"""What OpenVisus writes is replayed: every sample becomes that of the right cell, whatever the
order in blocks, their compression, the box and the type."""

import json
import sys

import idx_writer
import limits
import numpy as np
import openvisus_writer
import pytest
from conftest import read_table
from replaying import read_seen, replay

WRITER = openvisus_writer.__file__
STEPS = (3, 4, 5)
# The shape [z, y, x], the bitmask, the lower corner, and how blocks are stored.
CASES = {
    "hz": ((22, 36, 22), "V0120120120120121", (0, 0, 0), "default_layout(hzorder)", 8),
    "rows": ((13, 40, 9), "V11012012012012", (0, 0, 0), "default_layout(row_major)", 7),
    "zip": (
        (20, 24, 40),
        "V0001112222102100",
        (0, 0, 0),
        "default_layout(hzorder) default_compression(zip)",
        9,
    ),
    "offset": (
        (7, 9, 11),
        "V012012012012012",
        (17, 5, 20),
        "default_layout(row_major) default_compression(lz4)",
        5,
    ),
    "plane": ((45, 60), "V010101010101", (0, 0), "default_compression(zip)", 6),
}
# As what they are declared; OpenVisus gets narrower ones of some.
FIELDS = {"a": ("float64", 1), "v": ("float64", 3), "n": ("int32", 1)}
STORED = {"a": "float32", "v": "float64", "n": "int16"}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("openvisus")
    cases = []
    for name, (shape, mask, low, options, bits) in CASES.items():
        fields = [(f, STORED[f], FIELDS[f][1]) for f in FIELDS]
        header = idx_writer.header(
            mask=mask,
            box=[(lo, lo + n) for lo, n in zip(low, shape[::-1], strict=True)],
            fields=[f"{f} {t}{f'[{c}]' if c > 1 else ''} {options}" for f, t, c in fields],
            bits_per_block=bits,
            per_file=16,
            files=f"./{name}/%02x/%02x.bin",
            more=f"(time)\n{STEPS[0]} {STEPS[-1]} t%02d/\n",
        )
        cases.append({"name": name, "shape": shape, "low": low, "header": header,
                      "fields": fields, "steps": STEPS})  # fmt: skip
    (folder / "cases.json").write_text(json.dumps(cases))
    command = [sys.executable, WRITER, folder, folder / "cases.json"]
    done = limits.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.mark.drawn
@pytest.mark.parametrize("ranks", [1, 5])
@pytest.mark.parametrize("case", CASES)
def test_every_sample(build, written, tmp_path, case, ranks):
    cells = CASES[case][0][::-1]
    fields = "".join(
        f"  {f}: {{mesh: grid, type: {t}, components: {c}}}\n" for f, (t, c) in FIELDS.items()
    )
    (tmp_path / "c.yaml").write_text(
        f"meshes: {{grid: {{kind: uniform, cells: [{', '.join(map(str, cells))}]}}}}\n"
        f"fields:\n{fields}analyses:\n  seen:\n    stages:\n"
        f"      - cells: {{fields: [a, v, n], folder: {tmp_path}/seen, layout: shared}}\n"
        f"      - statistics: {{fields: a}}\n"
    )
    env = {"PILLION_STAGE_PATH": build / "tests/conformance/stages"}
    done = replay(build, tmp_path, ranks, written / f"{case}.idx", "c.yaml", env=env)
    assert "does not say the times of its steps" in done.stderr
    for step in STEPS:
        seen = read_seen(tmp_path, step, cells, FIELDS)
        for field, (kind, _) in FIELDS.items():
            stored = np.load(written / f"{case}.{field}.{step}.npy").astype(kind)
            turned = stored.transpose(*reversed(range(len(cells))), *range(len(cells), stored.ndim))
            np.testing.assert_array_equal(
                seen[field], turned.reshape(seen[field].shape), f"{field} at {step}"
            )
    table = read_table(tmp_path / "results/seen/statistics_a.csv")
    assert list(table["step"]) == list(STEPS) == list(table["time"])
