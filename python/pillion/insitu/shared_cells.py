# SPDX-License-Identifier: BSD-3-Clause
"""Points and cells of unstructured meshes as they are shared: whether their arrays suit each other,
and their addresses. The library copies them during the call.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pillion.errors import Error
from pillion.insitu.catalogue import NUMBERS
from pillion.insitu.shared_arrays import address_of

Array = np.ndarray[Any, Any]

POLYHEDRON = 42
# VTK's numbers of types of cells: the points of a cell, 0 if any number, and the names that VTK,
# meshio and Conduit Blueprint have for them.
CELL_TYPES: dict[int, tuple[int, tuple[str, ...]]] = {
    1: (1, ("vertex", "point")),
    2: (0, ("polyvertex",)),
    3: (2, ("line",)),
    4: (0, ("polyline",)),
    5: (3, ("triangle", "tri")),
    6: (0, ("triangle_strip",)),
    7: (0, ("polygon", "polygonal")),
    8: (4, ("pixel",)),
    9: (4, ("quad",)),
    10: (4, ("tetra", "tet")),
    11: (8, ("voxel",)),
    12: (8, ("hexahedron", "hex")),
    13: (6, ("wedge",)),
    14: (5, ("pyramid",)),
    15: (10, ("pentagonal_prism",)),
    16: (12, ("hexagonal_prism",)),
    21: (3, ("quadratic_edge", "line3")),
    22: (6, ("quadratic_triangle", "triangle6")),
    23: (8, ("quadratic_quad", "quad8")),
    24: (10, ("quadratic_tetra", "tetra10")),
    25: (20, ("quadratic_hexahedron", "hexahedron20")),
    26: (15, ("quadratic_wedge", "wedge15")),
    27: (13, ("quadratic_pyramid", "pyramid13")),
    28: (9, ("biquadratic_quad", "quad9")),
    29: (27, ("triquadratic_hexahedron", "hexahedron27")),
    30: (6, ("quadratic_linear_quad", "quad6")),
    31: (12, ("quadratic_linear_wedge", "wedge12")),
    32: (18, ("biquadratic_quadratic_wedge", "wedge18")),
    33: (24, ("biquadratic_quadratic_hexahedron", "hexahedron24")),
    34: (7, ("biquadratic_triangle", "triangle7")),
    POLYHEDRON: (0, ("polyhedron", "polyhedral")),
}
_NUMBERS = {name: number for number, (_, names) in CELL_TYPES.items() for name in names}
_CORNERS = np.array([CELL_TYPES.get(t, (0, ()))[0] for t in range(256)], np.int64)


@dataclass
class Points:
    """Points as the library takes them. Addresses are good as long as `arrays` is."""

    count: int
    data: list[int]
    stride: int  # in elements
    type: int
    ids: int
    arrays: list[Array]


def points_of(mesh: str, points: Any, ids: Any) -> Points:
    """Raises Error unless these are coordinates of points, and an id for each if any."""
    array = np.asarray(points)
    if array.ndim != 2 or array.shape[1] not in (1, 2, 3):
        raise Error(
            f"points of mesh '{mesh}' were shared as an array of shape {array.shape}; give "
            "(count, 3), or (count, 2) in a plane"
        )
    if array.dtype.kind not in "fiu":
        raise Error(
            f"points of mesh '{mesh}' were shared with elements of type {array.dtype}; give "
            "float32 or float64"
        )
    if array.dtype.name not in ("float32", "float64") or not array.dtype.isnative:
        array = array.astype(np.float64)
    step, across = array.strides
    if len(array) > 1 and (step <= 0 or step % array.itemsize):
        array = np.ascontiguousarray(array)
        step, across = array.strides
    stride = step // array.itemsize if len(array) > 1 else array.shape[1]
    first = address_of(array)
    data = [first + d * across for d in range(array.shape[1])]
    numbers = _of_each(mesh, "ids of points", ids, len(array), "int64")
    return Points(
        len(array),
        data,
        stride,
        NUMBERS[array.dtype.name],
        _address(numbers),
        [array] if numbers is None else [array, numbers],
    )


@dataclass
class Cells:
    """Cells as the library takes them, by the names of the C interface."""

    count: int
    type: int  # 0 if each has its own
    index_type: int
    face_count: int
    arrays: dict[str, Array] = field(default_factory=dict)

    @property
    def addresses(self) -> dict[str, int]:
        return {name: address_of(array) for name, array in self.arrays.items()}


def cells_of(
    mesh: str,
    points: Any,
    offsets: Any,
    types: Any,
    base: int,
    polyhedra: dict[str, Any],
    **each: Any,
) -> Cells:
    """Raises Error unless the arrays suit each other. `polyhedra` are the four arrays of faces, and
    `each` those with a value for each cell; None where there is none.
    """
    indices = {"points": _given(points), "offsets": offsets, **polyhedra}
    arrays = _indices(mesh, {name: a for name, a in indices.items() if a is not None})
    kind, kinds = _types(mesh, types)
    corners = arrays["points"]
    arrays["points"] = np.ascontiguousarray(corners).ravel()
    if corners.ndim == 2:
        count = len(corners)
        _expect_columns(mesh, corners, kind, offsets)
        if kinds is None and not CELL_TYPES.get(kind, (0,))[0]:
            reach = np.arange(count + 1) * corners.shape[1] + base
            arrays["offsets"] = reach.astype(corners.dtype)
    else:
        count = _count(mesh, arrays, kind, kinds)
    if kinds is not None and len(kinds) != count:
        raise _fault(mesh, f"{len(kinds)} types for {count} cells; give a type for each cell")
    if "offsets" not in arrays and kinds is not None:
        arrays["offsets"] = _offsets_of(mesh, kinds, arrays["points"].dtype, base)
    _expect_polyhedra(mesh, arrays, polyhedra, kind, kinds)
    _expect_offsets(mesh, arrays, "offsets", "points", count, base)
    _expect_offsets(mesh, arrays, "polyhedron_offsets", "polyhedron_faces", count, base)
    faces = len(arrays["face_offsets"]) - 1 if "face_offsets" in arrays else 0
    _expect_offsets(mesh, arrays, "face_offsets", "face_points", faces, base)
    index_type = NUMBERS[arrays["points"].dtype.name]
    for name, wanted in (("flags", "uint8"), ("ids", "int64"), ("parents", "int64")):
        _put(arrays, name, _of_each(mesh, name, each[name], count, wanted))
    _put(arrays, "patches", _of_each(mesh, "patches", each["patches"], count, "int32"))
    _put(arrays, "types", kinds)
    return Cells(count, kind, index_type, faces, arrays)


def _fault(mesh: str, what: str) -> Error:
    return Error(f"cells of mesh '{mesh}' were shared with {what}")


def _given(points: Any) -> Any:
    return np.empty(0, np.int64) if points is None else points


def _put(arrays: dict[str, Array], name: str, array: Array | None) -> None:
    if array is not None:
        arrays[name] = array


def _address(array: Array | None) -> int:
    return 0 if array is None else address_of(array)


def _indices(mesh: str, given: dict[str, Any]) -> dict[str, Array]:
    """Arrays of one type, int32 or int64, which are those given unless they have another."""
    arrays = {name: np.asarray(array) for name, array in given.items()}
    for name, array in arrays.items():
        if array.size > 0 and array.dtype.kind not in "iu":
            raise _fault(mesh, f"{name} of type {array.dtype}; give int32 or int64")
        if array.ndim != 1 and not (name == "points" and array.ndim == 2):
            raise _fault(mesh, f"{name} of shape {array.shape}; give one dimension")
    types = {array.dtype.str for array in arrays.values()}
    wanted = np.dtype(types.pop()) if len(types) == 1 else np.dtype(np.int64)
    if wanted.name not in ("int32", "int64") or not wanted.isnative:
        wanted = np.dtype(np.int64)
    return {name: np.ascontiguousarray(array, wanted) for name, array in arrays.items()}


def _types(mesh: str, types: Any) -> tuple[int, Array | None]:
    """One type of all cells, or that of each."""
    if isinstance(types, str):
        if types not in _NUMBERS:
            raise _fault(
                mesh,
                f"the unknown type '{types}'; give VTK's number, or a name such as tetra, "
                "hexahedron, wedge, pyramid, polyhedron, triangle or quad",
            )
        return _NUMBERS[types], None
    array = np.asarray(types)
    if array.dtype.kind not in "iu" and array.size > 0:
        raise _fault(
            mesh, f"types of type {array.dtype}; give VTK's numbers as uint8, or the name of one"
        )
    if array.ndim > 1:
        raise _fault(mesh, f"types of shape {array.shape}; give one dimension")
    if array.size > 0 and not 0 < int(array.min()) <= int(array.max()) < 256:
        wrong = int(array.min()) if int(array.min()) <= 0 else int(array.max())
        raise _fault(mesh, f"the type {wrong}; VTK's types are 1 to 255")
    if array.ndim == 0:
        return int(array), None
    return 0, np.ascontiguousarray(array, np.uint8)


def _name(kind: int) -> str:
    return CELL_TYPES[kind][1][0] if kind in CELL_TYPES else f"type {kind}"


def _expect_columns(mesh: str, points: Array, kind: int, offsets: Any) -> None:
    if offsets is not None:
        raise _fault(mesh, "offsets and points in two dimensions; give points in one dimension")
    corners = CELL_TYPES.get(kind, (0,))[0]
    if corners and corners != points.shape[1]:
        raise _fault(
            mesh,
            f"points of shape {points.shape}; a cell of the type {_name(kind)} has {corners} "
            f"points, so give (cells, {corners})",
        )


def _count(mesh: str, arrays: dict[str, Array], kind: int, kinds: Array | None) -> int:
    if "offsets" in arrays:
        if len(arrays["offsets"]) == 0:
            raise _fault(mesh, "no offsets; give one more than cells, which is 1 without cells")
        return len(arrays["offsets"]) - 1 if kinds is None else len(kinds)
    if kinds is not None:
        return len(kinds)
    size, corners = len(arrays["points"]), CELL_TYPES.get(kind, (0,))[0]
    if size == 0:
        return 0
    if not corners:
        raise _fault(mesh, f"no offsets for cells of the type {_name(kind)}; give offsets")
    if size % corners:
        raise _fault(
            mesh,
            f"{size} points; a cell of the type {_name(kind)} has {corners}, so give a multiple "
            "of that",
        )
    return size // corners


def _offsets_of(mesh: str, kinds: Array, dtype: Any, base: int) -> Array:
    """For several types, each with a fixed number of points."""
    corners = _CORNERS[kinds]
    if not corners.all():
        kind = int(kinds[int(np.argmin(corners))])
        raise _fault(mesh, f"no offsets for cells of the type {_name(kind)}; give offsets")
    return np.concatenate([[0], np.cumsum(corners)]).astype(dtype) + dtype.type(base)  # type: ignore[no-any-return]


def _expect_offsets(
    mesh: str, arrays: dict[str, Array], name: str, of: str, count: int, base: int
) -> None:
    """Raises Error unless there are count + 1 offsets that lie within what they are offsets of."""
    offsets = arrays.get(name)
    if offsets is None:
        return
    if len(offsets) != count + 1:
        raise _fault(mesh, f"{len(offsets)} {name} for {count} cells; give {count + 1}")
    if int(offsets[0]) != base or (np.diff(offsets) < 0).any():
        raise _fault(
            mesh, f"{name} that begin with {int(offsets[0])}, or decrease; begin with {base}"
        )
    if int(offsets[-1]) - base != len(arrays[of]):
        raise _fault(
            mesh,
            f"{len(arrays[of])} {of} and {name} that end with {int(offsets[-1])}; end with "
            f"{len(arrays[of]) + base}",
        )


def _expect_polyhedra(
    mesh: str, arrays: dict[str, Array], polyhedra: dict[str, Any], kind: int, kinds: Array | None
) -> None:
    missing = [name for name in polyhedra if name not in arrays]
    if not missing:
        return
    if len(missing) < len(polyhedra):
        raise _fault(mesh, f"some arrays of polyhedra but no {missing[0]}; give all four")
    if kind == POLYHEDRON or (kinds is not None and (kinds == POLYHEDRON).any()):
        raise _fault(mesh, f"polyhedra without faces; give {', '.join(polyhedra)}")


def _of_each(mesh: str, what: str, given: Any, count: int, wanted: str) -> Array | None:
    if given is None:
        return None
    array = np.asarray(given)
    if array.shape != (count,):
        raise Error(f"mesh '{mesh}' was shared with {what} of shape {array.shape}; give ({count},)")
    if array.dtype.kind not in "iub":
        raise Error(f"mesh '{mesh}' was shared with {what} of type {array.dtype}; give {wanted}")
    return np.ascontiguousarray(array, wanted)
