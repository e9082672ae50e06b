# SPDX-License-Identifier: BSD-3-Clause
"""Reading an IDX dataset; docs/howto-view.md shows these lines, and a test runs them."""

# [example]
import pillion.idx

dataset = pillion.idx.open("results/snapshots/gas.idx")
print(dataset.fields, dataset.steps, dataset.shape, dataset.levels)

density, last = dataset["density"], dataset.steps[-1]
coarse = density[last, dataset.levels - 6]  # a quarter of the samples along each of three axes
corner = density[last, dataset.levels, ((0, 8), (0, 8), (4, 5))]  # [lo, hi) along x, y, z
print(coarse.shape, corner.shape)  # indexed [z, y, x]

for found in density.progressive(last):  # coarse to fine; no sample is read twice
    print(found.level, found.values.mean(), found.origin, found.stride)
# [example]
