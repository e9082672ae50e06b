# SPDX-License-Identifier: BSD-3-Clause
"""The declaration of a stage in Python: the decorator `pillion.stage`, inputs, outputs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar

from pillion.errors import Error

Layout = Literal[
    "as_shared", "by_key", "spatial", "blocks", "slabs", "pencils", "powers_of_two", "transform"
]
LAYOUTS: dict[str, int] = {
    "as_shared": 1,
    "by_key": 2,
    "spatial": 3,
    "blocks": 4,
    "slabs": 5,
    "pencils": 6,
    "powers_of_two": 7,
    "transform": 8,
}
ATTRIBUTE = "pillion_stage"

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Input:
    """Fields of one mesh in one layout. Pillion moves the data there.

    Attributes:
        fields: names in the catalogue; the configuration may rename them (`names`).
        layout: the distribution over ranks.
            Any mesh: "as_shared" (as the simulation shares them; never moved within a side).
            Particles, spectral elements and cells of unstructured meshes: "by_key" (always at the
            owner of the key, sorted by it).
            Particles: "spatial" (by place, with copies of all within `halo`). Unstructured meshes:
            the same without `position`; the centres of cells decide.
            Uniform, rectilinear and curvilinear meshes: "blocks" (one per peer, close to cubes),
            "slabs" (cut along `axis` alone), "pencils" (whole along `axis`) or "powers_of_two"
            (boxes of `2**sides` cells). The layout "transform" is slabs along the last axis, or
            pencils if planes are few.
        ghosts: cells added on both sides, for all axes or for each; not for "as_shared".
        axis: the axis of slabs and pencils, counted from 0.
        sides: exponents of "powers_of_two", for all axes or for each.
        key: an integer field of the mesh, one for each item, for "by_key". Cells of unstructured
            meshes need none: their key is then the id that the program shares with each.
        position: a field with 3 components, for "spatial".
        halo: for "spatial", a distance in the mesh's units of length; of unstructured meshes, also
            for "by_key", the number of layers of cells that are copied, see `Block.flags`.
        select: an integer field of particles to select by.
        values: the values of `select` to keep.
        levels: whether blocks may be of several levels of refinement and cells missing, for
            "as_shared"; see `Block.flags`. Otherwise fields on such meshes are refused.
        points: whether fields may have values at points of meshes of boxes, for "as_shared". Their
            arrays have one index more along each axis than cells. Otherwise they are refused.
    """

    fields: Sequence[str]
    layout: Layout = "as_shared"
    ghosts: int | Sequence[int] = 0
    axis: int = 0
    sides: int | Sequence[int] = 0
    key: str = ""
    position: str = ""
    halo: float = 0.0
    select: str = ""
    values: Sequence[int] = ()
    levels: bool = False
    points: bool = False


@dataclass(frozen=True)
class Output:
    """A field that the stage produces on the blocks of its first input, for later stages.

    Attributes:
        type: the type of its elements; by default that of the first field of the input.
        components: values per cell, particle, point or element.
        centering: on a spectral mesh, "point" or "cell"; by default as the first field of the
            input.
        units: free text; by default those of the first field of the input.
    """

    type: str = ""
    components: int = 1
    units: str | None = None
    centering: str = ""


@dataclass(frozen=True)
class Declaration:
    """The declaration of one stage in Python."""

    inputs: Sequence[Input] | Callable[..., Sequence[Input]]
    outputs: dict[str, Output] = field(default_factory=dict)
    products: Sequence[str] | Callable[..., Sequence[str]] = ()
    memory: float = 0.0

    def products_with(self, parameters: dict[str, Any]) -> list[str]:
        return list(self.products(**parameters) if callable(self.products) else self.products)

    def inputs_with(self, parameters: dict[str, Any]) -> list[Input]:
        wanted = self.inputs(**parameters) if callable(self.inputs) else self.inputs
        return [checked(one) for one in wanted]


def stage(
    fields: str | Sequence[str] = (),
    *,
    layout: Layout = "as_shared",
    inputs: Sequence[Input] | Callable[..., Sequence[Input]] | None = None,
    outputs: dict[str, Output] | None = None,
    products: Sequence[str] | Callable[..., Sequence[str]] = (),
    memory: float = 0.0,
    **of_layout: Any,
) -> Callable[[F], F]:
    """Makes a function or a class a stage, which YAML calls `python: {call: "FILE.py:NAME"}`.

    A function is called as f(step, **parameters) at every publication, on every peer. The
    parameters are the map `with` in YAML. It returns nothing, or a mapping from names to numbers.
    The mapping becomes a row of a table over time, named after the function. The first peer's
    numbers count, so return sums over peers.

    A class is made once, as C(**parameters); its instances are called as functions are. It may have
    finish(step), which is called at the end of the run. For checkpoints, it may have save(), which
    returns a dict of arrays, the same on every peer, and restore(dict).

    Args:
        fields: the field or fields that it reads, of one mesh.
        layout: the layout of these fields; see Input, also for the further arguments.
        inputs: instead of these, several inputs, or a function that makes them of the parameters.
        outputs: fields that it produces, by name; see Output.
        products: names of its products, "NAME.csv" for a table called NAME, or a function that
            makes them of the parameters. If two stages of one analysis declare the same product,
            they are refused before the run begins; without a declaration, when the second one
            writes.
        memory: bytes that the stage takes beside its inputs and outputs, for each byte of its
            inputs; `pillion check` adds them up.

    Raises:
        Error: if the arguments contradict each other.
    """
    if inputs is not None and (fields or of_layout):
        raise Error("a stage says either fields and their layout, or inputs")
    if inputs is None:
        names = [fields] if isinstance(fields, str) else list(fields)
        inputs = [Input(names, layout, **of_layout)] if names else []
    if not callable(inputs):
        inputs = [checked(one) for one in inputs]
    if isinstance(products, str):
        raise Error(f"products of a stage are a list of names, not '{products}'")
    declaration = Declaration(inputs, dict(outputs or {}), products, memory)

    def mark(what: F) -> F:
        setattr(what, ATTRIBUTE, declaration)
        return what

    return mark


def checked(wanted: Input) -> Input:
    """The input with its fields as a list; raises Error if it cannot be."""
    if not isinstance(wanted, Input):
        raise Error(f"an input of a stage is a pillion.Input, not {wanted!r}")
    fields = [wanted.fields] if isinstance(wanted.fields, str) else list(wanted.fields)
    if not fields:
        raise Error("an input of a stage names at least one field")
    if wanted.layout not in LAYOUTS:
        raise Error(f"unknown layout '{wanted.layout}'; there are {', '.join(LAYOUTS)}")
    return replace(wanted, fields=fields)


def triple(value: int | Sequence[int]) -> list[int]:
    """For each of three axes."""
    each = [value] * 3 if isinstance(value, int) else [int(v) for v in value]
    return (each + [0, 0, 0])[:3]
