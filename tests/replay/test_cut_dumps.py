# SPDX-License-Identifier: BSD-3-Clause
"""Dump files of runs that were killed, and of runs that began again: whole frames are used, parts
of frames are left out with a warning, and a step that is there twice counts once.
"""

import struct

import numpy as np
import pytest
from conftest import read_table
from pillion.datasets.lammps_dumps import cut_frames_of, frames_of, is_same
from pillion.errors import Error
from pillion.replay.arrays import Stored
from pillion.replay.frames import Found
from pillion.replay.repeated import without_repeated
from replaying import replay

ATOMS = 6


def positions(step: int) -> np.ndarray:
    rng = np.random.default_rng(step)
    return np.arange(3.0 * ATOMS).reshape(ATOMS, 3) / 4 + 0.01 * step * rng.normal(size=(ATOMS, 3))


def text_frame(step: int, order=range(ATOMS)) -> bytes:
    x = positions(step)
    rows = [f"{i + 1} {x[i, 0]:.17g} {x[i, 1]:.17g} {x[i, 2]:.17g} 0 0 0\n" for i in order]
    head = f"ITEM: TIME\n{0.5 * step}\nITEM: TIMESTEP\n{step}\nITEM: NUMBER OF ATOMS\n{ATOMS}\n"
    box = "ITEM: BOX BOUNDS pp pp pp\n" + 3 * "0 10\n"
    return (head + box + "ITEM: ATOMS id x y z ix iy iz\n" + "".join(rows)).encode()


def binary_frame(step: int) -> bytes:
    columns, x = b"id x y z", positions(step)
    head = struct.pack("<q10sii", -10, b"DUMPCUSTOM", 1, 2)
    head += struct.pack("<qqi6i6d", step, ATOMS, 0, *[0] * 6, *[0.0, 10.0] * 3)
    head += struct.pack("<iib", 4, 0, 1) + struct.pack("<d", 0.5 * step)
    head += struct.pack("<i8si", len(columns), columns, 1)
    rows = np.column_stack([np.arange(1.0, ATOMS + 1), x])
    return head + struct.pack("<i", rows.size) + rows.astype("<f8").tobytes()


@pytest.mark.parametrize("make", [text_frame, binary_frame])
def test_a_file_that_is_cut_anywhere(tmp_path, make):
    """Its whole frames are there, whatever byte it ends at; so are those that a restarted run has
    appended to a text. Something is said of the rest."""
    path = tmp_path / "x.dump"
    frames = [make(step) for step in (0, 10, 20)]
    ends = np.cumsum([len(frame) for frame in frames])
    whole = b"".join(frames)
    for end in range(1, len(whole) + 1):
        path.write_bytes(whole[:end])
        expected = [step for step, last in zip((0, 10, 20), ends, strict=True) if last <= end]
        if not expected:
            with pytest.raises(Error, match="cannot be read"):
                frames_of(path)
            continue
        assert [frame.step for frame in frames_of(path)] == expected
        assert len(cut_frames_of(path)) == (0 if end in ends else 1)
        if make is binary_frame:
            continue
        path.write_bytes(whole[:end] + make(10) + make(20))
        assert [frame.step for frame in frames_of(path)] == [*expected, 10, 20]


def test_frames_are_the_same_in_any_order_of_atoms(tmp_path):
    one, other = tmp_path / "a.dump", tmp_path / "b.dump"
    one.write_bytes(text_frame(10))
    for text, wanted in [
        (text_frame(10, [3, 1, 0, 2, 5, 4]), True),
        (text_frame(10).replace(b"0 0 0\n", b"0 0 1\n", 1), False),
        (text_frame(10).replace(b"TIMESTEP\n10", b"TIMESTEP\n11"), False),
        (text_frame(10).replace(b"0 10\n", b"0 11\n", 1), False),
        (text_frame(10).replace(b"TIME\n5.0", b"TIME\n6.0"), False),
    ]:
        other.write_bytes(text)
        assert is_same((one, frames_of(one)[0]), (other, frames_of(other)[0])) == wanted


CONFIGURATION = """
output: results
analyses: {motion: {stages: [msd: {origins: first}]}}
"""


def test_dumps_of_a_killed_and_a_restarted_run(build, tmp_path):
    """In one file and in several, against the same frames without a break."""
    whole = b"".join(map(text_frame, range(0, 101, 10)))
    before = b"".join(map(text_frame, range(0, 31, 10))) + text_frame(40)[:-30]
    again = b"".join(text_frame(step, [5, 4, 3, 2, 1, 0]) for step in range(30, 71, 10))
    rest = b"".join(text_frame(step) for step in range(60, 101, 10))
    tables = []
    for name, dumps in {
        "whole": {"own.dump": whole},
        "parts": {"a.dump": before + again, "b.dump": rest},
    }.items():
        folder = tmp_path / name
        folder.mkdir()
        (folder / "c.yaml").write_text(CONFIGURATION)
        for file, content in dumps.items():
            (folder / file).write_bytes(content)
        done = replay(build, folder, 1, *dumps, "c.yaml")
        tables.append(read_table(folder / "results/motion/msd.csv"))
    assert "1 frames that are not whole" in done.stderr
    assert "step 40 has 5 of its 6 atoms" in done.stderr
    assert "taken once: 30, 60, 70" in done.stderr
    assert tables[1]["lag_steps"].tolist() == list(range(0, 101, 10))
    np.testing.assert_array_equal(tables[1]["msd_all"], tables[0]["msd_all"])


def test_what_is_there_twice_is_the_same_or_is_refused(tmp_path):
    """Frames of dumps, and files of other formats that are copies."""
    one, other, array, copy = (tmp_path / n for n in ("a.dump", "b.dump", "a.npy", "b.npy"))
    one.write_bytes(text_frame(30) + text_frame(40))
    other.write_bytes(text_frame(40, [1, 0, 2, 3, 4, 5]))
    np.save(array, positions(30))
    np.save(copy, positions(30))

    def found(path, step: int) -> Found:
        if path.suffix == ".npy":
            return Found("position", step, None, Stored(str(path), "", None, (ATOMS, 3)))
        (frame,) = (frame for frame in frames_of(path) if frame.step == step)
        stored = Stored(str(path), "", None, (ATOMS, 3), "lammps", "position", offset=frame.begin)
        return Found("position", step, None, stored)

    first = [found(one, 30), found(one, 40), found(array, 50)]
    again = [found(other, 40), found(copy, 50)]
    assert without_repeated(first + again) == (first, {40, 50})
    np.save(copy, positions(31))
    for twice in (found(copy, 50), found(array, 30)):
        with pytest.raises(Error, match=f"twice at step {twice.step}: .* not the same.*--steps"):
            without_repeated([*first, twice])
