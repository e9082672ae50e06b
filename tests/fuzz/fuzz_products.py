# SPDX-License-Identifier: BSD-3-Clause
"""Fuzz target: files that runs leave, and that someone may have damaged. The first byte of the
input selects the reader, the rest is the file. Readers raise pillion's Error and nothing else.
"""

import tempfile
from functools import cache
from pathlib import Path

import numpy as np
from pillion.compressed.codecs import decoded
from pillion.compressed.packets import unpacked
from pillion.compressed.pieces import told_of_damage
from pillion.datasets.plotfile_headers import LevelHead, read_box_head, read_box_list
from pillion.datasets.plotfiles import Plotfile
from pillion.errors import Error
from pillion.idx import Dataset
from pillion.progress import read_parts
from pillion.report.run import read_run
from pillion.report.timeline import read_timeline
from pillion.run_files import owner_of
from pillion.tables import read_head, read_table


@cache
def _folder() -> Path:
    shared = Path("/dev/shm")
    return Path(tempfile.mkdtemp(prefix="pillion-fuzz-", dir=shared if shared.is_dir() else None))


def _file(name: str, content: bytes) -> Path:
    path = _folder() / name
    path.write_bytes(content)
    return path


def _table(content: bytes) -> None:
    read_table(_file("table.csv", content))
    read_head(_file("table.csv", content))


def _progress(content: bytes) -> None:
    _file("progress.json", content)
    owner_of(_folder())
    read_parts(_folder())


def _report(content: bytes) -> None:
    _file("report.json", content)
    owner_of(_folder())
    read_run(_folder())


def _marker(content: bytes) -> None:
    _file(".pillion-run", content)
    owner_of(_folder())


def _timeline(content: bytes) -> None:
    read_timeline([_file("timeline.json", content)])


def _idx(content: bytes) -> None:
    dataset = Dataset(_file("fuzz.idx", content))
    for name in list(dataset)[:2]:
        samples = np.prod(dataset.grid(0).shape, dtype=float)
        if samples * dataset[name].components <= 4096:
            dataset[name].read(level=0)


def _packet(content: bytes) -> None:
    if len(content) < 2:
        return
    with told_of_damage("packet"):
        unpacked(content[2:], content[0] % 4, content[1] % 4, 3, np.dtype(np.float32))


def _codec(content: bytes) -> None:
    codec = ("zstd", "xz", "bzip2", "zip", "lz4")[content[0] % 5] if content else "none"
    decoded(codec, content[1:], 64)


def _plotfile(content: bytes) -> None:
    """The header of a plotfile or of a level, or the line before a box."""
    path = _file("Header", content[1:])
    if content[:1] < b"\x55":
        Plotfile(path.parent)
    elif content[:1] < b"\xaa":
        read_box_list(path, LevelHead((0, 0, 0), (8, 8, 8), (1.0, 1.0, 1.0), "Level_0/Cell"))
    else:
        read_box_head(path, 0, 3)


READERS = (_table, _progress, _report, _timeline, _idx, _packet, _codec, _marker, _plotfile)


def one_input(data: bytes) -> None:
    if not data:
        return
    try:
        READERS[data[0] % len(READERS)](data[1:])
    except Error:
        pass
    finally:
        for path in _folder().iterdir():
            path.unlink()
