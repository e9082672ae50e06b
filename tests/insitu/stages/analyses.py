# SPDX-License-Identifier: BSD-3-Clause
"""Stages in Python that do what built-in ones do, in their own way."""

from pathlib import Path

import numpy as np
import pillion


@pillion.stage("density")
def extremes(step):
    """Count, least, largest, sum of a field: a row of a table over time."""
    arrays = [block["density"] for block in step.blocks]
    inf = float("inf")
    return {
        "count": step.sum(sum(a.size for a in arrays)),
        "min": step.min(min((float(a.min()) for a in arrays if a.size), default=inf)),
        "max": step.max(max((float(a.max()) for a in arrays if a.size), default=-inf)),
        "sum": step.sum(float(sum(a.sum(dtype=float) for a in arrays))),
    }


def _histogram(step, blocks, bins, lo, hi):
    counts = np.zeros(bins, np.int64)
    for values in blocks:
        counts += np.histogram(values, bins, (lo, hi))[0]
    counts = step.sum(counts)
    edges = np.linspace(lo, hi, bins + 1)
    step.table(
        "histogram",
        {"lo": edges[:-1], "hi": edges[1:], "count": counts},
        units={"lo": step.units("density"), "hi": step.units("density")},
        attributes={"total": int(counts.sum()), "method": "numpy"},
        title="Distribution of density",
        per_step=True,
    )


@pillion.stage("density")
def files(step):
    """A file of every step, and one that is replaced; what only other peers give is not seen."""
    content = bytes([step.index, step.peer, 0, 255])
    step.file("map.bin", content, title="Map", per_step=True)
    step.file("last", content)


@pillion.stage("density")
def histogram(step, *, bins=10, range=(0, 1)):
    _histogram(step, [block["density"] for block in step.blocks], bins, *range)


@pillion.stage("density", layout="blocks", ghosts=1)
def histogram_of_blocks(step, *, bins=10, range=(0, 1)):
    """The same from a layout that is moved, without its ghost cells."""
    _histogram(step, [block.inner("density") for block in step.blocks], bins, *range)


@pillion.stage("density", layout="blocks", ghosts=1, outputs={"laplacian": pillion.Output()})
def laplacian(step):
    """A new field, from neighbours that may be at another rank."""
    for block in step.blocks:
        u = block["density"]
        c = tuple(slice(1, -1) for _ in range(3))
        out = -6 * u[c]
        for axis in range(3):
            for shift in (slice(None, -2), slice(2, None)):
                at = list(c)
                at[axis] = shift
                out = out + u[tuple(at)]
        block.produce("laplacian")[...] = out


@pillion.stage("density", outputs={"squared": pillion.Output(units="g^2")})
def square(step):
    """A new field on the blocks as they are shared."""
    for block in step.blocks:
        np.multiply(block["density"], block["density"], out=block.produce("squared"))


@pillion.stage("density")
class Mean:
    """The mean of all steps so far: a stage that remembers."""

    def __init__(self, digits=17):
        self.digits = digits
        self.sum, self.steps = 0.0, 0

    def __call__(self, step):
        mine = np.array([float(sum(b["density"].sum() for b in step.blocks)), 0.0])
        mine[1] = sum(b["density"].size for b in step.blocks)
        total, count = step.sum(mine)
        self.sum += total / count
        self.steps += 1

    def finish(self, step):
        attributes = {"digits": self.digits}
        step.table(
            "mean",
            {"steps": [self.steps], "mean": [self.sum / self.steps]},
            units={"mean": "g"},
            roles={"steps": "count of mean"},
            attributes=attributes,
        )

    def save(self):
        return {"sum": np.array(self.sum), "steps": np.array(self.steps)}

    def restore(self, state):
        self.sum, self.steps = float(state["sum"]), int(state["steps"])


@pillion.stage("density", layout="transform")
def spectrum(step):
    """With a communicator of the peers, and SciPy: the power in planes that are whole here."""
    import scipy.fft

    comm = step.communicator
    planes = sum(
        float((abs(scipy.fft.fftn(b["density"], axes=(0, 1))) ** 2).sum()) for b in step.blocks
    )
    return {"power": comm.allreduce(planes), "peers": comm.Get_size() == step.peers}


@pillion.stage("density")
def addresses(step):
    """Where the blocks are."""
    lines = [
        f"{step.peer} {b.number} {b['density'].ctypes.data} {b['density'].strides}"
        for b in step.blocks
    ]
    if step.peer == 0:
        step.folder.joinpath("maps").write_text(Path("/proc/self/maps").read_text())
    step.folder.joinpath(f"addresses.{step.index}.{step.peer}").write_text("\n".join(lines))


@pillion.stage(["density", "heat"], layout="blocks", ghosts=1)
def footprint(step):
    """Means of fields that have moved, and the largest memory of any peer."""
    sums = {
        name: step.sum(sum(block.inner(name).sum() for block in step.blocks))
        for name in ("density", "heat")
    }
    status = Path("/proc/self/status").read_text().splitlines()
    sizes = {line.split(":")[0]: int(line.split()[1]) for line in status if line.endswith("kB")}
    maps = len(Path("/proc/self/maps").read_text().splitlines())
    return sums | {
        "maps": step.max(maps),
        "anonymous": step.max(sizes["RssAnon"]),
        "shared": step.max(sizes["RssShmem"]),
    }


@pillion.stage("density")
def total_from_nothing(step):
    """A peer without blocks gives an integer where others give reals."""
    total, count = 0, 0
    for block in step.blocks:
        total += block["density"].sum()
        count += np.int32(block["density"].size)
    return {"total": step.sum(total), "count": step.sum(count)}


@pillion.stage("density")
def projection(step):
    """Sums along the last axis, of blocks that lie in memory one way here and another way there."""
    cells = step.field("density").cells
    wanted = np.zeros(cells[:2])
    for block in step.blocks:
        place = tuple(slice(a, b) for a, b in zip(block.lo[:2], block.hi[:2], strict=True))
        wanted[place] += block["density"].sum(axis=2)
    wanted = np.asfortranarray(wanted) if step.peer % 2 else wanted
    whole = step.sum(wanted)
    step.table("projection", {"value": np.ascontiguousarray(whole).ravel()}, per_step=True)
