# SPDX-License-Identifier: BSD-3-Clause
"""Products of any kind as xarray datasets. The reader of a format is imported when a product of
that format is opened: each needs a package of its own.
"""

import xarray as xr

from pillion.datasets.kept import table_of
from pillion.datasets.listing import Product
from pillion.datasets.step_tables import Rows, dataset_of_steps
from pillion.datasets.stored import Stored, dataset_of
from pillion.datasets.table_datasets import dataset_of_table
from pillion.errors import Error


def open_product(
    product: Product, level: int | None = None, rows: Rows | None = None
) -> xr.Dataset:
    """The product over all its steps; `level` is for IDX, openPMD and plotfiles, `rows` for tables
    per step.
    """
    if product.kind == "table":
        return dataset_of_table(table_of(product.path))
    if product.kind == "steps":
        return dataset_of_steps(product, rows)
    return dataset_of(stored_of(product, level))


def open_step(product: Product, step: int) -> xr.Dataset:
    """One step of a product that has a file per step, or holds fields."""
    if product.kind == "steps":
        return dataset_of_table(table_of(product.file(step)))
    return dataset_of(stored_at(product, step)).isel(step=0)


def stored_of(product: Product, level: int | None = None) -> Stored:
    """The contents of a product of fields, in any of the formats."""
    if product.kind == "idx":
        from pillion.datasets.idx_datasets import stored_idx

        return stored_idx(product.path, level)
    if product.kind == "hdf5":
        from pillion.datasets.hdf5_datasets import stored_hdf5

        return stored_hdf5(product.path, product.name)
    if product.kind == "plotfile":
        from pillion.datasets.plotfile_datasets import stored_plotfiles

        return stored_plotfiles(product.path, level)
    if product.kind == "openpmd":
        from pillion.datasets.openpmd_datasets import stored_openpmd

        return stored_openpmd(product.path, product.name, level)
    from pillion.datasets.raw_datasets import stored_raw

    return stored_raw(product.path)


def stored_at(product: Product, step: int) -> Stored:
    """One step of it; of HDF5 also one that has not all cells. Raises Error if it is not there."""
    if product.kind == "hdf5":
        from pillion.datasets.hdf5_datasets import stored_hdf5

        return stored_hdf5(product.path, product.name, step)
    stored = stored_of(product)
    if step not in stored.steps:
        known = f"{stored.steps[0]} to {stored.steps[-1]}"
        raise Error(f"{product.key} has no step {step}; it has {len(stored.steps)}, {known}")
    return stored.at(step)
