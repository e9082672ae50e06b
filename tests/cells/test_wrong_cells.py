# SPDX-License-Identifier: BSD-3-Clause
"""Arrays that cannot be points or cells are refused in one sentence, with the value seen and what
to give instead; others reach the library as they are, or in a type that it takes."""

import numpy as np
import pytest
from pillion.errors import Error
from pillion.insitu.shared_cells import cells_of, points_of

FACES = ("face_offsets", "face_points", "polyhedron_offsets", "polyhedron_faces")
EACH = ("ids", "flags", "parents", "patches")
TETRAHEDRON = {
    "face_offsets": [0, 3, 6, 9, 12],
    "face_points": [0, 2, 1, 0, 1, 3, 1, 2, 3, 0, 3, 2],
    "polyhedron_offsets": [0, 4],
    "polyhedron_faces": [0, 1, 2, 3],
}


def shared(points=None, offsets=None, types=None, base=0, **others):
    polyhedra = {name: others.get(name) for name in FACES}
    each = {name: others.get(name) for name in EACH}
    return cells_of("m", points, offsets, types, base, polyhedra, **each)


WRONG = [
    ({"types": "tetr"}, "the unknown type 'tetr'; give VTK's number, or a name"),
    ({"types": [10.0]}, "types of type float64; give VTK's numbers as uint8"),
    ({"types": [[10]]}, "types of shape (1, 1); give one dimension"),
    ({"types": [10, 300]}, "the type 300; VTK's types are 1 to 255"),
    ({"types": 10, "points": [0.0, 1, 2, 3]}, "points of type float64; give int32 or int64"),
    ({"types": 10, "points": [[0, 1, 2]]}, "shape (1, 3); a cell of the type tetra has 4 points"),
    ({"types": "hex", "points": range(9)}, "9 points; a cell of the type hexahedron has 8"),
    ({"types": "polygon", "points": range(4)}, "no offsets for cells of the type polygon"),
    ({"types": [10, 7], "points": range(8)}, "no offsets for cells of the type polygon"),
    ({"types": [10], "points": [[0, 1, 2, 3]] * 2}, "1 types for 2 cells"),
    ({"types": [10], "points": range(4), "offsets": [0.0, 4]}, "offsets of type float64"),
    ({"types": [10], "points": range(4), "offsets": [0, 4, 4]}, "3 offsets for 1 cells; give 2"),
    ({"types": [10], "points": range(4), "offsets": [1, 4]}, "begin with 1, or decrease"),
    (
        {"types": [10], "points": range(4), "offsets": [0, 5]},
        "4 points and offsets that end with 5",
    ),
    ({"types": 10, "points": [[0, 1, 2, 3]], "offsets": [0, 4]}, "points in two dimensions"),
    ({"types": 42, "points": range(4), "offsets": [0, 4]}, "polyhedra without faces; give face_of"),
    (
        {"types": 42, "points": range(4), "offsets": [0, 4], **TETRAHEDRON, "face_points": None},
        "some arrays of polyhedra but no face_points; give all four",
    ),
    (
        {"types": 42, "points": range(4), "offsets": [0, 4], **TETRAHEDRON, "face_offsets": [0, 3]},
        "12 face_points and face_offsets that end with 3; end with 12",
    ),
    ({"types": 10, "points": [[0, 1, 2, 3]], "ids": [1, 2]}, "ids of shape (2,); give (1,)"),
    ({"types": 10, "points": [[0, 1, 2, 3]], "patches": [0.5]}, "type float64; give int32"),
]


@pytest.mark.parametrize(("given", "words"), WRONG)
def test_what_cannot_be_cells_is_refused(given, words):
    with pytest.raises(Error) as error:
        shared(**given)
    text = str(error.value)
    assert words in text and "mesh 'm'" in text and "\n" not in text and ". " not in text


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (np.zeros((2, 4)), "shape (2, 4); give (count, 3)"),
        (np.zeros(6), "shape (6,); give (count, 3)"),
        (np.zeros((2, 3), complex), "elements of type complex128; give float32 or float64"),
    ],
)
def test_what_cannot_be_points_is_refused(given, words):
    with pytest.raises(Error, match="points of mesh 'm'") as error:
        points_of("m", given, None)
    assert words in str(error.value)


@pytest.mark.parametrize("kind", ["int32", "int64"])
def test_indices_of_one_type_are_not_converted(kind):
    points, offsets = np.arange(14, dtype=kind), np.array([0, 8, 14], kind)
    types = np.array([12, 13], "uint8")
    found = shared(points, offsets, types)
    for name, array in (("points", points), ("offsets", offsets), ("types", types)):
        assert found.addresses[name] == array.ctypes.data
    mixed = shared(points, offsets.astype("int16"), types)
    assert {a.dtype.name for n, a in mixed.arrays.items() if n != "types"} == {"int64"}


def test_offsets_follow_from_types():
    found = shared(np.arange(12), types=[12, 10])
    assert found.arrays["offsets"].tolist() == [0, 8, 12] and found.count == 2
    of_one = shared(np.arange(10).reshape(2, 5), types="polygon", base=1)
    assert of_one.arrays["offsets"].tolist() == [1, 6, 11] and of_one.type == 7
    assert "offsets" not in shared([[0, 1, 2, 3]], types="tet").arrays
    assert shared(types="hexahedron").count == 0 and shared(types=[]).count == 0


@pytest.mark.parametrize("change", [np.asarray, lambda a: a.T.copy().T, lambda a: a[::2, ::-1]])
@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_points_are_read_where_they_lie(change, kind):
    array = change(np.arange(12, dtype=kind).reshape(4, 3))
    found = points_of("m", array, None)
    assert found.data == [array[:, d].ctypes.data for d in range(3)]
    assert found.stride == array.strides[0] // array.itemsize


def test_points_of_other_types_and_orders_are_copied():
    array = np.arange(12).reshape(4, 3)
    assert points_of("m", array, None).arrays[0].dtype == "float64"
    assert points_of("m", array[::-1].astype(float), None).stride == 3
