# SPDX-License-Identifier: BSD-3-Clause
"""Reads what is asked for from IDX datasets with OpenVisus, in a process that `IdxReader` starts,
since OpenVisus takes longer to import than to read, and may end the process that it is in.
"""

import atexit
import json
import subprocess
import sys
import threading
import traceback
from functools import cache
from pathlib import Path

import numpy as np

DONE, FAILED = "read_idx: done", "read_idx: failed"


class IdxReader:
    """A process that reads one dataset after another. It ends with the tests."""

    LIMIT = 120  # seconds for one dataset

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        atexit.register(self._process.kill)

    def read(self, path: Path, asked: list) -> list[np.ndarray]:
        """[field, step, level] each; fails with what OpenVisus says."""
        assert self._process.stdin and self._process.stdout
        to = path.with_suffix(".npz")
        self._process.stdin.write(json.dumps([str(path), str(to), asked]) + "\n")
        self._process.stdin.flush()
        limit = threading.Timer(self.LIMIT, self._process.kill)
        limit.start()
        said = []
        try:
            for line in self._process.stdout:
                if line.startswith(DONE):
                    with np.load(to) as arrays:
                        return [arrays[str(n)] for n in range(len(asked))]
                said.append(line)
                if line.startswith(FAILED):
                    break
        finally:
            limit.cancel()
        raise AssertionError("".join(said) or f"the reader of {path} has ended")

    @property
    def lives(self) -> bool:
        return self._process.poll() is None


@cache
def _readers() -> list[IdxReader]:
    return []


def read(path: Path, asked: list) -> list[np.ndarray]:
    """What OpenVisus reads, [field, step, level] each."""
    readers = _readers()
    if not readers or not readers[-1].lives:
        readers.append(IdxReader())
    return readers[-1].read(path, asked)


def _serve() -> None:
    import OpenVisus

    for line in sys.stdin:
        path, to, asked = json.loads(line)
        try:
            dataset = OpenVisus.LoadDataset(path)
            arrays = {}
            for number, (field, step, level) in enumerate(asked):
                arrays[str(number)] = dataset.read(field=field, time=step, max_resolution=level)
            np.savez(to, **arrays)
            print(f"\n{DONE}", flush=True)
        except Exception:
            print(f"\n{traceback.format_exc()}\n{FAILED}", flush=True)


if __name__ == "__main__":
    _serve()
