# SPDX-License-Identifier: BSD-3-Clause
"""A run's products as xarray datasets, also during the run: `pillion.results("results")`.

docs/howto-results.md shows how. xarray is imported when the first dataset is asked for.
"""

from pillion.datasets.collection import Results, results

__all__ = ["Results", "results"]
