# SPDX-License-Identifier: BSD-3-Clause
"""From words of the command line to frames that can be played: one rank looks at all files before
anything runs, and tells the others.
"""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from pillion.datasets.nek_files import COORDINATES, catalogue_of_nek
from pillion.datasets.raw_blocks import RawField
from pillion.errors import Error
from pillion.insitu.catalogue import Field
from pillion.replay.arrays import Stored, expect_array
from pillion.replay.components import assembled_in, components_of
from pillion.replay.frames import Frame, Names, make_frames
from pillion.replay.options import Options
from pillion.replay.repeated import without_repeated
from pillion.replay.search import Search, find_files
from pillion.replay.snapshots import NAME, gather_about
from pillion.run_files import folders_of
from pillion.yaml_text import Loader, read_text

# Formats whose files may be without times, and how to have them.
_MAY_LACK_TIMES = {"idx": "", "lammps": ", or write dumps with `dump_modify ID time yes`"}


def make_plan(
    options: Options, fields: Mapping[str, Field], warn: Callable[[str], None]
) -> list[Frame]:
    """All frames for the fields that are used. Every array has been checked against its field, and
    every particle mesh has a domain. Raises Error; passes remarks to `warn`.
    """
    used = {name: field for name, field in fields.items() if field.used}
    names = Names(fields, options.names)
    files = find_files(options.files)
    entries = _entries(options.configuration)
    assembled = assembled_in(entries, fields)
    wholes = {
        name: fields[name] for name, of in assembled.items() if not used.keys().isdisjoint(of)
    }
    named = _coordinates(entries)
    if "coordinates: " in catalogue_of_nek(files):
        named.add(COORDINATES)
    search = Search(names, used | wholes, options.steps, named)
    for file in files:
        search.look_into(file)
    _warn_of_left_out(search, warn)
    about = gather_about(options.files, options.about)
    once, repeated = without_repeated(search.found)
    if repeated:
        warn(
            "steps that are there twice with the same values, as a restarted run writes them, are "
            "taken once: " + ", ".join(map(str, sorted(repeated)))
        )
    found = once + components_of(once, assembled)
    frames = make_frames(found, used, names, about, options.time_per_step)
    declared = _declared_scalars(options.configuration)
    for frame in frames:
        frame.scalars = {n: value for n, value in frame.scalars.items() if n in declared}
    if not frames:
        raise Error(
            f"none of the {len(files)} files holds a field that analyses use, such as "
            f"'{min(used, default='')}'{', at these steps' if options.steps else ''}; see --name "
            "if files call it something else"
        )
    has_times = (
        options.time_per_step is not None
        or any(one.time is not None for one in found)
        or any(step.time is not None for step in about.steps.values())
    )
    if not has_times:
        _warn_without_times(frames[0], warn)
    _set_domains(frames, used, options, fields)
    for frame in frames:
        for name, field in used.items():
            _expect_cells(frame.fields[name], field)
            expect_array(frame.fields[name], field, options.order)
            _expect_levels(frame.fields[name], field)
        _expect_particles(frame, used)
        _expect_one_mesh(frame, used)
    _expect_patches(frames, used, entries)
    return frames


def _warn_of_left_out(search: Search, warn: Callable[[str], None]) -> None:
    if search.coarse:
        warn(
            "steps that were stored coarse, since sidecars could not keep up, are left out: "
            + ", ".join(map(str, sorted(search.coarse)))
        )
    if search.cut:
        warn(
            f"{len(search.cut)} frames that are not whole, as a killed run leaves them, are left "
            f"out ({'; '.join(search.cut[:3])})"
        )


def _warn_without_times(frame: Frame, warn: Callable[[str], None]) -> None:
    first = frame.fields[min(frame.fields)]
    if first.format in _MAY_LACK_TIMES:
        warn(
            f"'{first.path}' does not say the times of its steps; the time of a step is its number "
            f"here (see --time-per-step{_MAY_LACK_TIMES[first.format]})"
        )


def _expect_levels(stored: Stored, field: Field) -> None:
    if stored.levels > field.levels:
        raise Error(
            f"{stored.place} has {stored.levels} levels of refinement, but mesh '{field.mesh}' has "
            f"{field.levels}; say `levels: {{count: {stored.levels}, ratio: …}}` with the mesh"
        )


_IN_BLOCKS = ("curvilinear", "unstructured", "spectral")  # meshes that few formats hold


def _expect_cells(stored: Stored, field: Field) -> None:
    of_mesh = field.mesh_kind if field.mesh_kind in _IN_BLOCKS else ""
    if stored.raw is None and (of_mesh or field.is_at_points or field.point_axes):
        raise Error(
            f"{stored.place} cannot be field '{field.name}' "
            + (f"on the {of_mesh} mesh '{field.mesh}'" if of_mesh else "at points of a mesh")
            + ", which can be replayed from what write_raw or write_vtkhdf has written"
        )
    if stored.raw is not None and (of_mesh or stored.kind in _IN_BLOCKS):
        _expect_kind(stored, stored.raw, field)
    if stored.format == "openpmd" and stored.raw is None and field.is_in_blocks:
        raise Error(
            f"{stored.place} does not list the boxes of mesh '{field.mesh}', as files of the stage "
            "write_openpmd do; replay plotfiles, VTKHDF or raw files"
        )
    if stored.raw is not None and stored.raw.is_partial and not field.is_partial:
        raise Error(
            f"{stored.place} lacks cells of its mesh; say `covered: partial` with mesh "
            f"'{field.mesh}'"
        )


def _expect_kind(stored: Stored, raw: RawField, field: Field) -> None:
    if field.mesh_kind != stored.kind:
        raise Error(
            f"{stored.place} is on a mesh of kind {stored.kind}, but mesh "
            f"'{field.mesh}' is of kind {field.mesh_kind}"
        )
    if field.mesh_kind == "spectral":
        if raw.inner != field.of_item:
            raise Error(
                f"{stored.place} has values of shape {list(raw.inner)} in each element, but field "
                f"'{field.name}' needs {list(field.of_item)}; declare the `order` and the "
                f"`point_sets` of mesh '{field.mesh}', and the `centering` of the field, as they "
                "were in the run"
            )
    elif field.is_at_points != raw.is_at_points or _more_of(field) != raw.more:
        raise Error(
            f"{stored.place} has values at {_where(raw.is_at_points, raw.more)}, but field "
            f"'{field.name}' is declared at {_where(field.is_at_points, _more_of(field))}; set its "
            "`centering`, and the `axis` of faces and edges"
        )


def _more_of(field: Field) -> tuple[int, ...]:
    """How many more values than cells along [z, y, x]; nothing of other meshes than boxes."""
    return tuple(field.point_axes >> axis & 1 for axis in reversed(range(len(field.cells))))


def _where(is_at_points: bool, more: tuple[int, ...]) -> str:
    if not any(more) or all(more):
        return "points" if is_at_points or any(more) else "cells"
    across = [axis for axis, n in zip("xyz", reversed(more), strict=False) if n]
    return f"points along {' and '.join(across)}"


def _set_domains(
    frames: list[Frame], used: Mapping[str, Field], options: Options, fields: Mapping[str, Field]
) -> None:
    """Sets the domains of particles, and coordinates that files have. The file's own domain
    overrides the one beside it, and the command line overrides both.
    """
    particles = {field.mesh for field in fields.values() if field.is_particles}
    for mesh in options.domains:
        if mesh not in particles:
            raise Error(
                f"--domain {mesh}=...: the configuration has no particles on a mesh '{mesh}'"
            )
    for frame in frames:
        for name, field in used.items():
            told = frame.fields[name].domain
            if field.is_particles and told is not None:
                frame.domains[field.mesh] = told
            if field.mesh_kind == "rectilinear" and frame.fields[name].faces:
                frame.faces[field.mesh] = frame.fields[name].faces
        frame.domains |= options.domains


def _expect_particles(frame: Frame, used: Mapping[str, Field]) -> None:
    """Fields of one mesh have as many particles, and their mesh a domain."""
    first: dict[str, str] = {}
    of_particles = {name: field for name, field in used.items() if field.is_particles}
    for name, field in of_particles.items():
        one, other = frame.fields[name], frame.fields[first.setdefault(field.mesh, name)]
        if one.shape[0] != other.shape[0]:
            raise Error(
                f"{one.place} holds {one.shape[0]} particles, but {other.place} holds "
                f"{other.shape[0]}"
            )
    for field in of_particles.values():
        if field.mesh not in frame.domains:
            raise Error(
                f"mesh '{field.mesh}' has no domain at step {frame.step}; say --domain "
                f"{field.mesh}=LX,LY,LZ, or add it under 'domains' in {NAME} beside the files"
            )


def _expect_one_mesh(frame: Frame, used: Mapping[str, Field]) -> None:
    """Fields of one mesh that are shared by blocks have the same blocks, whatever wrote them."""
    first: dict[str, tuple[Stored, object]] = {}
    for name, field in used.items():
        stored = frame.fields[name]
        if stored.kind not in _IN_BLOCKS:
            continue
        blocks = sorted((block.id, *block.box, block.point_range) for block in stored.index.blocks)
        other, others = first.setdefault(field.mesh, (stored, blocks))
        if blocks != others:
            raise Error(
                f"{stored.place} has other blocks of mesh '{field.mesh}' than {other.place}; "
                "replay fields of one mesh from what one run has written"
            )


def _expect_patches(
    frames: list[Frame], used: Mapping[str, Field], entries: Mapping[str, Any]
) -> None:
    """Cells of a boundary name patches by their place in the list of the mesh."""
    meshes = entries.get("meshes")
    for name, field in used.items():
        stored = frames[0].fields[name]
        mesh = meshes.get(field.mesh) if isinstance(meshes, dict) else None
        declared = mesh.get("patches") if isinstance(mesh, dict) else None
        if stored.patches and isinstance(declared, list) and [*stored.patches] != declared:
            raise Error(
                f"{stored.place} lists the patches {', '.join(stored.patches)}, but mesh "
                f"'{field.mesh}' has {', '.join(map(str, declared))}; list them as the file does"
            )


def expect_elsewhere(files: Iterable[str], configuration: str, output: str) -> None:
    """Raises Error if one of the files is among an earlier run's results in the output folder,
    where they would be moved. `output` is what the command line says, or "". For before the session
    opens.
    """
    named = output or _output_of(_entries(configuration))
    folders = [(Path(named) / name).resolve() for name in folders_of(Path(named))] if named else []
    for file in files:
        if any(Path(file).resolve().is_relative_to(folder) for folder in folders):
            raise Error(
                f"'{file}' is among the results of the run in '{named}', which are moved aside "
                "when another run writes there; name another folder with --output"
            )


def expect_kept(files: Iterable[str], configuration: str, output: Path) -> None:
    """Raises Error if an analysis of the configuration writes datasets where one of the files is.
    `output` is the folder that products go to.
    """
    analyses = _entries(configuration).get("analyses")
    for name, analysis in (analyses if isinstance(analyses, dict) else {}).items():
        folder = (output / str(name)).resolve()
        if not _writes(analysis):
            continue
        for file in files:
            if Path(file).resolve().is_relative_to(folder):
                raise Error(
                    f"'{file}' would be lost: analysis '{name}' of the configuration writes to the "
                    "same folder; say --output with another one"
                )


def _entries(configuration: str) -> dict[str, Any]:
    """The entries of the configuration file, which may be one that the session will refuse."""
    try:
        found = yaml.load(read_text(Path(configuration)), Loader=Loader)
    except (Error, yaml.YAMLError):
        return {}
    return found if isinstance(found, dict) else {}


def _output_of(entries: Mapping[str, Any]) -> str:
    """The output folder as the file names it; "" if that takes parameters."""
    said = entries.get("output", "results")
    path = said.get("path", "results") if isinstance(said, dict) else said
    name = path if isinstance(path, str) else "results"
    return "" if "$" in name else name


def _writes(analysis: Any) -> bool:
    stages = analysis.get("stages") if isinstance(analysis, dict) else None
    return any(
        isinstance(stage, dict) and any(name.startswith("write_") for name in stage)
        for stage in (stages if isinstance(stages, list) else [])
    )


def _declared_scalars(configuration: str) -> set[str]:
    """The names under `scalars:`; files may hold others."""
    said = _entries(configuration).get("scalars")
    return set(map(str, said)) if isinstance(said, list | dict) else set()


def _coordinates(entries: Mapping[str, Any]) -> set[str]:
    """The fields that meshes name as their coordinates."""
    meshes = entries.get("meshes")
    of = {name: mesh.get("coordinates") for name, mesh in _maps(meshes)}
    named = {found for found in of.values() if isinstance(found, str)}
    return named | {f"{name}_coordinates" for name, found in of.items() if isinstance(found, list)}


def _maps(entries: Any) -> list[tuple[str, dict[str, Any]]]:
    found = entries.items() if isinstance(entries, dict) else ()
    return [(str(name), entry) for name, entry in found if isinstance(entry, dict)]
