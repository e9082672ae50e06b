# SPDX-License-Identifier: BSD-3-Clause
"""A run's products as xarray datasets, also during the run: `pillion.results("results")`; and AMReX
plotfiles of any code: `open_plotfile("plt00010")`.

docs/howto-results.md shows how. xarray is imported when the first dataset is asked for.
"""

from pillion.datasets.collection import Results, results
from pillion.datasets.plotfiles import Plotfile, open_plotfile, plotfiles_in

__all__ = ["Plotfile", "Results", "open_plotfile", "plotfiles_in", "results"]
