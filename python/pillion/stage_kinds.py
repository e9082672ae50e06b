# SPDX-License-Identifier: BSD-3-Clause
"""A stage's parameters as JSON Schema.

A stage describes the kind of a parameter in words for people, such as `integer | auto`. If a
description is not understood here, any value is allowed, so that no value is refused that the stage
would accept.
"""

import re
from typing import Any

Schema = dict[str, Any]

# A value that holds a parameter of the configuration may stand for any single value.
PARAMETER: Schema = {"type": "string", "pattern": r"\$"}
NULL: Schema = {"type": "null"}
TEXT: Schema = {"type": ["string", "number", "boolean"]}
INTEGER: Schema = {
    "anyOf": [{"type": "integer"}, {"type": "string", "pattern": r"^\s*[-+]?[0-9]+$|\$"}]
}
NUMBER: Schema = {
    "anyOf": [{"type": "number"}, {"type": "string", "pattern": r"^\s*[-+]?[0-9.iInN]|\$"}]
}
BOOLEAN: Schema = {
    "anyOf": [{"type": "boolean"}, {"enum": ["true", "false", "yes", "no", "on", "off"]}, PARAMETER]
}
LIST: Schema = {"type": "array"}
MAP: Schema = {"type": "object"}

_SIMPLE = {
    "integer": INTEGER,
    "number": NUMBER,
    "length": NUMBER,
    "field": TEXT,
    "mesh": TEXT,
    "name": TEXT,
    "text": TEXT,
    "units of length": TEXT,
    "map": MAP,
    "map of lists of types": MAP,
    "list of pairs": {"type": "array", "items": {"type": ["array", "object"]}},
    "list of pairs of species": {"type": "array", "items": {"type": ["array", "object"]}},
}


def either(*schemas: Schema) -> Schema:
    """Any of these, without alternatives within alternatives."""
    flat: list[Schema] = []
    for schema in schemas:
        inner = schema["anyOf"] if set(schema) == {"anyOf"} else [schema]
        flat += [one for one in inner if one not in flat]
    return {"anyOf": flat} if len(flat) > 1 else flat[0]


def words(*known: str) -> Schema:
    """One of a few words, or a parameter."""
    return either({"enum": list(known)}, PARAMETER)


def _alternatives(kind: str) -> list[str]:
    """Split at bars that are not in brackets."""
    parts, depth = [""], 0
    for piece in re.split(r"( \| |[\[\]{}])", kind):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(piece, 0)
        if piece == " | " and depth == 0:
            parts.append("")
        else:
            parts[-1] += piece
    return parts


def _one(kind: str) -> Schema | None:
    """None for words that are not understood."""
    if kind in _SIMPLE:
        return _SIMPLE[kind]
    if kind.startswith("["):
        return LIST
    if kind.startswith("{"):
        return MAP
    if kind.startswith("list of "):
        return either(LIST, TEXT)  # a single one counts as a list of one
    return None


def kind_schema(kind: str) -> Schema:
    """The schema of a kind; any value is allowed if the kind is not understood."""
    parts = _alternatives(kind)
    if ";" in kind or not all(parts):
        return {}
    if parts == ["true", "false"]:
        return BOOLEAN
    understood = [_one(part) for part in parts]
    names = [part for part, schema in zip(parts, understood) if schema is None]
    if any(re.fullmatch(r"[\w-]+", name) is None for name in names):
        return {}
    if len(parts) == 1 and names:
        return {}
    numbers: list[Schema] = [{"const": int(name)} for name in names if name.isdigit()]
    chosen = [{"enum": names}, PARAMETER] if names else []
    return either(*(one for one in understood if one is not None), *numbers, *chosen)


def parameter_schema(parameter: dict[str, str | None]) -> Schema:
    """The schema of one parameter as `pillion-stages --json` describes it."""
    standard = parameter["standard"]
    allowed = kind_schema(parameter["kind"] or "")
    if allowed and standard == "null":
        allowed = either(allowed, NULL)
    meaning = (parameter["meaning"] or "").rstrip(".")
    default = "required" if standard is None else f"default: {standard}"
    return {"description": f"{meaning} ({parameter['kind']}; {default}).", **allowed}


def stage_schema(stage: dict[str, Any]) -> Schema:
    """The parameters of a stage as a map, which may be left out where none is required."""
    parameters = stage["parameters"]
    required = [p["name"] for p in parameters if p["standard"] is None]
    return {
        "description": stage["summary"],
        "type": "object" if required else ["object", "null"],
        "properties": {
            **{p["name"]: parameter_schema(p) for p in parameters},
            "at": {
                "description": "Where it runs; in the sidecars if there are any. `auto`: on either "
                "side, as the run finds better.",
                **words("simulation", "sidecar", "auto"),
            },
        },
        "required": required,
        "additionalProperties": False,
    }
