# SPDX-License-Identifier: BSD-3-Clause
"""The agreement with the host when a stage in Python is created: inputs, outputs, and the fields
that it names.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pillion.errors import Error
from pillion.insitu.catalogue import CENTERINGS, MESH_KINDS, NAMES, NUMBERS, FieldDescription
from pillion.insitu.declaration import LAYOUTS, Declaration, Input, triple

if TYPE_CHECKING:
    from pillion import _stage


@dataclass(frozen=True)
class Shape:
    """An input as the host knows it."""

    number: int
    axes: int  # 0 unless the mesh is uniform
    has_inner: bool
    places: dict[str, int]  # of fields among the arrays of a block
    points: list[list[int]]  # by field: of an element along each axis, or none
    at_points: frozenset[str] = frozenset()  # fields at points of an unstructured mesh


@dataclass(frozen=True)
class Made:
    """An output as the host knows it."""

    number: int
    type: str
    components: int
    points: list[int]
    centering: str
    point_axes: int  # of a mesh of boxes, as a field has them


@dataclass(frozen=True)
class Plan:
    """All that is settled when a stage is created."""

    shapes: list[Shape]
    outputs: dict[str, Made]
    fields: dict[str, FieldDescription]
    names: dict[str, str]  # the stage's names of fields, and those in the catalogue


def make_plan(
    setup: "_stage.Setup", declaration: Declaration, given: dict[str, Any], names: dict[str, str]
) -> Plan:
    inputs = declaration.inputs_with(given)
    declared = {field for one in inputs for field in one.fields} | set(declaration.outputs)
    unknown = sorted(set(names) - declared)
    if unknown:
        raise Error(
            f"{setup.place(['names', unknown[0]])}: this stage names no field '{unknown[0]}'; it "
            f"names {', '.join(sorted(declared))}"
        )
    fields: dict[str, FieldDescription] = {}
    shapes = []
    for wanted in inputs:
        for field in wanted.fields:
            fields[field] = _described(setup, field, names)
        shapes.append(_shape(setup, wanted, [fields[f] for f in wanted.fields], names))
    outputs = {
        name: _made(setup, name, output, inputs, fields, shapes, names)
        for name, output in declaration.outputs.items()
    }
    setup.memory(declaration.memory, 0)
    for product in declaration.products_with(given):
        setup.product(product)
    return Plan(shapes, outputs, fields, names)


def _described(setup: "_stage.Setup", name: str, names: dict[str, str]) -> FieldDescription:
    path = ["names", name] if name in names else ["call"]
    found = setup.field(names.get(name, name), path)
    return FieldDescription(
        **{
            **found,
            "type": NAMES[found["type"]],
            "mesh_kind": MESH_KINDS[found["mesh_kind"]],
            "centering": list(CENTERINGS)[found["centering"]],
        }
    )


def _shape(
    setup: "_stage.Setup", wanted: Input, fields: list[FieldDescription], names: dict[str, str]
) -> Shape:
    layout = LAYOUTS[wanted.layout]
    number = setup.input(
        [names.get(field, field) for field in wanted.fields],
        layout,
        names.get(wanted.key, wanted.key),
        names.get(wanted.position, wanted.position),
        float(wanted.halo),
        names.get(wanted.select, wanted.select),
        [int(v) for v in wanted.values],
        wanted.axis,
        triple(wanted.sides),
        triple(wanted.ghosts),
        wanted.levels,
        wanted.points,
    )
    places = {field: i for i, field in enumerate(wanted.fields)}
    points = [[field.points] * field.dimensions if field.points else [] for field in fields]
    at_points = frozenset(
        name for name, field in zip(wanted.fields, fields, strict=True) if field.is_at_points
    )
    return Shape(number, fields[0].axes, layout >= LAYOUTS["blocks"], places, points, at_points)


def _made(
    setup: "_stage.Setup",
    name: str,
    output: Any,
    inputs: list[Input],
    fields: dict[str, FieldDescription],
    shapes: list[Shape],
    names: dict[str, str],
) -> Made:
    if not inputs:
        raise Error(f"output '{name}' needs an input, on whose blocks it lives")
    like = fields[inputs[0].fields[0]]
    kind = output.type or like.type
    if kind not in NUMBERS:
        raise Error(f"output '{name}' cannot be of type '{kind}'")
    if output.centering not in CENTERINGS or (
        like.mesh_kind == "particles" and output.centering not in ("", like.centering)
    ):
        raise Error(
            f"output '{name}' cannot have the centering '{output.centering}': on meshes there are "
            f"point and cell, and '{like.mesh}' is of kind '{like.mesh_kind}'"
        )
    units = like.units if output.units is None else output.units
    called, number_of_type = names.get(name, name), NUMBERS[kind]
    if shapes[0].has_inner:
        number = setup.output_on(called, shapes[0].number, number_of_type, output.components, units)
    else:
        centering = CENTERINGS[output.centering]
        number = setup.output(
            called, like.name, number_of_type, output.components, centering, units
        )
    at_points = like.mesh_kind == "spectral" and (output.centering or like.centering) == "point"
    points = [like.order + 1] * like.dimensions if at_points else []
    centered = output.centering or like.centering
    point_axes = like.point_axes if centered == like.centering else 0
    if centered == "point":
        point_axes = (1 << like.axes) - 1
    return Made(number, kind, output.components, points, centered, point_axes)
