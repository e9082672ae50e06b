# SPDX-License-Identifier: BSD-3-Clause
"""Finding the function or class that YAML calls, and the values of its parameters."""

import hashlib
import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from pillion.errors import Error
from pillion.insitu.declaration import ATTRIBUTE


def load(call: str, beside: Path) -> Any:
    """The object that `call` names: FILE.py:NAME, the file being looked for from the working folder
    and from `beside`, or MODULE:NAME. Raises Error if there is none, or if it is no stage.
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
        raise Error(f"'{name}' in {where} is no stage; put @pillion.stage(fields=…) before it")
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
