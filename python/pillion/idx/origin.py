# SPDX-License-Identifier: BSD-3-Clause
"""Units and times from the origin of a dataset, or from the configuration of the run that wrote it.
Any entry may be missing or malformed; the functions then return nothing for it.
"""

import math
from typing import Any

import yaml

from pillion.yaml_text import Loader


def field_units(origin: dict[str, Any]) -> dict[str, str]:
    """Units by the names of fields."""
    columns = origin.get("columns") or origin.get("fields")
    said = columns if isinstance(columns, list) else []
    known = {str(c["name"]): c for c in said if isinstance(c, dict) and "name" in c}
    given = _mapping(_configuration(origin).get("fields"))
    return {name: _written(_mapping(entry).get("units")) for name, entry in given.items()} | {
        name: _text(entry.get("units")) for name, entry in known.items()
    }


def length_units(origin: dict[str, Any], names: list[str]) -> str:
    """Units of the physical box: those of the mesh of the first of these fields that is known."""
    configuration = _configuration(origin)
    fields, meshes = (_mapping(configuration.get(part)) for part in ("fields", "meshes"))
    of_fields = (_mapping(fields[name]).get("mesh") for name in names if name in fields)
    mesh = _mapping(meshes.get(str(next(of_fields, None))))
    return _text(origin.get("length_units")) or _written(mesh.get("units"))


def times_of(origin: dict[str, Any], count: int) -> list[float] | None:
    """A time for each of `count` steps; None if they are not known."""
    times = origin.get("times")
    if not isinstance(times, list) or len(times) != count:
        return None
    good = all(isinstance(time, int | float) and math.isfinite(time) for time in times)
    return times if good else None


def time_units(origin: dict[str, Any]) -> str:
    return _text(origin.get("time_units"))


def scalars_of(origin: object) -> dict[str, float]:
    """Values of the simulation's scalars, by name."""
    said = _mapping(_mapping(origin).get("scalars"))
    values = {str(name): _mapping(entry).get("value") for name, entry in said.items()}
    return {name: float(v) for name, v in values.items() if isinstance(v, int | float)}


def _configuration(origin: dict[str, Any]) -> dict[str, Any]:
    try:
        return _mapping(yaml.load(str(origin.get("configuration") or ""), Loader=Loader))
    except yaml.YAMLError:
        return {}


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _written(value: object) -> str:
    """A text of a configuration, where a dollar sign is written twice."""
    return _text(value).replace("$$", "$")


def _text(value: object) -> str:
    return str(value) if isinstance(value, str | int) else ""
