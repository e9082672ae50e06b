# SPDX-License-Identifier: BSD-3-Clause
"""Runs one stage in Python for the host: finds what YAML calls, makes the stage, calls it at every
publication, and checks that it kept no array of the step.

The module `pillion._stage` calls make_runner, and the methods of the runner.
"""

import functools
import gc
import hashlib
import importlib
import importlib.util
import inspect
import io
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from pillion.errors import Error, explained
from pillion.insitu.declaration import ATTRIBUTE
from pillion.insitu.plan import Plan, make_plan
from pillion.insitu.rows import Rows, shown
from pillion.insitu.step import Step

if TYPE_CHECKING:
    from pillion import _stage


def _in_usual_arithmetic(call: Callable[..., Any]) -> Callable[..., Any]:
    """A program in Python may have told NumPy to raise; no result of a stage depends on that."""

    @functools.wraps(call)
    def usual(*args: Any, **named: Any) -> Any:
        with np.errstate(divide="warn", over="warn", under="ignore", invalid="warn"):
            return call(*args, **named)

    return usual


def load(call: str, beside: Path) -> Any:
    """The object that `call` names. FILE.py:NAME is searched for in the working folder and in
    `beside`; the other form is MODULE:NAME. Raises Error if it does not exist or is not a stage.
    """
    where, colon, name = call.rpartition(":")
    if not colon or not where or not name.isidentifier():
        raise Error(f"'{call}' must be FILE.py:NAME or MODULE:NAME, such as analysis.py:profile")
    module = _load_file(where, beside) if where.endswith(".py") else _load_module(where, beside)
    found = getattr(module, name, None)
    stages = [n for n, value in vars(module).items() if hasattr(value, ATTRIBUTE)]
    if found is None:
        known = ", ".join(stages) or "no stage"
        raise Error(f"{where} has no '{name}'; it has {known}")
    if not hasattr(found, ATTRIBUTE):
        raise Error(f"'{name}' in {where} is not a stage; put @pillion.stage(fields=…) before it")
    return found


def _load_module(name: str, beside: Path) -> ModuleType:
    for folder in (str(Path.cwd()), str(beside)):
        if folder not in sys.path:
            sys.path.append(folder)
    return importlib.import_module(name)


def _load_file(name: str, beside: Path) -> ModuleType:
    candidates = [Path.cwd() / name, beside / name]
    path = next((c.resolve() for c in candidates if c.is_file()), None)
    if path is None:
        searched = " and ".join(dict.fromkeys(str(c.parent) for c in candidates))
        raise Error(f"there is no file {name} in {searched}")
    known_as = f"pillion_{path.stem}_{hashlib.sha1(str(path).encode()).hexdigest()[:8]}"
    if known_as in sys.modules:
        return sys.modules[known_as]
    if str(path.parent) not in sys.path:  # for what the file imports from beside it
        sys.path.append(str(path.parent))
    spec = importlib.util.spec_from_file_location(known_as, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[known_as] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[known_as]
        raise
    return module


def value_of(node: Any) -> Any:
    """A node of YAML as a value: numbers, truth values and null become what they say."""
    if isinstance(node, dict):
        return {name: value_of(child) for name, child in node.items()}
    if isinstance(node, list):
        return [value_of(child) for child in node]
    if node is None or node in ("null", "~", ""):
        return None
    if node in ("true", "false"):
        return node == "true"
    for kind in (int, float):
        try:
            return kind(node)
        except ValueError:
            pass
    return node


@_in_usual_arithmetic
def make_runner(setup: "_stage.Setup") -> "Runner":
    """Makes the runner of a configured stage. Raises Error with the place in the configuration if
    there is no such stage.
    """
    parameters = setup.parameters()
    call = str(parameters["call"])
    given = value_of(parameters["with"] or {})
    names = parameters["names"] or {}
    for key, value in (("with", given), ("names", names)):
        if not isinstance(value, dict):
            raise Error(f"{setup.place([key])}: '{key}' must be a map from names to values")
    place = setup.place(["call"])
    try:
        what = load(call, Path(place.rsplit(":", 1)[0]).parent.absolute())
    except Error as error:
        raise Error(f"{place}: {error}") from error
    except BaseException as error:
        raise Error(f"{place}: '{call}' cannot be loaded: {explained(error)}") from error
    _check_parameters(what, given, setup.place(["with"]), call)
    try:
        plan = make_plan(setup, getattr(what, ATTRIBUTE), given, names)
        stage = what(**given) if inspect.isclass(what) else what
    except Error as error:
        # What the host refuses says already where it stands.
        raise error if _has_place(str(error), place) else Error(f"{place}: {error}") from error
    own = {} if inspect.isclass(what) else given
    return Runner(what.__name__, stage, own, plan, _defaults(what, given))


def _defaults(what: Any, given: Mapping[str, Any]) -> dict[str, float | str]:
    """Parameters that the configuration leaves as the function has them, if they are numbers or
    texts: its tables name them, so that a result can be made again.
    """
    return {
        name: parameter.default
        for name, parameter in inspect.signature(what).parameters.items()
        if name not in given and type(parameter.default) in (int, float, str)
    }


def _has_place(message: str, place: str) -> bool:
    return message.startswith(place.rsplit(":", 1)[0] + ":")


def _check_parameters(what: Any, given: dict[str, Any], place: str, call: str) -> None:
    """Raises Error if it cannot be called with these."""
    leading = () if inspect.isclass(what) else (None,)
    signature = inspect.signature(what)
    known = list(signature.parameters)[len(leading) :]
    try:
        signature.bind(*leading, **given)
    except TypeError as error:
        takes = ", ".join(known) or "no parameters"
        raise Error(f"{place}: '{call}' takes {takes}: {error}") from error


class Runner:
    """A stage at work. Every method is called on every peer."""

    def __init__(
        self,
        name: str,
        stage: Any,
        given: dict[str, Any],
        plan: Plan,
        defaults: Mapping[str, float | str],
    ) -> None:
        self.name, self.stage, self.given, self.plan = name, stage, given, plan
        self.rows = Rows(name, defaults)

    @_in_usual_arithmetic
    def run(self, work: "_stage.Work") -> None:
        step = Step(work, self.plan)
        self.rows.take(step, self.stage(step, **self.given))
        if self.rows and step.products_due:
            self.rows.write(step)
        self._expect_nothing_kept(step)
        _flush()

    @_in_usual_arithmetic
    def finish(self, work: "_stage.Work") -> None:
        step = Step(work, self.plan)
        if hasattr(self.stage, "finish"):
            self.stage.finish(step)
        if self.rows:
            self.rows.write(step)
        _flush()

    @_in_usual_arithmetic
    def save(self, state: "_stage.State") -> None:
        kept = self.stage.save() if hasattr(self.stage, "save") else {}
        if not isinstance(kept, Mapping):
            raise Error(f"save() of '{self.name}' returned {shown(kept)}, not a dict of arrays")
        buffer = io.BytesIO()
        arrays: dict[str, Any] = {name: np.asarray(value) for name, value in kept.items()}
        np.savez(buffer, **arrays)
        state.save("rows", self.rows.dumped())
        state.save("kept", buffer.getvalue())

    @_in_usual_arithmetic
    def restore(self, state: "_stage.State") -> None:
        self.rows.load(state.load("rows"))
        with np.load(io.BytesIO(state.load("kept")), allow_pickle=False) as kept:
            arrays = {name: kept[name] for name in kept.files}
        if hasattr(self.stage, "restore"):
            self.stage.restore(arrays)

    def _expect_nothing_kept(self, step: Step) -> None:
        watch = step._let_go()
        if watch() is None:
            return
        gc.collect()  # what only a circle of references holds is not kept
        if watch() is not None:
            raise Error(
                f"'{self.name}' has kept an array of step {step.index}, whose memory is the "
                "simulation's and will change or go away; keep a copy of it: array.copy()"
            )


def _flush() -> None:
    """Prints the output of a stage. A closed pipe does not count as a failure of the stage."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            with suppress(OSError, ValueError):
                stream.flush()
