# SPDX-License-Identifier: BSD-3-Clause
"""Reading a table product; docs/products.md shows these lines, and a test runs them."""

# [example]
from pillion import read_table

table = read_table("results/motion/msd.csv")
print(table["lag"][-1], table.columns["lag"].units)
print(table["msd_O"][-1], table.columns["msd_O"].units)
print(table.attributes["diffusion_O"].value)
# [example]
