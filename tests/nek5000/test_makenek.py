# SPDX-License-Identifier: BSD-3-Clause
"""What `pillion-makenek` does where there is no Nek5000: it passes everything on to a makenek, or
says what is missing."""

import os
from pathlib import Path

import limits

MAKENEK = """#!/bin/bash
touch SIZE
echo "$@" > words
echo "$NEK_SOURCE_ROOT" > root
for file in $MAKEFILES; do test -f "$file" && echo "$file"; done > makefiles
printf 'nek5000:\\n\\t@echo $(FFLAGS) $(LDFLAGS)\\nobj/nek_pillion.o:\\n\\t@true\\n' > makefile
make -s nek5000 > made
"""


def makenek(build: Path, folder: Path, *words: str, **environment: str):
    inherited = {k: v for k, v in os.environ.items() if k not in ("NEK_SOURCE_ROOT", "MPI")}
    return limits.run(
        [build / "bin/pillion-makenek", *words],
        cwd=folder,
        env=inherited | environment,
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_makenek_of_the_case_gets_words_and_a_makefile(build, tmp_path):
    (tmp_path / "makenek").write_text(MAKENEK)
    done = makenek(build, tmp_path, "ethier", "-x")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "words").read_text() == "ethier -x\n"
    (makefile,) = (tmp_path / "makefiles").read_text().split()
    assert (Path(makefile).parent / "nek_pillion.f").is_file()
    made = (tmp_path / "made").read_text()
    assert "-DPILLION" in made and "--wrap=nek_init_" in made
    (libraries,) = (word[2:] for word in made.split() if word.startswith("-L"))
    assert (Path(libraries) / "libpillion_nek5000.so").is_file()


def test_makenek_of_nek_is_found(build, tmp_path):
    (tmp_path / "nek/bin").mkdir(parents=True)
    (tmp_path / "nek/bin/makenek").write_text(MAKENEK)
    done = makenek(build, tmp_path, "ethier", NEK_SOURCE_ROOT=str(tmp_path / "nek"))
    assert done.returncode == 0 and (tmp_path / "words").read_text() == "ethier\n"


def test_what_is_missing(build, tmp_path):
    done = makenek(build, tmp_path, "ethier")
    assert done.returncode == 1 and "no makenek was found: set NEK_SOURCE_ROOT" in done.stderr
    done = makenek(build, tmp_path, "ethier", NEK_SOURCE_ROOT="/nowhere")
    assert done.returncode == 1 and "found at /nowhere/bin/makenek" in done.stderr
    done = makenek(build, tmp_path, "ethier", MPI="0")
    assert done.returncode == 1 and "MPI=0" in done.stderr
    assert "usage: pillion-makenek" in makenek(build, tmp_path, "--help").stdout
