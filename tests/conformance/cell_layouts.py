# SPDX-License-Identifier: BSD-3-Clause
"""Stages that write what they have of the mesh of mixed_cells.py, in the layouts by place and by
key, without copies of cells and with layers of them."""

import numpy as np
import pillion


def save(step, layout, *keys):
    for block in step.blocks:
        cells = block.connectivity
        found = {name: getattr(cells, name) for name in cells.__dataclass_fields__}
        found = {name: values for name, values in found.items() if values is not None}
        flags = np.zeros(block.count, np.uint8) if block.flags is None else block.flags
        np.savez(
            f"cells.{layout}.{step.index}.{step.peer}.{block.number}.npz",
            **found, u=block["u"], w=block["w"], flags=flags, coordinates=block.coordinates,
            **{f"key_{key}": block[key] for key in keys},
            versions=[block.topology_version, block.geometry_version],
        )  # fmt: skip


@pillion.stage(["u", "w"], layout="spatial")
def record(step):
    save(step, 0)


@pillion.stage(["u", "w"], layout="spatial", halo=1)
def record_near(step):
    save(step, 1)


@pillion.stage(["u", "w"], layout="spatial", halo=2)
def record_far(step):
    save(step, 2)


@pillion.stage(["u", "w"], layout="by_key", key="region")
def record_regions(step):
    save(step, "region")


@pillion.stage(["w", "zone", "u"], layout="by_key", key="zone", halo=1)
def record_zones(step):
    save(step, "zone", "zone")


@pillion.stage(["u", "w"], layout="by_key")
def record_ids(step):
    save(step, "ids")


@pillion.stage("zone", outputs={"label": pillion.Output(type="int64")})
def label(step):
    """A key that a stage makes of another."""
    for block in step.blocks:
        block.produce("label")[...] = 3 - block["zone"].astype(np.int64)


@pillion.stage(["u", "w"], layout="by_key", key="label")
def record_labels(step):
    save(step, "label")
