# SPDX-License-Identifier: BSD-3-Clause
"""Whether two runs have made the same products: HDF5 files hold equal datasets, and numbers of
tables differ by no more than sums in another order do.
"""

import csv
from pathlib import Path

import h5py
import numpy as np

TOLERANCE = 1e-12  # of a table's numbers, which are sums over 32,768 cells


def products(folder: Path) -> dict[str, Path]:
    """Tables and HDF5 files by their paths in the folder. Tables of a writer have
    times that it took.
    """
    found = (p for p in folder.rglob("*") if p.suffix in (".csv", ".h5") and p.is_file())
    return {str(p.relative_to(folder)): p for p in found if not p.name.startswith("write_")}


def rows(path: Path) -> list[list[str]]:
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    return list(csv.reader(lines))


def assert_same_table(one: Path, other: Path) -> None:
    """A table may be empty, such as that of halos before there are any."""
    first, second = rows(one), rows(other)
    assert first[0] == second[0] and len(first) == len(second), f"rows of {one} and {other}"
    if len(first) == 1:
        return
    a, b = (np.array(found[1:], dtype=float) for found in (first, second))
    np.testing.assert_allclose(a, b, rtol=TOLERANCE, atol=TOLERANCE, err_msg=str(other))


def datasets(path: Path) -> dict[str, np.ndarray]:
    found: dict[str, np.ndarray] = {}
    with h5py.File(path) as file:
        file.visititems(
            lambda name, node: (
                found.update({name: node[()]}) if isinstance(node, h5py.Dataset) else None
            )
        )
    return found


def assert_same_file(one: Path, other: Path) -> None:
    first, second = datasets(one), datasets(other)
    assert first and first.keys() == second.keys(), f"datasets of {one} and {other}"
    for name, values in first.items():
        np.testing.assert_array_equal(values, second[name], err_msg=f"{name} of {other}")


def assert_same_products(one: Path, other: Path) -> int:
    """The number of products that both have."""
    first, second = products(one), products(other)
    assert first and first.keys() == second.keys(), f"{sorted(first)} and {sorted(second)}"
    for name, path in first.items():
        same = assert_same_table if path.suffix == ".csv" else assert_same_file
        same(path, second[name])
    return len(first)
