# SPDX-License-Identifier: BSD-3-Clause
"""The protocol of lanes, searched exhaustively by Spin: src/node/protocol.pml holds for all orders of
steps and deaths at every step, in several small sizes, and each precaution that the model can do
without (BROKEN_...) is one without which it does not hold. Larger sizes with PILLION_TEST_ALL=1.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

MODEL = Path(__file__).parents[2] / "src" / "node" / "protocol.pml"

ALONE = "-DCREWS=2 -DHOME_DEATHS=2 -DSIMULATION_DEATHS=1 -DGUESTS=0"
GUESTS = "-DCREWS=0 -DHOME_DEATHS=0 -DSIMULATION_DEATHS=1 -DGUESTS"
TWO = "-DLANES=2 -DWAIT=0 -DGUESTS=0"

SIZES = {
    "crews, wait": f"{ALONE} -DOFFERS=1 -DWAIT=1",
    "crews, skip": f"{ALONE} -DOFFERS=1 -DWAIT=0",
    "crew, more publications": f"{ALONE} -DCREWS=1 -DHOME_DEATHS=1 -DOFFERS=4 -DWAIT=1",
    "guest, wait": f"{GUESTS}=1 -DOFFERS=4 -DWAIT=1",
    "guest, skip": f"{GUESTS}=1 -DOFFERS=4 -DWAIT=0",
}
