# SPDX-License-Identifier: BSD-3-Clause
"""Types the pages of the documentation that are about clusters, on the login node of one: files and
commands in order, in one folder, as tests/docs does it with other pages on one machine.
"""

import shlex
import sys

import pytest
from slurm_cluster import TOP

sys.path.append(str(TOP / "tests/docs"))

from code_blocks import PAGES, Block, blocks_of, compare, scene_of, typed, without_comments

pytest_plugins = ["cluster_fixtures"]

SCENE = "slurm"
LIMIT = 150  # seconds for a block
TYPED = [pytest.param(page, id=page.stem) for page in PAGES if scene_of(page) == SCENE]


def run(case, block: Block, command: str) -> str:
    """What a command prints on the login node, which must end well."""
    env = {"PYTHONPATH": case.cluster.build / "python", "COLUMNS": 100}
    done = case.on("login", "bash", "-e", "-c", command, env=env, timeout=LIMIT)
    assert done.returncode == 0, f"{block.place}: {done.returncode}\n{done.stdout}{case.told()}"
    return done.stdout


def read(case, block: Block) -> None:
    if "file" in block.said:
        case.write(block.said["file"], block.text)
    elif block.language == "sh":
        run(case, block, without_comments(block.text))
    elif block.language == "console":
        for command, printed in typed(block):
            compare(block, printed, run(case, block, command))


@pytest.mark.nodes(4)
@pytest.mark.parametrize("page", TYPED)
def test_page_as_a_reader_types_it(case, page):
    case.write("heat", f'#!/bin/sh\nexec {shlex.quote(case.cluster.heat)} "$@"\n')
    (case.folder / "heat").chmod(0o755)
    assert blocks_of(page)
    for block in blocks_of(page):
        read(case, block)
