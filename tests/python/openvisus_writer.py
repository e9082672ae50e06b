# SPDX-License-Identifier: BSD-3-Clause
"""Has OpenVisus write IDX datasets of NumPy arrays `CASE.FIELD.STEP.npy`, which it makes if they
are not there.

It is a program of its own, `openvisus_writer.py FOLDER CASES.json`, since OpenVisus can end the
interpreter that it runs in. A case has a `name`, the `header` as a text, and what `random_field`
needs to know of its fields and steps.
"""

import json
import sys
from pathlib import Path

import numpy as np


def random_field(seed, shape, dtype, components):
    """Values that are all different from their neighbours, and whole numbers in every type."""
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 256, size=(*shape, components) if components > 1 else shape)
    return values.astype(dtype)


def write(folder, case):
    import OpenVisus

    path = folder / f"{case['name']}.idx"
    path.write_text(case["header"])
    dataset = OpenVisus.LoadDataset(str(path))
    access = dataset.createAccessForBlockQuery()
    access.disableWriteLocks()
    low = case["low"] + [0] * (3 - len(case["low"]))
    for step in case["steps"]:
        for number, (name, dtype, components) in enumerate(case["fields"]):
            file = folder / f"{case['name']}.{name}.{step}.npy"
            if not file.exists():
                seed = 100 * step + number
                np.save(file, random_field(seed, case["shape"], dtype, components))
            values = np.load(file)
            x, y, z = low
            dataset.write(values, x=x, y=y, z=z, field=name, time=step, access=access)


def main(folder, cases):
    for case in json.loads(Path(cases).read_text()):
        write(Path(folder), case)


if __name__ == "__main__":
    main(*sys.argv[1:])
