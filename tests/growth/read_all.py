# SPDX-License-Identifier: BSD-3-Clause
"""Reads one value of every step of every product of a run, as `pillion.results` gives them, and
prints as JSON what each product took: bytes and calls that read, and calls of Python functions.
"""

import json
import sys
from pathlib import Path

import pillion


def read_so_far():
    lines = Path("/proc/self/io").read_text().splitlines()
    io = {key: int(value) for key, _, value in (line.partition(": ") for line in lines)}
    return io["rchar"], io["syscr"]


def read_product(results, key):
    found = results[key]
    name = next(iter(found.data_vars))
    array = found[name]
    if "step" not in array.dims:
        array.values  # noqa: B018
        return
    for n in range(array.sizes["step"]):
        array.isel(step=n, **{d: 0 for d in array.dims if d != "step"}).values  # noqa: B018


def main(folder):
    results = pillion.results(folder)
    took = {}
    for key in results:
        calls = 0

        def count(frame, event, _):
            nonlocal calls
            calls += event in ("call", "c_call")

        before = read_so_far()
        sys.setprofile(count)
        read_product(results, key)
        sys.setprofile(None)
        took[key] = [*(b - a for a, b in zip(before, read_so_far())), calls]
    print(json.dumps(took))


if __name__ == "__main__":
    main(sys.argv[1])
