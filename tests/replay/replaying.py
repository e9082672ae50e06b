# SPDX-License-Identifier: BSD-3-Clause
"""Runs `pillion replay`, writes files that it reads with NumPy and h5py, and compares products."""

import os
from pathlib import Path

import h5py
import limits
import numpy as np
import pytest
from conftest import mpirun, read_table, some


def replay(build: Path, folder: Path, ranks: int, *words, check: bool = True, env=None):
    """Runs it in a folder; with one rank without a launcher, as people do."""
    words = (build / "bin" / "pillion", "replay", *words)
    if ranks > 1:
        return mpirun(ranks, *words, cwd=folder, check=check, env=env, timeout=90)
    done = limits.run(
        [str(word) for word in words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, **{k: str(v) for k, v in (env or {}).items()}},
    )
    assert not check or done.returncode == 0, done.stdout + done.stderr
    return done


def needs_hdf5(build: Path) -> None:
    """For what `write_hdf5` writes; files of h5py are read without."""
    if "HDF5_WORKS:INTERNAL=1" not in (build / "CMakeCache.txt").read_text():
        pytest.skip("the stage write_hdf5 was not built")


def write_npy(folder: Path, field: str, step: int, array: np.ndarray) -> None:
    """Arrays in Fortran's order are written in it."""
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / f"{field}.{step:06}.npy", array)


def write_hdf5(path: Path, arrays: dict[str, np.ndarray], **attributes) -> None:
    """Chunked and compressed, as programs like to write. Keys are paths in the file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with h5py.File(path, "w") as file:
        file.attrs.update(attributes)
        for name, array in arrays.items():
            packed = {"chunks": True, "compression": "gzip"} if array.size > 1 else {}
            file.create_dataset(name, data=array, **packed)


def read_seen(folder, step: int, cells, fields) -> dict[str, np.ndarray]:
    """What the stage `cells` saw, put together; indexed [x, y, z, component]. `fields` says of each
    its type and number of components."""
    whole = (*cells, *[1] * (3 - len(cells)))
    times = np.zeros(whole, int)
    seen = {name: np.zeros((*whole, c), kind) for name, (kind, c, *_) in fields.items()}
    for path in some((folder / "seen").glob(f"{step}-*")):
        data = path.read_bytes()
        (blocks,), at = np.frombuffer(data, np.int64, 1, 8), 16
        for _ in range(blocks):
            count, lo, hi = np.frombuffer(data, np.int64, 1, at + 8), at + 24, at + 48
            lo, hi = (np.frombuffer(data, np.int64, 3, place) for place in (lo, hi))
            box = tuple(slice(a, b) for a, b in zip(lo, hi))
            times[box] += 1
            at += 8 * 15
            for name, (kind, components, *_) in fields.items():
                values = np.frombuffer(data, kind, count[0] * components, at)
                at += values.nbytes
                part = values.reshape((*(hi - lo)[::-1], components))
                seen[name][box] = part.transpose(2, 1, 0, 3)
        assert at == len(data)
    assert (times == 1).all()
    return seen


def _scale_of(table, units: str) -> float:
    """The largest value in such units: sums that cancel are right to its rounding."""
    like = [v for name, v in table.columns.items() if table.units[name] == units]
    values = np.abs(np.concatenate(like, dtype=float))
    return max(values[np.isfinite(values)], default=0)


def assert_same(one: Path, other: Path, counts: bool = True) -> None:
    """Two tables: integers exactly, reals as far as sums in another order allow. Without `counts`,
    neither these nor densities: points on borders count once for each block."""
    a, b = read_table(one), read_table(other)
    assert list(a.columns) == list(b.columns) and a.units == b.units
    for entry in ("step", "time", "publications", "skipped"):
        assert a.head[entry] == b.head[entry], (one.name, entry)
    for column in a.head["columns"]:
        found, expected = b[column["name"]], a[column["name"]]
        if column["type"] == "int64":
            if counts:
                np.testing.assert_array_equal(found, expected, err_msg=f"{one}: {column['name']}")
            continue
        if column["name"] == "density" and not counts:
            continue
        scale = _scale_of(a, column["units"])
        np.testing.assert_allclose(
            found, expected, rtol=1e-9, atol=1e-12 * scale, err_msg=f"{one}: {column['name']}"
        )
    for name, value in a.attributes.items():
        assert b.attributes[name] == (
            pytest.approx(value, rel=1e-9) if isinstance(value, float) else value
        )
