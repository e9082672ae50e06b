# SPDX-License-Identifier: BSD-3-Clause
"""A JSON Schema (draft 2020-12) of configurations, for editors to complete and check them.

docs/configuration.md says the same in sentences; what a schema cannot say, `pillion check` finds.
Keys may be left empty unless they are required, and single values may hold parameters ($name).
"""

import json
import subprocess
from typing import Any

from pillion import programs
from pillion.errors import Error
from pillion.stage_kinds import (
    BOOLEAN,
    NULL,
    PARAMETER,
    TEXT,
    Schema,
    either,
    stage_schema,
    words,
)

_NUMBER = r"\+?[0-9.][0-9.]*([eE][-+]?[0-9]+)?"


def _matching(pattern: str) -> Schema:
    return {"type": "string", "pattern": rf"^\s*({pattern})\s*$|\$"}


def _integer(least: int, most: int | None = None) -> Schema:
    upper = {} if most is None else {"maximum": most}
    digits = r"\+?0*[1-9][0-9]*" if least > 0 else r"\+?[0-9]+"
    return either({"type": "integer", "minimum": least, **upper}, _matching(digits))


_BYTES = either({"type": "number", "minimum": 0}, _matching(rf"{_NUMBER}\s*([kMGT]?B|[KMGT]iB)?"))
_SECONDS = either({"type": "number", "minimum": 0}, _matching(rf"{_NUMBER}\s*(ms|s|min|h)?"))
_SHARE = _matching(r"\+?(100(\.0*)?|[0-9]{1,2}(\.[0-9]*)?)\s*%")
_EVERY = either(
    {"type": "integer", "minimum": 1},
    _matching(rf"\+?0*[1-9][0-9]*(\s+steps?)?|{_NUMBER}\s+time"),
)
_POSITIVE = either({"type": "number", "exclusiveMinimum": 0}, _matching(_NUMBER))
_REAL = either({"type": "number"}, _matching(rf"-?{_NUMBER}"))


def _map(description: str, entries: dict[str, tuple[str, Schema]], *required: str, **more: Any):
    """A map with only these keys; keys that are not required may be empty."""
    return {
        "description": description,
        "type": "object",
        "properties": {
            key: {"description": meaning, **(kind if key in required else either(kind, NULL))}
            for key, (meaning, kind) in entries.items()
        },
        "required": list(required),
        "additionalProperties": False,
        **more,
    }


def _map_of(description: str, value: Schema, **more: Any) -> Schema:
    return {
        "description": description,
        "type": "object",
        "additionalProperties": value,
        **more,
    }


def _has(**values: Schema) -> Schema:
    """Whether a map has these keys with such values."""
    return {"properties": values, "required": list(values)}


def _list_of(item: Schema, most: int = 3) -> Schema:
    return {"type": "array", "items": item, "minItems": 1, "maxItems": most}


_COUNT = {"type": "integer", "minimum": 1}
_GIVEN = {"not": NULL}
_SIDECARS = _map(
    "How many sidecars there are, and what they may cost.",
    {
        "ranks": (
            "How many ranks of the MPI job become sidecars, reached through the network (default: "
            "0).",
            _integer(0),
        ),
        "per_node": (
            "How many ranks on every node become sidecars, reached through the node's memory "
            "(default: 0).",
            _integer(0),
        ),
        "mapping": (
            "Which ranks become sidecars: the last, every r-th, dealt to domains of memory or to "
            "columns of the mesh that joins a node's cores, or whatever costs least (default: "
            "auto).",
            words("auto", "contiguous", "striped", "numa", "folded"),
        ),
        "mesh": (
            "Columns and rows of the mesh that joins the cores of a node, for `mapping`.",
            _list_of(_integer(1)) | {"minItems": 2, "maxItems": 2},
        ),
        "job": (
            "same: sidecars are ranks of the simulation's MPI job; separate: they attach from a "
            "job of their own (default: same).",
            words("same", "separate"),
        ),
        "memory": (
            "Budget for publications in flight on a node, such as 512 MiB (default: 256 MiB).",
            _BYTES,
        ),
        "receive": (
            "Budget for publications in sidecars on a node, with `ranks`, such as 1 GiB (default: "
            "four times `memory`).",
            _BYTES,
        ),
        "copy_threads": (
            "How many threads of a simulation rank copy large arrays (default: 1).",
            {**_COUNT, "maximum": 64},
        ),
        "when_full": (
            "What happens to a publication for which there is no room: it is left out, it waits, "
            "it is made coarser, or it goes to a disk (default: skip).",
            words("skip", "wait", "coarsen", "spill"),
        ),
        "deadline": (
            "How long `wait` waits, and the end for separate sidecars, such as 30 s (default: 60 "
            "s).",
            _SECONDS,
        ),
        "restart": (
            "How often separate sidecars that have died are started again (default: 0).",
            _integer(0),
        ),
        "launch": ("The command that does so; {run} in it stands for the run's id.", TEXT),
        "spill": (
            "Where `when_full: spill` writes.",
            _map(
                "Where `when_full: spill` writes.",
                {
                    "folder": (
                        "Of the disk (default: TMPDIR or /tmp, or output if those are in memory).",
                        TEXT,
                    ),
                    "limit": ("How much may wait there on a node (default: 10 GiB).", _BYTES),
                },
            ),
        ),
        "attached": (
            "What attached jobs may cost the simulation; no refuses them.",
            either(
                {"type": "boolean"},
                words("true", "false", "yes", "no", "on", "off"),
                _map(
                    "What attached jobs may cost the simulation.",
                    {
                        "time": (
                            "Share of the simulation's time for their conditions and copies "
                            "(default: 1 %).",
                            _SHARE,
                        ),
                        "memory": (
                            "How much of `memory` their publications may take on a node "
                            "(default: half of it).",
                            _BYTES,
                        ),
                    },
                ),
            ),
        ),
    },
    allOf=[
        {"not": _has(ranks=_COUNT, per_node=_COUNT)},
        {"not": _has(ranks=_COUNT, job={"const": "separate"})},
        {"not": _has(mapping=_GIVEN, job={"const": "separate"})},
        {"not": _has(receive=_GIVEN, job={"const": "separate"})},
        {"not": _has(receive=_GIVEN, per_node=_COUNT)},
        {"not": _has(mesh=_GIVEN, job={"const": "separate"})},
        *(
            {
                "if": _has(**{key: _GIVEN}),
                "then": _has(job=either({"const": "separate"}, PARAMETER)),
            }
            for key in ("restart", "launch")
        ),
        {
            "if": _has(spill=_GIVEN),
            "then": _has(when_full=either({"const": "spill"}, PARAMETER)),
        },
    ],
)

_OUTPUT = either(
    TEXT,
    _map(
        "Where products go, and what becomes of those of an earlier run.",
        {
            "path": ("Folder for products, report and timeline (default: results).", TEXT),
            "if_exists": (
                "What happens to results of an earlier run in that folder: they are moved to a "
                "folder beside it, they are removed, or the run does not start (default: "
                "keep_aside).",
                words("keep_aside", "overwrite", "refuse"),
            ),
        },
    ),
)

_UNIFORM_ONLY = ("length", "origin", "levels")
_BOXES_ONLY = ("cells", "periodic", "metric", "radius", "covered", "mask")
_SPECTRAL_ONLY = ("order", "point_sets")
_ITEMS_ONLY = ("dimensions",)
_UNSTRUCTURED_ONLY = ("of", "patches")
_RATIO = _integer(1, 16)
_LEVELS = _map(
    "Levels of refinement; `cells` are those of the coarsest.",
    {
        "count": ("How many levels there may be.", _integer(1, 30)),
        "ratio": (
            "By how much each level is finer than the one before: a number, or one for each finer "
            "level, each of which may be a list with one number for each axis (default: 2).",
            either(_RATIO, _list_of(either(_RATIO, _list_of(_RATIO)), 29)),
        ),
    },
    "count",
)
_MESH = _map(
    "Where data lives.",
    {
        "kind": (
            "uniform: cells of a box; rectilinear: the same, with faces at coordinates of each "
            "axis; curvilinear: the same, with coordinates at each point; particles; spectral: "
            "elements with Gauss-Lobatto-Legendre points; unstructured: cells of VTK's types, and "
            "points.",
            words("uniform", "rectilinear", "curvilinear", "particles", "spectral", "unstructured"),
        ),
        "units": ("Of lengths, such as Mpc.", TEXT),
        "cells": ("Numbers of cells, one for each of one to three axes.", _list_of(_integer(1))),
        "length": ("Of the edges (default: the numbers of cells).", _list_of(_POSITIVE)),
        "origin": ("The lower corner (default: 0).", _list_of(_REAL)),
        "periodic": (
            "Whether opposite faces meet, for all axes or one by one (default: false).",
            either(BOOLEAN, _list_of(BOOLEAN)),
        ),
        "dimensions": (
            "Of particles: 2 if they live in a plane, so that the third direction does not count. "
            "Of a spectral mesh: 2 if its elements are quadrilaterals. Of an unstructured mesh: of "
            "its cells, 1 to 3 (default: 3).",
            _integer(1, 3),
        ),
        "order": (
            "Of a spectral mesh: its elements have order + 1 points along each axis.",
            _integer(1, 31),
        ),
        "coordinates": (
            "Of a rectilinear mesh: for each axis the faces of its cells, in ascending order "
            "(default: the program sets them). Of a spectral or curvilinear mesh: the field of 3 "
            "components, or 2 in two dimensions, that says where its points are, or a list with a "
            "field of one component for each.",
            either(TEXT, _list_of(TEXT), _list_of(_list_of(_REAL, 1 << 24))),
        ),
        "point_sets": (
            "Of a spectral mesh: further points of its elements, by name, such as those of the "
            "pressure.",
            _map_of(
                "Further points of elements.",
                _map(
                    "Points of a quadrature, the same along each axis.",
                    {
                        "points": ("How many along each axis.", _integer(2, 32)),
                        "kind": (
                            "Of the quadrature (default: gauss).",
                            words("gauss", "gauss-lobatto"),
                        ),
                    },
                    "points",
                ),
            ),
        ),
        "metric": (
            "What the axes of cells measure, angles in degrees. cylindrical: radius, azimuth, "
            "height, or radius and height; spherical: longitude, latitude, height or radius "
            "(default: cartesian).",
            words("cartesian", "cylindrical", "spherical"),
        ),
        "of": ("The mesh whose boundary an unstructured mesh is.", TEXT),
        "patches": ("Names of the parts of such a boundary.", {"type": "array", "items": TEXT}),
        "levels": ("Levels of refinement of a uniform mesh (default: one level).", _LEVELS),
        "covered": (
            "partial: some cells of the mesh do not exist (default: whole).",
            words("whole", "partial"),
        ),
        "mask": (
            "Of a mesh of boxes: the integer field that is 0 at cells that do not exist.",
            TEXT,
        ),
        "weight": (
            "Of a mesh of cells: the real field with the part of its volume that a cell has.",
            TEXT,
        ),
        "radius": (
            "Of a spherical mesh: of the sphere (default: 1), above which a third axis counts "
            "(default: it is the radius itself).",
            _POSITIVE,
        ),
    },
    "kind",
    allOf=[
        {
            "if": _has(
                kind={
                    "enum": ["particles", "spectral", "rectilinear", "curvilinear", "unstructured"]
                }
            ),
            "then": {"properties": {key: False for key in _UNIFORM_ONLY}},
        },
        {
            "if": _has(kind={"enum": ["curvilinear"]}),
            "then": {
                "properties": {key: False for key in _BOXES_ONLY if key not in ("cells", "mask")},
            },
        },
        {
            "if": _has(kind={"enum": ["particles", "spectral", "unstructured"]}),
            "then": {"properties": {key: False for key in _BOXES_ONLY}},
        },
        {
            "if": _has(
                kind={
                    "enum": ["particles", "uniform", "rectilinear", "curvilinear", "unstructured"]
                }
            ),
            "then": {"properties": {key: False for key in _SPECTRAL_ONLY}},
        },
        {
            "if": _has(kind={"enum": ["particles", "uniform", "unstructured"]}),
            "then": {"properties": {"coordinates": False}},
        },
        {
            "if": _has(kind={"enum": ["uniform", "rectilinear", "curvilinear"]}),
            "then": {"properties": {key: False for key in _ITEMS_ONLY}},
        },
        {
            "if": _has(
                kind={"enum": ["uniform", "rectilinear", "curvilinear", "particles", "spectral"]}
            ),
            "then": {"properties": {key: False for key in _UNSTRUCTURED_ONLY}},
        },
        {
            "if": _has(kind={"enum": ["particles", "spectral"]}),
            "then": {"properties": {"dimensions": either(_integer(2, 3), NULL), "weight": False}},
        },
        {"if": _has(kind={"const": "uniform"}), "then": _has(cells=_GIVEN)},
        {
            "if": _has(kind={"const": "curvilinear"}),
            "then": _has(cells=_GIVEN, coordinates=_GIVEN),
        },
        {"if": _has(kind={"const": "spectral"}), "then": _has(order=_GIVEN)},
    ],
)

_FIELD = _map(
    "A named array on a mesh.",
    {
        "mesh": ("The mesh that it lives on.", TEXT),
        "type": (
            "Of its elements. Masks are `uint8`; NumPy's and C's booleans are such.",
            words(
                *("float64", "float32", "int32", "int64", "int8", "uint8"),
                *("int16", "uint16", "uint32", "uint64"),
            ),
        ),
        "components": (
            "Values of a cell, particle or point (default: 1), or a list with a field for each of "
            "them; the mesh and the type are those of these fields.",
            either(_integer(1, 1000), _list_of(TEXT, 1000)),
        ),
        "centering": (
            "Where the mesh has values: at cells or, on meshes of cells, at points; on uniform and "
            "rectilinear meshes also at faces and edges; on a spectral mesh at the points of each "
            "element (default there: point).",
            words("cell", "point", "face", "edge"),
        ),
        "axis": (
            "Of values at faces: the axis that these are across; at edges: along which they lie.",
            words("x", "y", "z"),
        ),
        "points": (
            "Of a field in spectral elements: the point set of the mesh that it has values at "
            "(default: the points of the mesh).",
            TEXT,
        ),
        "constant": (
            "Whether values of a block never change after they were first published; then they "
            "go to sidecars once (default: false). Not of particles.",
            BOOLEAN,
        ),
        "units": ("Such as g/cm^3; an exponent follows a caret.", TEXT),
    },
    **{
        "if": _has(components={"type": "array"}),
        "then": {
            "properties": {
                key: False for key in ("mesh", "type", "centering", "points", "constant")
            }
        },
        "else": _has(mesh=_GIVEN, type=_GIVEN),
    },
)


_SCALAR_NAME = r"^[A-Za-z_][A-Za-z0-9_]*$"
_SCALARS = either(
    _list_of({"type": "string", "pattern": _SCALAR_NAME}, 10000),
    _map_of(
        "Scalars by name.",
        either(_map("A number per step.", {"units": ("Such as Gyr.", TEXT)}), NULL),
        propertyNames={"pattern": _SCALAR_NAME},
    ),
)


def _analysis(stages: list[dict[str, Any]]) -> Schema:
    stage = {
        "description": "A stage and its parameters: `- NAME: {PARAMETER: VALUE}`.",
        "type": "object",
        "minProperties": 1,
        "maxProperties": 1,
        "properties": {stage["name"]: stage_schema(stage) for stage in stages},
        "additionalProperties": False,
    }
    return _map(
        "A chain of stages with a schedule; its products go to a folder of its name.",
        {
            "every": (
                "When it is due: `N steps`, at steps that N divides, or `T time`, when the time "
                "has passed another multiple of T (default: 1 steps).",
                _EVERY,
            ),
            "when": ("A condition that must hold too: max(density) > 1e3 and step > 100.", TEXT),
            "products_every": (
                "Publications between writings of products that each writing replaces; 0: only at "
                "the end (default: 10).",
                _integer(0),
            ),
            "disable_after": (
                "Failures in a row after which it is switched off; before that each loses its "
                "publication alone (default: 3).",
                _integer(1),
            ),
            "stages": ("What is computed, one after the other.", _list_of(stage, 10000)),
        },
        "stages",
    )


def schema_of(stages: list[dict[str, Any]]) -> Schema:
    """The schema of configurations with these stages, as `pillion-stages --json` describes them."""
    top = _map(
        "What is analysed while a simulation runs: a configuration of Pillion.",
        {
            "output": ("Folder for products, report and timeline (default: results).", _OUTPUT),
            "run": (
                "The name by which `pillion attach` finds the run (default: that of the folder).",
                either({"type": "number"}, _matching(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,59}")),
            ),
            "restart": ("A checkpoint to go on from; empty for a new run.", TEXT),
            "parameters": (
                "Values that $name stands for; those of the program or of --set win.",
                _map_of("Default values of $name.", {"type": [*TEXT["type"], "null"]}),
            ),
            "sidecars": ("How many sidecars there are, and what they may cost.", _SIDECARS),
            "units": (
                "What steps' times are in.",
                _map("Units.", {"time": ("Of the times of steps, such as s.", TEXT)}),
            ),
            "meshes": ("Where data lives, by name.", _map_of("Meshes by name.", _MESH)),
            "fields": ("Arrays that the program shares, by name.", _map_of("Fields.", _FIELD)),
            "scalars": (
                "Numbers that the program sets for each step: a list of names, or a map.",
                _SCALARS,
            ),
            "analyses": (
                "What to compute, by name.",
                _map_of(
                    "Analyses by name.",
                    _analysis(stages),
                    propertyNames={
                        "pattern": r"^[^./\x00-\x1f\x7f-\x9f][^/\x00-\x1f\x7f-\x9f]*$",
                        "maxLength": 200,
                        "not": {
                            "pattern": r"^((report|progress)(-.*)?\.json|timeline|compare|"
                            r"report\.html)$"
                        },
                    },
                ),
            ),
        },
        "analyses",
    )
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Configuration of Pillion",
        **top,
    }


def found_stages() -> list[dict[str, Any]]:
    """The descriptions of all stages that are found, from `pillion-stages --json`."""
    done = subprocess.run(
        [programs.find("pillion-stages"), "--json"], capture_output=True, text=True, check=False
    )
    try:
        return json.loads(done.stdout)
    except ValueError as error:
        raise Error(f"pillion-stages did not list the stages: {done.stderr}") from error


def schema() -> Schema:
    """The schema of configurations with the stages that are found."""
    return schema_of(found_stages())
