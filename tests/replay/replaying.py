# SPDX-License-Identifier: BSD-3-Clause
"""Runs pillion-replay, and writes the files that it reads with NumPy and h5py."""

import os
import subprocess
from pathlib import Path

import h5py
import numpy as np
import pytest
from conftest import mpirun


def replay(build: Path, folder: Path, ranks: int, *words, check: bool = True, env=None):
    """Runs it in a folder; with one rank without a launcher, as people do."""
    program = build / "bin" / "pillion-replay"
    if ranks > 1:
        return mpirun(ranks, program, *words, cwd=folder, check=check, env=env, timeout=90)
    done = subprocess.run(
        [str(word) for word in (program, *words)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, **{k: str(v) for k, v in (env or {}).items()}},
    )
    assert not check or done.returncode == 0, done.stdout + done.stderr
    return done


def needs_hdf5(build: Path) -> None:
    if "HDF5_WORKS:INTERNAL=1" not in (build / "CMakeCache.txt").read_text():
        pytest.skip("pillion-replay was built without HDF5")


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
