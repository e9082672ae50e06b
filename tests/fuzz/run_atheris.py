# SPDX-License-Identifier: BSD-3-Clause
"""Runs a fuzz target in Python under Atheris:

    run_atheris.py NAME ARGUMENT_OF_LIBFUZZER...

for the target in fuzz_NAME.py. tools/run_fuzzers.sh calls it.
"""

import importlib
import sys

import atheris

with atheris.instrument_imports(include=["pillion"]):
    target = importlib.import_module(f"fuzz_{sys.argv[1]}")

atheris.Setup([sys.argv[0], *sys.argv[2:]], target.one_input)
atheris.Fuzz()
