#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Fails if an include runs against the layers of docs/architecture.md, if anything but comm/ calls
MPI, if anything but base/clock waits or reads a clock, if a stage calls MPI or includes a file of
another stage, if a stage or an adapter reaches into the library, or if modules of python/ import
each other in a ring, inside functions and for type checkers included. Prints each offending line or
ring."""

import ast
import re
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# What each layer may include besides itself and the public headers.
LAYERS = {
    "base": set(),
    "idx": set(),
    "model": {"base"},
    "comm": {"base"},
    "topology": {"base", "model"},
    "node": {"base"},
    "policy": {"model"},
    "products": {"base"},
    "layout": {"base", "model"},
    "redistribution": {"base", "model", "comm", "layout", "node"},
    "transport": {"base", "model", "comm", "node", "layout", "redistribution"},
    "stagehost": {"base", "model", "comm", "layout", "products", "redistribution"},
    "run": {
        "base",
        "model",
        "comm",
        "layout",
        "node",
        "products",
        "redistribution",
        "stagehost",
        "topology",
        "transport",
    },
    # The next three do not include each other.
    "simulation": {
        "base",
        "model",
        "comm",
        "node",
        "policy",
        "products",
        "redistribution",
        "run",
        "stagehost",
        "transport",
    },
    "sidecar": {"base", "comm", "policy", "products", "run", "stagehost", "transport"},
    "preflight": {"base", "model", "layout", "node", "products", "run", "stagehost", "topology"},
    "session": {
        "base",
        "model",
        "comm",
        "preflight",
        "products",
        "run",
        "sidecar",
        "simulation",
        "topology",
        "transport",
    },
    "capi": {"base", "comm", "run", "session", "simulation", "topology"},
    # Pillion's own programs.
    "apps": {"base", "model", "node", "preflight", "run", "sidecar", "stagehost"},
}
MPI_LAYERS = {"comm", "apps"}
# Files of stages that may call MPI, each with the reason. Stages have messages from the host.
STAGES_WITH_MPI: dict[str, str] = {}
# Folders below stages/ whose files other stages may include.
SHARED_BY_STAGES = {"common"}
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]')
# Reads a clock or sleeps by itself, past base/clock.hpp.
WAIT = re.compile(
    r"\b(?:steady_clock|system_clock|sleep_for|sleep_until|usleep|nanosleep|SYS_futex)\b"
    r"|this_thread::yield"
)
MPI_CALL = re.compile(r"\bMPI_[A-Z][a-z]\w*\s*\(")


def sources(folder: Path):
    return sorted(p for p in folder.rglob("*") if p.suffix in {".h", ".hpp", ".c", ".cpp"})


def may_weigh(layer: str, include: str) -> bool:
    """Conditions weigh values as stages do, with the same code."""
    return layer == "stagehost" and include.startswith("stages/common/")


def faults_of(path: Path, layer: str):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        found = INCLUDE.match(line)
        target = found.group(1).split("/")[0] if found else None
        if target in LAYERS and target != layer and target not in LAYERS[layer]:
            yield number, f"{layer} may not include {target}"
        if found and target == "stages" and not may_weigh(layer, found.group(1)):
            yield number, "only stagehost may include a file of stages, and only of stages/common"
        if layer not in MPI_LAYERS and MPI_CALL.search(line):
            yield number, f"only {', '.join(MPI_LAYERS)} may call MPI"
        if path.name != "clock.cpp" and WAIT.search(line):
            yield number, "only base/clock.cpp may wait or read a clock; use base::wait_until"


def faults_outside(path: Path):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        found = INCLUDE.match(line)
        if found and found.group(1).split("/")[0] in LAYERS:
            yield number, "only public headers may be included here"


def faults_of_stage(path: Path):
    stages = ROOT / "stages"
    name = path.relative_to(stages).parts[0]
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if MPI_CALL.search(line) and str(path.relative_to(stages)) not in STAGES_WITH_MPI:
            yield number, "a stage may not call MPI; use the messages of stage::Step"
        found = INCLUDE.match(line)
        if not found:
            continue
        target = next(
            (at for at in (path.parent / found.group(1), stages / found.group(1)) if at.exists()),
            None,
        )
        if target is None or not target.resolve().is_relative_to(stages):
            continue
        other = target.resolve().relative_to(stages).parts[0]
        if other != name and other not in SHARED_BY_STAGES:
            yield number, f"stage {name} may not include a file of stage {other}"


def modules_of(folder: Path) -> dict[str, Path]:
    """Python modules by dotted name; a package is its __init__."""
    paths = [(path.relative_to(folder).with_suffix(""), path) for path in folder.rglob("*.py")]
    return {".".join(p.parts).removesuffix(".__init__"): path for p, path in paths}


def imports_of(path: Path, modules: dict[str, Path]):
    """The modules of the same folder that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom) and node.module in modules:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            compiled = [name for name in names if is_compiled(name, modules[node.module])]
            inner = [name for name in names if name in modules]
            yield from inner
            if len(inner) + len(compiled) < len(names):
                yield node.module


def is_compiled(name: str, package: Path) -> bool:
    return package.with_name(f"{name.rpartition('.')[2]}.pyi").exists()


def python_ring(folder: Path) -> list[str]:
    """A ring of imports, its first module again at the end; [] if there is none."""
    modules = modules_of(folder)
    graph = {name: {*imports_of(path, modules)} for name, path in modules.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1][::-1]
    return []


def main() -> int:
    faults = []
    for path in sources(ROOT / "src"):
        layer = path.relative_to(ROOT / "src").parts[0]
        if layer not in LAYERS:
            faults.append(f"{path.relative_to(ROOT)}: folder '{layer}' is in no layer")
            continue
        faults += [f"{path.relative_to(ROOT)}:{n}: {why}" for n, why in faults_of(path, layer)]
    for path in sources(ROOT / "apps"):
        faults += [f"{path.relative_to(ROOT)}:{n}: {why}" for n, why in faults_of(path, "apps")]
    for folder in ("include", "fortran", "stages", "adapters", "examples", "miniapps"):
        for path in sources(ROOT / folder):
            faults += [f"{path.relative_to(ROOT)}:{n}: {why}" for n, why in faults_outside(path)]
    for path in sources(ROOT / "stages"):
        faults += [f"{path.relative_to(ROOT)}:{n}: {why}" for n, why in faults_of_stage(path)]
    if ring := python_ring(ROOT / "python"):
        faults.append(f"python: modules import each other in a ring: {' -> '.join(ring)}")
    print("\n".join(faults) or "check_layers: every include runs the right way")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
