# SPDX-License-Identifier: BSD-3-Clause
"""Fields at a step that files have block by block: of raw files, of VTKHDF and of Nek5000."""

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pillion.datasets.nek_files import NekPart
from pillion.datasets.raw_blocks import RawField, RawIndex, garbled, index_of
from pillion.insitu.catalogue import Field
from pillion.insitu.step import Domain
from pillion.replay.arrays import Stored, number_type

if TYPE_CHECKING:
    from pillion.datasets.vtkhdf_files import VtkFile

GARBLED = (AttributeError, IndexError, KeyError, TypeError, ValueError)


def stored_raw(head: Mapping[str, Any], field: RawField, path: Path) -> Stored:
    """A field at a step. The numbers of particles, and of cells of unstructured meshes, are a
    step's own, and so are domains.
    """
    index, mesh = index_of(path), head["mesh"]
    shape = tuple(int(n) for n in mesh.get("cells") or ())[::-1]
    if field.is_at_points:
        shape = tuple(map(sum, zip(shape, field.more, strict=True))) or (index.points,)
    shape = shape or (index.items,)
    dtype = number_type(field.dtype)
    if dtype is not None:
        field.expect_whole(index, shape + field.inner)
        index.expect_geometry()
    try:
        domain = None if index.domain is None else domain_of(index.domain)
    except GARBLED as error:
        raise garbled(path, error) from error
    return Stored(
        str(path),
        field.dtype.str,
        dtype,
        shape + field.inner,
        "raw",
        field.name,
        levels=1 + len(mesh.get("ratios") or ()),
        raw=field,
        domain=domain,
        faces=index.faces,
        kind=_kind_of(mesh),
        patches=tuple(str(name) for name in mesh.get("patches") or ()),
        is_coordinates=field.name == mesh.get("coordinates"),
        is_beside=field.number < 0,
    )


def stored_vtkhdf(path: str, name: str, vtk: "VtkFile", field: Field) -> Stored:
    from pillion.datasets.vtkhdf_files import LEVELS, POINTS, field_of_vtkhdf, index_of_vtkhdf

    has_levels = vtk.type == LEVELS
    kinds = {
        LEVELS: "uniform",
        "ImageData": "uniform",
        "RectilinearGrid": "rectilinear",
    }  # by type of file
    kind = kinds.get(vtk.type, field.mesh_kind)
    axes = len(field.cells) or 1
    index = index_of_vtkhdf(Path(path), kind, axes)
    raw = field_of_vtkhdf(Path(path), name, vtk, kind, field.components)
    if field.cells:
        raw = replace(raw, more=(int(raw.is_at_points),) * axes)
    more = 1 if raw.is_at_points else 0
    shape: tuple[int, ...] = (index.points if more else index.items,)
    if kind in ("uniform", "rectilinear", "curvilinear"):
        boxes = [block.box for block in index.blocks if block.level == 0]
        shape = tuple(max(hi for _, hi in along) + more for along in zip(*boxes, strict=True))
        cells = sum(block.count for block in index.blocks if block.level == 0)
        if has_levels and field.is_partial and len(shape) == len(field.cells):
            shape = tuple(map(max, shape, field.cells[::-1]))
        raw = replace(raw, is_partial=cells < math.prod(n - more for n in shape))
    dtype = number_type(raw.dtype)
    if dtype is not None:
        raw.expect_whole(index, shape + raw.inner)
    return Stored(
        path,
        raw.dtype.name,
        dtype,
        shape + raw.inner,
        "vtkhdf",
        f"/VTKHDF/{raw.group}{name}",
        levels=1 + max((block.level for block in index.blocks), default=0),
        raw=raw,
        kind=kind,
        patches=vtk.patches,
        is_beside=name == POINTS,
    )


def stored_nek(part: NekPart, raw: RawField, index: RawIndex) -> Stored:
    shape = (index.items, *raw.inner)
    raw.expect_whole(index, shape)
    return Stored(
        str(part.path),
        raw.dtype.str,
        number_type(raw.dtype),
        shape,
        "nek",
        raw.name,
        raw=raw,
        kind="spectral",
    )


def _kind_of(mesh: Mapping[str, Any]) -> str:
    standard = "uniform" if "cells" in mesh else "particles"
    return str(mesh.get("kind") or ("spectral" if "order" in mesh else standard))


def domain_of(stored: Mapping[str, Any]) -> Domain:
    """As the stages that write store it."""
    triples = ([float(value) for value in stored[name]] for name in ("lo", "hi", "tilt"))
    lo, hi, tilt = ((x, y, z) for x, y, z in triples)
    x, y, z = (bool(value) for value in stored["periodic"])
    dimensions = 2 if int(stored.get("dimensions") or 0) == 2 else 0
    return Domain(lo, hi, tilt, (x, y, z), dimensions)
