# SPDX-License-Identifier: BSD-3-Clause
"""A stage that writes what it has of the mesh of mixed_cells.py, in the layout by place."""

import numpy as np
import pillion


@pillion.stage(["u", "w"], layout="spatial")
def record(step):
    for block in step.blocks:
        cells = block.connectivity
        found = {name: getattr(cells, name) for name in cells.__dataclass_fields__}
        found = {name: values for name, values in found.items() if values is not None}
        flags = np.zeros(block.count, np.uint8) if block.flags is None else block.flags
        np.savez(
            f"cells.{step.index}.{step.peer}.{block.number}.npz",
            **found, u=block["u"], w=block["w"], flags=flags, coordinates=block.coordinates,
        )  # fmt: skip
