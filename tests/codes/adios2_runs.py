# SPDX-License-Identifier: BSD-3-Clause
"""The engine of ADIOS2, and programs that write with ADIOS2, built against PyPI's package as users
would.
"""

import re
from pathlib import Path

import limits

HERE = Path(__file__).parent


def run(*words) -> None:
    done = limits.run(list(map(str, words)), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


def engine_of_pillion(configuration: str) -> str:
    """ADIOS2's file that names the engine, for a program without particles."""
    text = (HERE / "adios2.xml").read_text().replace("analyses.yaml", configuration)
    return re.sub(r" *<parameter key=.Domain.*\n", "", text)


def build_engine(build: Path, folder: Path) -> Path:
    """The folder that ADIOS2_PLUGIN_PATH names."""
    import adios2

    library = Path(adios2.__file__).parent
    run("cmake", "--install", build, "--prefix", folder / "pillion")
    words = [f"-Dadios2_DIR={library / 'cmake/adios2'}"]
    words.append(f"-DCMAKE_PREFIX_PATH={folder / 'pillion'}")
    run("cmake", "-S", folder / "pillion/share/pillion/adios2", "-B", folder / "build", *words)
    run("cmake", "--build", folder / "build")
    return folder / "build"


def build_program(name: str, folder: Path) -> Path:
    """A program of this folder that is linked with ADIOS2."""
    import adios2

    library = Path(adios2.__file__).parent
    run(
        *("mpicxx", "-std=c++17", "-O2", HERE / f"{name}.cpp"),
        *(f"-I{library / 'include'}", f"-L{library}"),
        *("-ladios2_cxx", "-ladios2_core", f"-Wl,-rpath,{library}"),
        # PyPI's libraries bring others along that the linker does not find.
        *("-Wl,--allow-shlib-undefined", "-o", folder / name),
    )
    return folder / name
