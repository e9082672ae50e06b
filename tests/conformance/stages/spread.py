# SPDX-License-Identifier: BSD-3-Clause
"""A stage in Python for test_host.py: arithmetic that raises floating-point exceptions."""

import numpy as np
import pillion


@pillion.stage("field")
def spread(step):
    sums = np.zeros(3)
    for block in step.blocks:
        values = block["field"]
        sums += [np.sum(values / np.abs(values)), np.sum(np.log(values)), np.sum(values**2)]
    return {"signs": step.sum(sums[0]), "logs": step.sum(sums[1]), "squares": step.sum(sums[2])}
