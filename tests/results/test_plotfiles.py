# SPDX-License-Identifier: BSD-3-Clause
"""Plotfiles as AMReX writes them, with everything that Pillion's own lack: levels, several files,
single precision, bytes in another order, ghost cells, domains that do not begin at 0, and boxes
without heads of their own. What is damaged is refused.
"""

from dataclasses import dataclass

import numpy as np
import pytest
from pillion.datasets import open_plotfile, plotfiles_in
from pillion.datasets.plotfile_datasets import stored_plotfiles
from pillion.datasets.stored import dataset_of
from pillion.errors import Error

CELLS, RATIOS = (8, 4, 6), ((2, 2, 2), (4, 2, 1))
NAMES = ["density", "x_velocity", "flux_0", "flux_1"]
# Half-open boxes of each level, properly nested.
BOXES = [
    [((0, 0, 0), (8, 4, 3)), ((0, 0, 3), (8, 4, 6))],
    [((4, 2, 0), (8, 6, 4)), ((8, 2, 0), (12, 6, 8)), ((0, 0, 8), (4, 4, 10))],
    [((20, 4, 1), (40, 12, 3))],
]
ORIGIN, LENGTH = (-1.0, 0.5, 2.0), (4.0, 2.0, 3.0)


@dataclass
class Form:
    """The options with which AMReX writes."""

    kind: str = "<f8"
    version: int = 1
    ghosts: int = 0
    first: tuple = (0, 0, 0)  # index of the first cell of the coarsest level
    files: int = 2


FORMS = {
    "usual": Form(),
    "single": Form("<f4", files=1),
    "other bytes": Form(">f8"),
    "other bytes, single": Form(">f4", ghosts=1),
    "ghosts": Form(ghosts=2),
    "elsewhere": Form(first=(3, -2, 10)),
    "no heads": Form("<f4", version=2),
    "no heads, extremes": Form(">f8", version=3, ghosts=1),
    "no heads, extremes of all": Form("<f8", version=4, files=1),
}


def cells_of(level: int) -> np.ndarray:
    return np.prod([CELLS, *RATIOS[:level]], axis=0)


def values_of(level: int, name: str) -> np.ndarray:
    """[z, y, x] of the whole level."""
    rng = np.random.default_rng([level, NAMES.index(name)])
    return rng.normal(size=cells_of(level)[::-1]).astype(np.float32)


def descriptor(kind: str) -> str:
    size = int(kind[2:])
    bits = "64 11 52 0 1 12 0 1023" if size == 8 else "32 8 23 0 1 9 0 127"
    order = range(1, size + 1) if kind[0] == ">" else range(size, 0, -1)
    return f"((8, ({bits})),({size}, ({' '.join(map(str, order))})))"


def box_text(lo, hi) -> str:
    words = (",".join(str(int(n)) for n in part) for part in (lo, np.array(hi) - 1, (0, 0, 0)))
    return "(" + " ".join(f"({word})" for word in words) + ")"


def write_level(folder, level: int, form: Form) -> None:
    folder.mkdir()
    first = np.array(form.first) * cells_of(level) // CELLS
    places, files = [], {}
    for number, (lo, hi) in enumerate(BOXES[level]):
        name = f"Cell_D_{number % form.files:05d}"
        data = files.setdefault(name, bytearray())
        places.append(f"FabOnDisk: {name} {len(data)}")
        g = form.ghosts
        box = box_text(first + lo - g, first + np.array(hi) + g)
        if form.version == 1:
            data += f"FAB {descriptor(form.kind)}{box} {len(NAMES)}\n".encode()
        for field in NAMES:
            inner = values_of(level, field)[tuple(slice(a, b) for a, b in zip(lo, hi))[::-1]]
            data += np.pad(inner, g, constant_values=1e9).astype(form.kind).tobytes()
    for name, data in files.items():
        (folder / name).write_bytes(data)
    count = len(places)
    boxes = "".join(box_text(first + lo, first + np.array(hi)) + "\n" for lo, hi in BOXES[level])
    text = f"{form.version}\n1\n{len(NAMES)}\n{form.ghosts}\n({count} 0\n{boxes})\n"
    text += f"{count}\n" + "\n".join(places) + "\n\n"
    if form.version in (1, 3):
        text += (f"{count},{len(NAMES)}\n" + ("0.0," * len(NAMES) + "\n") * count + "\n") * 2
    if form.version == 4:
        text += ("0.0," * len(NAMES) + "\n") * 2
    (folder / "Cell_H").write_text(
        text + (descriptor(form.kind) if form.version > 1 else "") + "\n"
    )


def write_plotfile(path, form: Form, step: int = 7, levels: int = 3) -> None:
    path.mkdir(parents=True)
    ends = [a + b for a, b in zip(ORIGIN, LENGTH)]
    domains = [
        box_text(first, first + cells_of(level))
        for level in range(levels)
        for first in [np.array(form.first) * cells_of(level) // CELLS]
    ]
    lines = ["HyperCLaw-V1.1", len(NAMES), *NAMES, 3, 0.25 * step, levels - 1]
    lines += [" ".join(map(str, ORIGIN)), " ".join(map(str, ends))]
    lines += [" ".join(str(r[0]) for r in RATIOS[: levels - 1]), " ".join(domains)]
    lines.append(" ".join([str(step)] * levels))
    for level in range(levels):
        lines.append(" ".join(map(repr, map(float, np.array(LENGTH) / cells_of(level)))))
    lines += [0, 0]
    for level in range(levels):
        lines += [f"{level} {len(BOXES[level])} {0.25 * step}", step]
        lines += ["0 1"] * (3 * len(BOXES[level])) + [f"Level_{level}/Cell"]
        write_level(path / f"Level_{level}", level, form)
    (path / "Header").write_text("".join(f"{line}\n" for line in lines))


@pytest.mark.parametrize("form", FORMS)
def test_every_box(form, tmp_path):
    write_plotfile(tmp_path / "plt00007", FORMS[form])
    found = open_plotfile(tmp_path / "plt00007")
    found.expect_whole()
    assert (found.step, found.time, found.axes, found.coarsening) == (7, 1.75, 3, 1)
    assert found.origin == ORIGIN and found.length == LENGTH
    assert found.fields == {**{name: (name,) for name in NAMES}, "flux": ("flux_0", "flux_1")}
    assert [level.cells for level in found.levels] == [tuple(cells_of(n)) for n in range(3)]
    assert [b.ratio_to(a) for a, b in zip(found.levels, found.levels[1:])] == list(RATIOS)
    for level in found.levels:
        assert level.boxes.tolist() == [[list(lo), list(hi)] for lo, hi in BOXES[level.number]]
        np.testing.assert_allclose(level.spacing, np.array(LENGTH) / cells_of(level.number))
        for number, (lo, hi) in enumerate(BOXES[level.number]):
            at = tuple(slice(a, b) for a, b in zip(lo, hi))[::-1]
            for name in NAMES:
                values = level.read(number, name)
                assert values.dtype == FORMS[form].kind[1:] and values.dtype.isnative
                np.testing.assert_array_equal(values, values_of(level.number, name)[at])
            both = level.read(number, found.fields["flux"], np.empty((*both_shape(lo, hi), 2)))
            np.testing.assert_array_equal(both[..., 1], values_of(level.number, "flux_1")[at])


def both_shape(lo, hi) -> tuple[int, ...]:
    return tuple(b - a for a, b in zip(lo, hi))[::-1]


def test_a_series_by_level(tmp_path):
    """As xarray's dataset; the second step has one level less."""
    write_plotfile(tmp_path / "plt00007", Form())
    write_plotfile(tmp_path / "plt00012", Form(), 12, levels=2)
    write_plotfile(tmp_path / ".plt00013.part", Form(), 13)
    assert [path.name for path in plotfiles_in(tmp_path)] == ["plt00007", "plt00012"]
    for number in range(3):
        found = dataset_of(stored_plotfiles(tmp_path, number))
        assert list(found) == ["density", "x_velocity", "flux"]
        assert found["step"].values.tolist() == [7, 12] and found.attrs["levels"] == 3
        wanted = np.full(cells_of(number)[::-1], np.nan)
        for lo, hi in BOXES[number]:
            at = tuple(slice(a, b) for a, b in zip(lo, hi))[::-1]
            wanted[at] = values_of(number, "density")[at]
        np.testing.assert_array_equal(found["density"][0], wanted)
        part = found["density"].isel(step=0, x=slice(3, None, 2), y=[1, 3], z=2)
        np.testing.assert_array_equal(part, wanted[2, [1, 3], 3::2])
        missing = np.isnan(found["density"][1]).all()
        assert missing if number == 2 else not missing
    centres = (np.arange(64) + 0.5) / 16 - 1
    np.testing.assert_allclose(found["x"], centres)


def damaged(path, line: int, old: str, new: str) -> None:
    lines = path.read_text().splitlines(keepends=True)
    assert old in lines[line], lines[line]
    lines[line] = lines[line].replace(old, new)
    path.write_text("".join(lines))


DAMAGE = {
    "no plotfile": ("Header", 0, "HyperCLaw", "Hyper", "its first line is 'Hyper-V1.1'"),
    "too few names": ("Header", 1, "4", "3", "garbled or cut short"),
    "another axis": ("Header", 6, "3", "4", "4 axes"),
    "ratio": ("Header", 12, "(15,7,11)", "(16,7,11)", "no multiple of"),
    "components": ("Level_1/Cell_H", 2, "4", "5", "5 components, and the plotfile 4"),
    "version": ("Level_1/Cell_H", 0, "1", "9", "version 9 is not known"),
    "outside": ("Level_1/Cell_H", 5, "(4,2,0) (7,5,3)", "(14,2,0) (17,5,3)", "outside"),
    "another box": ("Level_1/Cell_H", 5, "(7,5,3)", "(7,5,2)", "is not the one that its level"),
    "points": ("Level_1/Cell_H", 5, "(0,0,0))", "(1,0,0))", "at points or faces"),
    "another file": ("Level_0/Cell_H", 9, "Cell_D_00000", "Cell_D_00009", "No such file"),
    "another place": ("Level_1/Cell_H", 10, " 0", " 8", "no box begins with"),
}


@pytest.mark.parametrize("case", DAMAGE)
def test_damage(case, tmp_path):
    file, line, old, new, message = DAMAGE[case]
    write_plotfile(tmp_path / "plt", Form())
    damaged(tmp_path / "plt" / file, line, old, new)
    with pytest.raises(Error, match=message):
        found = open_plotfile(tmp_path / "plt")
        found.expect_whole()
        for level in found.levels:
            for number in range(len(level.boxes)):
                level.read(number, "density")


def test_cut_short(tmp_path):
    write_plotfile(tmp_path / "plt", Form())
    for file, keep, message in (
        ("Level_1/Cell_D_00000", 3000, "it is cut short: it has 3000 bytes"),
        ("Level_2/Cell_D_00000", 9, "is garbled"),
        ("Level_0/Cell_H", 90, "garbled or cut short"),
        ("Header", 90, "garbled or cut short"),
    ):
        path = tmp_path / "plt" / file
        whole = path.read_bytes()
        path.write_bytes(whole[:keep])
        with pytest.raises(Error, match=message):
            open_plotfile(tmp_path / "plt").expect_whole()
        path.write_bytes(whole)
    open_plotfile(tmp_path / "plt").expect_whole()
    with pytest.raises(Error, match="'plt/Header' cannot be read as a plotfile"):
        open_plotfile("plt")
