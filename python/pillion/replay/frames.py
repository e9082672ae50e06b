# SPDX-License-Identifier: BSD-3-Clause
"""Which file holds which field at which step: a pure function of the files' names and heads."""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath

import numpy as np

from pillion.errors import Error
from pillion.insitu.step import Domain
from pillion.replay.arrays import Stored
from pillion.replay.snapshots import NAME, About

_LARGEST = (1 << 63) - 1


class Names:
    """The names of fields in files: their own names, or others instead."""

    def __init__(self, fields: Collection[str], given: Mapping[str, str]) -> None:
        """`given` are the others, by field. Raises Error if one is for no field."""
        self._field = {name: name for name in fields if name not in given}
        for name, other in given.items():
            if name not in fields:
                known = ", ".join(sorted(fields))
                raise Error(
                    f"--name {name}={other}: the configuration has no field '{name}'; it has "
                    f"{known}"
                )
            if self._field.setdefault(other.removeprefix("/"), name) != name:
                raise Error(f"--name {name}={other}: that name is taken by another field")

    def field(self, name: str) -> str:
        """The field that a file calls so; "" if it is none."""
        return self._field.get(name, "")

    def field_of_dataset(self, path: str) -> str:
        """The field of a dataset, by its whole path or the last part of it; "" if it is none."""
        whole = path.removeprefix("/")
        return self.field(whole) or self.field(whole.rpartition("/")[2])

    def name(self, field: str) -> str:
        """The name of a field in files."""
        return next((name for name, of in self._field.items() if of == field), field)


def field_at_step(stem: str, names: Names) -> tuple[str, int] | None:
    """The field and the step of a .npy file from its name without the extension: "FIELD", or
    "FIELD.STEP" with '_' or '-' for the dot. None if that does not name a field.
    """
    if whole := names.field(stem):
        return whole, 0
    match = re.fullmatch(r"(.+)[._-]([0-9]+)", stem, re.DOTALL)
    if match is None or int(match[2]) > _LARGEST:
        return None
    found = names.field(match[1])
    return (found, int(match[2])) if found else None


def last_number(stem: str) -> int | None:
    """The last number in a name; None if there is none."""
    numbers = re.findall("[0-9]+", stem)
    return int(numbers[-1]) if numbers and int(numbers[-1]) <= _LARGEST else None


@dataclass(frozen=True)
class Found:
    """A field at a step that was found in a file."""

    field: str
    step: int
    time: float | None
    stored: Stored
    scalars: Mapping[str, float] | None = None  # of its step


@dataclass
class Frame:
    """All that is offered at one step."""

    step: int
    time: float = 0.0
    fields: dict[str, Stored] = field(default_factory=dict)
    domains: dict[str, Domain] = field(default_factory=dict)  # by mesh
    faces: dict[str, tuple[np.ndarray, ...]] = field(default_factory=dict)  # by rectilinear mesh
    scalars: dict[str, float] = field(default_factory=dict)


def make_frames(
    found: Iterable[Found],
    fields: Collection[str],
    names: Names,
    about: About,
    time_per_step: float | None,
) -> list[Frame]:
    """The frames in the order of their steps. `about` adds what files lack; `time_per_step`
    overrides their times. Raises Error if one of the fields is missing at a step, or if a step has
    no time while others have.
    """
    frames: dict[int, Frame] = {}
    found = list(found)
    for one in found:
        if one.field not in fields:
            continue
        frame = frames.setdefault(one.step, Frame(one.step))
        frame.scalars |= one.scalars or {}
        if frame.fields.setdefault(one.field, one.stored).is_beside:
            frame.fields[one.field] = one.stored
    times = _times(found, about)
    for step in sorted(frames):
        frame = frames[step]
        _expect_complete(frame, fields, names)
        frame.time = _time(step, times, time_per_step)
        own_scalars = about.steps[step].scalars if step in about.steps else {}
        frame.scalars |= own_scalars
        own = about.steps[step].domains if step in about.steps else {}
        frame.domains = about.domains | own
    return [frames[step] for step in sorted(frames)]


def _times(found: Iterable[Found], about: About) -> dict[int, float]:
    """The times of steps. Times inside files override times in `about`."""
    times: dict[int, float] = {}
    for one in found:
        if one.time is not None and times.setdefault(one.step, one.time) != one.time:
            raise Error(
                f"step {one.step} has two times: {one.stored.place} says {one.time:g}, another "
                f"file {times[one.step]:g}"
            )
    said = {n: step.time for n, step in about.steps.items() if step.time is not None}
    return said | times


def _time(step: int, times: Mapping[int, float], per_step: float | None) -> float:
    if per_step is not None:
        return per_step * step
    if step in times:
        return times[step]
    if times:
        raise Error(
            f"step {step} has no time, while other steps have; add it under 'steps' in {NAME}, or "
            "say --time-per-step"
        )
    return float(step)


def _expect_complete(frame: Frame, fields: Collection[str], names: Names) -> None:
    for name in sorted(fields):
        if name not in frame.fields:
            raise Error(
                f"field '{name}', which analyses use, is missing at step {frame.step}: "
                f"{_expected(name, frame, names)}; give it too, or leave that step's other files "
                "out"
            )


def _expected(name: str, frame: Frame, names: Names) -> str:
    """The place where a field was expected, judged by another field of the same step."""
    other = min(frame.fields)
    beside = frame.fields[other]
    if beside.dataset:
        what = "field" if beside.has_known_order else "dataset"
        return f"'{beside.path}' has no {what} '{names.name(name)}'"
    path = PurePath(beside.path)
    ending = path.name[len(names.name(other)) :]
    return f"there is no '{path.parent / (names.name(name) + ending)}'"
